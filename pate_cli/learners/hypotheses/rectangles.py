"""Axis-aligned rectangles: 1 in a box, 0 outside (LWY25 appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.learners.hypotheses.hypothesis import (
    BinaryClassifier,
    Dichotomies,
    HypothesisClass,
    signed,
    weight_of_ones,
)
from pate_cli.matrices import dense
from pate_cli.types import FloatArray, IntArray

__all__ = ["RectangleClassifier", "Rectangles"]

_MOST_CELLS = 1_000_000


def _cells(n: int, d: int) -> float:
    """Boxes of n points, or cells of the grid that they are summed over, whichever are more."""
    return float(max(n * (n + 1) / 2, 2 * n + 1)) ** min(d, 50)


class Rectangles(HypothesisClass):
    """``1(l_j <= x_j <= u_j for all j)``, and the constant 0; VC dimension 2 d.

    The dichotomies of a sample are its boxes with a point on each of their sides, and the empty one. n points
    have up to ``(n (n + 1)/2)^d`` boxes, so few points of few columns can be listed.
    """

    name = "rectangles"
    extends = False

    def vc_dimension(self, n_features: int) -> int:
        """2 d: the points +e_j and -e_j are shattered."""
        return 2 * n_features

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """All boxes between values of the sample are looked at."""
        if _cells(n_points, n_features) <= _MOST_CELLS:
            return None
        most = next((n for n in range(n_points, 0, -1) if _cells(n, n_features) <= _MOST_CELLS), 0)
        return f"rectangles list {most} points of {n_features} features at most, not {n_points}"

    def dichotomies(self, X: Any) -> Dichotomies:
        """All of them; number 0 is the constant 0."""
        return _Boxes(X)


class _Boxes(Dichotomies):
    """Boxes between values of the sample, of which those with a point on each side are kept."""

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        X = dense(X)
        self._values = [np.unique(column) for column in X.T]
        self._sides = [np.triu_indices(len(values)) for values in self._values]  # first and last value
        count = self._sums(X, np.ones(len(X)))
        tight = count > 0
        for axis, (low, high) in enumerate(self._sides):
            number = np.zeros((len(self._values[axis]) + 1,) * 2, dtype=np.int64)
            number[low, high] = np.arange(len(low))
            for smaller_low, smaller_high in ((low + 1, high), (low, high - 1)):
                inner = np.take(count, number[smaller_low, smaller_high], axis=axis)
                shape = [-1 if each == axis else 1 for each in range(count.ndim)]
                tight &= count > np.where((low == high).reshape(shape), 0.0, inner)
        self._tight = np.flatnonzero(tight)
        self._shape = count.shape

    def __len__(self) -> int:
        return 1 + len(self._tight)

    def hypothesis(self, index: int) -> RectangleClassifier:
        """The smallest box; upside down for the constant 0."""
        d = len(self._values)
        low, high = np.full(d, np.inf), np.full(d, -np.inf)
        if index:
            at = np.unravel_index(self._tight[index - 1], self._shape)
            for axis, (values, (first, last), pair) in enumerate(
                zip(self._values, self._sides, at, strict=True)
            ):
                low[axis], high[axis] = values[first[pair]], values[last[pair]]
        return RectangleClassifier().take(low_=low, high_=high, n_features_in_=d)

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """By sums over cells of a grid."""
        gain = self._sums(dense(X), signed(y, sample_weight)).ravel()[self._tight]
        return weight_of_ones(y, sample_weight) - np.append(0.0, gain)

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """Not known: boxes of one dichotomy have no largest one."""
        raise NotImplementedError

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """Not needed, as `least_mistakes` is not known."""
        raise NotImplementedError

    def _sums(self, X: Any, weight: FloatArray) -> FloatArray:
        """Sum of `weight` over the records in each box; an axis for each column."""
        # cell 2 i + 1 of a column is its value i, cell 2 i what lies below that
        cells = [
            np.searchsorted(values, column) + np.searchsorted(values, column, side="right")
            for values, column in zip(self._values, X.T, strict=True)
        ]
        sums: FloatArray = np.zeros([2 * len(values) + 1 for values in self._values])
        np.add.at(sums, tuple(cells), weight)
        for axis, (low, high) in enumerate(self._sides):
            upto = np.cumsum(sums, axis=axis)
            sums = np.take(upto, 2 * high + 1, axis=axis) - np.take(upto, 2 * low, axis=axis)
        return sums


class RectangleClassifier(BinaryClassifier):
    """1 in the box from `low_` to `high_`, ends included; 0 outside."""

    def _best(self, X: Any, y: IntArray, sample_weight: FloatArray | None) -> BinaryClassifier:
        best: RectangleClassifier = Rectangles().erm(X, y, sample_weight)
        return best

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        X = dense(X)
        return np.asarray(((self.low_ <= X) & (self.high_ >= X)).all(axis=1), dtype=np.int64)
