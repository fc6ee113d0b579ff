"""Renyi differential privacy of noisy majorities, as it depends on the votes (Papernot et al. 2018).

Where teachers agree, a noisy majority reveals next to nothing about one of them: its Renyi divergence from a
neighbour's is far below the worst case. The numbers here are computed from votes and are therefore PRIVATE.

A query is a point on a line of *states*, 0 .. K, from which one record moves by one vote at most:

- two classes: the votes for class 1;
- a check ``largest count + noise >= threshold``: the largest count;
- more classes: the lead of the majority, which moves by two votes.

In the first two the output is one bit, and the divergence from both neighbours, in both directions, is exact.
For more classes it is Theorem 6 of the paper, in its direction: of the output on these votes from that on a
neighbour's.

References
----------
.. [1] N. Papernot, S. Song, I. Mironov, A. Raghunathan, K. Talwar, U. Erlingsson. Scalable private learning
   with PATE. ICLR 2018. Theorem 6, Propositions 7 and 10.
.. [2] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020,
   Proposition 12 (from Renyi to approximate differential privacy).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

__all__ = ["eps_of_rdp", "rdp_of_bit", "rdp_of_majority"]

Floats = NDArray[np.float64]


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
    log_p, log_q = log_ndtr(shift), log_ndtr(-shift)
    up = _divergence(log_p[:-1], log_q[:-1], log_p[1:], log_q[1:], order)
    down = _divergence(log_p[1:], log_q[1:], log_p[:-1], log_q[:-1], order)
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
