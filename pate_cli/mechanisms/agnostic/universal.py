"""Universal (NB20 Algorithm 4): AgPrivCl for the first public points, SSPP on them for all others."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import queries
from pate_cli.checks import option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES
from pate_cli.mechanisms.agnostic import agprivcl, sspp
from pate_cli.mechanisms.agnostic import options as checks
from pate_cli.mechanisms.agnostic.voting import student
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.sparse_vector import CUTOFF
from pate_cli.privacy.door import Door, Spent
from pate_cli.types import (
    Answers,
    Holdout,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "UniversalPlan", "calibrate", "first_queries"]


@dataclass(frozen=True)
class Options(agprivcl.Options):
    """Options of `mechanism=universal`: those of AgPrivCl, and how the two parts share the work."""

    share: float = option(0.5, checks.FRACTION)
    first: int | None = option("auto", CUTOFF)


@dataclass(frozen=True)
class UniversalPlan(Mechanism):
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
        first, second = self.answering.guarantee, self.learning.guarantee
        how = f"{first.how} + {second.how}"
        return PrivacyLoss(first.eps + second.eps, first.delta + second.delta, how)

    def loss(self, spent: Spent) -> PrivacyLoss:
        """Sum of both: what AgPrivCl's releases cost, and SSPP's choice."""
        first = self.answering.loss(replace(spent, pure=Counter()))
        return PrivacyLoss(first.eps + spent.pure_eps, first.delta, first.how)

    @property
    def n_teachers(self) -> int:
        """Of AgPrivCl."""
        return self.answering.teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers: of AgPrivCl, and SSPP's eps."""
        own = {"first": self.first, "sspp_eps": self.learning.eps if self.learning else 0.0}
        return own | self.answering.describe()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Answer all public points; the model is SSPP's hypothesis."""
        records = private.records
        first_door, second_door = door.spawn(2)
        order = queries.passive_order(public.n_points, rng)
        early = order[: self.first]
        answers = self.answering.answers(records, public, early, first_door, rng)
        if self.learning is None:
            model = student(self.answering.classroom.setting, public, answers, rng)
            return Released(model, answers, self.guarantee)
        # the points are public whether they were answered or not
        learnt = self.learning.release(private, PublicPoints(public.X[early]), second_door, rng)
        late = order[self.first :]
        labels = np.asarray(learnt.model.predict(public.X[late]), dtype=np.int64)
        everything = Answers(
            np.concatenate([answers.asked, late]),
            np.concatenate([answers.labels, labels]),
            n_teachers=answers.n_teachers,
        )
        return Released(learnt.model, everything, self.guarantee)

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


def calibrate(options: Options, setting: Setting) -> UniversalPlan:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    checks.two_classes(setting, "universal")
    checks.finite(setting, "universal")
    kind = options.calibration
    hypotheses = CLASSES[options.hypotheses]
    share, alpha, beta = options.share, options.alpha, options.beta
    m = setting.n_public
    first = options.first
    checks.at_most("first", first, m, "auto, or ")
    if kind == "paper" and first is not None:
        raise ConfigError("mechanism.first", first, "auto with mechanism.calibration=paper")
    if first is None:
        published = first_queries(hypotheses.vc_dimension(setting.n_features), alpha, beta)
        # so that both have something to do; the paper's numbers are for unlimited queries
        first = min(published, m if kind == "paper" else max(1, m // 2))
    cutoff = options.cutoff
    if isinstance(cutoff, int) and cutoff > first:
        raise ConfigError("mechanism.cutoff", cutoff, f"auto, or at most the first queries, {first}")
    alone = first == m
    part = replace(setting, n_public=first, eps=setting.eps if alone else share * setting.eps)
    answering = agprivcl.calibrate(options, part, "universal")
    if alone:
        return UniversalPlan(first, answering, None)
    refusal = hypotheses.refusal(first, setting.n_features)
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}: {refusal}; a smaller mechanism.first")
    rest = setting.eps - part.eps
    return UniversalPlan(first, answering, sspp.SsppPlan(rest, hypotheses, setting.n_private, first))
