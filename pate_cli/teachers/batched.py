"""Fit many small logistic regressions at once.

A teacher of 20 records and 5 features is a solver call of microseconds inside a
library call of a millisecond. Where features are few, Newton's method on all
teachers at once, as stacked matrices, takes the calls away: the same minimiser as
`LogisticRegression(solver="liblinear")`, found to a tighter tolerance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pate_cli.types import FloatArray, IntArray

__all__ = ["MOST_FEATURES", "fit_logistic"]

MOST_FEATURES = 32
"""Up to here all at once is faster than the solver's loop: 80 times at 5, 3 at 30, half as fast at 112."""

_TOLERANCE = 1e-9
_MOST_STEPS = 50
_BLOCK = 2**22  # most numbers of a block of parts: 32 MB


def fit_logistic(
    X: FloatArray, y: IntArray, ends: IntArray, C: float, sample_weight: FloatArray | None = None
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Minimise ``|(w, b)|^2 / 2 + C sum log(1 + exp(-s (w.x + b)))`` for each part, s = +-1.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows in the order of the parts.
    y : ndarray of int64, shape (n,)
        0 or 1.
    ends : ndarray of int64, shape (K,)
        Part k is the rows from ``ends[k-1]`` (0 for the first) to ``ends[k]``; sizes differ by at most one.
    C : float
        Inverse strength of the penalty, positive.
    sample_weight : ndarray of shape (n,), optional
        Weight of each row in the sum.

    Returns
    -------
    coefficients : ndarray of shape (K, d + 1)
        The last one is the intercept, penalised like the others, as liblinear does.
    converged : ndarray of bool, shape (K,)
        Where False, the coefficients are not to be used.
    """
    starts = np.concatenate([[0], ends[:-1]])
    longest = int((ends - starts).max())
    at_once = max(1, _BLOCK // (longest * (X.shape[1] + 1)))
    if len(ends) > at_once:
        blocks = []
        for first in range(0, len(ends), at_once):
            low, block = starts[first], ends[first : first + at_once]
            own = None if sample_weight is None else sample_weight[low : block[-1]]
            blocks.append(fit_logistic(X[low : block[-1]], y[low : block[-1]], block - low, C, own))
        return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
    rows = starts[:, None] + np.arange(longest)
    real = rows < ends[:, None]  # parts are padded to one length, by rows of weight 0
    rows = np.where(real, rows, starts[:, None])
    Z = np.concatenate([X, np.ones((len(X), 1))], axis=1)[rows]
    signs = np.where(y[rows] == 1, 1.0, -1.0)
    weights = C * real if sample_weight is None else C * real * sample_weight[rows]

    w = np.zeros((len(ends), Z.shape[2]))
    margins = np.zeros(rows.shape)
    value = np.sum(weights * np.log(2.0), axis=1)
    converged = np.zeros(len(ends), dtype=bool)
    for _ in range(_MOST_STEPS):
        p = 1 / (1 + np.exp(margins))  # of being wrong
        gradient = w - np.einsum("kij,ki->kj", Z, weights * signs * p)
        converged = np.abs(gradient).max(axis=1) <= _TOLERANCE * np.maximum(1.0, weights.sum(axis=1))
        if converged.all():
            break
        curvature = np.einsum("ki,kij,kil->kjl", weights * p * (1 - p), Z, Z, optimize=True)
        curvature += np.eye(Z.shape[2])
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        step[converged] = 0
        size = np.ones(len(ends))
        for _ in range(30):  # halve a step until it does not go up
            trial = w - size[:, None] * step
            margins = signs * np.einsum("kij,kj->ki", Z, trial)
            reached = 0.5 * np.sum(trial**2, axis=1) + np.sum(weights * np.logaddexp(0, -margins), axis=1)
            up = reached > value * (1 + 1e-12) + 1e-12
            if not up.any():
                break
            size[up] /= 2
        w, value = trial, reached
    return w, converged
