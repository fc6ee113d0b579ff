"""One measured curve of `tnc-rates`, its fitted slope, and what becomes of the prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pate_cli.report.figures import STYLES, band
from pate_cli.report.interval import Interval
from pate_cli.report.verdict import Verdict, close
from pate_cli.types import FloatArray

from .figures import legend, line, panels
from .tools import fit_slope, slope_weights

SLACK = 0.05
"""A slope this near to the predicted one counts as the same: room for curvature at finite n."""

_WIDEST = 0.15
"""A slope with a wider half interval decides nothing."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity against n, with what is predicted of it.

    `bound` is the rate at each n, up to a constant; `asymptotic` its exponent, negative; `sharp` the exponent
    in range that the family allows (that of `bound`, but for excess risk); `facts` are sizes for the table.
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
    """Compare a slope with the predicted one.

    It is "matched" (inside the 95% CI), "close" (within `SLACK` of it), "faster" (the risk falls faster),
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
    """Judge one of `rows` curves by the exponent predicted in range, to `SLACK`."""
    slope, predicted = curve.slope, curve.in_range
    found = judge(slope, predicted)
    says = (
        f"slope {slope.text(3)}, predicted {predicted:.3f} in range ({found}), "
        f"{curve.asymptotic:.3f} without logarithms ({judge(slope, curve.asymptotic)})"
    )
    name = f"{curve.claim}: {curve.quantity}, {curve.learner}, tau = {curve.tau:g}"
    made = close(name, slope.less(predicted), SLACK, says, rows)
    if made.verdict == "differs (below)" and (sharp := judge(slope, curve.sharp)) != "faster":
        says += f"; the bound is not tight: the family's own exponent is {curve.sharp:.3f} ({sharp})"
    return replace(made, reason=says)


def draw(
    curves: Sequence[Curve], ylabel: str, title: str, label: Callable[[Curve], str], *, predicted: bool
) -> Figure:
    """Draw curves, a panel for each tau, and with `predicted` their bounds through the middle of them."""
    taus = list(dict.fromkeys(curve.tau for curve in curves))
    figure, axes = panels(
        [f"tau = {tau:g}" for tau in taus], "private records n", ylabel, sharey=not predicted
    )
    for axis, tau in zip(axes, taus, strict=True):
        for style, one in zip(STYLES, [one for one in curves if one.tau == tau], strict=False):
            band(axis, one.n, one.means, one.half_widths, label=label(one), style=style)
            if predicted:
                through = one.bound * np.exp(np.mean(np.log(one.means / one.bound)))
                line(axis, one.n, through, style, f"predicted: {one.in_range:.2f}", 0.6)
    legend(axes, title)
    return figure
