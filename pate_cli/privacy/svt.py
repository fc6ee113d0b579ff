"""Calibrations of the sparse vector technique; its proof is that of `pate_cli.privacy.above_threshold`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from scipy.optimize import minimize_scalar

from pate_cli.privacy.above_threshold import SvtCalibration
from pate_cli.privacy.composition import advanced_factor, advanced_limit, eps0_of
from pate_cli.privacy.gaussian import CALIBRATIONS, Calibration
from pate_cli.privacy.noise import difference_tail, discrete_difference_tail

__all__ = ["CALIBRATIONS", "Calibration", "SvtCalibration", "above_threshold", "calibrate"]
__all__ += ["discrete_calibration", "liu2021_scale", "printed_cutoff", "printed_teachers"]

_ANY_NUMBER = 2**62
"""Queries of the plain technique, which pays for none that is above the threshold."""

_SELDOM = 0.05
"""Share of errors at the distance that the plain technique's `tight` noise makes smallest."""


def calibrate(
    rule: str, eps: float, delta: float, ell: int, cutoff: int, *, quick: bool = False
) -> SvtCalibration:
    """Calibrate the mechanism by one of the published rules, or by the tightest proved here.

    Parameters
    ----------
    rule : {"tight", "liu2021", "bassily2018"}
        `tight`: one-sided noise, threshold kept or redrawn, each at its best split of noise and of delta,
        whichever has the smaller vote margin at which `ell` queries are expected to spend half the cut-off.
        `liu2021`: LZCW21 Algorithm 2, lines 2-3. `bassily2018`: BTT18 Algorithm 2.
    eps, delta : float
        eps finite and above 0, delta in (0, 1).
    ell, cutoff : int
        Most queries that may be asked; T, from 1 to `ell`.
    quick : bool
        Of `tight`, only the kept threshold: milliseconds less, never tighter.

    Raises
    ------
    ValueError
        If the published constants do not give (eps, delta)-DP at these values.
    """
    if rule != "tight":
        scale = _published_scale(rule, eps, delta, cutoff)
        if rule == "liu2021":
            w = 3 * scale * math.log(2 * (ell + cutoff) / delta)
        else:
            w = 2 * scale * math.log(2 * ell / delta)
        scales, deltas = (w, scale, 2 * scale), (delta / 2, delta / 2)
        return SvtCalibration(eps, delta, ell, cutoff, rule, "laplace", True, *scales, *deltas)
    failure = min(0.5, cutoff / (2 * ell))
    kept = _kept(eps, delta, ell, cutoff, failure)
    if quick or cutoff == 1:  # with one segment kept and redrawn are the same mechanism
        return kept
    redrawn = _redrawn(eps, delta, ell, cutoff, failure)
    return min(kept, redrawn, key=lambda c: c.margin(failure))


def _kept(eps: float, delta: float, ell: int, cutoff: int, failure: float) -> SvtCalibration:
    """Threshold noise drawn once: pure composition, all of delta for stability."""
    safe = eps * (1 - 1e-15)  # so that the two scales' losses add up to eps at most, rounded or not

    def at(share: float) -> SvtCalibration:
        threshold_scale = 1 / (share * safe)
        query_scale = 2 * cutoff / ((1 - share) * safe)
        # P(Exp(threshold) > w + the least of T Exp(query)), the least being Exp(query / T)
        scales = (_threshold(delta, threshold_scale, query_scale / cutoff), threshold_scale, query_scale)
        return SvtCalibration(eps, delta, ell, cutoff, "tight", "exponential", False, *scales, 0.0, delta)

    return _best_share(at, failure)


def _redrawn(eps: float, delta: float, ell: int, cutoff: int, failure: float) -> SvtCalibration:
    """Threshold noise drawn after each unstable answer: T segments, composed exactly."""

    def composed(delta_comp: float) -> SvtCalibration:
        eps0, stab = eps0_of(eps, delta_comp, cutoff), delta - delta_comp

        def at(share: float) -> SvtCalibration:
            threshold_scale = 1 / (share * eps0)
            query_scale = 2 / ((1 - share) * eps0)
            scales = (_threshold(stab / cutoff, threshold_scale, query_scale), threshold_scale, query_scale)
            deltas = (delta_comp, stab)
            return SvtCalibration(eps, delta, ell, cutoff, "tight", "exponential", True, *scales, *deltas)

        return _best_share(at, failure)

    # shares of delta for the composition; the optimum is flat
    calibrations = [composed(fraction * delta) for fraction in (0.0, 0.3, 0.7, 0.9)]
    return min(calibrations, key=lambda c: c.margin(failure))


def _threshold(failure: float, threshold_scale: float, query_scale: float) -> float:
    """Smallest w >= 0 with ``P(nu - rho > w) <= failure`` for one-sided noise, in votes, rounded up."""
    target = failure * (1 - 1e-12)  # against rounding in the tail
    ratio = difference_tail(0.0, threshold_scale, query_scale, "exponential")
    return threshold_scale * math.log(ratio / target) * (1 + 1e-15) if ratio > target else 0.0


