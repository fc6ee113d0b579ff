"""Calibrations of the sparse vector technique over distance to instability, and their proof.

The mechanism (BTT18 Algorithm 2, LZCW21 Algorithm 2), in votes::

    dist_j = max(0, ceil((n1 - n2)/2) - 1)
    answer the majority if dist_j + nu_j > w + rho, otherwise "unstable"
    stop after T unstable answers

``nu`` is query noise of scale `query_scale`, ``rho`` threshold noise of scale `threshold_scale`, drawn anew
after each unstable answer (`redraw`) or once a run.

**Guarantee** of every `SvtCalibration`: (eps, delta)-DP for neighbours that differ in one private record, so
in at most one vote a query, for adaptively chosen queries. The proof has two parts.

*Stability.* Call a query critical if its majority differs between the two neighbours; its dist is then 0 on
both. Until a critical query is answered, the labels given are the same function of the queries on both
neighbours, so only the answered/unstable pattern carries a loss. ``delta_stab`` bounds the probability that a
critical query is ever answered. One that is *not* answered is an unstable answer, and the T-th of those ends
the run: at most T critical queries are ever reached, at most one a segment where the threshold is redrawn.
The query noise of the k-th critical query is fresh, and its threshold noise may be paired with it in advance,
so ``delta_stab <= T * P(nu - rho > w)`` whatever the queries before it taught about the threshold. (The
papers use ell in place of T, which is safe, as T <= ell, and looser by ``query_scale * ln(ell/T)``.)

*Pattern.* Compare the run on D at threshold noise ``rho`` with the run on D' at ``rho - 1``. Every answered
query is at least as likely there; every unstable one is at most ``exp(2/query_scale)`` less likely, since
dist moves by at most 1; the density of ``rho`` falls by at most ``exp(1/threshold_scale)``. So a segment that
ends in an unstable answer costs ``1/threshold_scale + 2/query_scale``, one that does not costs
``1/threshold_scale``, and a threshold kept for the whole run is paid for once:
``1/threshold_scale + 2 T/query_scale`` (Lyu, Su, Li, VLDB 2017).

*One-sided noise.* The pattern proof moves the threshold in one direction only. It needs
``f(rho) <= exp(1/b) f(rho - 1)`` of the density of threshold noise and ``F(z) <= exp(2/b) F(z - 2)`` of the
distribution function of query noise. ``-Exp(b)`` satisfies both with equality, so it may replace Laplace
noise for both; its tail on the dangerous side is that of the threshold alone, ``exp(-w/threshold_scale)``,
which is why `tight` picks it.

*Integer noise*, of a release. The discrete Laplace law DL(b) has probabilities in proportion to ``q^|k|``,
``q = exp(-1/b)``, on the integers, Geom(b) has ``(1 - q) q^k`` on k >= 0. Distances, and an integer w, shift
by integers, so both facts are needed for integers r and z only. DL(b) has both, since ``|k|`` moves by at
most 1 (2) under a shift by 1 (2). ``-Geom(b)`` has ``f(r) = (1 - q) q^-r`` for r <= 0, else 0, and
``F(z) = q^-z`` for z <= 0, else 1: both hold. So the losses are those of the continuous noises at the same
scales; the tails differ (`discrete_difference_tail`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy.optimize import brentq, minimize_scalar

from pate_cli.privacy.composition import advanced_factor, advanced_limit, eps0_of, pure_eps
from pate_cli.privacy.gaussian import CALIBRATIONS, Calibration
from pate_cli.privacy.noise import NoiseKind, difference_tail, discrete_difference_tail

__all__ = ["CALIBRATIONS", "Calibration", "SvtCalibration", "above_threshold", "calibrate"]
__all__ += ["discrete_calibration", "liu2021_scale", "printed_cutoff", "printed_teachers"]

_ANY_NUMBER = 2**62
"""Queries of the plain technique, which pays for none that is above the threshold."""

_SELDOM = 0.05
"""Share of errors at the distance that the plain technique's `tight` noise makes smallest."""


