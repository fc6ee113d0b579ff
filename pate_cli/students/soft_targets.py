"""Give any classifier what noisy counts say: each point once a class, weighted by its probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from pate_cli.students.noise_aware import NoisyCountsClassifier

__all__ = ["SoftTargets"]


class SoftTargets(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier that takes sample weights, taught by the noise-aware model's posterior.

    `NoisyCountsClassifier` denoises the counts; each point then goes in once for each class, weighted by
    the share of the votes it is expected to get. Everything is post-processing of what was released.

    Parameters
    ----------
    estimator : unfitted scikit-learn classifier
        Takes sample weights.
    sigma, n_teachers, random_state
        As in `NoisyCountsClassifier`.

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
        first = NoisyCountsClassifier(self.sigma, self.n_teachers, random_state=self.random_state)
        shares = first.fit(X, y).predict_proba(X)
        self.classes_ = first.classes_
        m, n_classes = shares.shape
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
