"""Soft labels (BTT18, long version, Algorithms 6 to 8): teachers give scores, bins of scores are released.

A query's scores are put into bins of width alpha. If the fullest bin is stable, its middle is the
answer; if not, fresh noise, and the fullest of the bins shifted by alpha/2 is tested; if that is
not stable either, the answer is bottom. The student learns from the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli import learners, queries, students, teachers
from pate_cli.checks import Real, option
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.base import Mechanism, Sample, SampledAttack
from pate_cli.mechanisms.sparse_vector import CALIBRATION, CUTOFF, auto_cutoff, fewest_teachers
from pate_cli.mechanisms.stable import StableSession
from pate_cli.mechanisms.votes import distance_to_instability, max_distance
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.types import (
    UNANSWERED,
    Answers,
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
    _Private,
)

__all__ = ["Options", "ScoreBins", "SoftPlan", "SoftService", "calibrate"]


class _Width:
    """1 over a whole number: the width of a bin."""

    def take(self, value: object) -> float:
        width = Real(1e-6, 0.5, closed_below=True).take(value)
        if abs(round(1 / width) * width - 1) > 1e-3:  # 0.333 is meant to be a third
            raise ValueError
        return width

    def describe(self) -> str:
        return "1 over a whole number of at least 2, as 0.1"


_WIDTH = _Width()


@dataclass(frozen=True, repr=False, eq=False)
class ScoreBins(_Private):
    """Histograms of K teachers' scores on m points, over both partitions. PRIVATE.

    Changing one record changes one teacher, so at most one score a query: in each histogram at most
    one unit leaves a bin and at most one enters another. That is a moved vote, or half of one, so the
    distance of `pate_cli.mechanisms.votes` has sensitivity 1, and where the fullest bin changes, it is 0.

    Attributes
    ----------
    plain : ndarray of int64, shape (m, B)
        Bins [i/B, (i+1)/B); the last one holds 1 as well.
    shifted : ndarray of int64, shape (m, B - 1)
        Bins [(i + 1/2)/B, (i + 3/2)/B); the two half bins at the ends are left out.
    """

    plain: IntArray
    shifted: IntArray

    @classmethod
    def of(cls, scores: FloatArray, n_bins: int) -> ScoreBins:
        """Count scores in [0, 1], shape (K, m)."""
        bins = cls.empty(scores.shape[1], n_bins)
        for row in scores:
            bins.add(row)
        return bins

    @classmethod
    def empty(cls, n_points: int, n_bins: int) -> ScoreBins:
        """No scores yet."""
        return cls(np.zeros((n_points, n_bins), np.int64), np.zeros((n_points, n_bins - 1), np.int64))

    def add(self, scores: FloatArray) -> None:
        """Count one teacher's scores, shape (m,)."""
        n_bins = self.plain.shape[1]
        rows = np.arange(len(scores))
        self.plain[rows, np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)] += 1
        shifted = np.floor(scores * n_bins - 0.5).astype(np.int64)
        inside = (shifted >= 0) & (shifted < n_bins - 1)
        self.shifted[rows[inside], shifted[inside]] += 1

    def fullest(self) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
        """Middle of the fullest bin and its distance to instability, plain and shifted, shapes (m,)."""
        n_bins = self.plain.shape[1]
        shifted = self.shifted if n_bins > 2 else np.pad(self.shifted, ((0, 0), (0, 1)))
        return (
            (np.argmax(self.plain, axis=1) + 0.5) / n_bins,
            distance_to_instability(self.plain),
            (np.argmax(shifted, axis=1) + 1.0) / n_bins,
            distance_to_instability(shifted),
        )

    def __repr__(self) -> str:
        return f"ScoreBins(n_queries={len(self.plain)}, n_bins={self.plain.shape[1]})"


