"""Decision stumps: a threshold on any one column, in either direction, dense or sparse records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pate_cli.learners.hypotheses.hypothesis import (
    BinaryClassifier,
    Dichotomies,
    HypothesisClass,
    column,
    signed,
    weight_of_ones,
)
from pate_cli.learners.hypotheses.thresholds import cut_mistakes, cuts, gain_above
from pate_cli.matrices import dense
from pate_cli.types import FloatArray, IntArray

__all__ = ["MOST_CUTS", "MOST_POINTS", "StumpClassifier", "Stumps"]

MOST_CUTS = 300_000
"""Most cuts (columns times sample points) for `nearest`, which compares them pair by pair."""
MOST_POINTS = 2_000
"""Most sample points for `nearest`: a pair of columns takes time and memory of the order of their square."""
_CELLS = 10_000_000  # labels unpacked at once


class Stumps(HypothesisClass):
    """``1(x_j >= t)`` and ``1(x_j < t)`` over all columns j: axis-parallel cuts with both labelings.

    On one column, k distinct values have 2 k dichotomies. Stumps of different columns that label
    the sample alike are one dichotomy.
    """

    name = "stumps"

    def vc_dimension(self, n_features: int) -> int:
        """Largest v with ``C(v, v // 2) <= 2 d``: 2 for one column, 3 for two, about log2 d for many.

        Of v points, each column's order yields two subsets of each size (a beginning's and an end's),
        and all ``C(v, v // 2)`` of size ``v // 2`` are needed. Attained (Gey 2018, axis-parallel cuts).
        """
        v = 1
        while math.comb(v + 1, (v + 1) // 2) <= 2 * n_features:
            v += 1
        return v

    def dichotomies(self, X: Any) -> Dichotomies:
        """All of them, in O(d n log n)."""
        return _StumpDichotomies(X)

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> StumpClassifier:
        """Exact, in O(d n log n); of several best the first: 1 above a cut, lowest column, lowest cut."""
        gaps = _Gaps(X)
        gain = gaps.above(signed(y, sample_weight))
        # mistakes are a constant minus the gain of saying 1
        scores = np.concatenate([gain, gain[0] - gain])
        best = int(np.argmax(scores))
        return gaps.stump(best % len(gain), int(best < len(gain)))


class _Gaps:
    """The gaps between the distinct values of each column, in order: column 0's k + 1, then column 1's."""

    def __init__(self, X: Any) -> None:
        n, d = X.shape
        self.n_features = d
        if isinstance(X, np.ndarray):
            order = np.argsort(X, axis=0, kind="stable")
            col = np.repeat(np.arange(d), n)
            row = order.T.ravel()
            val = np.take_along_axis(X, order, axis=0).T.ravel().astype(float)
            self._implied = np.array([], dtype=np.int64)
        else:
            col, row, val, self._implied = _entries(X)
        self._row = row
        new = np.append(True, (col[1:] != col[:-1]) | (val[1:] != val[:-1]))
        self._group = np.flatnonzero(new)  # first entry of each distinct value
        group_col = col[self._group]
        self._column = np.flatnonzero(np.append(True, col[1:] != col[:-1]))  # first entry of each column
        self._implied_col = col[self._implied]
        # number of each column's first gap (a column has one more than values), and of all gaps
        self.start: IntArray = np.append(0, np.cumsum(np.bincount(group_col, minlength=d) + 1))
        self._place = np.arange(len(self._group)) + group_col  # where a value's gap stands
        # the value that ends each gap from above; inf for a column's last
        self.values: FloatArray = np.full(self.start[-1], np.inf)
        self.values[self._place] = val[self._group]

    def __len__(self) -> int:
        return int(self.start[-1])

    def above(self, weight: Any) -> Any:
        """Sum of `weight`, shape (n,), over the records above each gap; any dtype that adds up."""
        entries = np.append(weight, np.zeros(1, dtype=weight.dtype))[self._row]
        if len(self._implied):
            per_column = np.add.reduceat(entries, self._column)
            entries[self._implied] = weight.sum() - per_column[self._implied_col]
        per_gap = np.zeros(len(self), dtype=weight.dtype)
        per_gap[self._place] = np.add.reduceat(entries, self._group)
        suffix = np.append(np.cumsum(per_gap[::-1])[::-1], np.zeros(1, dtype=weight.dtype))
        ends = np.repeat(self.start[1:], np.diff(self.start))
        return suffix[:-1] - suffix[ends]

    def feature_of(self, gap: Any) -> Any:
        """Column of a gap."""
        return np.searchsorted(self.start, gap, side="right") - 1

    def column_values(self, feature: int) -> FloatArray:
        """Distinct values of a column, ascending."""
        return self.values[self.start[feature] : self.start[feature + 1] - 1]

    def stump(self, gap: int, above: int) -> StumpClassifier:
        """The hypothesis that says `above` above a gap."""
        feature = int(self.feature_of(gap))
        threshold = float(cuts(self.column_values(feature))[gap - self.start[feature]])
        return StumpClassifier().take(
            feature_=feature, threshold_=threshold, above_=above, n_features_in_=self.n_features
        )


def _entries(X: Any) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Column, row and value of the entries of a sparse matrix, in that order of sorting.

    Each column gets one entry more for all its zeros, of row -1; the last array says where they are.
    """
    csc = X.tocsc(copy=True)
    csc.sum_duplicates()
    csc.eliminate_zeros()
    n, d = csc.shape
    per_column = np.diff(csc.indptr)
    with_zeros = np.flatnonzero(per_column < n)
    col = np.concatenate([np.repeat(np.arange(d), per_column), with_zeros])
    row = np.concatenate([csc.indices, np.full(len(with_zeros), -1)])
    val = np.concatenate([csc.data, np.zeros(len(with_zeros))])
    order = np.lexsort((val, col))
    row = row[order].astype(np.int64)
    return col[order].astype(np.int64), row, val[order].astype(float), np.flatnonzero(row == -1)


class _StumpDichotomies(Dichotomies):
    """Labelings are 1 above a gap (numbers 0 .. G - 1) or below it; equal ones count once, by the first."""

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._columns = np.ascontiguousarray(X.T) if isinstance(X, np.ndarray) else X.T.tocsr()
        self._gaps = gaps = _Gaps(X)
        self._thresholds = np.concatenate([cuts(gaps.column_values(j)) for j in range(gaps.n_features)])
        self._first, self._number = np.unique(self._first_alike(), return_inverse=True)
        gap = self._first % len(gaps)
        self._feature: IntArray = gaps.feature_of(gap)
        self._threshold: FloatArray = self._thresholds[gap]
        self._above: IntArray = (self._first < len(gaps)).astype(np.int64)

    def _first_alike(self) -> IntArray:
        """The first labeling equal to each, shape (2 G,); only those with as many ones are compared."""
        n = self._X.shape[0]
        up = self._gaps.above(np.ones(n, dtype=np.int64))
        ones = np.concatenate([up, n - up])
        order = np.argsort(ones, kind="stable")
        first = np.arange(len(ones))
        for candidates in np.split(order, np.flatnonzero(np.diff(ones[order])) + 1):
            blocks = np.array_split(candidates, 1 + len(candidates) * n // _CELLS)
            bits = np.concatenate([np.packbits(self._ones(block), axis=1) for block in blocks])
            rows = bits.view(f"V{bits.shape[1]}").ravel()  # np.unique(axis=0) is quadratic in the width
            _, start, number = np.unique(rows, return_index=True, return_inverse=True)
            first[candidates] = candidates[start[number]]
        return first

    def _ones(self, labelings: IntArray) -> Any:
        """Where each labeling says 1, shape (number of them, n)."""
        gap, above = labelings % len(self._gaps), labelings < len(self._gaps)
        x = dense(self._columns[self._gaps.feature_of(gap)])
        return (x >= self._thresholds[gap][:, None]) == above[:, None]

    def __len__(self) -> int:
        return len(self._first)

    def hypothesis(self, index: int) -> StumpClassifier:
        """The first stump with this dichotomy."""
        gap = int(self._first[index]) % len(self._gaps)
        return self._gaps.stump(gap, int(self._above[index]))

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """O(d n log k)."""
        gain, ones = signed(y, sample_weight), weight_of_ones(y, sample_weight)
        total = float(gain.sum())
        counts = np.empty(len(self))
        X = X if isinstance(X, np.ndarray) else X.tocsc()
        for feature in np.unique(self._feature).tolist():
            mine = np.flatnonzero(self._feature == feature)
            mine = mine[np.argsort(self._threshold[mine], kind="stable")]
            up = gain_above(column(X, feature), gain, self._threshold[mine])
            counts[mine] = ones - np.where(self._above[mine] == 1, up, total - up)
        return counts

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """O(d n log n): every stump is in one gap of one column."""
        least = np.full(len(self), np.inf)
        gaps = self._gaps
        X = X if isinstance(X, np.ndarray) else X.tocsc()
        for feature in range(gaps.n_features):
            up, down = cut_mistakes(column(X, feature), y, gaps.column_values(feature))
            here = slice(int(gaps.start[feature]), int(gaps.start[feature + 1]))
            np.minimum.at(least, self._number[: len(gaps)][here], up)
            np.minimum.at(least, self._number[len(gaps) :][here], down)
        return least

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """Pair by pair of columns, O(number of cuts squared); see `MOST_CUTS`, `MOST_POINTS`."""
        gaps, n = self._gaps, self._X.shape[0]
        ranks = [np.searchsorted(gaps.column_values(j), column(self._X, j)) for j in range(gaps.n_features)]
        cost_up, cost_down = cost[self._number[: len(gaps)]], cost[self._number[len(gaps) :]]
        best_up, best_down = np.full(len(gaps), np.inf), np.full(len(gaps), np.inf)
        for j, ranks_j in enumerate(ranks):
            mine = slice(int(gaps.start[j]), int(gaps.start[j + 1]))
            for k, other in enumerate(ranks):
                theirs = slice(int(gaps.start[k]), int(gaps.start[k + 1]))
                differ = weight * _differences(
                    ranks_j, other, mine.stop - mine.start, theirs.stop - theirs.start
                )
                same_up = np.minimum(
                    (differ + cost_up[theirs]).min(axis=1),
                    (weight * n - differ + cost_down[theirs]).min(axis=1),
                )
                same_down = np.minimum(
                    (differ + cost_down[theirs]).min(axis=1),
                    (weight * n - differ + cost_up[theirs]).min(axis=1),
                )
                best_up[mine] = np.minimum(best_up[mine], same_up)
                best_down[mine] = np.minimum(best_down[mine], same_down)
        return np.concatenate([best_up, best_down])[self._first]


def _differences(own: IntArray, other: IntArray, n_own: int, n_other: int) -> FloatArray:
    """Points that lie above one cut and not above the other, for each pair of cuts of two columns.

    `own` and `other` say which distinct value each point has: it lies above the gaps 0 .. own of `n_own`.
    """
    cells = np.bincount(own * n_other + other, minlength=n_own * n_other).reshape(n_own, n_other)
    both = np.cumsum(np.cumsum(cells[::-1, ::-1], axis=0), axis=1)[::-1, ::-1].astype(float)
    # gap 0 has all points above it, so its row and column count those above the other cut
    differ: FloatArray = both[:, :1] + both[:1, :] - 2 * both
    return differ


class StumpClassifier(BinaryClassifier):
    """A threshold on one column in either direction, by exact empirical risk minimisation.

    The label is `above_` where column `feature_` is at least `threshold_`, and ``1 - above_`` elsewhere.
    """

    def _best(self, X: Any, y: IntArray, sample_weight: FloatArray | None) -> BinaryClassifier:
        return Stumps().erm(X, y, sample_weight)

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        above = column(X, self.feature_) >= self.threshold_
        return np.asarray(np.where(above, self.above_, 1 - self.above_), dtype=np.int64)
