"""Classifier for labels that are all of one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["ConstantClassifier"]


class ConstantClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the class code `constant` for every record."""

    def __init__(self, constant: int = 0) -> None:
        self.constant = constant

    def fit(self, X: Any, y: Any = None) -> ConstantClassifier:
        """Learn nothing."""
        self.classes_ = np.array([self.constant], dtype=np.int64)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give the constant once a row, shape (m,)."""
        return np.full(X.shape[0], self.constant, dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
