r"""Privacy loss of choosing between private candidates.

Candidates that are all run and released compose: k of them, each mu_0-GDP, are ``mu_0 sqrt(k)``-GDP (Dong,
Roth, Su 2022, Corollary 2). Where only the best of them leaves, a random number of trials costs less from
about eight on ([1]_, [2]_): K is drawn from a geometric distribution, K runs of a randomly picked candidate
each come with a noisy score of their own, and the one of the best score leaves. K is not released.

*Proof* ([2]_, Theorem 2, with eta = 1). If one run with its score is (lambda, e)-RDP and (lambda', e')-RDP,
the best of K runs, K geometric with mean 1/gamma, is (lambda, e'')-RDP for

    e'' = e + 2 (1 - 1/lambda') e' + 2 log(1/gamma) / lambda' + log(E K) / (lambda - 1).

A mu-GDP run, or one with integer Gaussian noise that spends mu ([3]_, multivariate), has
``e(lambda) = lambda mu^2 / 2``; the best lambda' is then ``max(1, sqrt(2 log(1/gamma)) / mu)``.

References
----------
.. [1] J. Liu, K. Talwar. Private selection from private candidates. STOC 2019.
.. [2] N. Papernot, T. Steinke. Hyperparameter tuning with Renyi differential privacy. ICLR 2022.
.. [3] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["trials_eps", "trials_mu"]

_ORDERS = 1 + np.logspace(-3, 6, 20_000)
"""Orders lambda tried; the bound holds for each, so the least is safe."""


def trials_eps(mu: float, expected: float, delta: float) -> float:
    """Smallest eps at which the best of a geometric number of mu-GDP runs is (eps, delta)-DP.

    mu is above 0, of one run with its score; `expected`, the mean number of runs, at least 1.
    """
    if math.isinf(mu):
        return math.inf
    log_mean = math.log(expected)
    inner = max(1.0, math.sqrt(2 * log_mean) / mu)  # lambda'
    beside = (inner - 1) * mu * mu + 2 * log_mean / inner
    rdp = _ORDERS * mu * mu / 2 + beside + log_mean / (_ORDERS - 1)
    # from RDP to (eps, delta): Canonne, Kamath, Steinke 2020, Proposition 12
    eps = rdp + np.log1p(-1 / _ORDERS) - (math.log(delta) + np.log(_ORDERS)) / (_ORDERS - 1)
    return max(0.0, float(eps.min()))


def trials_mu(eps: float, delta: float, expected: float) -> float:
    """Largest mu of one run at which the best of a geometric number of runs is (eps, delta)-DP.

    It is rounded down, and 0 where no mu is small enough; see `trials_eps`.
    """
    if math.isinf(eps):
        return math.inf
    low, high = 0.0, 1.0
    while trials_eps(high, expected, delta) <= eps:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        if trials_eps(middle, expected, delta) <= eps:
            low = middle
        else:
            high = middle
    return low
