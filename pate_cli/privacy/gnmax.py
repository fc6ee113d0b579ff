"""Renyi differential privacy of noisy majorities, as it depends on the votes (Papernot et al. 2018).

Where teachers agree, a noisy majority reveals next to nothing about one of them: its Renyi divergence from a
neighbour's is far below the worst case. The numbers here are computed from votes and are therefore PRIVATE,
until they are sanitised by noise in proportion to their smooth sensitivity.

A query is a point on a line of *states*, from which one record moves by `step` at most:

- two classes: the votes for class 1, 0 .. K, step 1;
- a check ``largest count + noise >= threshold``: the largest count, 0 .. K, step 1;
- more classes: the lead of the majority, 0 .. K, step 2.

In the first two the output is one bit, and the divergence from both neighbours, in both directions, is exact.
For more classes it is Theorem 6 of the paper, in its direction: of the output on these votes from that on a
neighbour's.

References
----------
.. [1] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, U. Erlingsson. Scalable private learning
   with PATE. ICLR 2018. Theorem 6, Propositions 7 and 10, appendix B.
.. [2] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020,
   Proposition 12 (from Renyi to approximate differential privacy).
.. [3] K. Nissim, S. Raskhodnikova, A. Smith. Smooth sensitivity and sampling in private data analysis.
   STOC 2007.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d
from scipy.special import log_ndtr, ndtri

from pate_cli.privacy.composition import root_on_safe_side
from pate_cli.privacy.noise import Noise

__all__ = ["Sanitiser", "eps_of_rdp", "rdp_of_bit", "rdp_of_majority", "smooth_sensitivity"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def eps_of_rdp(rdp: float, order: float, delta: float) -> float:
    """Eps at `delta` of a mechanism that is (order, rdp)-Renyi differentially private; `rdp` is in nats."""
    above = order - 1
    return max(0.0, rdp + math.log(above / order) - (math.log(delta) + math.log(order)) / above)


def rdp_of_bit(n_teachers: int, centre: float, sigma: float, order: float) -> Floats:
    """Renyi divergence of ``1(s + N(0, sigma^2) >= centre)`` from its neighbours', for each state s.

    The states are 0 .. K. It is the largest over both neighbours and both directions; exact, in nats, shape
    (K + 1,). `centre` and `sigma` are in votes, the order is above 1.
    """
    shift = (np.arange(n_teachers + 1) - centre) / sigma
    one, zero = log_ndtr(shift), log_ndtr(-shift)
    up = _divergence(one[:-1], zero[:-1], one[1:], zero[1:], order)
    down = _divergence(one[1:], zero[1:], one[:-1], zero[:-1], order)
    between = np.maximum(up, down)  # of states s and s + 1
    rdp: Floats = np.maximum(np.append(between, 0.0), np.append(0.0, between))
    return rdp


def _divergence(p1: Floats, p0: Floats, q1: Floats, q0: Floats, order: float) -> Floats:
    """Between bits given by the logarithms of their probabilities."""
    powers = np.logaddexp(order * p1 + (1 - order) * q1, order * p0 + (1 - order) * q0)
    rdp: Floats = np.maximum(0.0, powers / (order - 1))
    return rdp


def rdp_of_majority(n_teachers: int, n_classes: int, sigma: float, order: float) -> Floats:
    """Theorem 6 for the noisy majority of C classes, for each lead 0 .. K of the largest count, in nats.

    It is never above the bound without votes, ``order / sigma^2``. `sigma`, of the noise on each count, is in
    votes, the order above 1.
    """
    worst = order / sigma**2
    lead = np.arange(n_teachers + 1)
    # Proposition 7; every other class is at least `lead` behind
    log_q = math.log(n_classes - 1) + log_ndtr(-lead / (math.sqrt(2) * sigma))
    rdp = np.full(n_teachers + 1, worst)
    for state in np.flatnonzero(log_q < 0).tolist():
        rdp[state] = min(worst, _theorem_6(float(log_q[state]), sigma, order))
    return rdp


def _theorem_6(log_q: float, sigma: float, order: float) -> float:
    mu2 = sigma * math.sqrt(-log_q)  # Proposition 10
    mu1 = mu2 + 1
    if mu2 <= 1 or order > mu1:
        return math.inf
    eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
    if log_q > (mu2 - 1) * eps2 - mu2 * math.log(mu1 / (mu1 - 1) * mu2 / (mu2 - 1)):
        return math.inf
    exponent = (mu2 - 1) / mu2 * (log_q + eps2)
    if exponent >= 0:
        return math.inf
    log_rest = math.log1p(-math.exp(log_q))
    log_a = log_rest - math.log1p(-math.exp(exponent))
    log_b = eps1 - log_q / (mu1 - 1)
    total = np.logaddexp(log_rest + (order - 1) * log_a, log_q + (order - 1) * log_b)
    return max(0.0, float(total) / (order - 1))


def smooth_sensitivity(terms: list[tuple[Floats, Ints, int]], beta: float) -> float:
    """Upper bound on the beta-smooth sensitivity of a sum over queries, ``beta > 0``.

    A term has values, one for each of the K + 1 states, the states of the queries asked, and how far one
    record moves a state. The bound is ``max_d exp(-beta d) sum_q max over states within d records of q of
    the largest change by one more record``: at least the smooth sensitivity, since one record moves all
    queries at once, each by `step` at most.
    """
    windows = []  # largest change by one record, at each state
    for values, _, step in terms:
        highest = maximum_filter1d(values, 2 * step + 1, mode="nearest")
        lowest = minimum_filter1d(values, 2 * step + 1, mode="nearest")
        windows.append(np.maximum(highest - values, values - lowest))
    most = sum(
        float(window.max()) * len(states) for window, (_, states, _) in zip(windows, terms, strict=True)
    )
    found, distance, scale = 0.0, 0, 1.0
    while scale * most > found:
        now = sum(float(window[states].sum()) for window, (_, states, _) in zip(windows, terms, strict=True))
        found = max(found, scale * now)
        if now >= most:
            break
        windows = [
            maximum_filter1d(window, 2 * step + 1, mode="nearest")  # over the states one record further
            for window, (_, _, step) in zip(windows, terms, strict=True)
        ]
        distance += 1
        scale = math.exp(-beta * distance)
    return found


@dataclass(frozen=True)
class Sanitiser:
    """Release an upper limit of a number computed from votes, by its smooth sensitivity.

    For a number f (a sum of Renyi divergences) of smooth sensitivity S it releases ``v = f + sigma S Z1`` and
    ``u = ln S + beta sigma_log Z2``, Z1 and Z2 standard normal; from these two alone,
    ``v + z sigma exp(u + z beta sigma_log)`` with ``z = -ndtri(failure / 2)`` is below f with probability
    `failure` at most.

    **Guarantee.** (order, rdp)-Renyi DP for neighbours that move each query's state by one step at most.
    Proof. ln S moves by at most beta, so u costs ``a / (2 sigma_log^2)``. The mean of v moves by at most the
    smaller of the two S, and its standard deviation by a factor ``r`` in ``[exp(-beta), exp(beta)]``. The
    divergence of two normal laws is ``a m^2 / (2 s^2) + ln(s / (s1^(1-a) s2^a)) / (1 - a)`` with
    ``s^2 = (1-a) s1^2 + a s2^2``; its first term is largest at ``r = exp(-beta)``, its second grows with
    ``|ln r|`` (derivative ``a (r^2 - 1) / (1 - a + a r^2)``), so `rdp` adds the two maxima and u's cost.
    v is GNSS of Papernot et al. (2018), appendix B, with the constants derived anew; u makes a limit of the
    estimate.
    """

    order: float  # at which f is a divergence; above 1
    beta: float  # of the smooth sensitivity
    sigma: float  # noise on f, in units of the smooth sensitivity
    sigma_log: float  # noise on ln S, in units of beta
    failure: float  # probability that the limit is too low

    def rdp(self, order: float) -> float:
        """Renyi divergence at `order`, in nats; inf where the two variances are too far apart for it."""
        if 1 - order + order * math.exp(-2 * self.beta) <= 0:
            return math.inf
        mean = _mean_cost(order, self.beta) / self.sigma**2
        return mean + _variance_cost(order, self.beta) + order / (2 * self.sigma_log**2)

    def eps_beside(self, mu_squared: float, delta: float) -> float:
        """Eps of mu-GDP queries and this release: the smallest over Renyi orders, each a bound."""
        orders = [1 + 1.1**k for k in range(-40, 80)]
        return min(eps_of_rdp(order * mu_squared / 2 + self.rdp(order), order, delta) for order in orders)

    def mu_beside(self, eps: float, delta: float) -> float:
        """Largest mu of queries that are (eps, delta)-DP with this release; ValueError if there is none."""

        def over(mu: float) -> float:
            return self.eps_beside(mu * mu, delta) - eps

        if over(1e-6) > 0:
            raise ValueError("nothing is left for the queries")
        return root_on_safe_side(over, 1e-6, 10 * (1 + eps), below=True)

    def limit(self, value: float, sensitivity: float, noise: Noise) -> Floats:
        """Release an upper limit of `value`, whose smooth sensitivity is given; at least 0, shape ()."""
        first, second = noise.gaussian(1.0, 2).tolist()
        sensitivity = max(sensitivity, 1e-300)  # as small as floats go, not none
        z = -float(ndtri(self.failure / 2))
        noisy = value + self.sigma * sensitivity * first
        scale = sensitivity * math.exp(self.beta * self.sigma_log * (second + z))
        return np.array(max(0.0, noisy + z * self.sigma * scale))

    @classmethod
    def costing(cls, rdp: float, order: float, failure: float) -> Sanitiser:
        """Sanitiser that costs `rdp` nats at `order`, a third on each of its three terms."""
        third = rdp / 3
        top = 0.5 * math.log(order / (order - 1)) * (1 - 1e-9)  # where the variance costs infinity

        def spare(beta: float) -> float:
            return _variance_cost(order, beta) - third

        beta = top if spare(top) <= 0 else root_on_safe_side(spare, 1e-9 * top, top, below=True)
        sigma = math.sqrt(_mean_cost(order, beta) / third)
        return cls(order, beta, sigma, math.sqrt(order / (2 * third)), failure)


def _mean_cost(order: float, beta: float) -> float:
    """Divergence of two normal laws one apart, times the larger variance, at the ratio exp(-beta)."""
    shrunk = math.exp(-2 * beta)
    return order * shrunk / (2 * (1 - order + order * shrunk))


def _variance_cost(order: float, beta: float) -> float:
    def at(t: float) -> float:
        return (0.5 * math.log(1 - order + order * math.exp(2 * t)) - order * t) / (1 - order)

    return max(at(beta), at(-beta))
