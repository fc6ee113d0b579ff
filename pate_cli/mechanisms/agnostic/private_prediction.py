"""Private prediction (LWY25 Lemma 4.1 and Theorem 4.2): labels of a few points, no hypothesis released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli.checks import Whole, option
from pate_cli.errors import InfeasibleError
from pate_cli.mechanisms.agnostic import common, relabel
from pate_cli.mechanisms.agnostic.shares import Shares, divide
from pate_cli.mechanisms.base import UNPROVED, Mechanism, Relabelling, SampledAttack
from pate_cli.privacy.composition import eps0_of, pure_eps
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Inner, Pure
from pate_cli.privacy.kinds import ExponentialChoice
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

__all__ = ["Options", "PrivatePrediction", "calibrate", "predict", "teachers_of_lemma"]


@dataclass(frozen=True)
class Options(common.HypothesisOptions):
    """Options of `mechanism=private_prediction`."""

    checked = ({"queries": 3},)

    hypotheses: str = option("stumps", common.EXTENDING)
    calibration: str = option("tight", common.CALIBRATION)
    queries: int = option(1, Whole(1))
    alpha: float = option(0.1, common.FRACTION)


@dataclass(frozen=True)
class PrivatePrediction(Mechanism):
    """Relabel a sample by a hypothesis that fits the rest, then answer queries by noisy votes on it.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one replaced private record, for all
    `n_queries` answers together and the student that learns from them: m answers of the same teachers are m
    adaptively composed vote_eps-DP mechanisms, so (inner_eps, inner_delta)-DP by the exact composition of
    Kairouz, Oh and Viswanath, and that is the inner algorithm of LWY25's transformation (`accounting`).
    Theorem 4.2 is the case of one query, with delta = 0: then eps is the loss *per query*. The teachers are
    not released (Dwork and Feldman 2018).
    """

    eps: float  # of all queries together
    delta: float
    division: Shares
    classroom: common.Classroom = field(repr=False)
    n_queries: int
    vote_eps: float  # of one answer, for fixed teachers
    eps_per_query: float  # pure loss of one query alone, from the private records on
    eps_composed: float  # loss of all queries, at delta, if each relabels a sample of its own
    n_teachers: int = field(default=0, kw_only=True)  # K

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) of all answers."""
        return PrivacyLoss(self.eps, self.delta, f"private prediction of {self.n_queries} queries")

    def loss(self, spent: Account) -> PrivacyLoss:
        """By the transformation, of the votes' exact composition."""
        if not spent.only(Inner, Pure):
            return UNPROVED
        delta = self.division.inner_delta
        return self.division.loss(spent, Pure.exact(spent, delta), delta)

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.n_queries

    @property
    def relabelling(self) -> Relabelling | None:
        """See `Mechanism`."""
        return Relabelling(relabel.relabel_with_rest, self.division.t)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {
            "eps": self.eps,
            "delta": self.delta,
            "calibration": self.division.calibration,
            "hypotheses": self.classroom.hypotheses.name,
            "ell": self.n_queries,
            "vote_eps": self.vote_eps,
            "eps_per_query": self.eps_per_query,
            "eps_composed": self.eps_composed,
            "n_teachers": self.n_teachers,
        } | self.division.describe()

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Answer `n_queries` public points; the student learns from the answers."""
        order = rng.permutation(public.n_points)[: self.n_queries]
        labels = self.answers(private.records, PublicPoints(public.X[order]), door, int(rng.integers(2**31)))
        answers = Answers(order, labels, n_teachers=self.n_teachers)
        model = self.classroom.student(public, answers, rng)
        return Released(model, answers)

    def answers(self, S: PrivateRecords, points: PublicPoints, door: Door, seed: int) -> IntArray:
        """LWY25 Theorem 4.2: relabel T by the rest of S, train teachers on T, answer by noisy votes."""
        relabelling, voting_noise = door.spawn(2)
        T, labels = self.division.relabelled(self.classroom.hypotheses, S, relabelling)
        once = np.ones(len(labels), dtype=np.int64)
        votes = self.classroom.votes(T, labels, once, self.n_teachers, points, seed)
        return predict(votes.counts[:, 1], votes.n_teachers, self.vote_eps, voting_noise)

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Accuracy of the class's best hypothesis on the test split. NOT DP."""
        return common.best_hypothesis(self.classroom.hypotheses, test)

    def attacks(self) -> list[SampledAttack]:
        """The lone teacher: one record is sampled and is the only teacher, and the query is 0."""
        n = max(2, math.ceil(self.division.n / self.division.t))
        division, classroom = replace(self.division, n=n, t=1), self.classroom.of_thresholds
        tiny = replace(self, division=division, classroom=classroom, n_teachers=1)
        points = PublicPoints(np.zeros((self.n_queries, 1)))

        def answers(private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> Any:
            return [tiny.answers(private, points, each, 0) for each in door.spawn(runs)]

        return [SampledAttack.on("lone teacher", common.lone_record(n), answers, 10_000)]


def predict(ones: IntArray, n_teachers: int, eps: float, door: Door) -> IntArray:
    """Answer queries, each by the exponential mechanism on its votes.

    **Guarantee.** eps-DP for each query by itself, if one record changes one teacher: label y has
    probability proportional to ``exp(eps count(y)/2)``, and one vote moves the difference of the
    counts by 2 (LWY25 Lemma 4.1; Dwork and Feldman 2018). `ones` are votes for class 1, shape (m,).
    """
    kind = ExponentialChoice(sensitivity=1.0, eps=eps, axis=0)
    labels: IntArray = door.release(np.array([n_teachers - ones, ones]), kind)
    return labels


def teachers_of_lemma(eps: float, alpha: float) -> int:
    """Teachers of LWY25 Lemma 4.1, ``ceil(6 ln(4/alpha)/eps)``."""
    return math.ceil(6 * math.log(4 / alpha) / eps)


def calibrate(options: Options, setting: Setting) -> PrivatePrediction:
    """Check the options and calibrate; see `pate_cli.mechanisms.base`."""
    name = "private_prediction"
    hypotheses = common.chosen_class(options.hypotheses, setting, name)
    alpha, m = options.alpha, options.queries
    common.at_most("queries", m, setting.n_public)
    delta = 0.0 if m == 1 else setting.delta
    d = divide(options.calibration, delta, hypotheses, setting, name)
    vote_eps = eps0_of(d.inner_eps, d.inner_delta, m)
    size = max(1, setting.n_private // setting.n_teachers)
    needed = teachers_of_lemma(vote_eps, alpha)
    teachers = needed if options.calibration == "paper" else max(1, d.t // size)
    # error of a unanimous vote; the lemma needs more teachers
    wrong = 1 / (1 + math.exp(min(vote_eps * teachers / 2, 700)))
    if teachers > d.t or wrong > alpha:
        unanimous = math.ceil(2 * math.log(1 / alpha - 1) / vote_eps) if alpha < 0.5 else 1
        least = needed if options.calibration == "paper" else unanimous * size
        raise InfeasibleError(
            f"mechanism={name} cannot answer {m} queries at eps={setting.eps:g} with error {alpha:g}: it "
            f"relabels {d.t} of {setting.n_private} private records, and needs {least} of them; what would "
            f"do: about {math.ceil(least * setting.n_private / d.t)} private records, a larger eps or "
            f"mechanism.alpha, fewer mechanism.queries, or a smaller teacher.size"
        )
    alone, _ = d.total(d.eps_in, vote_eps, 0.0)  # one query is an inner (vote_eps, 0)-DP algorithm
    classroom = common.Classroom(hypotheses, setting)
    composed = pure_eps(alone, m, delta)
    return PrivatePrediction(
        setting.eps, delta, d, classroom, m, vote_eps, alone, composed, n_teachers=teachers
    )
