r"""Exact privacy of the integer-noise versions of the mechanisms, which release mode uses.

Votes and distances to instability are integers. With integer noise every value a
release computes is an integer below 2^53, exact in floating point, so the proofs
below are about the numbers that leave and not about an idealisation of them.

**Discrete Gaussian.** Noise N_Z(0, sigma^2), of probability proportional to
``exp(-x^2 / (2 sigma^2))`` on the integers, is added to each noised count. One
changed record moves a count by at most 1: ``shifts = ell`` unit shifts over `ell`
adaptive queries of two classes, and two a query (one count up, one down) for more.
A shift of -1 mirrors a shift of +1 and no shift is post-processing of either, so
the pair (N_Z + 1, N_Z) dominates each count, and its `shifts`-fold product P, Q
dominates the adaptive composition (Zhu, Dong, Wang 2022, Theorem 10). The log
likelihood ratio of that product, ``sum_i (2 x_i - 1) / (2 sigma^2)``, depends on
``S = sum_i x_i`` alone. So nothing is lost by looking at S only, and with p the law
of the sum of `shifts` copies of N_Z(0, sigma^2)::

    delta(eps) = sum_y p(y) * max(0, 1 - exp(eps - (2y + shifts) / (2 sigma^2)))

*The law of the sum.* By Poisson summation ``sum_x exp(-(x - c)^2 / (2v))`` lies
within a factor ``1 -+ u(v)`` of ``sqrt(2 pi v)`` for every real c, where
``u(v) = 2 sum_{m>=1} q^(m^2)``, ``q = exp(-2 pi^2 v)``. Completing the square in the
convolution of N_Z(0, k sigma^2) and N_Z(0, sigma^2) leaves the weights of
N_Z(0, (k+1) sigma^2) times such a sum with ``v = sigma^2 k/(k+1)``; once normalised,
it is within a factor ``(1+u)/(1-u)`` of that law at every integer. By induction p is
within ``exp(tau)`` of N_Z(0, shifts * sigma^2) pointwise, with
``tau = sum_{k=1}^{shifts-1} log((1+u_k)/(1-u_k))``: Theorem 1 of Kairouz, Liu and
Steinke, about ``4 sum exp(-2 pi^2 sigma^2 k/(k+1))`` where theirs has 10. Every term
of the sum above is positive, so ``delta(eps) <= exp(tau) * (the sum with N_Z(0, shifts * sigma^2))``.

**Vectors of integers.** A sum over records of vectors of integers, which one replaced
record moves by at most Delta in L2, gets independent N_Z(0, sigma^2) on each of d
coordinates, in T adaptive rounds. Take any t < sigma, ``s^2 = sigma^2 - t^2``, and the
kernel K that turns a real y into an integer x with probability proportional to
``exp(-(x - y)^2 / (2 t^2))``. On N(k, s^2), k an integer, completing the square gives K's
output the density ``exp(-(x - k)^2 / (2 sigma^2)) / (sqrt(2 pi) sigma)`` at x, times an
average of ``sqrt(2 pi) t / sum_x exp(-(x - y)^2 / (2 t^2))`` over y, which the bound by
Poisson summation above puts within ``1/(1 -+ u(t^2))`` of 1; N_Z(k, sigma^2) is within
``1/(1 -+ u(sigma^2))`` of the same density. So at every integer the two laws are
within a factor ``exp(a)``, ``a = log((1 + u(t^2))/(1 - u(t^2)))``, and the laws of all
coordinates of all rounds, on any data, within ``exp(c)``, ``c = d T a``. With N(k, s^2) and K the
mechanism is post-processing of T Gaussian mechanisms, mu-GDP with ``mu = Delta sqrt(T) / s``.
Hence if (eps, delta) holds for that mu, (eps + 2 c, exp(c) delta) holds for integer noise:
``P(S) <= e^c P'(S) <= e^c (e^eps Q'(S) + delta) <= e^(eps + 2c) Q(S) + e^c delta``. At t = 2, a is below
2e-34: nothing but the 4 in sigma^2 = s^2 + 4 is paid.

**Discrete Laplace and geometric.** DL(b) has probabilities proportional to
``q^|k|``, ``q = exp(-1/b)``, on the integers; Geom(b) has ``(1-q) q^k`` on k >= 0. The
proof in `pate_cli.privacy.svt` uses two facts of the noise, here for integers r, z:
``f(r) <= exp(1/b) f(r-1)`` of the threshold noise, and ``F(z) <= exp(2/b) F(z-2)`` of
the query noise, F its distribution function. DL(b) has both, as ``|k|`` moves by at
most 1 (2) under a shift by 1 (2). ``-Geom(b)`` has ``f(r) = (1-q) q^-r`` for r <= 0,
else 0, and ``F(z) = q^-z`` for z <= 0, else 1: both hold, with equality for r, z <= 0.
Distances, and w once it is an integer, only ever shift by integers, so the losses
are those of the continuous noises at the same scales. What changes is the tail.

References
----------
.. [1] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential
   privacy. NeurIPS 2020.
.. [2] P. Kairouz, Z. Liu, T. Steinke. The distributed discrete Gaussian mechanism for
   federated learning with secure aggregation. ICML 2021.
.. [3] Y. Zhu, J. Dong, Y.-X. Wang. Optimal accounting of differential privacy via
   characteristic function. AISTATS 2022.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from pate_cli.privacy.gaussian import calibrate_sigma, mu_of
from pate_cli.privacy.noise import NoiseKind
from pate_cli.privacy.roots import root_on_safe_side
from pate_cli.privacy.svt import SvtCalibration

__all__ = [
    "LEAST_SIGMA",
    "calibrate_discrete_sigma",
    "calibrate_vector_sigma",
    "discrete_calibration",
    "discrete_difference_tail",
    "discrete_eps",
    "log_discrete_profile",
    "log_sum_ratio",
    "unit_shifts",
]

LEAST_SIGMA = 1.0
"""Smallest standard deviation these bounds are used at; `tau` grows fast below it."""

_ROUNDING = 1e-9
"""Subtracted from log(delta) before solving: more than all floating point errors here together."""

_SMOOTHING = 2.0
"""t in the proof for vectors: standard deviation of the noise that makes a Gaussian draw an integer."""

_FINE = 400
"""Blocks are no longer than 1/_FINE of the distance from the kink, and of the standard deviation."""

_REACH = 12.0
"""Standard deviations summed over on either side; what is beyond is bounded."""


def unit_shifts(ell: int, n_classes: int) -> int:
    """Counts one changed record may move, each by 1, over `ell` queries: one a query, or two for C > 2."""
    return ell if n_classes == 2 else 2 * ell


def log_sum_ratio(sigma: float, count: int) -> float:
    """Bound tau on ``|log|`` of the ratio of two laws, at every integer.

    The sum of `count` independent N_Z(0, sigma^2), against N_Z(0, count * sigma^2).

    Parameters
    ----------
    sigma : float
        At least `LEAST_SIGMA`.
    count : int
        At least 1.
    """
    first = np.arange(1, min(count, 1001), dtype=float)
    terms = _log_factor(sigma * sigma * first / (first + 1))
    rest = max(0, count - 1 - len(first))  # each at most the last term above, as they fall with k
    return float(terms.sum() + (rest * terms[-1] if rest else 0.0))


def _log_factor(variance: NDArray[np.float64]) -> NDArray[np.float64]:
    q = np.exp(-2 * math.pi**2 * variance)
    u = 2 * q / (1 - q**3)  # m^2 >= 1 + 3 (m - 1)
    factor: NDArray[np.float64] = 2 * np.arctanh(u)
    return factor


def log_discrete_profile(eps: float, sigma: float, shifts: int) -> float:
    """Natural log of a delta at which `shifts` unit shifts under N_Z(0, sigma^2) noise are (eps, delta)-DP.

    Parameters
    ----------
    eps : float
        In [0, inf).
    sigma : float
        Standard deviation parameter, in votes, at least `LEAST_SIGMA`.
    shifts : int
        See `unit_shifts`; at least 1.

    Returns
    -------
    float
        An upper bound; above the exact value by at most ``log_sum_ratio(sigma, shifts)`` + 1e-6.

    Raises
    ------
    ValueError
        If `sigma` is too small.

    Notes
    -----
    The terms are log-concave in y, so a block of integers is bounded by the geometric
    series along the tangent at its middle, and both ends by such a series too: no more
    than some ten thousand evaluations at any scale, one integer a block near the kink.
    """
    if not sigma >= LEAST_SIGMA:
        raise ValueError(f"sigma: got {sigma:g}; integer noise needs at least {LEAST_SIGMA:g}")
    variance = shifts * sigma * sigma
    spread = math.sqrt(variance)
    kink = eps * sigma * sigma - shifts / 2  # terms are positive for y > kink
    first = max(math.floor(kink) + 1, -math.ceil(_REACH * spread))
    # sqrt(2 pi V) times the first two terms of a positive series: a lower bound on the normaliser
    log_normaliser = 0.5 * math.log(2 * math.pi * variance) + math.log1p(
        2 * math.exp(-2 * math.pi**2 * variance)
    )

    edges = first + _edges(first - kink, max(kink, 0.0) + _REACH * spread - first, spread)
    lengths = np.diff(edges)
    middles = edges[:-1] + (lengths - 1) / 2

    def log_term(y: NDArray[np.float64]) -> NDArray[np.float64]:
        gain = -np.expm1(-(y - kink) / (sigma * sigma))
        with np.errstate(divide="ignore"):  # an integer that rounding puts on the kink adds nothing
            value: NDArray[np.float64] = np.log(gain) - y * y / (2 * variance) - log_normaliser
        return value

    def slope(y: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(over="ignore", divide="ignore"):
            value: NDArray[np.float64] = -y / variance + 1 / (
                sigma * sigma * np.expm1((y - kink) / (sigma * sigma))
            )
        return value

    single = lengths == 1
    logs = log_term(middles)
    logs[~single] += _log_geometric(slope(middles[~single]), lengths[~single])
    ends = np.array([edges[0], edges[-1]], dtype=float)
    end_logs, end_slopes = log_term(ends), slope(ends)
    tails = [end_logs[1] - math.log(-math.expm1(end_slopes[1]))]
    if first > kink + 1:  # terms left of the first block, which climb
        tails.append(end_logs[0] - end_slopes[0] - math.log(-math.expm1(-end_slopes[0])))
    total = float(logsumexp(np.append(logs, tails)))
    return min(0.0, total + log_sum_ratio(sigma, shifts))


def _edges(gap: float, length: float, spread: float) -> NDArray[np.float64]:
    """Block edges from 0 to `length` or beyond, as integers: one apart at first, then ever further."""
    fine = np.arange(_FINE + 1, dtype=float)
    top = max(2.0 * _FINE, min(length, spread))
    growth = (
        np.exp(np.arange(0.0, math.log((top + gap) / (_FINE + gap)) * _FINE + 1) / _FINE) * (_FINE + gap)
        - gap
    )
    even = np.arange(0.0, length + 2, max(1.0, spread / _FINE))
    edges: NDArray[np.float64] = np.unique(np.floor(np.concatenate([fine, growth, even])))
    return edges


def _log_geometric(slopes: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of ``sum_t exp(slope * t)``, t over `length` consecutive numbers centred at 0."""
    half = np.abs(slopes) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        # log(sinh(length * half) / sinh(half)) without overflow
        value = (lengths - 1) * half + np.log(np.expm1(-2 * half * lengths) / np.expm1(-2 * half))
    result: NDArray[np.float64] = np.where(half == 0, np.log(lengths), value)
    return result


