"""A student whose probabilities and threshold come from its evaluation. PUBLIC."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.students.metrics import asked, by_class
from pate_cli.types import FloatArray

__all__ = ["CalibratedStudent", "log_odds", "probabilities"]

_LEAST = 1e-9


def log_odds(p: FloatArray) -> FloatArray:
    """Log-odds of probabilities, finite."""
    inside = np.nan_to_num(p, nan=0.5).clip(_LEAST, 1 - _LEAST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def probabilities(student: Any, X: Any, n_classes: int) -> FloatArray:
    """Probability of each class, shape (n, C): the student's, or of its scores, or 1 for its label."""
    own_probabilities = by_class(student, "predict_proba", X, n_classes)
    if own_probabilities is not None:
        return own_probabilities
    scores = by_class(student, "decision_function", X, n_classes)
    if scores is None:
        return np.eye(n_classes)[np.asarray(asked(student, "predict", X)).astype(np.int64)]
    if n_classes == 2:
        second = expit(scores[:, 1])
        return np.column_stack([1 - second, second])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class CalibratedStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted student with calibrated log-odds, ``slope * s + intercept``.

    Of two classes s is the log-odds of the second, which is predicted above `cut`, in s. Of more it is that
    of the likeliest class, which stays so; the others share what is left as before.
    """

    def __init__(self, student: Any, slope: float, intercept: float, cut: float, n_classes: int) -> None:
        self.student = student
        self.slope = slope
        self.intercept = intercept
        self.cut = cut
        self.n_classes = n_classes

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Class codes, shape (C,)."""
        return np.arange(self.n_classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> CalibratedStudent:
        """Not available: it was fitted and evaluated before."""
        raise NotImplementedError("made by an evaluation")

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Class codes, shape (n,)."""
        p = probabilities(self.student, X, self.n_classes)
        if self.n_classes == 2:
            return (log_odds(p[:, 1]) > self.cut).astype(np.int64)
        return np.asarray(p.argmax(axis=1), dtype=np.int64)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C)."""
        p = probabilities(self.student, X, self.n_classes)
        if self.n_classes == 2:
            second = expit(self.slope * log_odds(p[:, 1]) + self.intercept)
            return np.column_stack([1 - second, second])
        top, rows = p.argmax(axis=1), np.arange(len(p))
        shares = p.copy()
        shares[rows, top] = 0.0
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        first = expit(self.slope * log_odds(p[rows, top]) + self.intercept)
        runner_up = shares.max(axis=1)
        first = np.maximum(first, runner_up / (1 + runner_up) + 1e-12)
        shares *= (1 - first)[:, None]
        shares[rows, top] = first
        return shares
