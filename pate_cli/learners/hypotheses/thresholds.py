"""One-dimensional thresholds ``1(x >= t)``: the class of NB20's and LWY25's examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners.hypotheses.base import BinaryClassifier, checked, column, signed, weights_of
from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["CutLoss", "ThresholdClassifier", "ThresholdDichotomies", "Thresholds", "between", "count_below"]


class Thresholds:
    """Thresholds on the line, in one direction: 1 from t on. VC dimension 1.

    k distinct values have k + 1 dichotomies. Numbers in order of t: number 0 is the constant 1.
    """

    name = "thresholds"

    def vc_dimension(self, n_features: int) -> int:
        """1: of two points the lower one is never labelled 1 alone."""
        return 1

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """Thresholds are on the line."""
        return None if n_features == 1 else f"thresholds need one feature, not {n_features}; stumps take any"

    def dichotomies(self, X: Any) -> ThresholdDichotomies:
        """All k + 1 of them, in O(n log n)."""
        return ThresholdDichotomies(line(X))

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> ThresholdClassifier:
        """Exact, in O(n log n); of several best thresholds the lowest."""
        found = self.dichotomies(X)
        best = int(np.argmin(found.mistakes(X, y, sample_weight)))
        return found.hypothesis(best)


class ThresholdDichotomies:
    """See `Dichotomies`. `counts[p]` sample points lie below the cut of number p.

    Parameters
    ----------
    x : ndarray of shape (n,)
    """

    def __init__(self, x: FloatArray) -> None:
        self._x = x
        ordered = np.sort(x)
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(x) else np.array([], int)
        self.values: FloatArray = ordered[starts]
        self.counts: IntArray = np.append(starts, len(x)).astype(np.int64)
        self.thresholds = cuts(self.values)

    def __len__(self) -> int:
        return len(self.thresholds)

    def labels(self, index: int) -> IntArray:
        """Labels of the sample."""
        return np.asarray(self._x >= self.thresholds[index], dtype=np.int64)

    def hypothesis(self, index: int) -> ThresholdClassifier:
        """Half-way between the two neighbouring values."""
        made: ThresholdClassifier = ThresholdClassifier().take(
            threshold_=float(self.thresholds[index]), n_features_in_=1
        )
        return made

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """O(n log k)."""
        gain = gain_above(line(X), signed(y, sample_weight), self.thresholds)
        return float((weights_of(y, sample_weight) * (y == 1)).sum()) - gain

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """O(n log n): fewest mistakes of a threshold within each gap between sample values."""
        return CutLoss(line(X), y).least(self.values)[0]

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """O(k): two thresholds differ on the points between them, so running minima do it."""
        return between(cost, weight * self.counts)


class CutLoss:
    """Mistakes on (x, y) of every cut, both directions.

    Parameters
    ----------
    x : ndarray of shape (n,)
    y : ndarray of int64, shape (n,)
    """

    def __init__(self, x: FloatArray, y: IntArray) -> None:
        order = np.argsort(x)
        self._x = x[order]
        ones = int(np.count_nonzero(y))
        # mistakes of "1 from position i on", i = 0 .. n; no cut can part equal values
        gain = np.zeros(len(x) + 1)
        np.cumsum(np.where(y[order] == 1, 1.0, -1.0), out=gain[1:])
        self._up = (len(x) - ones) + gain
        self._n = len(x)
        self._possible = np.append(True, np.append(self._x[1:] != self._x[:-1], True)) if len(x) else None

    def least(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Fewest mistakes of a cut t in each gap ``(values[p-1], values[p]]``, p = 0 .. k.

        Parameters
        ----------
        values : ndarray of shape (k,)
            Ascending, distinct.

        Returns
        -------
        up, down : ndarray of float64, shape (k + 1,)
            Of ``1(x >= t)`` and of ``1(x < t)``.
        """
        if self._possible is None:
            return np.zeros(len(values) + 1), np.zeros(len(values) + 1)
        # t just above a value leaves all records up to it below; t at a value leaves those under it below
        first = np.append(0, np.searchsorted(self._x, values, side="right"))
        last = np.append(np.searchsorted(self._x, values, side="left"), self._n)
        bounds = np.column_stack([first, last + 1]).ravel()
        up = np.append(np.where(self._possible, self._up, np.inf), np.inf)
        down = np.append(np.where(self._possible, self._n - self._up, np.inf), np.inf)
        return np.minimum.reduceat(up, bounds)[::2], np.minimum.reduceat(down, bounds)[::2]


def line(X: Any) -> FloatArray:
    """The only column, shape (n,)."""
    if X.shape[1] != 1:
        raise ValueError(f"thresholds need one feature, not {X.shape[1]}")
    return np.ascontiguousarray(dense(X)[:, 0])


def cuts(values: FloatArray) -> FloatArray:
    """One threshold a gap of ascending distinct values: -inf, middles, inf; shape (k + 1,)."""
    if not len(values):
        return np.array([-np.inf])
    middle = values[:-1] / 2 + values[1:] / 2
    # of two neighbouring floats the middle may be the lower one
    inner = np.where((middle > values[:-1]) & (middle <= values[1:]), middle, values[1:])
    return np.concatenate([[-np.inf], inner, [np.inf]])


def count_below(x: FloatArray, thresholds: FloatArray) -> IntArray:
    """For each x how many of the ascending thresholds are at most x, shape of x."""
    return np.searchsorted(thresholds, x, side="right").astype(np.int64)


def gain_above(x: FloatArray, gain: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Sum of `gain` over ``x >= t`` for each of the ascending thresholds."""
    per_bin = np.bincount(count_below(x, thresholds), weights=gain, minlength=len(thresholds) + 1)
    return np.asarray(np.cumsum(per_bin[::-1])[::-1][1:], dtype=float)


def between(cost: FloatArray, position: NDArray[Any]) -> FloatArray:
    """``min over q of |position[p] - position[q]| + cost[q]`` for each p; positions ascending. O(k)."""
    left = np.minimum.accumulate(cost - position) + position
    right = np.minimum.accumulate((cost + position)[::-1])[::-1] - position
    nearest: FloatArray = np.minimum(left, right)
    return nearest


class ThresholdClassifier(BinaryClassifier):
    """``1(x >= t)`` of one column, t the exact empirical risk minimiser; VC dimension 1.

    Parameters
    ----------
    feature : int
        The column.

    Attributes
    ----------
    threshold_ : float
        t, -inf for the constant 1 and inf for the constant 0.
    classes_ : ndarray of shape (2,)
    """

    def __init__(self, feature: int = 0) -> None:
        self.feature = feature

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> ThresholdClassifier:
        """Find t in O(n log n); X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        X, y = checked(X, y)
        if not 0 <= self.feature < X.shape[1]:
            raise ValueError(f"feature={self.feature} of {X.shape[1]} columns")
        best = Thresholds().erm(column(X, self.feature)[:, None], y, sample_weight)
        self.adopt(best, ("threshold_",), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        return np.asarray(column(X, self.feature) >= self.threshold_, dtype=np.int64)
