"""Hypotheses as scikit-learn classifiers: one exact empirical risk minimiser a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.learners.hypotheses.base import column
from pate_cli.types import FloatArray, IntArray

__all__ = ["PointClassifier", "RectangleClassifier", "StumpClassifier", "ThresholdClassifier"]


class _Binary(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the four share: labels 0 and 1, dense or sparse records."""

    classes_: IntArray
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def _take(self, **fitted: Any) -> Any:
        """Set what a fit learns, on a classifier made without data."""
        self.classes_ = np.arange(2)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _adopt(self, other: Any, names: tuple[str, ...], n_features: int) -> None:
        self._take(**{name: getattr(other, name) for name in names}, n_features_in_=n_features)


def _checked(X: Any, y: Any) -> tuple[Any, IntArray]:
    y = np.asarray(y)
    if not np.isin(y, (0, 1)).all():
        raise ValueError("hypotheses label with 0 and 1 only: two classes")
    if X.shape[0] != len(y) or not len(y):
        raise ValueError(f"{X.shape[0]} records and {len(y)} labels; at least one of each")
    return (np.asarray(X, dtype=float) if not hasattr(X, "tocsr") else X.tocsr()), y.astype(np.int64)


class ThresholdClassifier(_Binary):
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
        from pate_cli.learners.hypotheses.thresholds import Thresholds

        X, y = _checked(X, y)
        if not 0 <= self.feature < X.shape[1]:
            raise ValueError(f"feature={self.feature} of {X.shape[1]} columns")
        best = Thresholds().erm(column(X, self.feature)[:, None], y, sample_weight)
        self._adopt(best, ("threshold_",), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        return np.asarray(column(X, self.feature) >= self.threshold_, dtype=np.int64)


class StumpClassifier(_Binary):
    """A threshold on one column in either direction, column, threshold and direction by exact ERM.

    Attributes
    ----------
    feature_ : int
        The column.
    threshold_ : float
    above_ : int
        The label where ``x >= threshold_``; ``1 - above_`` elsewhere.
    classes_ : ndarray of shape (2,)
    """

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> StumpClassifier:
        """Find the stump in O(d n log n); X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        from pate_cli.learners.hypotheses.stumps import Stumps

        X, y = _checked(X, y)
        best = Stumps().erm(X, y, sample_weight)
        self._adopt(best, ("feature_", "threshold_", "above_"), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        above = column(X, self.feature_) >= self.threshold_
        return np.asarray(np.where(above, self.above_, 1 - self.above_), dtype=np.int64)


class RectangleClassifier(_Binary):
    """1 inside an axis-aligned box, 0 outside; exact ERM over a few columns.

    Parameters
    ----------
    features : sequence of int or None
        Columns the box constrains; None is the first two. The fit is exhaustive, O(n^(2k - 1))
        for k columns, and refuses what would take too long.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (k,)
        Corners, both inside; ``lower_ > upper_`` is the empty box.
    classes_ : ndarray of shape (2,)
    """

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def _columns(self, n_features: int) -> list[int]:
        chosen = range(min(2, n_features)) if self.features is None else self.features
        columns = [int(feature) for feature in chosen]
        if not columns or not all(0 <= feature < n_features for feature in columns):
            raise ValueError(f"features={self.features} of {n_features} columns")
        return columns

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> RectangleClassifier:
        """Find the box; X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        from pate_cli.learners.hypotheses.rectangles import Rectangles

        X, y = _checked(X, y)
        chosen = np.column_stack([column(X, feature) for feature in self._columns(X.shape[1])])
        best = Rectangles().erm(chosen, y, sample_weight)
        self._adopt(best, ("lower_", "upper_"), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        inside = np.ones(X.shape[0], dtype=bool)
        for position, feature in enumerate(self._columns(X.shape[1])):
            values = column(X, feature)
            inside &= (values >= self.lower_[position]) & (values <= self.upper_[position])
        return inside.astype(np.int64)


class PointClassifier(_Binary):
    """1 at a single record of the domain, 0 everywhere else; VC dimension 1.

    Attributes
    ----------
    point_ : ndarray of shape (d,), or of shape (0,)
        The record; empty for the constant 0 (a record that no sample has).
    classes_ : ndarray of shape (2,)
    """

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> PointClassifier:
        """Find the point; X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        from pate_cli.learners.hypotheses.points import Points

        X, y = _checked(X, y)
        self._adopt(Points().erm(X, y, sample_weight), ("point_",), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        from pate_cli.learners.hypotheses.points import equals

        return np.asarray(equals(X, self.point_), dtype=np.int64)
