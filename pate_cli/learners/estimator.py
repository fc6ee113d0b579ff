"""Base of the classifiers of this package: sparse records, checked parameters, shortened rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

__all__ = ["Classifier", "is_positive", "shortened"]


class Classifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn classifier that takes sparse records too.

    `row_by_row` says that it labels each record by itself, and fails on none of numbers up to 1e30.
    """

    row_by_row = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def check(self, name: str, valid: bool, accepted: str) -> None:
        """Refuse the value of a parameter in scikit-learn's words."""
        if not valid:
            got = f"The {name!r} parameter of {type(self).__name__} must be {accepted}."
            raise ValueError(f"{got} Got {getattr(self, name)!r} instead.")


def is_positive(value: Any) -> bool:
    """Whether a value is a finite number above 0."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return bool(number and 0 < value < math.inf)


def shortened(X: Any, longest: float) -> Any:
    """Rows of a larger Euclidean norm scaled down to it, each by itself; to 0 where the norm overflows."""
    from sklearn.utils.extmath import row_norms
    from sklearn.utils.sparsefuncs import inplace_row_scale

    shrink = np.minimum(1.0, longest / np.maximum(row_norms(X), longest))
    if isinstance(X, np.ndarray):
        return X * shrink[:, None]
    X = X.copy()
    inplace_row_scale(X, shrink)
    return X
