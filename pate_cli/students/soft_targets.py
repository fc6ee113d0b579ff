"""Give any classifier what noisy counts say: each point once a class, weighted by its probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from pate_cli.students.gaussian_process import KERNELS, Landmarks, learn_shares
from pate_cli.types import FloatArray

__all__ = ["SoftTargets"]


class SoftTargets(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier that takes sample weights, fitted on denoised vote counts.

    A Gaussian process that knows the noise denoises the counts; each point then goes in once for each
    class, weighted by the share of the votes it is expected to get. Everything is post-processing of what
    was released.

    Parameters
    ----------
    estimator : unfitted scikit-learn classifier
        Takes sample weights.
    sigma : float
        Standard deviation of the noise on a count, in votes, >= 0.
    n_teachers : int
        K: a count without noise is in [0, K].
    random_state : int or None
        Picks the points that span functions, where there are more than 1500.

    Attributes
    ----------
    classes_ : ndarray of int64, shape (C,)
    model_ : fitted scikit-learn classifier
    """

    def __init__(
        self,
        estimator: Any = None,
        sigma: float = 0.0,
        n_teachers: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.sigma = sigma
        self.n_teachers = n_teachers
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SoftTargets:
        """Fit on noisy counts of shape (m, C), or on labels of shape (m,)."""
        y = np.asarray(y)
        if y.ndim == 1:
            self.classes_ = np.unique(y)
            self.model_ = clone(self.estimator).fit(X, y)
            return self
        shares = _expected_shares(X, y, self.n_teachers, self.sigma, self.random_state)
        m, n_classes = shares.shape
        self.classes_ = np.arange(n_classes)
        rows = np.tile(np.arange(m), n_classes)
        labels = np.repeat(self.classes_, m)
        self.model_ = clone(self.estimator).fit(X[rows], labels, sample_weight=shares.T.ravel())
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (m,)."""
        return np.asarray(self.model_.predict(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is not None and get_tags(self.estimator).input_tags.sparse
        return tags


def _expected_shares(
    X: Any, counts: FloatArray, n_teachers: int, sigma: float, seed: int | None
) -> FloatArray:
    """Expected shares of the votes from noisy counts, both of shape (m, C)."""
    from scipy.optimize import minimize_scalar
    from scipy.special import softmax

    landmarks = Landmarks(X, seed)
    spans = {name: landmarks.span(X, name) for name in KERNELS}
    scores = landmarks.evaluate(X, learn_shares(spans, counts, int(n_teachers), sigma))
    if counts.shape[1] == 2:
        scores = np.column_stack([-scores[:, 0], scores[:, 0]])
    noisy = counts / n_teachers

    def loss(log_slope: float) -> float:  # shares level off at 0 and 1, which linear scores do not
        return float(np.square(noisy - softmax(np.exp(log_slope) * scores, axis=1)).sum())

    slope = float(np.exp(minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded").x))
    shares: FloatArray = softmax(slope * scores, axis=1)
    return shares
