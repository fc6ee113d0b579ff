"""Means over repeats with their 95% confidence intervals, and slopes on log axes with theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["Z95", "Slope", "family_reach", "fit_slope", "mean_ci", "slope_weights"]

Z95 = 1.96
"""Half the width of a 95% interval in standard errors, as the papers take it."""


def mean_ci(values: Any) -> tuple[float, float]:
    """Mean, and half the width of its 95% interval, ``1.96 s / sqrt(R)``; nan for one repeat."""
    values = np.asarray(values, dtype=float)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), Z95 * spread / math.sqrt(len(values))


def family_reach(rows: int) -> float:
    """Half widths within which `rows` true means all lie together with probability 99% (Bonferroni).

    One row in twenty leaves its own 95% interval by chance; a verdict on a whole table needs this instead.
    """
    from scipy.stats import norm

    return float(norm.isf(0.005 / rows)) / Z95


@dataclass(frozen=True)
class Slope:
    """A fitted exponent and its 95% confidence interval; of sampling error, not of curvature."""

    value: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width


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


def fit_slope(x: Any, means: Any, half_widths: Any) -> Slope:
    """Slope of log(mean) against log(x), and its interval by the delta method."""
    coefficients = slope_weights(x, means, half_widths)
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    return Slope(
        float(coefficients @ np.log(np.asarray(means, dtype=float))),
        float(np.sqrt(np.sum((coefficients * relative) ** 2))),
    )
