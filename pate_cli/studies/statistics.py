"""Slopes on log axes with their confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.report.interval import Interval
from pate_cli.types import FloatArray

__all__ = ["fit_slope", "slope_weights"]


def slope_weights(x: Any, means: Any, half_widths: Any) -> FloatArray:
    """Coefficients c with slope = sum c_i log(mean_i): least squares, weighted by the precision of log(mean).

    Parameters
    ----------
    x, means, half_widths : array of shape (P,)
        Positive; half widths as `mean_ci` gives them.
    """
    log_x = np.log(np.asarray(x, dtype=float))
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    weights = 1 / relative**2 if np.all(np.isfinite(relative) & (relative > 0)) else np.ones_like(log_x)
    centred = log_x - np.average(log_x, weights=weights)
    coefficients: FloatArray = weights * centred / np.sum(weights * centred**2)
    return coefficients


def fit_slope(x: Any, means: Any, half_widths: Any, repeats: int) -> Interval:
    """Slope of log(mean) against log(x), and its interval by the delta method.

    The interval is of sampling error, not of curvature.

    Parameters
    ----------
    x, means, half_widths : array of shape (P,)
        As of `slope_weights`.
    repeats : int
        Of each mean, or the fewest: the interval has the degrees of freedom of one mean, which is cautious.
    """
    coefficients = slope_weights(x, means, half_widths)
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    return Interval(
        float(coefficients @ np.log(np.asarray(means, dtype=float))),
        float(np.sqrt(np.sum((coefficients * relative) ** 2))),
        repeats,
    )
