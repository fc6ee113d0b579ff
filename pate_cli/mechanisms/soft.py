"""Soft labels (BTT18, long version, Algorithms 6 to 8): teachers have scores, bins of scores are released.

A query's scores are put into bins of width alpha. If the fullest bin is stable, its middle is the answer; if
not, fresh noise, and the fullest of the bins shifted by alpha/2 is tested; if that is not stable either, the
answer is bottom. The student learns from the scores. With `coarse` each query has a width of its own (section
5, "per-query precision parameters"), chosen by the answers to the queries before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray

from pate_cli.checks import Or, Real, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms import sparse_vector, teaching
from pate_cli.mechanisms.base import Mechanism, SampledAttack
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.votes import Steps, distance_to_instability
from pate_cli.privacy.above_threshold import AboveThreshold, SvtCalibration
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.privacy.kinds import GaussianNoise
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

__all__ = ["Options", "ScoreBins", "Soft", "SoftSession", "calibrate", "fit_on_scores", "score_bins"]


class _Width:
    """1 over a whole number: the width of a bin."""

    def take(self, value: object) -> float:
        width = Real(1e-6, 0.5, closed_below=True).take(value)
        if abs(round(1 / width) * width - 1) > 1e-3:  # 0.333 is meant to be a third
            raise ValueError
        return width

    def describe(self) -> str:
        return "1 over a whole number of at least 2, as 0.1"


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=soft`."""

    checked = ({"coarse": 0.5},)

    width: float = option(0.1, _Width())
    coarse: float | None = option(None, Or("null", _Width()))
    calibration: str = option("tight", sparse_vector.CALIBRATION)
    cutoff: int | None = option("auto", sparse_vector.CUTOFF)


