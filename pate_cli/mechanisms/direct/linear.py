"""Linear models on records that are scaled by public points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.features.stable_rows import by_row, row_norms, row_peaks
from pate_cli.types import FloatArray

__all__ = ["RADIUS", "Scaling", "clip_rows", "linear_model"]

RADIUS = 10.0
"""Norm of the weights that the rules for steps and regularisation assume, for records of norm 1."""

_SHARE = 0.95  # of the public points are within the bound
_CONSTANT = 0.5  # the column whose weight is the intercept, where a record at the bound has norm 1
_NORM = math.hypot(1.0, _CONSTANT)
_LARGEST = 1e100  # of a scaled record's entries: finite when squared and summed
_BOUNDS = (1e-300, 1e300)  # of the bound: weights divided by it stay finite


@dataclass(frozen=True)
class Scaling:
    """``z = (x / bound, 1/2) / sqrt(1.25)``: a record up to the bound comes to lie in the unit ball.

    The bound is from public points, so it costs nothing. No private record is assumed to be within it:
    learners clip.
    """

    bound: float  # positive, in the unit of the features

    @classmethod
    def of(cls, public: Any) -> Scaling:
        """Take the 95th percentile of the norms of public points, array or csr_matrix of shape (m, d)."""
        bound = float(np.quantile(np.minimum(row_norms(public), _BOUNDS[1]), _SHARE))
        return cls(max(bound, _BOUNDS[0]) if bound > 0 else 1.0)

    def apply(self, X: Any) -> Any:
        """Scale records and append the constant column: shape (n, d) to (n, d + 1); sparse stays sparse.

        A record with an entry that would be above 1e100 is shrunk to that, so any finite record is finite
        and of finite norm.
        """
        import scipy.sparse as sp

        ones = np.full((X.shape[0], 1), _CONSTANT / _NORM)
        # not a product with reciprocals: those of the smallest numbers are infinite
        scaled = by_row(np.divide, X, np.maximum(self.bound * _NORM, row_peaks(X) / _LARGEST))
        return np.hstack([scaled, ones]) if isinstance(X, np.ndarray) else sp.hstack([scaled, ones], "csr")


def clip_rows(Z: Any) -> Any:
    """Shrink rows longer than 1, of any finite entries, to norm 1."""
    Z = by_row(np.divide, Z, np.maximum(1.0, row_peaks(Z) / _LARGEST))
    return by_row(np.multiply, Z, 1 / np.maximum(row_norms(Z), 1.0))


def linear_model(weights: FloatArray, scaling: Scaling) -> Any:
    """Make a fitted scikit-learn `LogisticRegression` for unscaled records.

    It classifies a record as the weights do, clipped or not: all boundaries between classes pass through 0.
    Weights are of each class on scaled records, shape (C, d + 1); the class with the largest score is
    predicted.
    """
    from sklearn.linear_model import LogisticRegression

    codes = np.arange(len(weights), dtype=np.int64)
    if len(weights) == 2:
        weights = weights[1:] - weights[:1]
    model = LogisticRegression()
    model.classes_ = codes
    model.coef_ = weights[:, :-1] / (scaling.bound * _NORM)
    model.intercept_ = weights[:, -1] * (_CONSTANT / _NORM)
    model.n_features_in_ = model.coef_.shape[1]
    model.n_iter_ = np.zeros(1, dtype=np.int32)
    return model
