"""Rates under Tsybakov noise: K, m and T as LZCW21 sets them, and measured curves with their slopes.

With ``e = tau/(2 - tau)`` both theorems bound ``Dis(student, h*)`` by ``1/m + (K/n)^e`` up to
constants (d = 1), and Table 1 takes the m that balances the two, so here::

    m = points * (n/K)^e       (K depends on m too: a fixed point)

- Theorem 28 (Gaussian): ``K = 6 sigma sqrt(2 log(2n))``, sigma by line 1 of Algorithm 1. That
  is the printed K, to the constant. K grows as sqrt(m), hence the exponent ``2 tau/(4 - tau)``.
- Theorem 10 (SVT): ``T = 3 B``, B the mistakes of a teacher on m points, ``mistakes (K/n)^e m`` by
  Lemma 13, whose constant the recipe gives; at this m, T does not depend on n. K is such that a
  query on which two thirds of the teachers agree is answered, but for probability failure/m
  (what Lemma 3 wants of K), with the constants of the calibration in use rather than Lemma 3's
  136. K is constant up to logarithms, hence the exponent ``tau/(2 - tau)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.gaussian import Gaussian
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import gaussian, svt
from pate_cli.results.figures import STYLES, band
from pate_cli.results.interval import Interval, mean_ci
from pate_cli.results.verdicts import Verdict, close
from pate_cli.types import FloatArray

from .figures import legend, line, panels
from .tools import PROBABILITY, SAMPLING, fit_slope, slope_weights

PARAMETERS: dict[str, Check] = {
    "taus": Listed(Real(0, 1)),
    "left": Real(0, 1),  # this and the next: strengths of the `Family`
    "right": Real(0, 1),
    "eps": Real(0),
    "delta": PROBABILITY,
    "failure": PROBABILITY,  # beta
    "n": Listed(Whole(2), at_least=2, ascending=True),
    **SAMPLING,
}
"""Of a study of rates at each tau."""


@dataclass(frozen=True)
class Privacy:
    """Budget, beta (the probability of failure) and the calibration of the sparse vector technique."""

    eps: float
    delta: float
    failure: float
    calibration: svt.Calibration


@dataclass(frozen=True)
class Design:
    """One point of a curve: n, K, records a teacher (floor(n/K)), public points m, and the mechanism."""

    n: int
    n_teachers: int
    size: int
    points: int
    mechanism: VoteMechanism

    @property
    def facts(self) -> dict[str, int]:
        """Sizes, for the table of a study."""
        sizes = {"teachers": self.n_teachers, "records a teacher": self.size}
        return sizes | {"public points": self.points}


def exponent(mechanism: str, tau: float) -> float:
    """Exponent of 1/n in Table 1."""
    return 2 * tau / (4 - tau) if mechanism == "gaussian" else tau / (2 - tau)


def design(mechanism: str, tau: float, n: int, privacy: Privacy, points: float, mistakes: float) -> Design:
    """Choose K and m (and T) at n, as the module says.

    `points` is m in units of (n/K)^e, and `mistakes`, for T, a teacher's Dis in units of (K/n)^e.
    A ConfigError where K would be above n.
    """
    power = tau / (2 - tau)
    cutoff = max(1, math.ceil(3 * mistakes * points))

    def plan_at(m: int) -> tuple[VoteMechanism, int]:
        if mechanism == "gaussian":
            sigma = gaussian.calibrate_sigma_zcdp(privacy.eps, privacy.delta, m)
            gaussian_noise = Gaussian(privacy.eps, privacy.delta, sigma, 1.0, ell=m)
            return gaussian_noise, math.ceil(6 * sigma * math.sqrt(2 * math.log(2 * n)))
        c = svt.calibrate(privacy.calibration, privacy.eps, privacy.delta, m, min(cutoff, m))
        # two thirds agree: n1 - n2 >= K/3, so dist >= K/6 - 1
        return SparseVector(c, ell=c.ell), math.ceil(6 * (c.margin(privacy.failure / m) + 1))

    m = 2.0
    for _ in range(60):
        _, teachers = plan_at(max(2, round(m)))
        wanted = max(2.0, points * (n / teachers) ** power)
        if abs(math.log(wanted / m)) < 1e-3:
            break
        m = math.sqrt(m * wanted)  # damped: K grows with m
    m_used = max(2, round(m))
    made, teachers = plan_at(m_used)
    if teachers > n:
        raise ConfigError("params.n", n, f"at least {teachers} records, one for each teacher of {mechanism}")
    return Design(n, teachers, n // teachers, m_used, made)


# --- curves -------------------------------------------------------------------------------------

SLACK = 0.05
"""A slope this near to the predicted one counts as the same: room for curvature at finite n."""

_WIDEST = 0.15
"""A slope with a wider half interval decides nothing."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity against n, with the rate that a theorem gives for it."""

    learner: str
    tau: float
    quantity: str
    claim: str
    n: FloatArray
    values: Sequence[FloatArray]  # of each repeat, at each n
    bound: FloatArray  # the rate at each n, up to a constant
    asymptotic: float  # its exponent, negative, logarithms forgotten
    facts: dict[str, Any]  # sizes, for the table
    sharp: float | None = None  # exponent in range that the family allows; None: that of `bound`

    @cached_property
    def means(self) -> FloatArray:
        """Mean at each n."""
        return np.array([mean_ci(each)[0] for each in self.values])

    @cached_property
    def half_widths(self) -> FloatArray:
        """Half of the 95% interval of each mean."""
        return np.array([mean_ci(each)[1] for each in self.values])

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
    slope, sharp = curve.slope, curve.in_range if curve.sharp is None else curve.sharp
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
        "sharp in range": sharp,
        "against sharp": judge(slope, sharp),
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
    sharp = predicted if curve.sharp is None else curve.sharp
    if made.verdict == "differs (below)" and (against := judge(slope, sharp)) != "faster":
        text = f"; the bound is not tight: the family's own exponent is {sharp:.3f} ({against})"
        return replace(made, reason=made.reason + text)
    return made


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
