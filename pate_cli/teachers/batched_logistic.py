"""Logistic regressions of many small parts fitted at once: liblinear's minimisers without its calls.

Newton's method on all parts in step. Parts of dense records are stacked in one array, others are the blocks
of one block-diagonal matrix; where features are few, a step is solved for, else approached by conjugate
gradients. A part's step lengths and stopping are its own, so its coefficients do not depend on the records of
others, to the bit.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pate_cli.types import FloatArray, IntArray

__all__ = ["fit_dense", "fit_parts", "fit_sparse", "fit_wide", "is_liblinear"]

_MOST_STEPS = 50
_HALVINGS = 30  # of one step

# Stacked parts are faster than a loop over liblinear up to this many features: 80 times at 5, 3 at 30.
_MOST_FEATURES = 32
# With more features the minimiser of a part of few records is sought in their span: of 300 features 2.7 times
# faster at 12 records, 1.5 at 25, and as fast here.
_MOST_RECORDS = 48
_DENSE_TOLERANCE = 1e-9
_PARTS = 256
_NUMBERS = 2**22  # most of a stack of parts: 32 MB

# Blocks are faster up to this many non-zeros a record: 6 times at 14, 2 at 51, 1 at 100.
_MOST_ENTRIES = 64
_SPARSE_TOLERANCE = 1e-5  # on the gradient's norm, relative to that at 0; liblinear's own default is looser
_WIDE_TOLERANCE = (
    1e-6  # of dense records with more features: fewer than one vote in 10^5 is not the minimiser's
)
_FORCING = 0.1
_MOST_PRODUCTS = 200  # of one step
# Most records in one block-diagonal matrix, so that it stays in the processor's cache. Counted in records, as
# the number of entries is private.
_RECORDS = 2**11


def is_liblinear(learner: Any, n_classes: int) -> bool:
    """Whether `fit_parts` finds the learner's minimiser: plain logistic regression of two classes."""
    from sklearn.linear_model import LogisticRegression

    if n_classes != 2 or type(learner) is not LogisticRegression:
        return False
    plain = LogisticRegression(solver="liblinear").get_params()
    free = ("C", "tol", "max_iter", "random_state", "verbose")  # change nothing in the minimiser but C
    return all(value == plain[name] for name, value in learner.get_params().items() if name not in free)


def fit_parts(
    learner: Any,
    X: Any,
    y: IntArray,
    ends: IntArray,
    sample_weight: FloatArray | None,
    to_fit: NDArray[np.bool_],
    longest: int,
) -> tuple[IntArray, FloatArray]:
    """Minimise ``|(w, b)|^2 / 2 + C sum log(1 + exp(-s (w.x + b)))``, s = +-1, for each part if possible.

    The intercept b is penalised like the rest, as liblinear does. Part k is the rows ``ends[k-1]`` to
    ``ends[k]``; `longest` is the length of the longest part of the whole ensemble. Returns the numbers of the
    fitted parts and their coefficients, the intercept last. Whether a part is fitted depends on no other
    part: those that are not `to_fit`, have one class or too many entries are treated as empty.
    """
    dense = isinstance(X, np.ndarray) and (X.shape[1] <= _MOST_FEATURES or longest <= _MOST_RECORDS)
    starts = np.concatenate([[0], ends[:-1]])
    ones = np.add.reduceat(y, starts)
    to_fit = to_fit & (ones > 0) & (ones < ends - starts)
    weights = np.full(len(y), float(learner.C)) if sample_weight is None else learner.C * sample_weight
    if dense:
        coefficients, converged = fit_dense(X, y, ends, weights, to_fit, longest)
        return np.flatnonzero(converged), coefficients[converged]
    entries = np.count_nonzero(X, axis=1) if isinstance(X, np.ndarray) else np.diff(X.indptr)
    few = np.add.reduceat(entries, starts) <= _MOST_ENTRIES * (ends - starts)
    tolerance = min(learner.tol, _SPARSE_TOLERANCE)
    coefficients, converged = np.zeros((len(ends), X.shape[1] + 1)), np.zeros(len(ends), dtype=bool)
    if (to_fit & few).any():
        coefficients, converged = fit_sparse(X, y, ends, weights, to_fit & few, tolerance)
    if isinstance(X, np.ndarray) and (to_fit & ~few).any():
        wide, done = fit_wide(X, y, ends, weights, to_fit & ~few, longest, min(learner.tol, _WIDE_TOLERANCE))
        coefficients[done], converged = wide[done], converged | done
    return np.flatnonzero(converged), coefficients[converged]


