"""The student of boosting: a sum of functions of the public points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.students.gaussian_process import Landmarks
from pate_cli.types import FloatArray

__all__ = ["BoostedClassifier"]


class BoostedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class with the largest score, the scores a sum over rounds of kernel functions. PUBLIC.

    Made by `BoostingPlan.learn`, round by round; there is nothing to fit by itself.

    Parameters
    ----------
    landmarks : Landmarks
        Public points that span the functions.
    coefficients : dict of str to ndarray of shape (n_landmarks, C or 1)
        A kernel's name to the sum of its functions' coefficients; one column for two classes.
    n_classes : int
        C.
    """

    def __init__(
        self,
        landmarks: Landmarks | None = None,
        coefficients: dict[str, FloatArray] | None = None,
        n_classes: int = 2,
    ) -> None:
        self.landmarks = landmarks
        self.coefficients = coefficients
        self.n_classes = n_classes

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        return np.arange(self.n_classes)

    def __sklearn_is_fitted__(self) -> bool:
        return self.landmarks is not None

    def fit(self, X: Any, y: Any) -> BoostedClassifier:
        """Not available: it learns from teachers, in rounds."""
        raise NotImplementedError("made by mechanism=boosting")

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of class 1, shape (n,); for more classes a score each, shape (n, C)."""
        if self.landmarks is None or not self.coefficients:
            raise ValueError("made by mechanism=boosting")
        scores = self.landmarks.evaluate(X, self.coefficients)
        return scores[:, 0] if self.n_classes == 2 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C)."""
        scores = self.decision_function(X)
        return self.probabilities(scores.reshape(len(scores), -1))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Probabilities from scores of shape (n, 1) for two classes, else (n, C)."""
        from scipy.special import expit, softmax

        if self.n_classes == 2:
            ones = expit(scores[:, 0])
            return np.column_stack([1 - ones, ones])
        shares: FloatArray = softmax(scores, axis=1)
        return shares

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Class codes, shape (n,)."""
        scores = self.decision_function(X)
        best = scores >= 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(best).astype(np.int64)
