"""Products and norms of rows that are the same to the bit wherever a row stands, and among which others.

A product of matrices may round a row by its place. Sums of whole numbers below 2^53 are exact in whatever
order they are added, so rows are rounded to whole multiples of a power of two first, each by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.mechanisms.baselines.features import row_peaks
from pate_cli.types import FloatArray, dense

__all__ = ["dot", "norms", "whole"]

_BITS = 26  # of a row's norm: squares, and products of two rows, stay below 2^53
_SMALLEST = -900  # exponent of a peak below which rows lose bits: nothing overflows


def whole(A: Any) -> tuple[Any, FloatArray]:
    """Round rows to whole numbers, each by itself.

    Parameters
    ----------
    A : ndarray or csr_matrix of shape (n, d)
        Finite numbers.

    Returns
    -------
    numbers : ndarray or csr_matrix of shape (n, d)
        Whole, a row of L2 norm at most 2^26 + sqrt(d)/2.
    steps : ndarray of shape (n,)
        What to multiply each row by: powers of two.
    """
    import scipy.sparse as sp

    wide = np.diff(A.indptr) if sp.issparse(A) else A.shape[1]
    shares, exponents = np.frexp(row_peaks(A))
    exponents = exponents + np.frexp(shares * np.sqrt(wide))[1]  # a norm is at most sqrt(wide) peaks
    exponents = np.maximum(exponents, _SMALLEST) - _BITS
    steps, back = np.ldexp(1.0, exponents), np.ldexp(1.0, -exponents)
    if sp.issparse(A):
        return sp.csr_matrix((np.rint(A.data * np.repeat(back, wide)), A.indices, A.indptr), A.shape), steps
    numbers = A * back[:, None]
    return np.rint(numbers, out=numbers), steps


def dot(A: Any, B: Any) -> FloatArray:
    """Multiply rows of A by rows of B: shapes (n, d) and (m, d) to (n, m), to 2^-24 of both norms.

    A row of what comes back is a function of that row of A and of B, to the bit.
    """
    (a, of_a), (b, of_b) = whole(A), whole(B)
    found = dense(a @ b.T)
    found *= of_a[:, None]
    found *= of_b
    return found


def norms(A: Any) -> FloatArray:
    """L2 norm of each row, to 2^-24 of it, and the same to the bit wherever the row stands."""
    import scipy.sparse as sp

    numbers, steps = whole(A)
    if sp.issparse(A):
        squares = np.asarray(numbers.multiply(numbers).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", numbers, numbers)
    found: FloatArray = np.sqrt(squares) * steps
    return found
