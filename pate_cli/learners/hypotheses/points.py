"""Point functions: 1 at a single record of the domain, 0 everywhere else."""

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

__all__ = ["PointClassifier", "Points"]

_MOST_COLUMNS = 2_000  # of records that are compared whole


class Points(HypothesisClass):
    """``1(x = z)`` for a record z; VC dimension 1. The domain has a record that no sample has.

    k distinct records have k + 1 dichotomies: number 0 labels nothing 1, the others one record.
    """

    name = "points"

    def vc_dimension(self, n_features: int) -> int:
        """1: no two different records are both labelled 1."""
        return 1

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """Records are compared as dense rows."""
        if n_features <= _MOST_COLUMNS:
            return None
        return f"points take at most {_MOST_COLUMNS} features, not {n_features}"

    def dichotomies(self, X: Any) -> Dichotomies:
        """All k + 1 of them."""
        return _PointDichotomies(X)


class _PointDichotomies(Dichotomies):
    def __init__(self, X: Any) -> None:
        super().__init__(X)
        self._distinct, counts = np.unique(dense(X), axis=0, return_counts=True)
        self._counts = np.append(0, counts).astype(float)  # number 0 has no point of the sample

    def __len__(self) -> int:
        return len(self._counts)

    def hypothesis(self, index: int) -> PointClassifier:
        point = self._distinct[index - 1] if index else np.array([])
        return PointClassifier().take(point_=point, n_features_in_=self._distinct.shape[1])

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        gain, _ = self._gains(X, signed(y, sample_weight))
        return weight_of_ones(y, sample_weight) - gain

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        gain, elsewhere = self._gains(X, signed(y))
        gain[0] = max(0.0, elsewhere)  # number 0 may be any record outside the sample
        return weight_of_ones(y) - gain

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        # two different points differ exactly on the copies of both
        total = weight * self._counts + cost
        order = np.argsort(total)
        best_other = np.full(len(total), total[order[0]])
        best_other[order[0]] = total[order[1]] if len(total) > 1 else np.inf
        return np.asarray(np.minimum(cost, weight * self._counts + best_other), dtype=float)

    def _gains(self, X: Any, gain: FloatArray) -> tuple[FloatArray, float]:
        """Gain of each point on other records, and the largest of a record outside the sample."""
        n_points = len(self._distinct)
        _, number = np.unique(np.vstack([self._distinct, dense(X)]), axis=0, return_inverse=True)
        number = number.ravel()
        sums = np.bincount(number[n_points:], weights=gain, minlength=number.max(initial=-1) + 1)
        outside = np.delete(sums, number[:n_points])
        return np.append(0.0, sums[number[:n_points]]), float(outside.max(initial=0.0))


class PointClassifier(BinaryClassifier):
    """1 at a single record `point_` of the domain, 0 everywhere else; VC dimension 1.

    `point_` is empty for the constant 0 (a record that no sample has).
    """

    def _best(self, X: Any, y: IntArray, sample_weight: FloatArray | None) -> BinaryClassifier:
        best: PointClassifier = Points().erm(X, y, sample_weight)
        return best

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        if not len(self.point_):
            return np.zeros(X.shape[0], dtype=np.int64)
        return np.asarray((dense(X) == self.point_).all(axis=1), dtype=np.int64)
