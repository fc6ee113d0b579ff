"""Arrays, and the mark of a private value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

    Features: TypeAlias = NDArray[np.float64] | sp.csr_matrix | pd.DataFrame

__all__ = ["UNANSWERED", "FloatArray", "IntArray", "dense", "without_tiny"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

UNANSWERED = -1
"""Label code of a query the mechanism did not answer (the papers' bottom)."""

_LEAST = 1e-100
"""Features of a smaller magnitude count as 0. liblinear divides by the squared norm of its first gradient,
and loops forever where that underflows. A gradient may be as small as the difference of two features in
their last bit, 2^-53 of them, so the limit is far above 1e-162, below which squares of features underflow."""


def dense(X: Any) -> FloatArray:
    """Make a dense array of floats of a dense or sparse matrix; what is one already is not copied."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def without_tiny(X: Any) -> Any:
    """Set numbers of magnitude below 1e-100 to 0, in a copy; X itself is returned without any."""
    if hasattr(X, "shards"):  # does so as it reads rows
        return X
    values = X if isinstance(X, np.ndarray) else X.data
    tiny = (values > -_LEAST) & (values < _LEAST) & (values != 0)
    if not tiny.any():
        return X
    X = X.copy()
    (X if isinstance(X, np.ndarray) else X.data)[tiny] = 0
    return X


class _Private:
    """Base of values that must not leave a run except through a mechanism."""

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} is private and is not written or sent anywhere")
