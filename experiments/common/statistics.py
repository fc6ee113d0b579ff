"""Slopes on log axes with their confidence intervals, and verdicts on the rows of a study's table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binomtest

from pate_cli.report.interval import Interval, simultaneous
from pate_cli.report.verdict import FEWEST, VerdictWord
from pate_cli.types import FloatArray

AGREES = 0.01
"""A simulated error rate closer than this to the exact one agrees with it."""


def judged(
    judge: Callable[[Interval, float, int], VerdictWord],
    gaps: Any,
    half_widths: Any,
    repeats: Any,
    margin: float = 0.0,
) -> list[VerdictWord]:
    """Judge the rows of a table together, by `compare` or `at_least` of `pate_cli.report.verdict`.

    The gaps have 95% intervals of these half widths over these repeats: arrays of shape (R,), or numbers.
    """
    rows = [
        Interval(float(gap), float(half), int(n))
        for gap, half, n in zip(
            *np.broadcast_arrays(*map(np.atleast_1d, (gaps, half_widths, repeats))), strict=True
        )
    ]
    return [judge(row, margin, len(rows)) for row in rows]


def rarely(failed: int, runs: int, share: float, rows: int = 1) -> VerdictWord:
    """Judge the claim that runs fail with probability at most `share`, by the Clopper-Pearson interval.

    Either end is wrong with probability at most 2.5% / rows, where so many are judged together.
    """
    if runs < FEWEST:
        return "no verdict"
    ends = binomtest(failed, runs).proportion_ci(simultaneous(rows), method="exact")
    return "reproduces" if ends.high <= share else "differs (above)" if ends.low > share else "undecided"


def slope_weights(x: Any, means: Any, half_widths: Any) -> FloatArray:
    """Coefficients c with slope = sum c_i log(mean_i): least squares, weighted by the precision of log(mean).

    All are positive, of shape (P,); half widths as `mean_ci` gives them.
    """
    log_x = np.log(np.asarray(x, dtype=float))
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    weights = 1 / relative**2 if np.all(np.isfinite(relative) & (relative > 0)) else np.ones_like(log_x)
    centred = log_x - np.average(log_x, weights=weights)
    coefficients: FloatArray = weights * centred / np.sum(weights * centred**2)
    return coefficients


def fit_slope(x: Any, means: Any, half_widths: Any, repeats: int) -> Interval:
    """Slope of log(mean) against log(x), and its interval by the delta method, of sampling error alone.

    It has the degrees of freedom of one mean over `repeats` (the fewest), which is cautious.
    """
    coefficients = slope_weights(x, means, half_widths)
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    return Interval(
        float(coefficients @ np.log(np.asarray(means, dtype=float))),
        float(np.sqrt(np.sum((coefficients * relative) ** 2))),
        repeats,
    )
