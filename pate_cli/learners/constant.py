"""Classifier for labels that are all of one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners.estimator import Classifier

__all__ = ["ConstantClassifier"]


class ConstantClassifier(Classifier):
    """Predict the class code `constant` for every record."""

    def __init__(self, constant: int = 0) -> None:
        self.constant = constant

    def fit(self, X: Any, y: Any = None) -> ConstantClassifier:
        """Learn nothing."""
        self.classes_ = np.array([self.constant], dtype=np.int64)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The constant, shape (m,)."""
        return np.full(X.shape[0], self.constant, dtype=np.int64)
