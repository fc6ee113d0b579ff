"""Histograms of the teachers' scores, and their release (BTT18, long version, Algorithms 6 to 8)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from pate_cli.mechanisms.base import Sample, SampledAttack
from pate_cli.mechanisms.votes import Steps, distance_to_instability
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.teachers import Ensemble
from pate_cli.types import FloatArray, IntArray, PrivacyLoss, _Private

__all__ = ["ScoreBins", "SoftSession", "attacks", "score_bins"]


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


def score_bins(ensemble: Ensemble, X: Any, n_bins: int) -> ScoreBins:
    """Bins of the teachers' scores of class 1 on the rows of X. PRIVATE."""
    bins = ScoreBins.empty(X.shape[0], n_bins)
    with sklearn.config_context(assume_finite=True):
        for teacher in ensemble.teachers:
            bins.add(teacher.scores(X))
    return bins


class SoftSession:
    """Answer queries with the middle of a stable bin, or with bottom.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record: a query is one or
    two adaptive queries of the sparse vector technique, calibrated for ``2 m`` of them and ``2 T``
    refusals. Distances and fullest bins meet the two conditions of its proof (see `ScoreBins` and
    `pate_cli.mechanisms.stable.StableSession`). Middles of stable bins are released.

    Parameters
    ----------
    calibration : SvtCalibration or None
        With doubled T and ell; None for no privacy.
    door : Door
    runs : int
        R, independent runs side by side that are asked the same.
    """

    def __init__(self, calibration: SvtCalibration | None, door: Door, runs: int = 1) -> None:
        self.runs = runs
        self._door = door
        self._tests = None if calibration is None else door.above_threshold(calibration, runs)

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
        if self._tests is None:
            exact = np.repeat(plain[:, None], self.runs, axis=1)
            passed = self._door.gaussian(exact, sensitivity=1.0, sigma=0.0, releases=len(plain))
            return passed, np.ones(shape, dtype=bool)
        scores, reached = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        for j in range(len(plain)):
            if self._tests.exhausted:
                break
            at = slice(j, j + 1)
            first = self._tests.test(plain_dist[at], plain[at])
            again = (first.reached & ~first.above)[0]
            second = self._tests.test(shifted_dist[at], shifted[at], among=again)
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
        return self._tests.spent() if self._tests else PrivacyLoss(math.inf, 0.0, "no noise")


def attacks(c: SvtCalibration, n_teachers: int, n_bins: int, m: int) -> list[SampledAttack]:
    """Worst-case scores of m queries for an audit: one teacher's scores differ between D and D'.

    Returns
    -------
    list of SampledAttack
        Samples of shape (runs, m): the score released for each query, -1 for bottom, -2 where the run took
        no more.
    """
    steps, w, last = Steps(n_teachers), c.threshold, min(c.cutoff // 2, m - 1)
    up, critical = steps.up, steps.critical
    kinds = {
        "every query critical": [critical] * m,
        "low thresholds survive, then critical": [up(0.7 * w)] * (m - last) + [critical] * last,
        "all at the threshold, a score more": [up(w)] * m,
        "T failures expected, a score more": [up(c.margin(min(0.5, c.cutoff / c.ell)))] * m,
        "more and less in turn": steps.in_turn(w, m),
    }
    return [
        SampledAttack(name, _sampler(c, n_teachers, n_bins, each), runs=80_000)
        for name, each in kinds.items()
    ]


def _sampler(c: SvtCalibration, K: int, B: int, steps: Sequence[tuple[int, int]]) -> Sample:
    """Put scores to `SoftSession`: on the two sides, so many teachers with the high one."""

    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        high = np.array([step[int(neighbour)] for step in steps])
        # a little beside the edges: both partitions see two full bins, and so do both tests
        scores = np.where(np.arange(K)[:, None] < high, 1 - 0.75 / B, 0.75 / B)
        door = Door.seeded(int(rng.integers(2**63)))
        released, reached = SoftSession(c, door, runs).ask(ScoreBins.of(scores, B))
        return np.where(reached, np.where(np.isnan(released), -1.0, released), -2.0).T

    return sample
