"""The classifier that `PublicKernelPlan` learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.mechanisms.baselines.public_features import UNIT
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    from pate_cli.mechanisms.baselines.public_lines import Features

__all__ = ["PublicKernelClassifier", "probabilities", "speed_of"]

_BLOCK = 4096


class PublicKernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class with the largest score, the scores linear in features that public points span. PUBLIC.

    `PublicKernelPlan.learn` makes it; there is nothing to fit by itself.

    Parameters
    ----------
    features : PublicFeatures or PublicLines
    weights : ndarray of shape (p, q)
        q is 1 for two classes, where the score is the log-odds of class 1, else one column a class.
    steps : int
        How many it took.
    """

    def __init__(
        self, features: Features | None = None, weights: FloatArray | None = None, steps: int = 0
    ) -> None:
        self.features = features
        self.weights = weights
        self.steps = steps

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        columns = 1 if self.weights is None else self.weights.shape[1]
        return np.arange(max(columns, 2))

    def __sklearn_is_fitted__(self) -> bool:
        return self.features is not None

    def fit(self, X: Any, y: Any) -> PublicKernelClassifier:
        """Not available: it learns from private records, with noise."""
        raise NotImplementedError("made by mechanism=public_kernel")

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of class 1, shape (n,); for more classes a score each, shape (n, C)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C)."""
        found = probabilities(self._scores(X))
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Class codes, shape (n,)."""
        scores = self._scores(X)
        best = scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(best).astype(np.int64)

    def _scores(self, X: Any) -> FloatArray:
        if self.features is None or self.weights is None:
            raise ValueError("made by mechanism=public_kernel")
        scores = np.empty((X.shape[0], self.weights.shape[1]))
        for first in range(0, X.shape[0], _BLOCK):
            rows = slice(first, first + _BLOCK)
            scores[rows] = self.features.apply(X[rows]) @ (self.weights * UNIT)
        return scores


def probabilities(scores: FloatArray) -> FloatArray:
    """Probabilities from scores along the last axis: of class 1 where it holds one, else of each class."""
    from scipy.special import expit, softmax

    found: FloatArray = expit(scores) if scores.shape[-1] == 1 else softmax(scores, axis=-1)
    return found


def speed_of(n_classes: int) -> float:
    """Size of a step against that for two classes: the loss is flatter for two than for four or more."""
    return 1.0 if n_classes == 2 else min(n_classes / 4, 1.0)
