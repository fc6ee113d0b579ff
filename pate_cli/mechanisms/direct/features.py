"""From records to what the private linear models see, and back: scaled by public points alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["RADIUS", "Scaling", "clip_rows", "linear_model", "row_norms", "row_peaks"]

RADIUS = 10.0
"""Norm of the weights that the rules for steps and regularisation have in mind, for records of norm 1."""

_SHARE = 0.95  # of the public points are within the bound
_CONSTANT = 0.5  # the column whose weight is the intercept, where a record at the bound has norm 1
_NORM = math.hypot(1.0, _CONSTANT)

_LARGEST = 1e100
"""Largest entry of a scaled record: finite when it is squared and summed."""

_BOUNDS = (1e-300, 1e300)
"""What the bound is kept within: dividing weights by it stays finite."""


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
        bound = float(np.quantile(np.minimum(row_norms(public), _BOUNDS[1]), _SHARE))
        return cls(max(bound, _BOUNDS[0]) if bound > 0 else 1.0)

    def apply(self, X: Any) -> Any:
        """Scale records and append the constant column: shape (n, d) to (n, d + 1); sparse stays sparse.

        A record with an entry that would be above 1e100 is shrunk to that, so any finite record is finite
        and of finite norm.
        """
        import scipy.sparse as sp

        ones = np.full((X.shape[0], 1), _CONSTANT / _NORM)
        scaled = _divided(X, np.maximum(self.bound * _NORM, row_peaks(X) / _LARGEST))
        if sp.issparse(X):
            return sp.hstack([scaled, sp.csr_matrix(ones)], format="csr")
        return np.hstack([scaled, ones])


def row_norms(X: Any) -> FloatArray:
    """L2 norm of each row of an array or a sparse matrix; inf only where it passes all floats."""
    import scipy.sparse as sp

    peaks = row_peaks(X)
    shares = _divided(X, np.where(peaks > 0, peaks, 1.0))  # squares of the entries may not be representable
    squares = shares.multiply(shares).sum(axis=1) if sp.issparse(X) else np.sum(shares * shares, axis=1)
    with np.errstate(over="ignore"):
        norms: FloatArray = peaks * np.sqrt(np.asarray(squares).ravel())
    return norms


def shorten(Z: Any) -> Any:
    """Shrink rows with an entry above 1e100 to one that has it as its largest entry.

    Each by itself, whatever the others are. Norms of what comes back are finite; a record so far out of
    bounds is clipped to the same length with or without it.
    """
    return _divided(Z, np.maximum(1.0, row_peaks(Z) / _LARGEST))


def clip_rows(Z: Any) -> Any:
    """Shrink rows longer than 1, of any finite entries, to norm 1: each by itself."""
    import scipy.sparse as sp

    Z = shorten(Z)
    factor = 1 / np.maximum(row_norms(Z), 1.0)
    return (sp.diags(factor) @ Z).tocsr() if sp.issparse(Z) else Z * factor[:, None]


def row_peaks(X: Any) -> FloatArray:
    """Find the largest magnitude in each row, 0 where there is none; shape (n,)."""
    import scipy.sparse as sp

    if not sp.issparse(X):
        largest: FloatArray = np.max(np.abs(np.asarray(X, dtype=np.float64)), axis=1, initial=0.0)
        return largest
    if X.shape[1] == 0:
        return np.zeros(X.shape[0])
    peaks: FloatArray = abs(X.tocsr()).max(axis=1).toarray().ravel().astype(np.float64)
    return peaks


def _divided(X: Any, divisors: FloatArray) -> Any:
    """Divide each row by a positive number of its own; exact where that is 1."""
    import scipy.sparse as sp

    if not sp.issparse(X):
        return np.asarray(X, dtype=np.float64) / divisors[:, None]
    X = X.tocsr()
    # not a product with reciprocals: those of the smallest numbers are infinite
    data = X.data / np.repeat(divisors, np.diff(X.indptr))
    return sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)


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
