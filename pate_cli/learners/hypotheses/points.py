"""Point functions: 1 at a single record of the domain, 0 everywhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners.hypotheses.base import BinaryClassifier, checked, signed, weights_of
from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["MOST_COLUMNS", "PointClassifier", "PointDichotomies", "Points", "equals"]

MOST_COLUMNS = 2_000
"""Most columns of records that are compared whole."""


class Points:
    """``1(x = z)`` for a record z; VC dimension 1. The domain has a record that no sample has.

    k distinct records have k + 1 dichotomies: number 0 labels nothing 1, the others one record.
    """

    name = "points"

    def vc_dimension(self, n_features: int) -> int:
        """1: no two different records are both labelled 1."""
        return 1

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """Records are compared as dense rows."""
        if n_features <= MOST_COLUMNS:
            return None
        return f"points take at most {MOST_COLUMNS} features, not {n_features}"

    def dichotomies(self, X: Any) -> PointDichotomies:
        """All k + 1 of them."""
        return PointDichotomies(X)

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> PointClassifier:
        """Exact; of several best ones the constant 0, then the first in order of sorting."""
        found = self.dichotomies(X)
        return found.hypothesis(int(np.argmin(found.mistakes(X, y, sample_weight))))


class PointDichotomies:
    """See `Dichotomies`.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, d)
    """

    def __init__(self, X: Any) -> None:
        rows = dense(X)
        self._n_features = rows.shape[1]
        self._distinct, number, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        self._number = number.ravel()
        self._counts = np.append(0, counts).astype(float)  # number 0 has no point of the sample

    def __len__(self) -> int:
        return len(self._counts)

    def labels(self, index: int) -> IntArray:
        """Labels of the sample."""
        return np.asarray(self._number == index - 1, dtype=np.int64)

    def hypothesis(self, index: int) -> PointClassifier:
        """The point, or none."""
        point = self._distinct[index - 1] if index else np.array([])
        made: PointClassifier = PointClassifier().take(point_=point, n_features_in_=self._n_features)
        return made

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """O((n + k) log (n + k)) comparisons of records."""
        gain, _ = self._gains(X, signed(y, sample_weight))
        return float((weights_of(y, sample_weight) * (y == 1)).sum()) - gain

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """As `mistakes`, but number 0 may be any record outside the sample."""
        gain, elsewhere = self._gains(X, signed(y))
        gain[0] = max(0.0, elsewhere)
        return float(np.count_nonzero(y)) - gain

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """O(k): two different points differ exactly on the copies of both."""
        total = weight * self._counts + cost
        order = np.argsort(total)
        best_other = np.full(len(total), total[order[0]])
        best_other[order[0]] = total[order[1]] if len(total) > 1 else np.inf
        return np.asarray(np.minimum(cost, weight * self._counts + best_other), dtype=float)

    def _gains(self, X: Any, gain: FloatArray) -> tuple[FloatArray, float]:
        """Gain of each point on other records, and the largest of a record outside the sample."""
        known = len(self._distinct)
        _, number = np.unique(np.vstack([self._distinct, dense(X)]), axis=0, return_inverse=True)
        number = number.ravel()
        sums = np.bincount(number[known:], weights=gain, minlength=number.max(initial=-1) + 1)
        outside = np.delete(sums, number[:known])
        return np.append(0.0, sums[number[:known]]), float(outside.max(initial=0.0))


def equals(X: Any, point: FloatArray) -> NDArray[np.bool_]:
    """Whether each record is the point, shape (n,); never for the empty point."""
    if not len(point):
        return np.zeros(X.shape[0], dtype=bool)
    same: NDArray[np.bool_] = (dense(X) == point).all(axis=1)
    return same


class PointClassifier(BinaryClassifier):
    """1 at a single record of the domain, 0 everywhere else; VC dimension 1.

    Attributes
    ----------
    point_ : ndarray of shape (d,), or of shape (0,)
        The record; empty for the constant 0 (a record that no sample has).
    classes_ : ndarray of shape (2,)
    """

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> PointClassifier:
        """Find the point; X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        X, y = checked(X, y)
        self.adopt(Points().erm(X, y, sample_weight), ("point_",), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        return np.asarray(equals(X, self.point_), dtype=np.int64)
