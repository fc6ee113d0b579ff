"""Columns of a record, mapped to bounded intervals and bins that public points span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.features.stable_rows import UNIT
from pate_cli.matrices import dense, deviations
from pate_cli.types import FloatArray, IntArray

__all__ = ["FEW", "HUGE", "MOST_LANDMARKS", "PublicBins", "PublicColumns", "is_text"]

FEW = 60
"""Public points below which columns are shuffled to span more, and most of their ranks are chance."""
_LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # ranks with a knot
_FEW_LEVELS = (0.15, 0.5, 0.85)  # the same of few points
_FARTHEST = 3.0  # score beyond which no value goes
_UNITS = (0.75, 1.25)  # standard deviation of the logarithms of spreads: of one unit up to, of several from
_SCALED = 0.01  # the same, below which the columns have been scaled
_BY_RANK = 12  # weight of ranks alone, against the number of columns
_BINS = 32  # of a column at most
_MOST_BINS = 128
_BINNED = 32  # columns with bins at most, so that they add less than 1 to the norm of the longest features
_MOSTLY = 0.5  # share of the public points with a column's most common value, where others are rare
_MOST_RARE = 0.5  # rare values of a public point, on average, at most
_HEIGHT = 2.0  # of a bin's feature: the others of a record have norm 1 or so
HUGE = 1e100  # values are clipped to it: squares and differences are finite
MOST_LANDMARKS = 500
_MOST_SPLINES = 4096


@dataclass(frozen=True, eq=False)
class PublicColumns:
    """A map of each column to a bounded interval, so that any finite record is an ordinary one. PUBLIC.

    - *Numbers*, columns of three or more public values: the normal score of the value's rank among the public
      points, by straight lines between a few ranks, the outer ones continued up to a score of 3. Columns may
      have one unit, and what varies more then may say more: each of J is multiplied by its standard deviation
      to the power of J/(J + 12), scaled to mean square 1, where the logarithms of the deviations have a
      standard deviation of at most .75; from there to 1.25, where units differ, the power falls to 0.
    - *Flags*, columns of two public values, and all columns of text: clipped to their range. Flags are
      divided by it.
    - Columns that are constant among the public points are left out.
    """

    kept: IntArray  # the d' columns that vary
    low: FloatArray  # bounds of each of these
    high: FloatArray
    scale: FloatArray  # divisor of each
    numbers: IntArray  # which of these are numbers
    knots: tuple[FloatArray, ...]  # of each number: values, ascending
    scores: tuple[FloatArray, ...]  # and their scores

    @classmethod
    def of(cls, public: Any) -> PublicColumns:
        """Learn the columns of public points, ndarray or csr_matrix of shape (m, d), finite numbers."""
        if is_text(public):
            low, high = (dense(side).ravel() for side in (public.min(axis=0), public.max(axis=0)))
            columns, varies = np.zeros((0, len(low))), high > low
        else:
            columns = np.clip(dense(public), -HUGE, HUGE)
            low, high, varies = columns.min(axis=0), columns.max(axis=0), deviations(columns) > 0
        kept = np.flatnonzero(varies)
        low, high = np.minimum(low[kept], 0.0), np.maximum(high[kept], 0.0)
        scale = np.ones(len(kept)) if is_text(public) else high - low
        numbers: list[int] = []
        knots: list[FloatArray] = []
        scores: list[FloatArray] = []
        for place, column in enumerate(columns.T[kept]):
            values, counts = np.unique(column, return_counts=True)
            if len(values) >= 3:
                numbers.append(place)
                column_knots, column_scores = _normal_scores(values, counts)
                knots.append(column_knots)
                scores.append(column_scores)
        factors = _factors(columns.T[kept[numbers]].std(axis=1)) if numbers else np.zeros(0)
        scores = [factor * each for factor, each in zip(factors, scores, strict=True)]
        return cls(kept, low, high, scale, np.array(numbers, np.int64), tuple(knots), tuple(scores))

    def apply(self, X: Any) -> Any:
        """Map records of shape (n, d) to (n, d'), a row by itself: an ndarray, or a csr_matrix of text."""
        if is_text(X):
            X = X[:, self.kept].astype(np.float64)
            X.data = np.clip(X.data, self.low[X.indices], self.high[X.indices])
            return X
        raw = np.ascontiguousarray(dense(X)[:, self.kept])
        out = np.clip(raw, self.low, self.high) / self.scale
        for j, knots, scores in zip(self.numbers, self.knots, self.scores, strict=True):
            out[:, j] = np.interp(raw[:, j], knots, scores)
        return out

    def splines(self, points: Any) -> FloatArray:
        """Evaluate a linear spline basis of the numbers at mapped points, shape (n, K); none of very many.

        An inner product of two rows is, in each column, the covariance of a random walk.
        """
        bases = [np.zeros((points.shape[0], 0))]
        if sum(map(len, self.scores)) > _MOST_SPLINES:
            return bases[0]
        for j, scores in zip(self.numbers, self.scores, strict=True):
            ways = np.diff(scores)
            at, ways = scores[:-1][ways > 0], ways[ways > 0]
            bases.append(np.clip((points[:, [j]] - at) / ways, 0.0, 1.0) * np.sqrt(ways))
        return np.hstack(bases)


@dataclass(frozen=True, eq=False)
class PublicBins:
    """A feature for each bin of the values that a column seldom takes. PUBLIC.

    Where a column has the same value at half of the public points or more (a gain that most people do not
    have), a kernel of all columns hardly depends on its other values, and the class need not be smooth in
    them. Where public points have more than half a rare value each (counts of words), there are no bins.
    """

    columns: IntArray
    common: FloatArray  # the most common public value of each column, which is in no bin
    cuts: tuple[FloatArray, ...]  # between the bins of each column, ascending

    @classmethod
    def of(cls, public: Any, numbers: IntArray, fewest: float) -> PublicBins:
        """Make bins of at least `fewest` public points each, of columns of three or more public values."""
        m, binned = public.shape[0], []
        for j, column in zip(numbers, dense(public[:, numbers]).T, strict=True):
            values, counts = np.unique(column, return_counts=True)
            common = values[counts.argmax()]
            if counts.max() >= _MOSTLY * m:
                binned.append((j, common, np.sort(column[column != common])))
        if sum(len(rare) for *_, rare in binned) > _MOST_RARE * m:
            binned = []
        binned = sorted(binned, key=lambda each: -len(each[2]))[:_BINNED]
        binned = [each for each in binned if len(each[2]) >= 2 * fewest]
        most = min(_BINS, _MOST_BINS // max(len(binned), 1))
        cuts = tuple(_cuts(rare, max(fewest, len(rare) / most)) for *_, rare in binned)
        return cls(np.array([j for j, *_ in binned], np.int64), np.array([at for _, at, _ in binned]), cuts)

    @property
    def dimension(self) -> int:
        """Number of features."""
        return sum(len(cuts) + 1 for cuts in self.cuts)

    def write(self, X: Any, out: NDArray[np.float32]) -> None:
        """Write the features of records, in multiples of `UNIT`, over zeros of shape (n, dimension)."""
        first = 0
        for j, common, cuts in zip(self.columns, self.common, self.cuts, strict=True):
            column = dense(X[:, [j]])[:, 0]
            rows = np.flatnonzero(column != common)
            out[rows, first + np.searchsorted(cuts, column[rows])] = round(_HEIGHT / UNIT)
            first += len(cuts) + 1


def is_text(X: Any) -> bool:
    """Whether a table is sparse and of more columns than there can be landmarks."""
    return not isinstance(X, np.ndarray) and X.shape[1] > MOST_LANDMARKS


def _normal_scores(values: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Knots and the normal scores of their ranks, ties at the middle."""
    from scipy.special import ndtri

    m = counts.sum()
    ranks = (np.cumsum(counts) - counts / 2 + 0.5) / (m + 1)
    levels = _LEVELS if m >= FEW else _FEW_LEVELS
    at = np.unique([np.abs(ranks - level).argmin() for level in levels])
    if len(at) < 3:
        at = np.unique(np.linspace(0, len(values) - 1, len(levels)).round().astype(np.int64))
    values, scores = values[at], ndtri(ranks[at])
    ways = np.maximum([_FARTHEST + scores[0], _FARTHEST - scores[-1]], 0.0)
    room = ways * np.diff(values)[[0, -1]] / np.diff(scores)[[0, -1]]
    knots = np.concatenate([[values[0] - room[0]], values, [values[-1] + room[1]]])
    return knots, np.clip(np.concatenate([[-_FARTHEST], scores, [_FARTHEST]]), -_FARTHEST, _FARTHEST)


def _factors(spreads: FloatArray) -> FloatArray:
    """Factors for columns of these spreads, of mean square 1; all 1 where units differ."""
    least = spreads[spreads > 0].min(initial=np.inf)
    if np.isinf(least):
        return np.ones(len(spreads))
    logs = np.log(np.maximum(spreads, least))
    like, unlike = _UNITS
    share = np.clip((unlike - logs.std()) / (unlike - like), 0.0, 1.0) if logs.std() > _SCALED else 0.0
    factors = np.exp(share * len(logs) / (len(logs) + _BY_RANK) * (logs - logs.max()))
    scaled: FloatArray = factors / np.sqrt(np.mean(factors**2))
    return scaled


def _cuts(values: FloatArray, fewest: float) -> FloatArray:
    """Cut sorted values into bins of at least so many, half-way between those that differ."""
    levels, counts = np.unique(values, return_counts=True)
    cuts, seen, left = [], 0, len(values)
    for i, count in enumerate(counts.tolist()):
        seen, left = seen + count, left - count
        if seen >= fewest and left >= fewest:
            cuts.append(levels[i] / 2 + levels[i + 1] / 2)
            seen = 0
    return np.array(cuts)
