"""One measured curve of `tnc_rates`, its fitted slope, and what becomes of the prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pate_cli.report.interval import Interval
from pate_cli.report.verdict import Verdict, close
from pate_cli.types import FloatArray

from .statistics import fit_slope, slope_weights

__all__ = ["SLACK", "Curve", "judge", "row", "verdict"]

SLACK = 0.05
"""A slope this near to the predicted one counts as the same: room for curvature at finite n."""

_WIDEST = 0.15
"""A slope with a wider half interval decides nothing."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity against n, with what is predicted of it.

    Attributes
    ----------
    learner : {"one learner", "gaussian", "svt"}
    tau : float
    quantity, claim : str
    n, means, half_widths : ndarray of shape (P,)
    bound : ndarray of shape (P,)
        The rate at each n, up to a constant.
    asymptotic : float
        Its exponent, negative.
    sharp : float
        Exponent in range that the family allows for this quantity; that of `bound` but for excess risk.
    facts : dict
        Sizes, for the table.
    """

    learner: str
    tau: float
    quantity: str
    claim: str
    n: FloatArray
    means: FloatArray
    half_widths: FloatArray
    bound: FloatArray
    asymptotic: float
    sharp: float
    facts: dict[str, Any]

    @property
    def slope(self) -> Interval:
        """Fitted exponent."""
        return fit_slope(self.n, self.means, self.half_widths, self.facts["repeats"])

    @property
    def in_range(self) -> float:
        """Exponent of `bound` over the same n, fitted with the same weights."""
        return float(slope_weights(self.n, self.means, self.half_widths) @ np.log(self.bound))


def judge(slope: Interval, predicted: float) -> str:
    """Say how a slope compares with a predicted one.

    Returns
    -------
    str
        "matched" (inside the 95% CI), "close" (within `SLACK` of it), "faster" (the risk falls faster),
        "slower", or "not resolved" (the CI is too wide).
    """
    if slope.half_width is None or not slope.half_width <= _WIDEST:
        return "not resolved"
    if slope.low <= predicted <= slope.high:
        return "matched"
    if slope.low - SLACK <= predicted <= slope.high + SLACK:
        return "close"
    return "faster" if slope.mean < predicted else "slower"


def row(curve: Curve) -> dict[str, Any]:
    """One row of the table."""
    slope = curve.slope
    return {
        "learner": curve.learner,
        "tau": curve.tau,
        "quantity": curve.quantity,
        "claim": curve.claim,
        "slope": slope.mean,
        "ci95": slope.half_width,
        "predicted": curve.asymptotic,
        "against predicted": judge(slope, curve.asymptotic),
        "predicted in range": curve.in_range,
        "against in range": judge(slope, curve.in_range),
        "sharp in range": curve.sharp,
        "against sharp": judge(slope, curve.sharp),
        "n from": int(curve.n[0]),
        "n to": int(curve.n[-1]),
        **curve.facts,
        "at largest n": curve.means[-1],
        "its ci95": curve.half_widths[-1],
    }


def verdict(curve: Curve, rows: int) -> Verdict:
    """Judge by the exponent predicted in range, to `SLACK`, and say how the printed one fares.

    Parameters
    ----------
    curve : Curve
    rows : int
        Curves judged together.
    """
    slope, predicted = curve.slope, curve.in_range
    found = judge(slope, predicted)
    says = (
        f"slope {slope.mean:.3f} ± {slope.half_width:.3f}, predicted {predicted:.3f} in range ({found}), "
        f"{curve.asymptotic:.3f} without logarithms ({judge(slope, curve.asymptotic)})"
    )
    name = f"{curve.claim}: {curve.quantity}, {curve.learner}, tau = {curve.tau:g}"
    made = close(name, slope.less(predicted), SLACK, says, rows)
    if made.verdict == "differs (below)" and (sharp := judge(slope, curve.sharp)) != "faster":
        says += f"; the bound is not tight: the family's own exponent is {curve.sharp:.3f} ({sharp})"
    return replace(made, reason=says)
