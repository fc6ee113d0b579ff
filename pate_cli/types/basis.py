"""Arrays, and the mark of a private value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse as sp

    Features: TypeAlias = NDArray[np.float64] | sp.csr_matrix | pd.DataFrame

__all__ = ["UNANSWERED", "FloatArray", "IntArray", "dense"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

UNANSWERED = -1
"""Label code of a query the mechanism did not answer (the papers' bottom)."""


def dense(X: Any) -> FloatArray:
    """Make a dense array of floats of a dense or sparse matrix; what is one already is not copied."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


class _Private:
    """Base of values that must not leave a run except through a mechanism."""

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} is private and is not written or sent anywhere")
