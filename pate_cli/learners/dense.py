"""Dense arrays for classifiers that take no sparse records."""

from __future__ import annotations

import os
from functools import wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from pate_cli.learners.properties import row_by_row
from pate_cli.matrices import dense

__all__ = ["WIDEST", "DenseInput", "given_dense", "megabytes"]

_BLOCK = 2**23
"""Most numbers made dense at once to predict: 64 MB."""

WIDEST = 2**24
"""Columns of a dense record at most: it takes 128 MB, however few records there are."""


def given_dense(learner: Any) -> Any:
    """The learner, wrapped in `DenseInput` where its tags say that it takes no sparse records."""
    return learner if get_tags(learner).input_tags.sparse else DenseInput(learner)


def megabytes(n_records: int, n_features: int) -> float:
    """Memory of a dense array of 64-bit floats."""
    return 8e-6 * n_records * n_features


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class DenseInput(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fits and applies `estimator` on dense copies of sparse records; its other attributes are those of it.

    ValueError where a record has more than 2^24 columns, and from `fit` where the copy would take more than
    half of this machine's memory.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __getattr__(self, name: str) -> Any:
        if name == "estimator" or name.startswith("__"):  # not made yet, as in a copy
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def __sklearn_tags__(self) -> Any:
        tags = get_tags(self.estimator)
        tags.input_tags.sparse = True
        return tags

    @property
    def row_by_row(self) -> bool:
        """As the classifier."""
        return row_by_row(self.estimator)

    @property
    def random_state(self) -> Any:
        """Seed of the classifier, if it has one."""
        return self.estimator.random_state

    @random_state.setter
    def random_state(self, seed: Any) -> None:
        self.estimator.random_state = seed

    @property
    def fit(self) -> Any:
        """Fit the classifier; the signature is its own, so that it tells whether weights are taken."""

        @wraps(self.estimator.fit)
        def fit(X: Any, y: Any, **more: Any) -> DenseInput:
            self.estimator.fit(_dense(X, type(self.estimator).__name__), y, **more)
            return self

        return fit

    def predict(self, X: Any) -> Any:
        """Predict classes, shape (m,)."""
        return self._by_blocks("predict", X)

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class, shape (m, C)."""
        return self._by_blocks("predict_proba", X)

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Scores as of the classifier."""
        return self._by_blocks("decision_function", X)

    @_has("fit_shares")  # type: ignore[untyped-decorator]
    def fit_shares(self, X: Any, shares: Any, *, noise: float) -> DenseInput:
        """Fit on noisy shares of the votes, where the classifier does."""
        self.estimator.fit_shares(_dense(X, type(self.estimator).__name__), shares, noise=noise)
        return self

    def _by_blocks(self, method: str, X: Any) -> Any:
        call = getattr(self.estimator, method)
        if not hasattr(X, "toarray"):
            return call(X)
        _check_width(X, type(self.estimator).__name__)
        rows = max(1, _BLOCK // X.shape[1])
        tops = range(0, max(1, X.shape[0]), rows)
        return np.concatenate([call(dense(X[top : top + rows])) for top in tops])


def _check_width(X: Any, name: str) -> None:
    if X.shape[1] > WIDEST:
        columns = f"{X.shape[1]:,} columns; accepted: at most {WIDEST:,}"
        raise ValueError(f"{name} takes no sparse records, and these have {columns}")


def _dense(X: Any, name: str) -> Any:
    """Dense copy of sparse records, if it takes at most half of this machine's memory."""
    if not hasattr(X, "toarray"):
        return X
    _check_width(X, name)
    needed = megabytes(*X.shape)
    memory = 1e-6 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory / 2:
        raise ValueError(
            f"{name} takes no sparse records, and {X.shape[0]:,} x {X.shape[1]:,} dense numbers are"
            f" {needed:,.0f} MB: more than half of this machine's memory"
        )
    return dense(X)