@dataclass(frozen=True)
class SvtCalibration:
    """Everything that fixes the mechanism; public, all distances in votes.

    The guarantee is (eps, delta), with ``delta_comp + delta_stab <= delta``.
    """

    eps: float
    delta: float
    ell: int  # most queries that may be asked
    cutoff: int  # T, unstable answers after which the mechanism stops
    rule: str  # name of the calibration
    noise: NoiseKind  # two-sided, or -Exp for threshold and query noise alike
    redraw: bool  # whether threshold noise is drawn anew after each unstable answer
    threshold: float  # w
    threshold_scale: float
    query_scale: float
    delta_comp: float  # of the composition
    delta_stab: float  # bound on answering a critical query
    integers: bool = False  # whether the noise is discrete Laplace or geometric, and w an integer

    def p_unstable(self, dist: float) -> float:
        """Probability that a query at distance `dist` gets no answer, for a fresh threshold.

        ``P(nu - rho <= w - dist)``, as the tail of ``rho - nu`` so that small values keep their digits.
        """
        gap, scales = dist - self.threshold, (self.query_scale, self.threshold_scale)
        if self.integers:  # at the threshold is no answer, so one more than the tail has
            return discrete_difference_tail(math.ceil(gap) - 1, *scales, self.noise)
        return difference_tail(gap, *scales, self.noise)

    def margin(self, failure: float) -> float:
        """Smallest dist answered with probability at least ``1 - failure``, in votes."""
        low, high = 0.0, max(self.threshold, 1.0)
        if self.p_unstable(low) <= failure:
            return low
        at_threshold = self.query_scale / (self.threshold_scale + self.query_scale)
        if self.noise == "exponential" and failure <= at_threshold and not self.integers:
            return self.threshold + self.query_scale * math.log(at_threshold / failure)
        while self.p_unstable(high) > failure:
            low, high = high, 2 * high
        if self.integers:
            dists = range(math.ceil(high) + 1)
            return float(bisect_left(dists, True, key=lambda dist: self.p_unstable(dist) <= failure))
        return float(brentq(lambda dist: self.p_unstable(dist) - failure, low, high, xtol=1e-9))

    def pathwise_eps(self, unstable: int, *, open_segment: bool) -> float:
        """Pure loss of an output with `unstable` unstable answers, up to ``delta_stab``.

        `open_segment`: whether a query was asked since the threshold noise was drawn.
        """
        per_unstable = 2 / self.query_scale
        if self.redraw:
            return unstable * (1 / self.threshold_scale + per_unstable) + open_segment / self.threshold_scale
        return (unstable > 0 or open_segment) / self.threshold_scale + unstable * per_unstable

    def proved(self, below: int = 0) -> tuple[float, float]:
        """(eps, delta) of a run from its scales, composed exactly; of `below` unstable answers if more."""
        T, per_unstable = max(self.cutoff, below), 2 / self.query_scale
        if self.redraw:
            eps = pure_eps(1 / self.threshold_scale + per_unstable, T, self.delta_comp)
        else:
            eps = 1 / self.threshold_scale + T * per_unstable
        return eps, self.delta_comp + self.delta_stab


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
        if rule == "liu2021":
            lam = liu2021_scale(eps, delta, cutoff)
            w = 3 * lam * math.log(2 * (ell + cutoff) / delta)
        else:
            advanced_limit(eps, delta)
            lam = 2 * advanced_factor(delta, cutoff) / eps
            w = 2 * lam * math.log(2 * ell / delta)
        scales, deltas = (w, lam, 2 * lam), (delta / 2, delta / 2)
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
    found = [composed(fraction * delta) for fraction in (0.0, 0.3, 0.7, 0.9)]
    return min(found, key=lambda c: c.margin(failure))


def _threshold(failure: float, threshold_scale: float, query_scale: float) -> float:
    """Smallest w >= 0 with ``P(nu - rho > w) <= failure`` for one-sided noise, in votes, rounded up."""
    target = failure * (1 - 1e-12)  # against rounding in the tail
    ratio = difference_tail(0.0, threshold_scale, query_scale, "exponential")
    return threshold_scale * math.log(ratio / target) * (1 + 1e-15) if ratio > target else 0.0


def _best_share(at: Callable[[float], SvtCalibration], failure: float) -> SvtCalibration:
    """Best share of eps for the threshold noise."""
    found = minimize_scalar(
        lambda share: at(share).margin(failure),
        bounds=(0.01, 0.99),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return at(float(found.x))


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
        if rule == "liu2021":
            lam = liu2021_scale(eps, delta, cutoff, slack=1)
        else:
            advanced_limit(eps, delta, slack=1)
            lam = 2 * advanced_factor(delta, cutoff, slack=1) / eps
        return replace(made(lam, 2 * lam, redraw=True), threshold=threshold)

    def best(one: float, other: float, *, redraw: bool) -> SvtCalibration:
        return _best_share(lambda share: made(one / share, other / (1 - share), redraw=redraw), _SELDOM)

    safe = eps * (1 - 1e-15)  # as of `_kept`
    found = [best(1 / safe, 2 * cutoff / safe, redraw=False)]
    if cutoff > 1:
        eps0 = eps0_of(eps, delta, cutoff)
        found.append(best(1 / eps0, 2 / eps0, redraw=True))
    return replace(min(found, key=lambda c: c.margin(_SELDOM)), threshold=threshold)


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
