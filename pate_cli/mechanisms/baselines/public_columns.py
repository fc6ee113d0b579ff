"""Columns on one scale, and bounded, from public points alone: ranks for numbers, ranges for flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["KNOTS", "PublicColumns"]

_LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # ranks with a knot
KNOTS = len(_LEVELS) + 2
"""Of a column at most, the two outermost counted."""

_FEW_LEVELS = (0.15, 0.5, 0.85)  # of fewer points than this, whose other ranks are chance
_ENDS = (0.15, 0.85)  # of a straight line
_FEW = 60
_BY_CHANCE = 2.0  # of what is expected of chance, taken off what bends a column
_FARTHEST = 3.0  # score beyond which no value goes
_FARTHEST_STRAIGHT = 8.0  # the same on a straight line: what is linear in heavy tails is, out there too
_UNITS = (0.75, 1.25)  # standard deviation of the logarithms of spreads: of one unit up to, of several from
_BY_RANK = 12  # columns that go by rank alone, to be weighed against as many as there are
_SAME = 0.01  # standard deviation of these logarithms below which somebody has scaled the columns
_HUGE = 1e100  # values beyond are taken for it: its square, and differences, are finite
_SPARSE = 0.05  # density below which a sparse table is like text, and rare numbers keep their scale
_MOSTLY = 0.5  # share of the points a column is not 0 at, to be a column of numbers there too


@dataclass(frozen=True, eq=False)
class PublicColumns:
    """A map of each column to a bounded interval, so that any finite record is an ordinary one. PUBLIC.

    - *Numbers*, columns of three or more public values: the normal score of the value's rank among the
      public points, by straight lines between a few ranks, the outer ones continued up to a score of 3, and
      shrunk to one line as far as chance explains what is not straight. A normal column is hardly changed;
      heavy tails and unequal scales are gone. But columns may have one unit, and what varies more then may
      say more: each of J is multiplied by its spread to the power of J/(J + 12), in units in which the mean
      square of that is 1, where the logarithms of the spreads have a standard deviation of at most .75; from
      there to 1.25, where units differ, the power falls to 0. The more columns are so alike, the less it is
      chance. A spread is a standard deviation: where a table was scaled by these (`TableEncoder`) all are 1,
      and nothing changes.
    - *Flags*, columns of two public values: clipped to their range, divided by it.
    - Columns that are constant among the public points are left out.

    A sparse table of public density below 5% is like text: there only columns that are mostly not 0 are
    changed, as ranks of rare words would undo their weights; the others are clipped to their range.
    All values are shifted so that 0 stays 0, which no kernel of differences sees: sparse stays sparse.

    Attributes
    ----------
    kept : ndarray of int64, shape (d',)
        Columns that vary.
    low, high, scale : ndarray of shape (d',)
        Of flags and rare columns: bounds, and what to divide by.
    numbers : ndarray of int64, shape (J,)
        Which of the columns kept are numbers.
    starts : ndarray of int64, shape (J + 1,)
        Where the knots of each begin.
    knots, scores : ndarray of shape (K,)
        Values in ascending order in each, and the score of each less that of 0.
    factors : ndarray of shape (d',)
        What each column is multiplied by for its spread, in `scores`; 1 for flags.
    """

    kept: IntArray
    low: FloatArray
    high: FloatArray
    scale: FloatArray
    numbers: IntArray
    starts: IntArray
    knots: FloatArray
    scores: FloatArray
    factors: FloatArray

    @classmethod
    def of(cls, public: Any, *, straight: bool = False) -> PublicColumns:
        """Learn the columns of public points, ndarray or csr_matrix of shape (m, d), finite numbers.

        With `straight`, numbers keep their scale: one line through two ranks, as far as a score of 8.
        """
        import scipy.sparse as sp

        m = public.shape[0]
        if sp.issparse(public):
            low, high = (
                np.asarray(side.toarray()).ravel() for side in (public.min(axis=0), public.max(axis=0))
            )
            like_text = public.nnz < _SPARSE * m * public.shape[1]
            columns = sp.csc_matrix(public)
            filled = columns.getnnz(axis=0)
        else:
            public = np.asarray(public, dtype=np.float64)
            low, high, like_text = public.min(axis=0), public.max(axis=0), False
            columns = filled = None
        low, high = np.clip(low, -_HUGE, _HUGE), np.clip(high, -_HUGE, _HUGE)
        kept = np.flatnonzero(high > low)
        low, high = np.minimum(low[kept], 0.0), np.maximum(high[kept], 0.0)
        numbers, starts, knots, scores, spreads = [], [0], [], [], []
        for place, j in enumerate(kept):
            if like_text and filled[j] < _MOSTLY * m:
                continue
            column = columns[:, [j]].toarray().ravel() if columns is not None else public[:, j]
            column = np.clip(column, -_HUGE, _HUGE)
            values, counts = np.unique(column, return_counts=True)
            if len(values) < 3:
                continue
            found = _scores(values, counts, straight=straight)
            numbers.append(place)
            starts.append(starts[-1] + len(found[0]))
            knots.append(found[0])
            scores.append(found[1])
            spreads.append(float(column.std()))
        factors = np.ones(len(kept))
        if numbers and not like_text:
            factors[numbers] = _factors(np.array(spreads))
            scores = [each * factors[j] for each, j in zip(scores, numbers, strict=True)]
        scale = np.ones(len(kept)) if like_text else high - low
        return cls(
            kept,
            low,
            high,
            scale,
            numbers=np.array(numbers, np.int64),
            starts=np.array(starts, np.int64),
            knots=np.concatenate([np.zeros(0), *knots]),
            scores=np.concatenate([np.zeros(0), *scores]),
            factors=factors,
        )

    def apply(self, X: Any) -> Any:
        """Map records: (n, d) to (n, d'), a row by itself; an ndarray, or a csr_matrix for one."""
        import scipy.sparse as sp

        if sp.issparse(X):
            X = sp.csc_matrix(X[:, self.kept], dtype=np.float64, copy=True)
            ends = X.indptr[1:]
            raw = X.data.copy()
            at = np.repeat(np.arange(len(self.kept)), np.diff(X.indptr))
            X.data = np.clip(raw, self.low[at], self.high[at]) / self.scale[at]
            for number, j in enumerate(self.numbers):
                rows = slice(X.indptr[j], ends[j])
                X.data[rows] = self._ranked(raw[rows], number)
            return X.tocsr()
        raw = np.asarray(X, dtype=np.float64)[:, self.kept]
        out = np.clip(raw, self.low, self.high) / self.scale
        for number, j in enumerate(self.numbers):
            out[:, j] = self._ranked(raw[:, j], number)
        return out

    def splines(self, points: Any) -> FloatArray:
        """How far each number of mapped records has come on the way from each knot to the next.

        Times the root of the way's length: an inner product of two rows then is, in each column, how far both
        have come, the covariance of a random walk, and a weight on each is a function that turns at knots.

        Parameters
        ----------
        points : ndarray or csr_matrix of shape (n, d')
            As `apply` gives them.

        Returns
        -------
        ndarray of shape (n, K)
            A row by itself.
        """
        come, ways, _ = self._come(points)
        return np.clip(come, 0.0, 1.0) * np.sqrt(ways)

    def slopes(self, points: Any, weights: FloatArray) -> FloatArray:
        """Slope along each number of a function that is linear in the splines.

        Parameters
        ----------
        points : ndarray or csr_matrix of shape (n, d')
            As `apply` gives them.
        weights : ndarray of shape (K, q)
            Of the splines.

        Returns
        -------
        ndarray of shape (n, J, q)
        """
        come, ways, column = self._come(points)
        found = np.zeros((come.shape[0], len(self.numbers), weights.shape[1]))
        on = ((come >= 0) & (come < 1)) / np.sqrt(ways)
        for j in range(len(self.numbers)):
            of = column == j
            found[:, j] = on[:, of] @ weights[of]
        return found

    def _come(self, points: Any) -> tuple[FloatArray, FloatArray, IntArray]:
        """How far on each way, in ways, not bounded; the length of each, and which number's it is."""
        ways = np.diff(self.scores, append=0.0)
        ways[self.starts[1:] - 1] = 0.0  # from the last knot of a column
        there = np.flatnonzero(ways > 0)
        column = np.repeat(np.arange(len(self.numbers)), np.diff(self.starts))[there]
        come = dense(points[:, self.numbers])[:, column] - self.scores[there]
        return come / ways[there], ways[there], column

    def _ranked(self, values: FloatArray, number: int) -> FloatArray:
        knots = slice(self.starts[number], self.starts[number + 1])
        found: FloatArray = np.interp(values, self.knots[knots], self.scores[knots])
        return found


def _scores(values: FloatArray, counts: IntArray, *, straight: bool) -> tuple[FloatArray, FloatArray]:
    """Knots and the normal scores of their ranks, ties at the middle, less the score of 0."""
    from scipy.special import ndtri

    ranks = (np.cumsum(counts) - counts / 2 + 0.5) / (counts.sum() + 1)
    levels = _ENDS if straight else _LEVELS if counts.sum() >= _FEW else _FEW_LEVELS
    chosen = np.unique([np.abs(ranks - level).argmin() for level in levels])
    if len(chosen) < min(3, len(levels)):
        chosen = np.unique(np.linspace(0, len(values) - 1, len(levels)).round().astype(np.int64))
    values, scores = values[chosen], ndtri(ranks[chosen])
    if not straight and len(values) > 3:
        scores = _towards_a_line(values, scores, ranks[chosen], int(counts.sum()))
    steps, rises = np.diff(values)[[0, -1]], np.diff(scores)[[0, -1]]
    farthest = _FARTHEST_STRAIGHT if straight else _FARTHEST
    room = np.maximum([farthest + scores[0], farthest - scores[-1]], 0.0) * steps / rises
    knots = np.concatenate([[values[0] - room[0]], values, [values[-1] + room[1]]])
    scores = np.concatenate([[-farthest], scores, [farthest]])
    return knots, scores - np.interp(0.0, knots, scores)


def _factors(spreads: FloatArray) -> FloatArray:
    """What columns of these spreads are multiplied by, of mean square 1; all by 1 where units differ."""
    least = spreads[spreads > 0].min(initial=np.inf)
    if np.isinf(least):
        return np.ones(len(spreads))
    logs = np.log(np.maximum(spreads, least))
    like, unlike = _UNITS
    alike = np.clip((unlike - logs.std()) / (unlike - like), 0.0, 1.0) if logs.std() > _SAME else 0.0
    factors = np.exp(alike * len(logs) / (len(logs) + _BY_RANK) * (logs - logs.max()))
    found: FloatArray = factors / np.sqrt(np.mean(factors**2))
    return found


def _towards_a_line(values: FloatArray, scores: FloatArray, ranks: FloatArray, m: int) -> FloatArray:
    """Shrink the scores of m points to a line through them, all the way where chance explains what is left.

    By a positive-part James-Stein factor: a normal column keeps its own scale, so that chance in the ranks
    of few points does not bend what is straight.
    """
    density = np.exp(-scores * scores / 2) / np.sqrt(2 * np.pi)
    weights = m * density**2 / (ranks * (1 - ranks))  # one over the variance of a score, about
    apart = values / np.abs(values).max() - np.average(values / np.abs(values).max(), weights=weights)
    middle = np.average(scores, weights=weights)
    slope = weights @ (apart * (scores - middle)) / max(float(weights @ apart**2), 1e-300)
    left = scores - middle - slope * apart
    chance = _BY_CHANCE * (len(values) - 2)
    shrunk: FloatArray = scores - left * min(1.0, chance / max(float(weights @ left**2), 1e-300))
    return shrunk
