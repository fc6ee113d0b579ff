"""Operations on the rows of a matrix; a row of a result depends on that row alone, to the bit.

Floating point rounds a sum by its order, and a product of matrices rounds a row by where it stands. Replacing
a person may move the rows of others, so rows are rounded to whole numbers first, whose sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pate_cli.matrices import dense
from pate_cli.types import FloatArray

__all__ = [
    "LONGEST",
    "UNIT",
    "by_row",
    "on_grid",
    "row_norms",
    "row_peaks",
    "row_squares",
    "stable_product",
    "to_integers",
]

UNIT = 2.0**-16
"""Features are whole multiples of it."""

LONGEST = 128.0
"""Norm to which rows of features are shortened."""

_ROW_BITS = 26  # of a bound on a row's norm: all partial sums of a product of two rows stay below 2^53
_SMALLEST = -900  # exponent of a peak below which rows lose bits: nothing overflows


def row_peaks(X: Any) -> FloatArray:
    """Find the largest magnitude in each row, 0 where there is none; shape (n,)."""
    if isinstance(X, np.ndarray):
        largest: FloatArray = np.max(np.abs(X, dtype=np.float64), axis=1, initial=0.0)
        return largest
    if X.shape[1] == 0:
        return np.zeros(X.shape[0])
    return np.asarray(abs(X).max(axis=1).toarray().ravel(), dtype=np.float64)


def row_norms(X: Any) -> FloatArray:
    """L2 norm of each row of an array or csr_matrix; inf only where it exceeds all floats."""
    peaks = row_peaks(X)
    shares = by_row(np.divide, X, np.where(peaks > 0, peaks, 1.0))  # squares of entries may overflow
    with np.errstate(over="ignore"):
        norms: FloatArray = peaks * np.sqrt(row_squares(shares))
    return norms


def row_squares(A: Any) -> FloatArray:
    """Squared norm of each row, whose rounding does not depend on where the row stands (einsum's does)."""
    if isinstance(A, np.ndarray):
        squares: FloatArray = np.square(np.ascontiguousarray(A, dtype=np.float64)).sum(axis=1)
        return squares
    A = A.astype(np.float64)
    return np.asarray(A.multiply(A).sum(axis=1)).ravel()


def by_row(operation: Callable[[Any, Any], FloatArray], A: Any, numbers: FloatArray) -> Any:
    """Apply an operation to the entries of each row and the row's number; sparse stays sparse."""
    if isinstance(A, np.ndarray):
        return operation(A, numbers[:, None])
    import scipy.sparse as sp

    data = operation(A.data, np.repeat(numbers, np.diff(A.indptr)))
    return sp.csr_matrix((data, A.indices, A.indptr), A.shape)


def on_grid(Z: Any) -> Any:
    """Shorten rows of finite numbers to norm `LONGEST` and round them to whole multiples of `UNIT`.

    The result is in multiples of `UNIT`.
    """
    Z = np.ascontiguousarray(Z) if isinstance(Z, np.ndarray) else Z
    return by_row(_rounded_product, Z, LONGEST / UNIT / np.maximum(row_norms(Z), LONGEST))


def stable_product(A: Any, B: Any) -> FloatArray:
    """Multiply rows of A by rows of B: shapes (n, d) and (m, d) to (n, m), to about 2^-24 of both norms."""
    return integer_product(to_integers(A), to_integers(B))


def integer_product(A: tuple[Any, FloatArray], B: tuple[Any, FloatArray]) -> FloatArray:
    """Multiply rows as `stable_product` does, given what `to_integers` makes of them."""
    (a, units_of_a), (b, units_of_b) = A, B
    product = dense(a @ b.T)
    product *= units_of_a[:, None]
    product *= units_of_b
    return product


def to_integers(A: Any) -> tuple[Any, FloatArray]:
    """Round each row to whole multiples of a unit of its own, to norm 2^26 at most; also return the units."""
    wide = A.shape[1] if isinstance(A, np.ndarray) else np.diff(A.indptr)
    _, exponents = np.frexp(row_peaks(A) * np.sqrt(wide))  # a norm is at most sqrt(wide) peaks
    exponents = np.maximum(exponents, _SMALLEST) - _ROW_BITS
    return by_row(_rounded_product, A, np.ldexp(1.0, -exponents)), np.ldexp(1.0, exponents)


def _rounded_product(entries: FloatArray, factors: FloatArray) -> FloatArray:
    products = entries * factors
    return np.rint(products, out=products)
