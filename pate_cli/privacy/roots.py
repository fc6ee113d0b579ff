"""Roots that end on the side where the guarantee holds."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq

__all__ = ["root_on_safe_side"]


def root_on_safe_side(function: Callable[[float], float], low: float, high: float, *, below: bool) -> float:
    """Root of an increasing function, moved until the function is not positive (`below`) or not negative.

    Parameters
    ----------
    function : callable
        Increasing on ``[low, high]``, of opposite signs at the ends.
    low, high : float
        Bracket, ``0 <= low < high``.
    below : bool
        Which side of the root is safe.

    Returns
    -------
    float
        Within a few units in the last place of the root.
    """
    root = float(brentq(function, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))
    step = 1e-15
    while (function(root) > 0) if below else (function(root) < 0):
        root *= 1 - step if below else 1 + step
        step *= 2
    return root
