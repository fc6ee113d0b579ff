"""Universal (NB20 Algorithm 4): AgPrivCl for the first public points, SSPP on them for all others.

With ``answering=svt`` BTT18's A_binClas answers the first points (NB20 Remark 12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, Or, Whole, option
from pate_cli.errors import ConfigError, with_part
from pate_cli.mechanisms.agnostic import agprivcl, common, sspp
from pate_cli.mechanisms.base import Mechanism, Relabelling, SampledAttack
from pate_cli.mechanisms.sparse_vector import SparseVector, fewest_teachers, stable_labels
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Pure
from pate_cli.types import (
    Answers,
    Holdout,
    IntArray,
    PrivacyLoss,
    Private,
    PrivateRecords,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["Options", "SvtAnswers", "Universal", "UniversalOverSvt", "calibrate", "first_queries"]


@dataclass(frozen=True)
class Options(agprivcl.Options):
    """Options of `mechanism=universal`: those of AgPrivCl, and how the two parts share the work."""

    checked = ({"answering": "svt"},)

    answering: str = option("agprivcl", OneOf(("agprivcl", "svt")))
    share: float = option(0.5, common.FRACTION)
    first: int | None = option("auto", Or("auto", Whole(1)))


@dataclass(frozen=True)
class SvtAnswers:
    """The sparse vector technique over votes of teachers of the class, with no relabelling.

    **Guarantee.** That of `SparseVector`: teachers have disjoint parts, so one record moves one vote.
    """

    mechanism: SparseVector
    classroom: common.Classroom = field(repr=False)
    relabelling = None

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) of the sparse vector technique."""
        return self.mechanism.guarantee

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.mechanism.n_teachers

    def loss(self, spent: Account) -> PrivacyLoss:
        """Cost of the sparse vector technique's run; anything else that passed is added in full."""
        return self.mechanism.loss(spent)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        numbers = {"hypotheses": self.classroom.hypotheses.name, "n_teachers": self.n_teachers}
        return numbers | {"ell": self.mechanism.ell} | self.mechanism.describe()

    def answers(
        self, S: PrivateRecords, public: PublicPoints, order: IntArray, door: Door, rng: np.random.Generator
    ) -> Answers:
        """Deal the records to teachers, and answer points in `order` by their votes."""
        common.listable_encoded(self.classroom.hypotheses, public.X)
        rows, seed = rng.permutation(S.n_records), int(rng.integers(2**31))
        ones = np.ones(S.n_records, dtype=np.int64)
        votes = self.classroom.votes(S.X[rows], S.y[rows], ones, self.n_teachers, public, seed)
        return common.answer(self.mechanism, votes, order, door)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return common.best_hypothesis(self.classroom.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """Unanimous teachers of one record each, as many as answer every other time; one label changed."""
        K = fewest_teachers(self.mechanism.calibration)
        tiny = SvtAnswers(replace(self.mechanism, n_teachers=K), self.classroom.of_thresholds)
        point, order = PublicPoints(np.zeros((1, 1))), np.zeros(1, dtype=np.int64)

        def labels(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [tiny.answers(private, point, order, each, rng).labels for each in door.spawn(runs)]

        return [SampledAttack.on("a unanimous vote", common.tied_labels(K, K), labels, 2000)]


@dataclass(frozen=True)
class Universal(Mechanism):
    """Answer the first m_o public points one by one, any number of others by a hypothesis chosen on them.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record: AgPrivCl
    is (share eps, delta)-DP and SSPP ((1 - share) eps, 0)-DP on the same records, and the two add up
    (basic composition of two mechanisms of different kinds). NB20 gives eps to each, and its
    Theorem 11 is for the sum. Where there are at most m_o public points, AgPrivCl has all of eps.
    """

    first: int  # m_o
    answering: agprivcl.AgPrivCl | SvtAnswers
    learning: sspp.Sspp | None = field(repr=False)

    @property
    def relabelling(self) -> Relabelling | None:
        """See `Mechanism`."""
        return self.answering.relabelling

    @property
    def guarantee(self) -> PrivacyLoss:
        """The sum of both."""
        if self.learning is None:
            return self.answering.guarantee
        first, second = self.answering.guarantee, self.learning.guarantee
        how = f"{first.how} + {second.how}"
        return PrivacyLoss(first.eps + second.eps, first.delta + second.delta, how)

    def loss(self, spent: Account) -> PrivacyLoss:
        """Sum of the costs of the first part's releases and of SSPP's choice."""
        first = self.answering.loss(spent.without(Pure))
        return PrivacyLoss(first.eps + Pure.sum(spent), first.delta, first.how)

    @property
    def n_teachers(self) -> int:
        """Of the first part."""
        return self.answering.n_teachers

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.answering.mechanism.ell

    def describe(self) -> dict[str, Any]:
        """Its public numbers: of the first part, and SSPP's eps."""
        numbers = {"first": self.first, "sspp_eps": self.learning.eps if self.learning else 0.0}
        return numbers | self.answering.describe()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """NB20 Algorithm 4: the first points one by one; SSPP's hypothesis, the model, all others."""
        first_door, second_door = door.spawn(2)
        order = rng.permutation(public.n_points)
        early, late = order[: self.first], order[self.first :]
        answers = self.answering.answers(private.records, public, early, first_door, rng)
        if self.learning is None:
            model = self.answering.classroom.student(public, answers, rng)
            return Released(model, answers)
        # the points are public whether they were answered or not
        learnt = self.learning.release(private, PublicPoints(public.X[early]), second_door, rng)
        labels = np.asarray(learnt.model.predict(public.X[late]), dtype=np.int64)
        everything = Answers(
            np.concatenate([answers.asked, late]),
            np.concatenate([answers.labels, labels]),
            n_teachers=answers.n_teachers,
        )
        return Released(learnt.model, everything)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return self.answering.measure(model, test)

    def attacks(self) -> list[SampledAttack]:
        """Worst-case pairs of private sets for an audit, of each of the two parts."""
        attacks = self.answering.attacks()
        return attacks if self.learning is None else attacks + self.learning.attacks()


@dataclass(frozen=True)
class UniversalOverSvt(Universal):
    """The same with A_binClas in place of AgPrivCl: one record moves one vote (NB20 Remark 12).

    **Guarantee.** (eps, delta)-DP: A_binClas is (share eps, delta)-DP, SSPP ((1 - share) eps, 0)-DP.
    """


def first_queries(vc: int, alpha: float, beta: float) -> int:
    """m_o of NB20 Algorithm 4, ``32 (d ln(1/alpha) + ln(1/beta))/alpha``, rounded up."""
    return math.ceil(32 * (vc * math.log(1 / alpha) + math.log(1 / beta)) / alpha)


def calibrate(options: Options, setting: Setting) -> Universal:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    hypotheses = common.chosen_class(options.hypotheses, setting, "universal")
    m, first, paper = setting.n_public, options.first, options.calibration == "paper"
    plain = options.answering == "svt"
    common.at_most("first", first, m, "auto, or ")
    if paper and plain:
        raise ConfigError("mechanism.calibration", "paper", "tight with mechanism.answering=svt")
    if paper and first is not None:
        raise ConfigError("mechanism.first", first, "auto with mechanism.calibration=paper")
    if first is None:
        m_o = first_queries(hypotheses.vc_dimension(setting.n_features), options.alpha, options.beta)
        # with m_o points or fewer half of them, so that both parts have something to do
        first = min(m_o, m) if paper or m > m_o else max(1, m // 2)
    alone = first == m
    part = replace(setting, n_public=first, eps=setting.eps if alone else options.share * setting.eps)
    with with_part(part.eps, setting.eps):
        answering = _plain(options, part) if plain else agprivcl.calibrate(options, part, "universal")
    of_kind = UniversalOverSvt if plain else Universal
    if alone:
        return of_kind(first, answering, None)
    common.listable(hypotheses, first, setting, "a smaller mechanism.first")
    eps_left = setting.eps - part.eps
    if part.eps + eps_left > setting.eps:  # rounded up
        eps_left = math.nextafter(eps_left, 0.0)
    return of_kind(first, answering, sspp.Sspp(eps_left, hypotheses, first))


def _plain(options: Options, setting: Setting) -> SvtAnswers:
    """Calibrate A_binClas for the first points."""
    s, hypotheses = setting, common.chosen_class(options.hypotheses, setting, "universal")
    common.listable(hypotheses, 1, s, "what would do: mechanism.hypotheses=stumps")
    mechanism = stable_labels(
        *(s.eps, s.delta, s.n_public, s.n_teachers),
        rule="tight",
        cutoff=options.cutoff,
        n_records=s.n_private,
    )
    return SvtAnswers(mechanism, common.Classroom(hypotheses, s, uses_estimator=options.teachers == "own"))
