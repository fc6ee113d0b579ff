"""Universal (NB20 Algorithm 4): AgPrivCl for the first public points, SSPP on them for all others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import queries
from pate_cli.agnostic import agprivcl, sspp
from pate_cli.agnostic import options as checks
from pate_cli.agnostic.voting import student
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.privacy.budget import compose
from pate_cli.privacy.noise import Noise
from pate_cli.private_learner import SampledAttack
from pate_cli.types import (
    Answers,
    Holdout,
    Learnt,
    PrivacyLoss,
    PrivateRecords,
    PublicPoints,
    Setting,
)

__all__ = ["OPTIONS", "UniversalPlan", "first_queries", "plan"]

OPTIONS: dict[str, Any] = {**agprivcl.OPTIONS, "share": 0.5, "first": "auto"}


@dataclass(frozen=True)
class UniversalPlan:
    """Answer the first m_o public points one by one, any number of others by a hypothesis chosen on them.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record: AgPrivCl
    is (share eps, delta)-DP and SSPP ((1 - share) eps, 0)-DP on the same records, and the two add up
    (basic composition of two mechanisms of different kinds). NB20 gives eps to each, and its
    Theorem 11 is for the sum.

    Attributes
    ----------
    first : int
        m_o, or all public points where there are fewer; then SSPP has nothing to do and AgPrivCl all of eps.
    answering : AgPrivClPlan
    learning : SsppPlan or None

    References
    ----------
    NB20 Algorithm 4, Theorem 11.
    """

    first: int
    answering: agprivcl.AgPrivClPlan
    learning: sspp.SsppPlan | None = field(repr=False)

    @property
    def guarantee(self) -> PrivacyLoss:
        """The sum of both."""
        if self.learning is None:
            return self.answering.guarantee
        return compose(self.answering.guarantee, self.learning.guarantee)

    @property
    def n_teachers(self) -> int:
        """Of AgPrivCl."""
        return self.answering.teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers: of AgPrivCl, and SSPP's eps."""
        own = {"first": self.first, "sspp_eps": self.learning.eps if self.learning else 0.0}
        return own | self.answering.describe()

    def learn(
        self, private: PrivateRecords, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Learnt:
        """Answer all public points; the model is SSPP's hypothesis."""
        first_noise, second_noise = noise.spawn(2)
        order = queries.passive_order(public.n_points, rng)
        early = order[: self.first]
        answers = self.answering.answers(private, public, early, first_noise, rng)
        if self.learning is None:
            model = student(self.answering.classroom.setting, public, answers, rng)
            return Learnt(model, answers, self.guarantee)
        # the points are public whether they were answered or not
        learnt = self.learning.learn(private, PublicPoints(public.X[early]), second_noise, rng)
        late = order[self.first :]
        labels = np.asarray(learnt.model.predict(public.X[late]), dtype=np.int64)
        everything = Answers(
            np.concatenate([answers.asked, late]),
            np.concatenate([answers.labels, labels]),
            n_teachers=answers.n_teachers,
        )
        return Learnt(learnt.model, everything, self.guarantee)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return self.answering.measure(model, test)

    def attacks(self) -> list[SampledAttack]:
        """Worst-case pairs of private sets for an audit, of each of the two parts."""
        found = self.answering.attacks()
        return found if self.learning is None else found + self.learning.attacks()


def first_queries(vc: int, alpha: float, beta: float) -> int:
    """m_o of NB20 Algorithm 4, ``32 (d ln(1/alpha) + ln(1/beta))/alpha``, rounded up."""
    return math.ceil(32 * (vc * math.log(1 / alpha) + math.log(1 / beta)) / alpha)


def plan(options: Mapping[str, Any], setting: Setting) -> UniversalPlan:
    """Check the options and calibrate; see `pate_cli.agnostic.plan`."""
    checks.two_classes(setting, "universal")
    checks.finite(setting, "universal")
    kind = checks.calibration(options)
    hypotheses = checks.hypotheses(options)
    share, alpha, beta = (checks.fraction(options, key) for key in ("share", "alpha", "beta"))
    m = setting.n_public
    first = checks.whole(options, "first", auto=True, most=m)
    if kind == "paper" and first is not None:
        raise ConfigError("mechanism.first", first, "auto with mechanism.calibration=paper")
    if first is None:
        published = first_queries(hypotheses.vc_dimension(setting.n_features), alpha, beta)
        # so that both have something to do; the paper's numbers are for unlimited queries
        first = min(published, m if kind == "paper" else max(1, m // 2))
    cutoff = options["cutoff"]
    if isinstance(cutoff, int) and not isinstance(cutoff, bool) and cutoff > first:
        raise ConfigError("mechanism.cutoff", cutoff, f"auto, or at most the first queries, {first}")
    alone = first == m
    part = replace(setting, n_public=first, eps=setting.eps if alone else share * setting.eps)
    answering = agprivcl.plan(options, part, "universal")
    if alone:
        return UniversalPlan(first, answering, None)
    refusal = hypotheses.refusal(first, setting.n_features)
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}: {refusal}; a smaller mechanism.first")
    rest = setting.eps - part.eps
    return UniversalPlan(first, answering, sspp.SsppPlan(rest, hypotheses, setting.n_private, first))