def calibrate(options: Options, setting: Setting) -> Soft:
    """Check options, teacher and student, and calibrate; InfeasibleError where it cannot work.

    InfeasibleError if even unanimous scores would go unanswered half of the time.
    """
    if setting.n_classes != 2:
        accepted = f"a mechanism for {setting.n_classes} classes, as gaussian; soft labels are of two"
        raise ConfigError("mechanism.name", "soft", accepted)
    n_bins, rule, cutoff = round(1 / options.width), options.calibration, options.cutoff
    n_coarse = round(1 / options.coarse) if options.coarse else 0
    if n_coarse >= n_bins:
        accepted = f"null, or a width above mechanism.width={options.width:g}"
        raise ConfigError("mechanism.coarse", options.coarse, accepted)
    if cutoff is not None and cutoff > setting.n_public:
        accepted = f"auto, or a whole number from 1 to the number of queries, {setting.n_public}"
        raise ConfigError("mechanism.cutoff", cutoff, accepted)
    if not hasattr(teaching.make_teacher(setting), "predict_proba"):
        accepted = "a learner with scores in [0, 1] (predict_proba), as logistic, with mechanism=soft"
        raise ConfigError("teacher.estimator", setting.teacher[0], accepted)
    X = np.random.default_rng(0).random((40, 8))
    scores = np.where(X[:, 0] > 0.5, 0.8, 0.1)
    fit_on_scores(setting, PublicPoints(X), np.arange(40), scores, np.random.default_rng(0))
    if math.isinf(setting.eps):
        return Soft(setting, n_bins, setting.n_public, None, n_coarse)
    # a query is up to two tests, and goes unanswered after two failed ones
    eps, delta, n_tests, K = setting.eps, setting.delta, 2 * setting.n_public, setting.n_teachers
    T = max(1, sparse_vector.auto_cutoff(eps, delta, n_tests, K, rule) // 2) if cutoff is None else cutoff
    tests, least = (sparse_vector.calibrated(rule, eps, delta, n_tests, failed) for failed in (2 * T, 2))
    if not sparse_vector.can_answer(tests, K):
        ways = ["mechanism.cutoff=1"] if T > 1 and sparse_vector.fewest_teachers(least) <= K else []
        options_used = f"cutoff={T} (2 x {T} failed tests)"
        raise sparse_vector.cannot_answer(tests, K, options_used, ways, mechanism="soft")
    return Soft(setting, n_bins, T, tests, n_coarse)


@dataclass(frozen=True)
class Soft(Mechanism):
    """Soft labels, calibrated; see `SoftSession` for the guarantee."""

    persons = "parts"
    setting: Setting
    n_bins: int  # B, at least 2
    cutoff: int  # T: queries that may go unanswered, if both their tests fail
    tests: SvtCalibration | None  # for 2 T and twice the number of queries; None at eps = inf
    n_coarse: int = 0  # bins of queries beside unanswered ones; 0 for n_bins everywhere

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        if self.tests is None:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        c = self.tests
        return PrivacyLoss(c.eps, c.delta, f"sparse vector, {c.rule}: {c.cutoff} failed tests of bins")

    @property
    def n_teachers(self) -> int:
        """K."""
        return self.setting.n_teachers

    @property
    def asks_at_most(self) -> int:
        """See `Mechanism`."""
        return self.setting.n_public

    def describe(self) -> dict[str, Any]:
        """Its public numbers; `tests` are the sub-queries the noise is calibrated for."""
        numbers = {"ell": self.setting.n_public, "width": 1 / self.n_bins, "cutoff": self.cutoff}
        numbers |= {"coarse": 1 / self.n_coarse} if self.n_coarse else {}
        if self.tests is None:
            return numbers
        c = asdict(self.tests)
        names = ("threshold", "threshold_scale", "query_scale", "redraw", "noise")
        numbers |= {"rule": c["rule"], "tests": c["ell"], "failed_tests": c["cutoff"]}
        return numbers | {name: c[name] for name in names}

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return self.tests is None or self.tests.rule == "tight"

    def after(self, spent: Account) -> PrivacyLoss:
        """See `Mechanism`: the pathwise loss."""
        return AboveThreshold.after(spent) if self.tests else self.guarantee

    def unanswered(self) -> str | None:
        """Say how many queries may fail both tests; see `Mechanism`."""
        if self.tests is None:
            return None
        return (
            f"stops after {self.cutoff:,} points without an answer, or {self.tests.cutoff:,} failed tests, "
            f"of {self.setting.n_public:,} points"
        )

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Train teachers, ask for the score of every public point, fit the student on the scores."""
        s = self.setting
        ensemble = teaching.train_teachers(s, private.records, rng)
        order, points = rng.permutation(public.n_points), public.seen(s.teacher_mapped).X
        session = SoftSession(self.tests, door)
        released = self.scores(session, ensemble.teachers, points[order])
        asked = order[: len(released)]
        scores = np.array([np.nan if score is None else score for score in released])
        labels = np.where(np.isnan(scores), UNANSWERED, scores >= 0.5).astype(np.int64)
        model = fit_on_scores(s, public, asked, scores, rng)
        return Released(model, Answers(asked, labels, n_teachers=s.n_teachers))

    def scores(self, session: SoftSession, teachers: Iterable[Any], X: Any) -> list[float | None]:
        """Ask for the scores of the rows of X, in order; with `n_coarse` each in bins of its own width.

        The bins are coarse where the nearest row asked before went unanswered, or had coarse bins itself:
        post-processing of public points and earlier answers, as adaptive queries are.
        """
        fine = score_bins(teachers, X, self.n_bins)
        if not self.n_coarse:
            return session.answer_all(fine)
        bins = fine, score_bins(teachers, X, self.n_coarse)
        released, is_coarse = list[float | None](), list[bool]()
        for j in range(X.shape[0]):
            near = _nearest(X, j) if j else None
            is_coarse.append(near is not None and (released[near] is None or is_coarse[near]))
            answer = session.answer_all(bins[is_coarse[j]].at(j))
            if not answer:
                break
            released += answer
        return released

    def attacks(self) -> list[SampledAttack]:
        """Worst-case scores for an audit: one teacher's scores differ between D and D'.

        Samples have shape (runs, m): the score released for each query, -1 for bottom, -2 where the run took
        no more.
        """
        if self.tests is None:
            raise ValueError("nothing to attack at eps = inf")
        c, m = self.tests, self.setting.n_public
        steps, w, last = Steps(self.n_teachers), c.threshold, min(c.cutoff // 2, m - 1)
        up, critical = steps.up, steps.critical
        kinds = {
            "every query critical": [critical] * m,
            "low thresholds survive, then critical": [up(0.7 * w)] * (m - last) + [critical] * last,
            "all at the threshold, a score more": [up(w)] * m,
            "T failures expected, a score more": [up(c.margin(min(0.5, c.cutoff / c.ell)))] * m,
            "more and less in turn": steps.in_turn(w, m),
        }

        def outputs(high: IntArray, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
            """Released scores where so many teachers have the high score of each query."""
            # a little beside the edges: both partitions see two full bins, and so do both tests
            low = 0.75 / self.n_bins
            scores = np.where(np.arange(self.n_teachers)[:, None] < high, 1 - low, low)
            session = SoftSession(self.tests, door, runs)
            released, reached = session.ask(ScoreBins.of(scores, len(high), self.n_bins))
            return np.where(reached, np.where(np.isnan(released), -1.0, released), -2.0).T

        return [
            SampledAttack.on(name, tuple(np.array(each).T), outputs, runs=80_000)
            for name, each in kinds.items()
        ]


def fit_on_scores(
    setting: Setting, public: PublicPoints, asked: IntArray, scores: FloatArray, rng: np.random.Generator
) -> Any:
    """Fit a student on scores: each point once with label 1 and weight p, once with 0 and 1 - p.

    A score is NaN where unanswered: left out, or 1/2 where the student takes random labels for these.
    ConfigError if the student cannot learn from weighted records.
    """
    if setting.unanswered == "random":
        scores = np.where(np.isnan(scores), 0.5, scores)
    weights = np.concatenate([scores, 1 - scores])
    labels = np.repeat([1, 0], len(asked))
    used = weights > 0
    twice = Answers(np.concatenate([asked, asked])[used], labels[used])
    return teaching.fit_student(setting, public, twice, rng, unanswered="drop", weights=weights[used])


@dataclass(frozen=True, repr=False, eq=False)
class ScoreBins(_Private):
    """Histograms of K teachers' scores on m points, over both partitions. PRIVATE.

    Changing one record changes one teacher, so at most one score a query: in each histogram at most one unit
    leaves a bin and at most one enters another. That is a moved vote, or half of one, so the distance to
    instability has sensitivity 1, and where the fullest bin changes, it is 0.
    """

    plain: IntArray  # bins [i/B, (i+1)/B), shape (m, B); the last one holds 1 as well
    shifted: IntArray  # bins [(i + 1/2)/B, (i + 3/2)/B), shape (m, B - 1); half bins at the ends left out

    @classmethod
    def of(cls, scores: Iterable[FloatArray], n_points: int, n_bins: int) -> ScoreBins:
        """Count each teacher's scores, of shape (m,), in [0, 1]."""
        bins = cls(np.zeros((n_points, n_bins), np.int64), np.zeros((n_points, n_bins - 1), np.int64))
        rows = np.arange(n_points)
        for score in scores:
            bins.plain[rows, np.minimum((score * n_bins).astype(np.int64), n_bins - 1)] += 1
            shifted = np.floor(score * n_bins - 0.5).astype(np.int64)
            inside = (shifted >= 0) & (shifted < n_bins - 1)
            bins.shifted[rows[inside], shifted[inside]] += 1
        return bins

    def at(self, j: int) -> ScoreBins:
        """Bins of one point."""
        return ScoreBins(self.plain[j : j + 1], self.shifted[j : j + 1])

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


def _nearest(X: Any, j: int) -> int:
    """Row before j that is nearest to row j, the first of several. Of public points."""
    before, row = X[:j], X[[j]]
    if sp.issparse(X):
        squares = before.multiply(before).sum(axis=1) - 2 * (before @ row.T).toarray()
        return int(np.argmin(np.asarray(squares).ravel()))
    return int(np.argmin(((before - row) ** 2).sum(axis=1)))


def score_bins(teachers: Iterable[Any], X: Any, n_bins: int) -> ScoreBins:
    """Bins of the teachers' scores of class 1 on the rows of X. PRIVATE."""
    with sklearn.config_context(assume_finite=True):
        return ScoreBins.of((teacher.scores(X) for teacher in teachers), X.shape[0], n_bins)


class SoftSession:
    """Answer queries with the middle of a stable bin, or with bottom.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record: a query is one or two
    adaptive queries of the sparse vector technique, calibrated (`tests`; None for no privacy) for ``2 m`` of
    them and ``2 T`` refusals. Distances and fullest bins meet the two conditions of its proof (see
    `ScoreBins` and `pate_cli.mechanisms.stable.StableSession`). Middles of stable bins are released.
    """

    def __init__(self, tests: SvtCalibration | None, door: Door, runs: int = 1) -> None:
        self.runs = runs  # independent, side by side, that are asked the same
        self._door = door
        self._tests = None if tests is None else AboveThreshold(tests, door, runs)

    def ask(self, bins: ScoreBins) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Put queries to every run, in order, until 2 T refusals: scores, and whether the run took the query.

        Both have shape (m, R). A score is NaN for bottom; so is that of a query whose first test is the last
        refusal allowed.
        """
        plain, plain_dist, shifted, shifted_dist = bins.fullest()
        shape = (len(plain), self.runs)
        if self._tests is None:
            exact = np.repeat(plain[:, None], self.runs, axis=1)
            passed = self._door.release(exact, GaussianNoise(sensitivity=1.0, sigma=0.0), len(plain))
            return passed, np.ones(shape, dtype=bool)
        scores, reached = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        for j in range(len(plain)):
            if self._tests.exhausted:
                break
            at = slice(j, j + 1)
            first = self._tests.test(plain_dist[at], plain[at])
            again = (first.reached & ~first.above)[0]
            second = self._tests.test(shifted_dist[at], shifted[at], among=again)
            for half in (first, second):
                scores[j, half.above[0]] = np.asarray(half.values)[0]
            reached[j] = first.reached[0]
        return scores, reached

    def answer_all(self, bins: ScoreBins) -> list[float | None]:
        """Answer in order until 2 T refusals, in one run; may give fewer than asked."""
        if self.runs != 1:
            raise ValueError(f"answers are of one run, and there are {self.runs}")
        scores, reached = self.ask(bins)
        return [None if math.isnan(score) else score for score in scores[reached].tolist()]
