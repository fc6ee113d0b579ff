"""From records to what the private linear models see, and back: scaled by public points alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["RADIUS", "Scaling", "clip_rows", "linear_model", "row_norms"]

RADIUS = 10.0
"""Norm of the weights that the rules for steps and regularisation have in mind, for records of norm 1."""

_SHARE = 0.95  # of the public points are within the bound
_CONSTANT = 0.5  # the column whose weight is the intercept, where a record at the bound has norm 1
_NORM = math.hypot(1.0, _CONSTANT)


@dataclass(frozen=True)
class Scaling:
    """``z = (x / bound, 1/2) / sqrt(1.25)``: a record up to the bound comes to lie in the unit ball.

    Attributes
    ----------
    bound : float
        Positive, in the unit of the features. From public points, so it costs nothing. No private record
        is assumed to be within it: whoever uses `apply` clips.
    """

    bound: float

    @classmethod
    def of(cls, public: Any) -> Scaling:
        """Take the 95th percentile of the norms of public points, array or csr_matrix of shape (m, d)."""
        bound = float(np.quantile(row_norms(public), _SHARE))
        return cls(bound if bound > 0 else 1.0)

    def apply(self, X: Any) -> Any:
        """Scale records and append the constant column: shape (n, d) to (n, d + 1); sparse stays sparse."""
        import scipy.sparse as sp

        ones = np.full((X.shape[0], 1), _CONSTANT / _NORM)
        if sp.issparse(X):
            return sp.hstack([X / (self.bound * _NORM), sp.csr_matrix(ones)], format="csr")
        return np.hstack([np.asarray(X, dtype=np.float64) / (self.bound * _NORM), ones])


def row_norms(X: Any) -> FloatArray:
    """L2 norm of each row of an array or a sparse matrix."""
    import scipy.sparse as sp

    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.sum(X * X, axis=1)
    norms: FloatArray = np.sqrt(squares)
    return norms


def clip_rows(Z: Any) -> Any:
    """Shrink rows longer than 1 to norm 1: each by itself, whatever the others are."""
    import scipy.sparse as sp

    factor = 1 / np.maximum(row_norms(Z), 1.0)
    return (sp.diags(factor) @ Z).tocsr() if sp.issparse(Z) else Z * factor[:, None]


def linear_model(weights: FloatArray, scaling: Scaling) -> Any:
    """scikit-learn's own classifier, with weights learnt here.

    Parameters
    ----------
    weights : ndarray of shape (C, d + 1)
        Of each class, on scaled records: the class with the largest score is predicted.
    scaling : Scaling

    Returns
    -------
    fitted LogisticRegression
        For unscaled records. It classifies a record as the weights do, clipped or not: all boundaries
        between classes pass through 0.
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
