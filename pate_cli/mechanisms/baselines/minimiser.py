"""The minimiser of regularised logistic regression, as exact as the guarantees need it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["TOLERANCE", "minimise"]

TOLERANCE = 1e-10
"""Norm of the gradient at which a point is taken for the minimiser."""

_STEPS = 200
_SHORTEST = 1e-6
_ROUNDING = 1e-14


def minimise(
    Z: Any,
    signs: FloatArray,
    linear: FloatArray,
    *,
    n: int,
    regularisation: float,
    shares: FloatArray | None = None,
) -> FloatArray:
    r"""Minimise ``(1/n) sum_i s_i log(1 + exp(-y_i z_i.w)) + linear.w + (regularisation/2) |w|^2``.

    Newton's method; its steps come from conjugate gradients, so no matrix of shape (d, d) is made.

    Parameters
    ----------
    Z : ndarray or csr_matrix of shape (rows, d)
        Records; where rows < n, the others are zeros.
    signs : ndarray of shape (rows,)
        1 or -1.
    linear : ndarray of shape (d,)
        Zeros for the plain problem.
    n : int
    regularisation : float
        Positive.
    shares : ndarray of shape (rows,), optional
        s, in (0, 1]; ones if left out.

    Returns
    -------
    ndarray of shape (d,)
        Where the gradient's norm is at most `TOLERANCE`: by strong convexity within
        ``TOLERANCE / regularisation`` of the minimiser.

    Raises
    ------
    FloatingPointError
        If such a point is not found. It then must not be released: no guarantee would hold.
    """
    from scipy.sparse.linalg import LinearOperator, cg
    from scipy.special import expit

    d = Z.shape[1]
    w, each = np.zeros(d), np.ones(len(signs)) if shares is None else shares

    def value(at: FloatArray) -> float:
        losses = each * np.logaddexp(0.0, -signs * (Z @ at))
        return float(losses.sum() / n + linear @ at + regularisation / 2 * (at @ at))

    for _ in range(_STEPS):
        miss = expit(-signs * (Z @ w))
        gradient = Z.T @ (-signs * each * miss / n) + linear + regularisation * w
        size = float(np.linalg.norm(gradient))
        if size <= TOLERANCE:
            return w
        curvature = each * miss * (1 - miss) / n

        def product(v: FloatArray, curvature: FloatArray = curvature) -> FloatArray:
            found: FloatArray = Z.T @ (curvature * (Z @ v)) + regularisation * v
            return found

        hessian = LinearOperator((d, d), matvec=product, dtype=np.float64)
        direction, _info = cg(hessian, -gradient, rtol=min(0.1, size**0.5), maxiter=10 * d)
        slope, here, step = float(gradient @ direction), value(w), 1.0
        # near the end the decrease drowns in rounding; there full steps converge by themselves
        room = _ROUNDING * (1 + abs(here))
        while step > _SHORTEST and value(w + step * direction) > here + 0.25 * step * slope + room:
            step /= 2
        w = w + step * direction
    raise FloatingPointError(f"no minimiser: the gradient is still {size:.3g} after {_STEPS} steps of Newton")