def fit_dense(
    X: FloatArray, y: IntArray, ends: IntArray, weights: FloatArray, to_fit: NDArray[np.bool_], longest: int
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients (K, d + 1), and whether parts have converged; sizes of parts differ by at most one.

    Rows of weight 0 pad parts and stacks to one length, so that shapes depend on public numbers alone. Of
    many features only the span of a part's records matters, in which the penalty is the same.
    """
    in_span = X.shape[1] > _MOST_FEATURES
    sizes = np.diff(ends, prepend=0)
    at_once = _stacked(len(ends), min(_PARTS, _NUMBERS // (longest * (X.shape[1] + 1))))
    coefficients = np.zeros((len(ends), X.shape[1] + 1))
    converged = np.zeros(len(ends), dtype=bool)
    for first in range(0, len(ends), at_once):
        block = slice(first, first + at_once)
        rows = slice(int(ends[first] - sizes[first]), int(ends[block][-1]))
        lengths = np.zeros(at_once, dtype=np.int64)
        lengths[: len(sizes[block])] = sizes[block]
        is_record = np.arange(longest) < lengths[:, None]
        Z = np.zeros((at_once, longest, X.shape[1] + 1))
        Z[is_record, :-1], Z[is_record, -1] = X[rows], 1.0
        signs, weight = np.ones(is_record.shape), np.zeros(is_record.shape)
        signs[is_record] = np.where(y[rows] == 1, 1.0, -1.0)
        weight[is_record] = weights[rows]
        unwanted = np.flatnonzero(~to_fit[block])
        Z[unwanted], weight[unwanted] = 0.0, 0.0
        if in_span:
            basis, rows_in_basis = np.linalg.qr(Z.transpose(0, 2, 1))
            v, done = _dense_newton(np.ascontiguousarray(rows_in_basis.transpose(0, 2, 1)), signs, weight)
            w = (basis @ v[:, :, None])[:, :, 0]
        else:
            w, done = _dense_newton(Z, signs, weight)
        coefficients[block], converged[block] = w[: len(sizes[block])], done[: len(sizes[block])]
    return coefficients, converged & to_fit


def _stacked(count: int, most: int) -> int:
    """Parts in each of the fewest stacks of one size."""
    return -(-count // -(-count // max(1, most)))


def _dense_newton(
    Z: FloatArray, signs: FloatArray, weights: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients of each part of a stack, and whether it has converged."""
    count, _, width = Z.shape
    across = Z.transpose(0, 2, 1)
    w, margins = np.zeros((count, width)), np.zeros(signs.shape)
    value = np.sum(weights * np.log(2.0), axis=1)
    goal = _DENSE_TOLERANCE * np.maximum(1.0, weights.sum(axis=1))
    converged, live = np.zeros(count, dtype=bool), np.ones(count, dtype=bool)
    with np.errstate(all="ignore"):  # NaN has not converged
        for _ in range(_MOST_STEPS):
            p = 1 / (1 + np.exp(margins))  # of being wrong
            gradient = w - np.einsum("kij,ki->kj", Z, weights * signs * p)
            converged |= live & (np.abs(gradient).max(axis=1) <= goal)
            live &= ~converged
            if not live.any():
                break
            curvature = (across * (weights * p * (1 - p))[:, None]) @ Z
            curvature += np.eye(width)
            step = _solve(curvature, gradient)
            live &= np.isfinite(step).all(axis=1)
            step[~live] = 0
            size = np.ones(count)
            for _ in range(_HALVINGS):  # until the objective does not go up
                trial = w - size[:, None] * step
                ahead = signs * np.einsum("kij,kj->ki", Z, trial)
                reached = 0.5 * np.sum(trial**2, axis=1) + np.sum(weights * np.logaddexp(0, -ahead), axis=1)
                up = live & (reached > value * (1 + 1e-12) + 1e-12)
                if not up.any():
                    break
                size[up] /= 2
            w, margins = np.where(live[:, None], trial, w), np.where(live[:, None], ahead, margins)
            value = np.where(live, reached, value)
    return w, converged


def _solve(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
    """Newton's steps; NaN for a part with a singular matrix, as features of 1e9 make it."""
    try:
        return np.asarray(np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0])
    except np.linalg.LinAlgError:  # one is singular: numpy then solves none
        step = np.full_like(gradient, np.nan)
        for k in range(len(step)):
            with contextlib.suppress(np.linalg.LinAlgError):
                step[k] = np.linalg.solve(curvature[k], gradient[k])
        return step


def fit_sparse(
    X: Any,
    y: IntArray,
    ends: IntArray,
    weights: FloatArray,
    to_fit: NDArray[np.bool_],
    tolerance: float = _SPARSE_TOLERANCE,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients (K, d + 1), and whether parts have converged: the gradient is `tolerance` of that at 0.

    Truncated Newton steps by conjugate gradients, with a line search instead of the trust region of
    C.-J. Lin, R. C. Weng, S. S. Keerthi, Trust region Newton method for logistic regression, JMLR 9, 2008.
    """
    starts = np.concatenate([[0], ends[:-1]])
    at_once = max(1, _RECORDS // int((ends - starts).max()))
    used = np.repeat(to_fit, ends - starts)
    weights = np.where(used, weights, 0.0)
    coefficients = np.zeros((len(ends), X.shape[1] + 1))
    converged = np.zeros(len(ends), dtype=bool)
    for first in range(0, len(ends), at_once):
        block = slice(first, first + at_once)
        rows = slice(int(starts[first]), int(ends[block][-1]))
        parts = _Blocks(_only(sp.csr_matrix(X[rows]), used[rows]), starts[block] - starts[first])
        signs = np.where(y[rows] == 1, 1.0, -1.0)
        w, converged[block] = _truncated_newton(parts, signs, weights[rows], tolerance)
        coefficients[block].ravel()[parts.columns] = w  # a view: features that no record has stay 0
    return coefficients, converged & to_fit


def fit_wide(
    X: FloatArray,
    y: IntArray,
    ends: IntArray,
    weights: FloatArray,
    to_fit: NDArray[np.bool_],
    longest: int,
    tolerance: float = _WIDE_TOLERANCE,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients and convergence as of `fit_sparse`, for dense records of many features."""
    sizes = np.diff(ends, prepend=0)
    at_once = _stacked(len(ends), _RECORDS // longest)
    coefficients = np.zeros((len(ends), X.shape[1] + 1))
    converged = np.zeros(len(ends), dtype=bool)
    for first in range(0, len(ends), at_once):
        block = slice(first, first + at_once)
        rows = slice(int(ends[first] - sizes[first]), int(ends[block][-1]))
        lengths = np.zeros(at_once, dtype=np.int64)  # rows of weight 0 pad parts and stacks to one length
        lengths[: len(sizes[block])] = np.where(to_fit[block], sizes[block], 0)
        is_record = np.arange(longest) < lengths[:, None]
        used = np.repeat(to_fit[block], sizes[block])
        signs, weight = np.ones(is_record.shape), np.zeros(is_record.shape)
        signs[is_record] = np.where(y[rows][used] == 1, 1.0, -1.0)
        weight[is_record] = weights[rows][used]
        parts = _Stack(X[rows][used], is_record)
        w, done = _truncated_newton(parts, signs.ravel(), weight.ravel(), tolerance)
        coefficients[block] = w.reshape(at_once, -1)[: len(sizes[block])]
        converged[block] = done[: len(sizes[block])]
    return coefficients, converged & to_fit


class _Stack:
    """Dense parts in one array, an intercept to each record; its methods are those of `_Blocks`."""

    def __init__(self, X: FloatArray, is_record: NDArray[np.bool_]) -> None:
        self._Z = np.zeros((*is_record.shape, X.shape[1] + 1))
        self._Z[is_record, :-1], self._Z[is_record, -1] = X, 1.0
        self.n_columns = len(is_record) * self._Z.shape[2]

    def scores(self, w: FloatArray) -> FloatArray:
        return np.asarray(self._Z @ w.reshape(len(self._Z), -1, 1)).ravel()

    def back(self, u: FloatArray) -> FloatArray:
        return np.asarray(u.reshape(len(self._Z), 1, -1) @ self._Z).ravel()

    def dot(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return self.total(a * b)

    def total(self, u: FloatArray) -> FloatArray:
        return np.asarray(u.reshape(len(self._Z), -1).sum(axis=1))

    def to_columns(self, a: Any) -> Any:
        return np.repeat(a, self._Z.shape[2])

    def to_records(self, a: Any) -> Any:
        return np.repeat(a, self._Z.shape[1])


def _only(X: sp.csr_matrix, used: NDArray[np.bool_]) -> sp.csr_matrix:
    """Empty all records but those used."""
    if used.all():
        return X
    lengths = np.diff(X.indptr)
    in_used = np.repeat(used, lengths)
    indptr = np.concatenate([[0], np.cumsum(np.where(used, lengths, 0))])
    return sp.csr_matrix((X.data[in_used], X.indices[in_used], indptr), shape=X.shape)


class _Blocks:
    """A block-diagonal matrix of parts, an intercept to each, without columns that are all zero."""

    def __init__(self, X: sp.csr_matrix, starts: IntArray) -> None:
        n, width = X.shape[0], X.shape[1] + 1
        self._starts = starts
        self._sizes = np.diff(starts, append=n)
        number = np.repeat(np.arange(len(starts)), self._sizes)  # of the part, for each row
        indptr = X.indptr + np.arange(n + 1)
        last = indptr[1:] - 1  # the intercept stands at the end of each row
        is_entry = np.ones(int(indptr[-1]), dtype=bool)
        is_entry[last] = False
        position, data = np.empty(len(is_entry), dtype=np.int64), np.ones(len(is_entry))
        position[is_entry] = X.indices + np.repeat(number * width, np.diff(X.indptr))
        position[last] = number * width + width - 1
        data[is_entry] = X.data
        occupied = np.zeros(len(starts) * width, dtype=bool)
        occupied[position] = True
        self.columns = np.flatnonzero(occupied)
        """Place of each column of the matrix in the parts' coefficients, one part after the other."""
        rank = (np.cumsum(occupied) - 1).astype(np.int32)
        shape = (n, len(self.columns))
        self._A = sp.csr_matrix((data, rank[position], indptr.astype(np.int32)), shape=shape)
        self._At = self._A.T
        self.n_columns = len(self.columns)
        self._first = np.searchsorted(self.columns, np.arange(len(starts)) * width)
        self._widths = np.diff(self._first, append=len(self.columns))

    def scores(self, w: FloatArray) -> FloatArray:
        """``A w``, a number a record."""
        return np.asarray(self._A @ w)

    def back(self, u: FloatArray) -> FloatArray:
        """``A' u``, a number a column."""
        return np.asarray(self._At @ u)

    def dot(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Inner products over the columns of each part, shape (K,)."""
        return np.add.reduceat(a * b, self._first)

    def total(self, u: FloatArray) -> FloatArray:
        """Sums over the records of each part, shape (K,)."""
        return np.add.reduceat(u, self._starts)

    def to_columns(self, a: Any) -> Any:
        """Each part's number, for each of its columns."""
        return np.repeat(a, self._widths)

    def to_records(self, a: Any) -> Any:
        """Each part's number, for each of its records."""
        return np.repeat(a, self._sizes)


def _truncated_newton(
    parts: _Blocks | _Stack, signs: FloatArray, weights: FloatArray, tolerance: float
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Coefficients of all columns, and which parts have converged."""
    w, margins = np.zeros(parts.n_columns), np.zeros(len(signs))
    value = math.log(2) * parts.total(weights)
    with np.errstate(all="ignore"):  # NaN has not converged
        pull = parts.back(weights * signs / 2)
        at_start = np.sqrt(parts.dot(pull, pull))
        for _ in range(_MOST_STEPS):
            p = 1 / (1 + np.exp(margins))  # of being wrong
            gradient = w - parts.back(weights * signs * p)
            norm = np.sqrt(parts.dot(gradient, gradient))
            live = norm > tolerance * at_start
            if not live.any():
                break
            forcing = np.minimum(_FORCING, np.sqrt(norm / at_start))
            step = _step(parts, gradient, weights * p * (1 - p), forcing * norm, live)
            change = signs * parts.scores(step)
            slope, here = parts.dot(gradient, step), parts.dot(w, w)
            across, square = parts.dot(w, step), parts.dot(step, step)
            length = np.ones(len(value))
            for _ in range(_HALVINGS):  # until the objective goes down enough
                trial = margins + parts.to_records(length) * change
                reached = 0.5 * (here + 2 * length * across + length**2 * square)
                reached += parts.total(weights * np.logaddexp(0, -trial))
                up = live & (reached > value + 1e-4 * length * slope + 1e-12 * value)
                if not up.any():
                    break
                length[up] /= 2
            length[~live] = 0
            w = w + parts.to_columns(length) * step
            margins, value = np.where(parts.to_records(live), trial, margins), np.where(live, reached, value)
    return w, norm <= tolerance * at_start


def _step(
    parts: _Blocks | _Stack,
    gradient: FloatArray,
    curvature: FloatArray,
    goal: FloatArray,
    live: NDArray[np.bool_],
) -> FloatArray:
    """Solve ``(I + A' D A) step = -gradient`` by conjugate gradients, each part until its goal is reached."""
    step, residual = np.zeros_like(gradient), -gradient
    direction = residual.copy()
    left = parts.dot(residual, residual)
    running = live.copy()
    for _ in range(_MOST_PRODUCTS):
        image = parts.scores(direction)
        image *= curvature
        product = parts.back(image)
        product += direction
        length = parts.to_columns(np.where(running, left / parts.dot(direction, product), 0.0))
        product *= length
        residual -= product
        length *= direction
        step += length
        now = parts.dot(residual, residual)
        running &= now > goal**2
        if not running.any():
            break
        direction *= parts.to_columns(np.where(running, now / left, 0.0))
        direction += residual
        left = now
    return step