def discrete_eps(sigma: float, shifts: int, delta: float) -> float:
    """Smallest eps >= 0 at which `shifts` unit shifts under N_Z(0, sigma^2) noise are (eps, delta)-DP.

    Parameters
    ----------
    sigma : float
        At least `LEAST_SIGMA`.
    shifts : int
        See `unit_shifts`; 0 gives 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Rounded up.
    """
    if shifts == 0:
        return 0.0
    target = math.log(delta) - _ROUNDING

    def spare(eps: float) -> float:
        return target - log_discrete_profile(eps, sigma, shifts)

    if spare(0.0) >= 0:
        return 0.0
    low, high = 0.0, max(1.0, shifts / (sigma * sigma))
    while spare(high) < 0:
        low, high = high, 2 * high
    return root_on_safe_side(spare, low, high, below=False)


def calibrate_discrete_sigma(eps: float, delta: float, ell: int, n_classes: int) -> float:
    """Smallest integer-Gaussian noise for `ell` adaptive queries to be (eps, delta)-DP.

    Parameters
    ----------
    eps : float
        In (0, inf).
    delta : float
        In (0, 1).
    ell : int
        Number of queries, at least 1.
    n_classes : int
        C, at least 2.

    Returns
    -------
    float
        Parameter sigma of N_Z(0, sigma^2), in votes, rounded up. OpenDP takes a double as
        the rational number it is, so what is sampled is what is accounted for.

    Raises
    ------
    ValueError
        If less noise than `LEAST_SIGMA` would do.
    """
    shifts = unit_shifts(ell, n_classes)
    target = math.log(delta) - _ROUNDING

    def spare(sigma: float) -> float:
        return target - log_discrete_profile(eps, sigma, shifts)

    if spare(LEAST_SIGMA) >= 0:
        most = discrete_eps(LEAST_SIGMA, shifts, delta)
        raise ValueError(f"integer noise is for eps up to {most:.6g} at {ell} queries and delta={delta:.3g}")
    guess = calibrate_sigma(eps, delta, shifts)
    low = high = max(guess, LEAST_SIGMA)
    step = 1e-6
    while spare(high) < 0:
        high, step = high * (1 + step), 4 * step
    step = 1e-6
    while low > LEAST_SIGMA and spare(low) >= 0:
        low, step = max(LEAST_SIGMA, low * (1 - step)), min(4 * step, 0.5)
    return root_on_safe_side(spare, low, high, below=False)