def _best_share(at: Callable[[float], SvtCalibration], failure: float) -> SvtCalibration:
    """Best share of eps for the threshold noise."""
    optimum = minimize_scalar(
        lambda share: at(share).margin(failure),
        bounds=(0.01, 0.99),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return at(float(optimum.x))


def discrete_calibration(calibration: SvtCalibration) -> SvtCalibration:
    """Integer-noise version of a calibration.

    The scales, so the pattern's losses, stay; the threshold w becomes the smallest integer (for the published
    rules: that is not below theirs) with ``attempts * P(nu - rho > w) <= delta_stab``. `attempts` is T, by a
    union bound over the critical queries; for one kept one-sided threshold the least of T independent Geom(b)
    is Geom(b/T), and one attempt with that is exact.
    """
    c = calibration
    attempts, query_scale = c.cutoff, c.query_scale
    if c.noise == "exponential" and not c.redraw:
        attempts, query_scale = 1, c.query_scale / c.cutoff
    target = c.delta_stab * (1 - 1e-9)  # against rounding

    def safe(w: int) -> bool:
        return attempts * discrete_difference_tail(w, c.threshold_scale, query_scale, c.noise) <= target

    w = math.ceil(c.threshold)
    while c.rule == "tight" and w > 0 and safe(w - 1):
        w -= 1
    while not safe(w):
        w += 1
    return replace(c, threshold=float(w), integers=True)


def above_threshold(rule: str, eps: float, delta: float, cutoff: int, threshold: float) -> SvtCalibration:
    """Calibrate the plain sparse vector technique: numbers against a threshold w, only the pattern.

    There is no value to hide, so nothing of delta is for stability, and any number of queries may be asked.
    `bassily2018`: BTT18's long version, Algorithm 1 (LZCW21 Algorithm 6), ``sqrt(32 T ln(1/delta))/eps``;
    `liu2021`: the same by zCDP, as LZCW21 has it for its Algorithm 2; `tight`: threshold kept or redrawn,
    each at its best share, whichever is right in 19 of 20 cases from a smaller distance on. ValueError as of
    `calibrate`.
    """

    def made(threshold_scale: float, query_scale: float, *, redraw: bool) -> SvtCalibration:
        # two-sided: one-sided noise errs towards "above", which here is no safer than the other
        scales, deltas = (0.0, threshold_scale, query_scale), (delta if redraw else 0.0, 0.0)
        return SvtCalibration(eps, delta, _ANY_NUMBER, cutoff, rule, "laplace", redraw, *scales, *deltas)

    if rule != "tight":
        scale = _published_scale(rule, eps, delta, cutoff, slack=1)
        return replace(made(scale, 2 * scale, redraw=True), threshold=threshold)

    def best(one: float, other: float, *, redraw: bool) -> SvtCalibration:
        return _best_share(lambda share: made(one / share, other / (1 - share), redraw=redraw), _SELDOM)

    safe = eps * (1 - 1e-15)  # as of `_kept`
    calibrations = [best(1 / safe, 2 * cutoff / safe, redraw=False)]
    if cutoff > 1:
        eps0 = eps0_of(eps, delta, cutoff)
        calibrations.append(best(1 / eps0, 2 / eps0, redraw=True))
    return replace(min(calibrations, key=lambda c: c.margin(_SELDOM)), threshold=threshold)


def _published_scale(rule: str, eps: float, delta: float, cutoff: int, slack: int = 2) -> float:
    """Scale lambda of the threshold noise in a paper; delta/slack is left for the composition."""
    if rule == "liu2021":
        return liu2021_scale(eps, delta, cutoff, slack)
    advanced_limit(eps, delta, slack)
    return 2 * advanced_factor(delta, cutoff, slack) / eps


def liu2021_scale(eps: float, delta: float, cutoff: float, slack: int = 2) -> float:
    """Lambda of LZCW21 Algorithm 2, line 2: ``(sqrt(2T (eps + ln(2/delta))) + sqrt(2T ln(2/delta)))/eps``."""
    inverse = math.log(slack / delta)
    return (math.sqrt(2 * cutoff * (eps + inverse)) + math.sqrt(2 * cutoff * inverse)) / eps


def printed_cutoff(error: float, ell: float, beta: float) -> float:
    """T of BTT18 Theorem 3.2, ``3 (e m + sqrt(e m ln(m/beta)/2))``, before rounding.

    e is the error of a teacher (gamma + alpha in the paper), m = `ell`, beta the probability of failure.
    """
    mistakes = error * ell
    return 3 * (mistakes + math.sqrt(mistakes * math.log(ell / beta) / 2))


def printed_teachers(eps: float, delta: float, ell: float, cutoff: float, beta: float) -> float:
    """Teachers of BTT18 Algorithm 2, line 1: ``34 sqrt(2) lambda ln(4 m T/min(delta, beta/2))``.

    Where two thirds of them agree, the distance is at least ``k/6 - 1``, over 8 lambda times the logarithm.
    With probability ``1 - beta`` threshold and noise of all queries are below 5 of these, so the printed
    number is enough for the distance of sensitivity 1 as well.
    """
    lam = 2 * advanced_factor(delta, cutoff) / eps
    return 34 * math.sqrt(2) * lam * math.log(4 * ell * cutoff / min(delta, beta / 2))
