r"""Privacy of integer Gaussian noise, which releases use.

Votes and rounded gradients are integers (in some unit). With integer noise
every value a release computes is an integer below 2^53, exact in floating point, so the proofs below are
about the numbers that leave and not about an idealisation of them.

**Discrete Gaussian.** N_Z(0, sigma^2) has probability proportional to ``exp(-x^2 / (2 sigma^2))`` on the
integers. A vector of d integers, which one replaced record moves by at most Delta in L2, gets independent
N_Z(0, sigma^2) on each coordinate, in T adaptive rounds. A query about votes is a case: the count of class
1 (d = 1, Delta = 1), or of more classes the histogram (d = C, Delta = sqrt(2)).

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

The integer noises of the sparse vector technique stand with its proof, in `pate_cli.privacy.svt`.

References
----------
.. [1] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential
   privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math

from pate_cli.privacy.gaussian import eps_of_mu, mu_of

__all__ = ["vector_eps", "vector_mu", "vector_mu_squared", "vector_sigma"]

_ROUNDING = 1e-9
"""More than all floating point errors here together, as a share."""

_SMOOTHING = 1.25
"""t of the proof: standard deviation of the noise that makes a Gaussian draw an integer."""


def _log_factor(t: float) -> float:
    """Bound a of the proof."""
    q = math.exp(-2 * math.pi**2 * t * t)
    return 2 * math.atanh(2 * q / (1 - q**3))  # m^2 >= 1 + 3 (m - 1)


def vector_mu(eps: float, delta: float, numbers: int) -> float:
    """Largest mu at which integer noise is (eps, delta)-DP; ``mu^2`` adds up over rounds.

    Parameters
    ----------
    eps : float
        Above 0, finite.
    delta : float
        In (0, 1).
    numbers : int
        That get noise, over all rounds.

    Raises
    ------
    ValueError
        If there are too many numbers at so small an eps for the bound to be of use.
    """
    c = numbers * _log_factor(_SMOOTHING)
    if 2 * c > 0.1 * min(eps, 1.0):
        raise ValueError(f"no integer noise is calibrated for {numbers} numbers at eps={eps:g}")
    return mu_of((eps - 2 * c) * (1 - _ROUNDING), delta * math.exp(-c) * (1 - _ROUNDING))


def vector_eps(mu: float, numbers: int, delta: float) -> float:
    """Smallest eps at which integer noise of `mu` on so many numbers in all is (eps, delta)-DP."""
    c = numbers * _log_factor(_SMOOTHING)
    return eps_of_mu(mu, delta * math.exp(-c)) + 2 * c


def vector_sigma(sensitivity: float, mu: float) -> float:
    """Sigma of N_Z(0, sigma^2) on a vector that one record moves by `sensitivity`, to spend `mu`."""
    return math.hypot(sensitivity / mu, _SMOOTHING) * (1 + _ROUNDING)


def vector_mu_squared(sensitivity: float, sigma: float) -> float:
    """``mu^2`` that N_Z(0, sigma^2) spends; inf where sigma is too small for the bound."""
    spare = sigma * sigma - _SMOOTHING * _SMOOTHING
    return sensitivity * sensitivity / spare if spare > 0 else math.inf
