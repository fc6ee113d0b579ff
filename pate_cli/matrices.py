"""Numbers of a matrix, dense or sparse, within what learners take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST", "dense", "deviations", "read_only", "within_bounds", "without_tiny"]

_LEAST = 1e-100
"""Features of a smaller magnitude count as 0. liblinear divides by the squared norm of its first gradient,
and loops forever where that underflows. A gradient may be as small as the difference of two features in
their last bit, 2^-53 of them, so the limit is far above 1e-162, below which squares of features underflow."""

LARGEST = 1e30
"""Features beyond it are more than learners take: float32 does not hold them, or their squares overflow."""


def dense(X: Any) -> NDArray[np.float64]:
    """Convert a dense or sparse matrix to a dense array of floats; a dense one is not copied."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def deviations(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of each column; 0 where it is no larger than what rounding makes of equal numbers.

    The mean of n numbers errs by up to n units in its last place, and the deviation with it.
    """
    n, variances = len(columns), columns.var(axis=0)
    rounding = n * np.finfo(np.float64).eps
    constant = variances <= rounding * variances + (rounding * columns.mean(axis=0)) ** 2
    return np.where(constant, 0.0, np.sqrt(variances))


def read_only(X: Any) -> Any:
    """View of an array or a csr_matrix whose numbers cannot be changed; anything else as it is."""
    if not _is_matrix(X) or not (X if isinstance(X, np.ndarray) else X.data).flags.writeable:
        return X
    if not isinstance(X, np.ndarray):
        return type(X)((read_only(X.data), X.indices, X.indptr), X.shape)
    X = X.view()
    X.flags.writeable = False
    return X


def without_tiny(X: Any) -> Any:
    """Set numbers of magnitude below 1e-100 to 0, in a copy; X itself is returned without any."""
    if not _is_matrix(X):  # shards and mapped rows do so as they are read
        return X
    values = X if isinstance(X, np.ndarray) else X.data
    tiny = (values > -_LEAST) & (values < _LEAST) & (values != 0)
    if not tiny.any():
        return X
    X = X.copy()
    (X if isinstance(X, np.ndarray) else X.data)[tiny] = 0
    return X


def within_bounds(X: Any) -> Any:
    """Cut numbers off at magnitude 1e30, and set those below 1e-100 to 0, as `without_tiny` does."""
    X = without_tiny(X)
    if not _is_matrix(X):
        return X
    values = X if isinstance(X, np.ndarray) else X.data
    if not (np.abs(values) > LARGEST).any():
        return X
    X = X.copy()
    values = X if isinstance(X, np.ndarray) else X.data
    np.clip(values, -LARGEST, LARGEST, out=values)
    return X


def _is_matrix(X: Any) -> bool:
    """Whether X is an array or a csr_matrix, and not rows that are made when they are asked for."""
    return isinstance(X, np.ndarray) or hasattr(X, "indptr")
