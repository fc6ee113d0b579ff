"""One-dimensional thresholds ``1(x >= t)``: the class of NB20's and LWY25's examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners.hypotheses.hypothesis import (
    BinaryClassifier,
    Dichotomies,
    HypothesisClass,
    column,
    signed,
    weight_of_ones,
)
from pate_cli.matrices import dense
from pate_cli.types import FloatArray, IntArray

__all__ = ["ThresholdClassifier", "ThresholdDichotomies", "Thresholds"]
__all__ += ["cut_mistakes", "cuts", "gain_above", "line"]


class Thresholds(HypothesisClass):
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
        return ThresholdDichotomies(X)


class ThresholdDichotomies(Dichotomies):
    """Dichotomies of points on the line, with the ascending distinct `values` and one threshold a gap."""

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self.values, counts = np.unique(line(X), return_counts=True)
        self._below = np.append(0, np.cumsum(counts))  # sample points below each threshold
        self._thresholds = cuts(self.values)

    def __len__(self) -> int:
        return len(self._thresholds)

    def hypothesis(self, index: int) -> ThresholdClassifier:
        """Half-way between the two neighbouring values."""
        return ThresholdClassifier().take(threshold_=float(self._thresholds[index]), n_features_in_=1)

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """O(n log k)."""
        gain = gain_above(line(X), signed(y, sample_weight), self._thresholds)
        return weight_of_ones(y, sample_weight) - gain

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """O(n log n)."""
        return cut_mistakes(line(X), y, self.values)[0]

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """O(k): two thresholds differ on the points between them, so running minima do it."""
        position = weight * self._below
        left = np.minimum.accumulate(cost - position) + position
        right = np.minimum.accumulate((cost + position)[::-1])[::-1] - position
        nearest: FloatArray = np.minimum(left, right)
        return nearest


def cut_mistakes(x: FloatArray, y: IntArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fewest mistakes on (x, y) of ``1(x >= t)``, and of ``1(x < t)``, for t in each gap between the values.

    Gap p of k ascending distinct values is ``(values[p-1], values[p]]``, p = 0 .. k.
    """
    if not len(x):
        return np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    order = np.argsort(x)
    x = x[order]
    # mistakes of "1 from position i on", i = 0 .. n; no cut can part equal values
    gain = np.append(0.0, np.cumsum(np.where(y[order] == 1, 1.0, -1.0)))
    up = (len(x) - np.count_nonzero(y)) + gain
    possible = np.append(True, np.append(x[1:] != x[:-1], True))
    # t just above a value leaves all records up to it below; t at a value leaves those under it below
    first = np.append(0, np.searchsorted(x, values, side="right"))
    last = np.append(np.searchsorted(x, values, side="left"), len(x))
    bounds = np.column_stack([first, last + 1]).ravel()

    def least(mistakes: NDArray[Any]) -> FloatArray:
        reachable = np.append(np.where(possible, mistakes, np.inf), np.inf)
        return np.asarray(np.minimum.reduceat(reachable, bounds)[::2])

    return least(up), least(len(x) - up)


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


def gain_above(x: FloatArray, gain: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Sum of `gain` over ``x >= t`` for each of the ascending thresholds."""
    below = np.searchsorted(thresholds, x, side="right")
    per_bin = np.bincount(below, weights=gain, minlength=len(thresholds) + 1)
    return np.asarray(np.cumsum(per_bin[::-1])[::-1][1:], dtype=float)


class ThresholdClassifier(BinaryClassifier):
    """``1(x >= t)`` of column `feature`, t the exact empirical risk minimiser; VC dimension 1.

    `threshold_` is -inf for the constant 1 and inf for the constant 0.
    """

    def __init__(self, feature: int = 0) -> None:
        self.feature = feature

    def _best(self, X: Any, y: IntArray, sample_weight: FloatArray | None) -> BinaryClassifier:
        if not 0 <= self.feature < X.shape[1]:
            raise ValueError(f"feature={self.feature} of {X.shape[1]} columns")
        best: ThresholdClassifier = Thresholds().erm(column(X, self.feature)[:, None], y, sample_weight)
        return best

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        return np.asarray(column(X, self.feature) >= self.threshold_, dtype=np.int64)