class SoftService:
    """Answer queries with the middle of a stable bin, or with bottom.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record: a query is one or
    two adaptive queries to a `StableSession` calibrated for ``2 m`` of them and ``2 T`` refusals, of
    functions that meet its two conditions (see `ScoreBins`). Middles of bins are what is released.

    Parameters
    ----------
    calibration : SvtCalibration or None
        With doubled T and ell; None for no privacy.
    door : Door
    runs : int
        R, independent runs side by side that are asked the same; a learner at work is the case of one.
    """

    def __init__(self, calibration: svt.SvtCalibration | None, door: Door, runs: int = 1) -> None:
        self.runs = runs
        self._door = door
        self._stable: StableSession[float] | None = None
        if calibration is not None:
            self._stable = StableSession(calibration, door, runs)

    def ask(self, bins: ScoreBins) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Put queries to every run, in order, until 2 T refusals.

        A query whose first test is the last refusal there may be is answered with bottom.

        Returns
        -------
        scores : ndarray of float64, shape (m, R)
            NaN for bottom.
        reached : ndarray of bool, shape (m, R)
            Whether the run still took queries.
        """
        plain, plain_dist, shifted, shifted_dist = bins.fullest()
        shape = (len(plain), self.runs)
        stable = self._stable
        if stable is None:
            exact = np.repeat(plain[:, None], self.runs, axis=1)
            passed = self._door.gaussian(exact, sensitivity=1.0, sigma=0.0, releases=len(plain))
            return passed, np.ones(shape, dtype=bool)
        scores, reached = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        for j in range(len(plain)):
            if stable.exhausted:
                break
            at = slice(j, j + 1)
            first = stable.test(plain_dist[at], plain[at])
            again = (first.reached & ~first.above)[0]
            second = stable.test(shifted_dist[at], shifted[at], among=again)
            for found in (first, second):
                scores[j, found.above[0]] = np.asarray(found.values)[0]
            reached[j] = first.reached[0]
        return scores, reached

    def answer_all(self, bins: ScoreBins) -> list[float | None]:
        """Answer in order until 2 T refusals, in one run; may give fewer than asked."""
        if self.runs != 1:
            raise ValueError(f"answers are of one run, and there are {self.runs}")
        scores, reached = self.ask(bins)
        return [None if math.isnan(score) else score for score in scores[reached].tolist()]

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: a report."""
        return self._stable.spent() if self._stable else PrivacyLoss(math.inf, 0.0, "no noise")


@dataclass(frozen=True)
class SoftPlan(Mechanism):
    """Soft labels, calibrated; see `SoftService` for the guarantee.

    Attributes
    ----------
    setting : Setting
    n_bins : int
        B, at least 2.
    cutoff : int
        T: queries that may go unanswered, if both their tests fail.
    calibration : SvtCalibration or None
        For 2 T and twice the number of queries; None at eps = inf.
    """

    persons = "parts"
    setting: Setting
    n_bins: int
    cutoff: int
    calibration: svt.SvtCalibration | None

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        c = self.calibration
        if c is None:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        return PrivacyLoss(c.eps, c.delta, f"sparse vector, {c.rule}: {c.cutoff} failed tests of bins")

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    def describe(self) -> dict[str, Any]:
        """Its public numbers; `tests` are the sub-queries the noise is calibrated for."""
        c = self.calibration
        numbers: dict[str, Any] = {
            "ell": self.setting.n_public,
            "width": 1 / self.n_bins,
            "cutoff": self.cutoff,
        }
        if c is None:
            return numbers
        return numbers | {
            "rule": c.rule,
            "tests": c.ell,
            "failed_tests": c.cutoff,
            "threshold": c.threshold,
            "threshold_scale": c.threshold_scale,
            "query_scale": c.query_scale,
            "redraw": c.redraw,
            "noise": c.noise,
        }

    def unanswered(self) -> str | None:
        """Say how many queries may fail both tests; see `Mechanism`."""
        if self.calibration is None:
            return None
        return (
            f"at most {self.cutoff:,} of {self.setting.n_public:,} queries stay unanswered before the cutoff"
            f" ends the run, as {self.calibration.cutoff:,} failed tests do"
        )

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Train teachers, ask for the score of every public point, fit the student on the scores."""
        records = private.records
        s = self.setting
        learner = learners.make_learner(s.teacher[0], s.teacher[1], seed=None, n_classes=2)
        ensemble = teachers.train(records, n_teachers=s.n_teachers, learner=learner, rng=rng, n_classes=2)
        order = queries.passive_order(public.n_points, rng)
        service = SoftService(self.calibration, door)
        released = service.answer_all(score_bins(ensemble, public.X[order], self.n_bins))
        asked = order[: len(released)]
        scores = np.array([np.nan if score is None else score for score in released])
        labels = np.where(np.isnan(scores), UNANSWERED, scores >= 0.5).astype(np.int64)
        model = fit_on_scores(s, public, asked, scores, rng)
        return Released(model, Answers(asked, labels, n_teachers=s.n_teachers), service.spent())

    def attacks(self) -> list[SampledAttack]:
        """Worst-case scores for an audit, put to `SoftService` itself."""
        return _attacks(self)


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=soft`."""

    width: float = option(0.1, _WIDTH)
    calibration: svt.Calibration = option("tight", CALIBRATION)
    cutoff: int | None = option("auto", CUTOFF)