def discrete_difference_tail(
    margin: int, threshold_scale: float, query_scale: float, kind: NoiseKind
) -> float:
    """Probability that integer query noise exceeds integer threshold noise by more than `margin`.

    Parameters
    ----------
    margin : int
        In votes.
    threshold_scale, query_scale : float
        Positive, in votes.
    kind : {"laplace", "exponential"}
        Discrete Laplace, or ``-Geom(scale)`` for both.

    Returns
    -------
    float
        ``P(query_noise - threshold_noise >= margin + 1)``, exactly.

    Notes
    -----
    The sum of DL(b1) and DL(b2) has, at k >= 0, probability ``A a^k + B b^k`` with a, b
    their two q's (partial fractions of the generating function); summed and written
    with ``1-a``, ``1-b`` so that equal and large scales need no case of their own.
    """
    least = margin + 1
    if kind == "exponential":  # G1 - G2 >= least, G1 of the threshold
        both = -math.expm1(-1 / threshold_scale - 1 / query_scale)
        if least >= 0:
            return math.exp(-least / threshold_scale) * -math.expm1(-1 / query_scale) / both
        return 1 - math.exp(-(1 - least) / query_scale) * -math.expm1(-1 / threshold_scale) / both
    if least < 0:
        return 1 - discrete_difference_tail(-margin - 1, threshold_scale, query_scale, kind)
    small, large = sorted((threshold_scale, query_scale))
    a, b = math.exp(-1 / large), math.exp(-1 / small)
    alpha, beta = -math.expm1(-1 / large), -math.expm1(-1 / small)
    rate = (large - small) / (small * large)  # log(a/b)
    steps = math.expm1(-(least + 1) * rate) / math.expm1(-rate) if rate > 0 else least + 1.0
    even = (alpha * (2 - alpha - beta) + beta * (2 - beta)) / (1 + a)
    scaled = (a * even + alpha * alpha * steps) / ((1 + b) * (alpha + beta - alpha * beta))
    return math.exp(-least / large) * scaled


