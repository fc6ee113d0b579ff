"""Universal (NB20 Algorithm 4): AgPrivCl for the first public points, SSPP on them for all others."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import Or, Whole, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.agnostic import agprivcl, common, sspp
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.privacy.door import Door, Spent
from pate_cli.types import Answers, Holdout, PrivacyLoss, Private, PublicPoints, Released, Setting

__all__ = ["Options", "UniversalPlan", "calibrate", "first_queries"]

features_default = "none"
"""Hypotheses are of the records' own columns; see `pate_cli.mechanisms.features_of`."""


@dataclass(frozen=True)
class Options(agprivcl.Options):
    """Options of `mechanism=universal`: those of AgPrivCl, and how the two parts share the work."""

    share: float = option(0.5, common.FRACTION)
    first: int | None = option("auto", Or("auto", Whole(1)))


@dataclass(frozen=True)
class UniversalPlan(Mechanism):
    """Answer the first m_o public points one by one, any number of others by a hypothesis chosen on them.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record: AgPrivCl
    is (share eps, delta)-DP and SSPP ((1 - share) eps, 0)-DP on the same records, and the two add up
    (basic composition of two mechanisms of different kinds). NB20 gives eps to each, and its
    Theorem 11 is for the sum. Where there are at most m_o public points, AgPrivCl has all of eps.
    """

    relabels = True
    first: int  # m_o
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
        """Sum of the costs of AgPrivCl's releases and of SSPP's choice."""
        first = self.answering.loss(replace(spent, pure=Counter()))
        return PrivacyLoss(first.eps + spent.pure_eps, first.delta, first.how)

    @property
    def n_teachers(self) -> int:
        """Of AgPrivCl."""
        return self.answering.n_teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers: of AgPrivCl, and SSPP's eps."""
        numbers = {"first": self.first, "sspp_eps": self.learning.eps if self.learning else 0.0}
        return numbers | self.answering.describe()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """NB20 Algorithm 4: AgPrivCl answers the first points; SSPP's hypothesis, the model, all others."""
        first_door, second_door = door.spawn(2)
        order = rng.permutation(public.n_points)
        early, late = order[: self.first], order[self.first :]
        answers = self.answering.answers(private.records, public, early, first_door, rng)
        if self.learning is None:
            model = self.answering.classroom.student(public, answers, rng)
            return Released(model, answers, self.guarantee)
        # the points are public whether they were answered or not
        learnt = self.learning.release(private, PublicPoints(public.X[early]), second_door, rng)
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
        attacks = self.answering.attacks()
        return attacks if self.learning is None else attacks + self.learning.attacks()


def first_queries(vc: int, alpha: float, beta: float) -> int:
    """m_o of NB20 Algorithm 4, ``32 (d ln(1/alpha) + ln(1/beta))/alpha``, rounded up."""
    return math.ceil(32 * (vc * math.log(1 / alpha) + math.log(1 / beta)) / alpha)


def calibrate(options: Options, setting: Setting) -> UniversalPlan:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    hypotheses = common.chosen_class(options.hypotheses, setting, "universal")
    m, first, paper = setting.n_public, options.first, options.calibration == "paper"
    common.at_most("first", first, m, "auto, or ")
    if paper and first is not None:
        raise ConfigError("mechanism.first", first, "auto with mechanism.calibration=paper")
    if first is None:
        vc = hypotheses.vc_dimension(setting.n_features)
        # so that both have something to do; the paper's numbers are for unlimited queries
        first = min(first_queries(vc, options.alpha, options.beta), m if paper else max(1, m // 2))
    alone = first == m
    part = replace(setting, n_public=first, eps=setting.eps if alone else options.share * setting.eps)
    answering = agprivcl.calibrate(options, part, "universal")
    if alone:
        return UniversalPlan(first, answering, None)
    common.listable(hypotheses, first, setting, "a smaller mechanism.first")
    eps_left = setting.eps - part.eps
    return UniversalPlan(first, answering, sspp.SsppPlan(eps_left, hypotheses, first))
