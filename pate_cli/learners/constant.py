"""The classifier for records that all have one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["ConstantClassifier"]


class ConstantClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict one class, whatever the record.

    Parameters
    ----------
    constant : int
        Class code to predict.

    Attributes
    ----------
    classes_ : ndarray of shape (1,)
    """

    def __init__(self, constant: int = 0) -> None:
        self.constant = constant

    def fit(self, X: Any, y: Any = None) -> ConstantClassifier:
        """Do nothing but follow the convention.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (n, d)
        y : ignored

        Returns
        -------
        ConstantClassifier
        """
        self.classes_ = np.array([self.constant], dtype=np.int64)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give the constant once a row.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)

        Returns
        -------
        ndarray of int64, shape (m,)
        """
        return np.full(X.shape[0], self.constant, dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
