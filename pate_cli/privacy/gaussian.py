r"""The Gaussian mechanism: its exact privacy profile, the inverses of it, and integer noise.

The `ell` adaptively chosen queries of a run, of L2 sensitivity `s` and answered with N(0, sigma^2) noise, are
mu-GDP with ``mu = s * sqrt(ell) / sigma`` ([2]_, Corollary 2). A mu-GDP mechanism is (eps, delta)-DP exactly
when ``delta >= profile(eps, mu)`` ([1]_, Theorem 8).

**Integer noise**, of a release. Votes and rounded gradients are integers (in some unit), and so is all that a
release computes from them: exact in floating point below 2^53, so the proof is about the numbers that leave.
N_Z(0, sigma^2) has probability proportional to ``exp(-x^2 / (2 sigma^2))`` on the integers. A vector of d
integers, which one replaced record moves by at most Delta in L2, gets independent N_Z(0, sigma^2) on each
coordinate, in T adaptive rounds; of votes, the count of class 1 (d = Delta = 1), or of more classes the
histogram (d = C, Delta = sqrt(2)).

*Poisson summation.* ``sum_x exp(-(x - c)^2 / (2v))`` over the integers lies within a factor ``1 -+ u(v)`` of
``sqrt(2 pi v)`` for every real c, where ``u(v) = 2 sum_{m>=1} q^(m^2)``, ``q = exp(-2 pi^2 v)``.

*Proof.* Take any t < sigma, ``s^2 = sigma^2 - t^2``, and the kernel K that turns a real y into an integer x
with probability proportional to ``exp(-(x - y)^2 / (2 t^2))``. On N(k, s^2), k an integer, completing the
square gives K's output the density ``exp(-(x - k)^2 / (2 sigma^2)) / (sqrt(2 pi) sigma)`` at x, times an
average of ``sqrt(2 pi) t / sum_x exp(-(x - y)^2 / (2 t^2))`` over y, which is within ``1/(1 -+ u(t^2))`` of
1; N_Z(k, sigma^2) is within ``1/(1 -+ u(sigma^2))`` of the same density. So at every integer the two laws
are within a factor ``exp(a)``, ``a = log((1 + u(t^2))/(1 - u(t^2)))``, and the laws of all coordinates of
all rounds, on any data, within ``exp(c)``, ``c = d T a``. With N(k, s^2) and K the mechanism is
post-processing of T Gaussian mechanisms, mu-GDP with ``mu = Delta sqrt(T) / s``. Hence if (eps, delta)
holds for that mu, ``(eps + 2 c, exp(c) delta)`` holds for integer noise: ``P(S) <= e^c P'(S) <= e^c (e^eps
Q'(S) + delta) <= e^(eps + 2c) Q(S) + e^c delta``. At t = 5/4, a is below 2e-13: what is paid is t^2 in
``sigma^2 = s^2 + t^2``, 1% of sigma where it is 8 and 5% where it is 4.

The integer noises of the sparse vector technique stand with its proof, in `pate_cli.privacy.above_threshold`.

References
----------
.. [1] B. Balle, Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML 2018.
.. [2] J. Dong, A. Roth, W. Su. Gaussian differential privacy. JRSS-B 2022.
.. [3] M. Bun, T. Steinke. Concentrated differential privacy. TCC 2016.
.. [4] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from scipy.special import erfcx, log_ndtr

from pate_cli.privacy.composition import advanced_factor, advanced_limit, root_on_safe_side

__all__ = ["CALIBRATIONS", "Calibration", "calibrate_sigma", "calibrate_sigma_zcdp", "eps_of_mu"]
__all__ += ["log_profile", "mu_of", "point_of", "profile", "rounding_of", "sigma_by"]
__all__ += ["vector_eps", "vector_mu", "vector_mu_squared", "vector_sigma"]

Calibration: TypeAlias = Literal["tight", "liu2021", "bassily2018"]
CALIBRATIONS: tuple[Calibration, ...] = ("tight", "liu2021", "bassily2018")
"""How losses are composed: exactly; by zCDP, as LZCW21 does; by advanced composition, as BTT18 does."""

_LEAST_MU = 1e-9
"""Below it the profile has few digits left; as a larger mu promises less, this one is taken for it."""

_MATTERS = 1e-11
"""Share of eps from which its rounding is bounded again, where it was found: so eps and mu agree to 1e-9."""

_ROUNDING = 1e-9
"""More than all floating point errors of integer noise together, as a share."""

_SMOOTHING = 1.25
"""t of the proof: standard deviation of the noise that makes a Gaussian draw an integer."""

_SQRT2 = math.sqrt(2.0)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def log_profile(eps: float, mu: float) -> float:
    """Natural log of the smallest delta at which mu-GDP is (eps, delta)-DP; -inf where that is 0.

    ``log(Phi(mu/2 - eps/mu) - exp(eps) * Phi(-mu/2 - eps/mu))``, eps and mu in [0, inf). The two terms agree
    to many digits when delta is small. With ``phi(a) = exp(eps) * phi(b)`` the difference is
    ``phi(a) * (m(-a) - m(-b))``, m the Mills ratio, which loses no more than the digits of ``m`` itself.
    """
    if mu == 0:
        return -math.inf
    upper = eps / mu + mu / 2  # -b
    lower = eps / mu - mu / 2  # -a
    if lower < 0:
        first = float(log_ndtr(-lower))
        second = eps + float(log_ndtr(-upper))
        return first + math.log1p(-math.exp(min(second - first, 0.0))) if second < first else -math.inf
    mills = math.sqrt(math.pi / 2) * (float(erfcx(lower / _SQRT2)) - float(erfcx(upper / _SQRT2)))
    if mills <= 0:  # below the smallest representable difference
        return -math.inf
    return -0.5 * lower * lower - _HALF_LOG_2PI + math.log(mills)


def profile(eps: float, mu: float) -> float:
    """Smallest delta at which mu-GDP is (eps, delta)-DP; see `log_profile`."""
    return math.exp(log_profile(eps, mu))


def mu_of(eps: float, delta: float) -> float:
    """Largest mu for which mu-GDP implies (eps, delta)-DP, rounded so that ``profile(eps, mu) <= delta``.

    eps is finite and above 0, delta in (0, 1).
    """
    target = math.log(delta)
    low = high = 1.0
    while log_profile(eps, high) < target:
        low, high = high, high * 2
    while log_profile(eps, low) >= target:
        low, high = low / 2, low
    target -= max(_rounding(eps, low), _rounding(eps, high))
    while log_profile(eps, low) >= target:
        low /= 2
    return root_on_safe_side(lambda mu: log_profile(eps, mu) - target, low, high, below=True)


def eps_of_mu(mu: float, delta: float) -> float:
    """Smallest eps >= 0 at which mu-GDP is (eps, delta)-DP, rounded so that ``profile(eps, mu) <= delta``.

    mu is in [0, inf], delta in (0, 1).
    """
    if math.isinf(mu):
        return math.inf
    if mu == 0:
        return 0.0
    mu = max(mu, _LEAST_MU)
    rho = mu * mu / 2
    high = rho + 2 * math.sqrt(rho * math.log(1 / delta))  # eps of rho-zCDP: an upper bound, so a bracket
    margin = _rounding(high, mu)
    eps = _eps_at(math.log(delta) - margin, mu, high)
    if margin * mu > _MATTERS * eps:  # `mu_of` has less rounding than at that bound
        eps = _eps_at(math.log(delta) - _rounding(eps, mu), mu, eps)
    return eps


def _eps_at(target: float, mu: float, high: float) -> float:
    """Smallest eps >= 0 at which the log of the profile is at most `target`."""
    if log_profile(0.0, mu) <= target:
        return 0.0
    while log_profile(high, mu) > target:
        high *= 2
    return root_on_safe_side(lambda eps: target - log_profile(eps, mu), 0.0, high, below=False)


def point_of(mu: float, delta: float) -> tuple[float, float]:
    """Return an (eps, delta) of mu-GDP from which `mu_of` has mu again, to 1e-9: at `delta` where it can be.

    Where delta is not far below mu, eps is near 0, or 0 for many mu, and mu is lost; eps is then mu.
    """
    eps = eps_of_mu(mu, delta)
    return (eps, delta) if eps >= mu else (mu, profile(mu, mu))


def _rounding(eps: float, mu: float) -> float:
    """Bound the error of `log_profile` by rounding, also of the last few digits of `mu`.

    The arguments of the Mills ratios are right to a few units in the last place of the larger one, and
    enter squared. Their difference, near ``mu``, loses the digits that the two have in common.
    """
    upper = eps / mu + mu / 2
    return 1e-15 * (1 + upper * upper + (1 + upper) / mu)


def calibrate_sigma(eps: float, delta: float, ell: int, sensitivity: float = 1.0) -> float:
    """Smallest noise for `ell` adaptive Gaussian queries to be (eps, delta)-DP: a standard deviation.

    It is in the unit of `sensitivity`, the L2 sensitivity of one query; 0 for eps = inf.
    """
    if math.isinf(eps):
        return 0.0
    return sensitivity * math.sqrt(ell) / mu_of(eps, delta)


def calibrate_sigma_zcdp(eps: float, delta: float, ell: int, sensitivity: float = 1.0) -> float:
    """Noise by the looser zCDP rule of LZCW21 Algorithm 1, line 1; never less than `calibrate_sigma`.

    The rho at which ``rho + 2 sqrt(rho ln(1/delta)) = eps`` (Bun and Steinke 2016, Proposition 1.3).
    """
    inverse = math.log(1 / delta)
    root = eps / (math.sqrt(inverse + eps) + math.sqrt(inverse))  # of rho, without cancellation
    return sensitivity * math.sqrt(ell / (2 * (root * root)))


def sigma_by(rule: Calibration, eps: float, delta: float, ell: int, sensitivity: float) -> float:
    """Noise for `ell` queries, as `calibrate_sigma`, by a rule of `CALIBRATIONS`.

    `bassily2018` is BTT18's advanced composition, the "straightforward" use of it in its abstract: a query
    has ``eps0 = eps/sqrt(8 ell ln(2/delta))``, as an unstable answer of Algorithm 2 has, and
    ``delta/(2 ell)``; the noise of one query is exact. The other half of delta is the composition's slack.

    Raises
    ------
    ValueError
        If the rule does not hold at this eps; see `pate_cli.privacy.composition.advanced_limit`.
    """
    if rule == "liu2021":
        return calibrate_sigma_zcdp(eps, delta, ell, sensitivity)
    if rule == "bassily2018":
        advanced_limit(eps, delta)
        return calibrate_sigma(eps / advanced_factor(delta, ell), delta / (2 * ell), 1, sensitivity)
    return calibrate_sigma(eps, delta, ell, sensitivity)


def _log_factor(t: float) -> float:
    """Bound a of the proof."""
    q = math.exp(-2 * math.pi**2 * t * t)
    return 2 * math.atanh(2 * q / (1 - q**3))  # m^2 >= 1 + 3 (m - 1)


def rounding_of(numbers: int) -> float:
    """Bound how far integer noise on so many numbers is from Gaussian, in log probability: c of the proof."""
    return numbers * _log_factor(_SMOOTHING)


def vector_mu(eps: float, delta: float, numbers: int) -> float:
    """Largest mu at which integer noise, on so many numbers over all rounds, is (eps, delta)-DP.

    ``mu^2`` adds up over rounds; eps is finite and above 0.

    Raises
    ------
    ValueError
        If there are too many numbers at so small an eps for the bound to be of use.
    """
    c = rounding_of(numbers)
    if 2 * c > 0.1 * min(eps, 1.0):
        raise ValueError(f"no integer noise is calibrated for {numbers} numbers at eps={eps:g}")
    return mu_of((eps - 2 * c) * (1 - _ROUNDING), delta * math.exp(-c) * (1 - _ROUNDING))


def vector_eps(mu: float, numbers: int, delta: float) -> float:
    """Smallest eps at which integer noise of `mu` on so many numbers in all is (eps, delta)-DP."""
    c = rounding_of(numbers)
    return eps_of_mu(mu, delta * math.exp(-c)) + 2 * c


def vector_sigma(sensitivity: float, mu: float) -> float:
    """Sigma of N_Z(0, sigma^2) on a vector that one record moves by `sensitivity`, to spend `mu`."""
    return math.hypot(sensitivity / mu, _SMOOTHING) * (1 + _ROUNDING)


def vector_mu_squared(sensitivity: float, sigma: float) -> float:
    """``mu^2`` that N_Z(0, sigma^2) spends; inf where sigma is too small for the bound."""
    spare = sigma * sigma - _SMOOTHING * _SMOOTHING
    return sensitivity * sensitivity / spare if spare > 0 else math.inf