def calibrate_vector_sigma(eps: float, delta: float, rounds: int, sensitivity: float, size: int) -> float:
    """Calibrate integer Gaussian noise for sums of vectors of integers to be (eps, delta)-DP.

    Parameters
    ----------
    eps : float
        In (0, inf).
    delta : float
        In (0, 1).
    rounds : int
        T, adaptive, at least 1.
    sensitivity : float
        Most that one record moves a sum by in L2, positive, in the unit of the integers.
    size : int
        Coordinates of a sum.

    Returns
    -------
    float
        Parameter sigma of N_Z(0, sigma^2) on each coordinate, in the unit of the integers, rounded up.

    Raises
    ------
    ValueError
        If there are too many coordinates at so small an eps for the bound to be of use.
    """
    apart = rounds * size * float(_log_factor(np.array([_SMOOTHING**2]))[0])
    if 2 * apart > _ROUNDING * min(eps, 1.0):
        raise ValueError(f"no integer noise is calibrated for {rounds * size} numbers at eps={eps:g}")
    mu = mu_of(eps * (1 - _ROUNDING), delta * (1 - _ROUNDING))
    return math.hypot(sensitivity * math.sqrt(rounds) / mu, _SMOOTHING) * (1 + _ROUNDING)


def discrete_calibration(calibration: SvtCalibration) -> SvtCalibration:
    """Turn a calibration of the sparse vector technique into its integer-noise version.

    The scales, so the pattern's losses, stay; the threshold w becomes the smallest integer
    (for the published rules: that is not below theirs) with
    ``attempts * P(nu - rho > w) <= delta_stab``. `attempts` is T, by a union bound over the
    critical queries; for one kept one-sided threshold the least of T independent
    Geom(b) is Geom(b/T), and one attempt with that is exact.
    """
    c = calibration
    attempts, query_scale = c.cutoff, c.query_scale
    if c.noise == "exponential" and not c.redraw:
        attempts, query_scale = 1, c.query_scale / c.cutoff
    target = c.delta_stab * (1 - _ROUNDING)

    def safe(w: int) -> bool:
        return attempts * discrete_difference_tail(w, c.threshold_scale, query_scale, c.noise) <= target

    w = math.ceil(c.threshold)
    while c.rule == "tight" and w > 0 and safe(w - 1):
        w -= 1
    while not safe(w):
        w += 1
    return replace(c, threshold=float(w))