def calibrate(options: Options, setting: Setting) -> SoftPlan:
    """Check the options and calibrate; refuse what cannot work.

    Raises
    ------
    ConfigError
        If an option's value, the teacher or the student is not accepted.
    InfeasibleError
        If even unanimous scores would go unanswered half of the time.
    """
    if setting.n_classes != 2:
        accepted = f"a mechanism for {setting.n_classes} classes, as gaussian; soft labels are of two"
        raise ConfigError("mechanism.name", "soft", accepted)
    n_bins, rule, cutoff = round(1 / options.width), options.calibration, options.cutoff
    if cutoff is not None and cutoff > setting.n_public:
        accepted = f"auto, or a whole number from 1 to the number of queries, {setting.n_public}"
        raise ConfigError("mechanism.cutoff", cutoff, accepted)
    _check_learners(setting)
    if math.isinf(setting.eps):
        return SoftPlan(setting, n_bins, setting.n_public, None)
    eps, delta, tests, K = setting.eps, setting.delta, 2 * setting.n_public, setting.n_teachers
    try:
        T = max(1, auto_cutoff(eps, delta, tests, K, rule) // 2) if cutoff is None else cutoff
        c, least = svt.calibrate(rule, eps, delta, tests, 2 * T), svt.calibrate(rule, eps, delta, tests, 2)
    except ValueError as error:
        accepted = f"tight or liu2021 at eps={eps:g}; {error}"
        raise ConfigError("mechanism.calibration", rule, accepted) from error
    best = max_distance(K)
    if c.threshold >= best or c.p_unstable(best) > 0.5:
        fewer = "; or mechanism.cutoff=1" if T > 1 and fewest_teachers(least) <= K else ""
        raise InfeasibleError(
            f"mechanism=soft cannot answer with {K} teachers at eps={eps:g}, cutoff={T}"
            f" (2 x {T} failed tests), calibration={rule}: unanimous scores have"
            f" distance {best}, the threshold is {c.threshold:.1f};"
            f" what would do: at least {fewest_teachers(c)} teachers (teacher.count, or less teacher.size)"
            f"{fewer}"
        )
    return SoftPlan(setting, n_bins, T, c)


def _check_learners(setting: Setting) -> None:
    estimator, params = setting.teacher
    if not hasattr(learners.make_learner(estimator, params, seed=0, n_classes=2), "predict_proba"):
        accepted = "a learner with scores in [0, 1] (predict_proba), as logistic, with mechanism=soft"
        raise ConfigError("teacher.estimator", estimator, accepted)
    X = np.random.default_rng(0).random((40, 8))
    scores = np.where(X[:, 0] > 0.5, 0.8, 0.1)
    fit_on_scores(setting, PublicPoints(X), np.arange(40), scores, np.random.default_rng(0))


def score_bins(ensemble: teachers.Ensemble, X: Any, n_bins: int) -> ScoreBins:
    """Bins of the teachers' scores of class 1 on the rows of X. PRIVATE."""
    import sklearn

    bins = ScoreBins.empty(X.shape[0], n_bins)
    with sklearn.config_context(assume_finite=True):
        for teacher in ensemble.teachers:
            bins.add(teacher.scores(X))
    return bins


def fit_on_scores(
    setting: Setting, public: PublicPoints, asked: IntArray, scores: FloatArray, rng: np.random.Generator
) -> Any:
    """Fit a student on scores: each point once with label 1 and weight p, once with 0 and 1 - p.

    Parameters
    ----------
    setting : Setting
    public : PublicPoints
    asked : ndarray of int64, shape (q,)
    scores : ndarray of float64, shape (q,)
        NaN where unanswered: left out, or 1/2 where the student takes random labels for these.
    rng : Generator

    Raises
    ------
    ConfigError
        If the student cannot learn from weighted records.
    """
    if setting.unanswered == "random":
        scores = np.where(np.isnan(scores), 0.5, scores)
    weights = np.concatenate([scores, 1 - scores])
    labels = np.repeat([1, 0], len(asked))
    used = weights > 0
    return students.fit_student(
        public,
        Answers(np.concatenate([asked, asked])[used], labels[used]),
        estimator=setting.student[0],
        params=setting.student[1],
        unanswered="drop",
        rng=rng,
        n_classes=2,
        seed=int(rng.integers(2**31)),
        weights=weights[used],
    )


def _attacks(plan: SoftPlan) -> list[SampledAttack]:
    """Worst-case scores for an audit: of each, D and a D' in which one teacher's scores differ.

    Parameters
    ----------
    plan : SoftPlan
        With a calibration.

    Returns
    -------
    list of SampledAttack
        Samples of shape (runs, m): the score released for each query, -1 for bottom, -2 where the run took
        no more.
    """
    c = plan.calibration
    if c is None:
        raise ValueError("nothing to attack at eps = inf")
    K, m = plan.n_teachers, plan.setting.n_public
    half, most = K // 2, max_distance(K) - 1

    def up(distance: float) -> tuple[int, int]:  # teachers with the high score, on D and on D'
        d = min(max(0, math.floor(distance)), most)
        return half + d + 2, half + d + 1

    critical = ((K + 1) // 2, (K + 1) // 2 - 1)
    last, more = min(plan.cutoff, m - 1), up(c.threshold)
    kinds: list[tuple[str, list[tuple[int, int]]]] = [
        ("every query critical", [critical] * m),
        ("low thresholds survive, then critical", [up(0.7 * c.threshold)] * (m - last) + [critical] * last),
        ("all at the threshold, a score more", [more] * m),
        ("T failures expected, a score more", [up(c.margin(min(0.5, c.cutoff / c.ell)))] * m),
        ("more and less in turn", [(more, (more[1], more[0]))[j % 2] for j in range(m)]),
    ]
    return [SampledAttack(name, _sampler(plan, c, steps), runs=80_000) for name, steps in kinds]


def _sampler(plan: SoftPlan, c: svt.SvtCalibration, steps: list[tuple[int, int]]) -> Sample:
    K, B = plan.n_teachers, plan.n_bins

    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        high = np.array([step[int(neighbour)] for step in steps])
        # a little beside the edges: both partitions see two full bins, and so do both tests
        scores = np.where(np.arange(K)[:, None] < high, 1 - 0.75 / B, 0.75 / B)
        noise = Door.seeded(int(rng.integers(2**63)))
        told, reached = SoftService(c, noise, runs).ask(ScoreBins.of(scores, B))
        return np.where(reached, np.where(np.isnan(told), -1.0, told), -2.0).T

    return sample
