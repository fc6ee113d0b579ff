"""Classifiers of records that a map made from public points turns into features. PUBLIC."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from pate_cli.features.stable_rows import UNIT
from pate_cli.types import FloatArray

__all__ = ["FeatureClassifier", "MappedClassifier", "probabilities", "unclipped"]

_ROWS = 4096  # records mapped at a time
_MAPPED = 2**15  # the same where a classifier of scikit-learn judges them


def _if_it_has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.classifier, name))


class MappedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier of features, for records in their own columns: it maps them by itself."""

    def __init__(self, features: Any, classifier: Any) -> None:
        self.features = features
        self.classifier = classifier

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        return np.asarray(self.classifier.classes_)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> MappedClassifier:
        """Fit the classifier on the features of records of shape (n, d); the map stays as it is."""
        self.classifier.fit(self.features.values(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """Class codes, shape (n,)."""
        return self._by_blocks("predict", X)

    @_if_it_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, shape (n, C)."""
        return self._by_blocks("predict_proba", X)

    @_if_it_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Scores of the classes, as those of the classifier."""
        return self._by_blocks("decision_function", X)

    def _by_blocks(self, method: str, X: Any) -> Any:
        call, tops = getattr(self.classifier, method), range(0, max(X.shape[0], 1), _MAPPED)
        return np.concatenate([call(self.features.values(X[top : top + _MAPPED])) for top in tops])


class FeatureClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier by the largest score; scores are linear in features made from public points.

    A mechanism makes it; it cannot be fitted by itself. Weights have shape (p, q): q is 1 for two classes,
    where the score is the log-odds of class 1, else one column a class. `clip` is the share of a gradient's
    size that gradients were clipped to, which `predict_proba` undoes; see `unclipped`.
    """

    row_by_row = True

    def __init__(self, features: Any, weights: FloatArray, clip: float = 1.0) -> None:
        self.features = features
        self.weights = weights
        self.clip = clip

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        return np.arange(max(self.weights.shape[1], 2))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> FeatureClassifier:
        """Not available: it learns from private records, with noise."""
        raise NotImplementedError("made by a mechanism")

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of class 1, shape (n,); for more classes a score each, shape (n, C)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C)."""
        shares = probabilities(self._scores(X))
        return unclipped(np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else shares, self.clip)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Class codes, shape (n,)."""
        scores = self._scores(X)
        best = scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(best).astype(np.int64)

    def _scores(self, X: Any) -> FloatArray:
        scores = np.empty((X.shape[0], self.weights.shape[1]))
        for first in range(0, X.shape[0], _ROWS):
            rows = slice(first, first + _ROWS)
            scores[rows] = self.features.apply(X[rows]) @ (self.weights * UNIT)
        return scores


def probabilities(scores: FloatArray) -> FloatArray:
    """Probabilities from scores along the last axis: of class 1 where it holds one, else of each class."""
    from scipy.special import expit

    if scores.shape[-1] == 1:
        return np.asarray(expit(scores))
    shares: FloatArray = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def unclipped(shares: FloatArray, clip: float) -> FloatArray:
    """Undo what clipped gradients do to predicted probabilities, shape (n, C).

    A gradient of the logistic loss that is clipped to a share `clip` of its size before anything is learnt is
    at most ``b = clip sqrt((1 - 1/C)/2)`` of that of a record which the model has wholly wrong. Where a class
    has probability p below b, its records pull with b each and all others push with the model's share s, so
    descent rests at ``p b = (1 - p) s``: the model's odds are about b times the true ones. With o the odds
    against the likeliest class and ``A = 1/b``, true odds are ``o (A + o)/(1 + A o)``: A o where they are
    small, 1 where both classes are alike, and in between increasing, so that no prediction and no ranking of
    two classes changes.
    """
    if clip >= 1:
        return shares
    bound = 1 / (clip * np.sqrt((1 - 1 / shares.shape[1]) / 2))
    odds = shares / shares.max(axis=1, keepdims=True)
    odds *= (bound + odds) / (1 + bound * odds)
    true: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return true
