"""Composition of pure differential privacy: exact, and BTT18's advanced composition.

References
----------
.. [1] P. Kairouz, S. Oh, P. Viswanath. The composition theorem for differential privacy. ICML 2015,
   Theorem 3.3: randomised response dominates every eps0-DP mechanism, so its T-fold composition has the
   exact profile of all of them.
.. [2] C. Dwork, A. Roth. The algorithmic foundations of differential privacy, 2014, Theorem 2.2, and
   S. Vadhan. The complexity of differential privacy, 2017, Lemma 2.2: group privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

__all__ = ["advanced_factor", "advanced_limit", "eps0_of", "group_loss", "log_pure_profile"]
__all__ += ["pure_eps", "root_on_safe_side"]


def root_on_safe_side(function: Callable[[float], float], low: float, high: float, *, below: bool) -> float:
    """Root of an increasing function in ``[low, high]``, ``0 <= low``, to a few units in the last place.

    It is moved until the function is not positive there (`below`), or not negative.
    """
    root = float(brentq(function, low, high, xtol=1e-300, rtol=8.9e-16, maxiter=500))
    step = 1e-15
    while (function(root) > 0) if below else (function(root) < 0):
        root *= 1 - step if below else 1 + step
        step *= 2
    return root


def group_loss(eps: float, delta: float, size: int) -> tuple[float, float]:
    """Eps and delta for `size` records that are replaced by as many others, of (eps, delta) for one.

    One record is replaced after the other: each step multiplies by e^eps and adds delta, so delta grows to
    ``delta (e^(size eps) - 1) / (e^eps - 1)``; from 1 on it promises nothing. eps is above 0. Dwork and
    Roth 2014, Theorem 2.2.
    """
    if size * eps > 700:  # e^700 is near the largest float
        return size * eps, math.inf if delta else 0.0
    return size * eps, delta * (math.expm1(size * eps) / math.expm1(eps))


def log_pure_profile(eps: float, eps0: float, count: int) -> float:
    """Natural log of the delta at `eps` of `count` adaptively composed eps0-DP mechanisms.

    -inf where no delta is needed: ``count * eps0 <= eps``.
    """
    if count * eps0 <= eps:
        return -math.inf
    # terms l with (count - 2 l) eps0 > eps; at most count / 2 of them, all positive
    last = min(math.ceil((count - eps / eps0) / 2), count // 2 + 1)
    terms = np.arange(last + 1, dtype=float)
    gap = (count - 2 * terms) * eps0 - eps
    terms, gap = terms[gap > 0], gap[gap > 0]
    log_choose = gammaln(count + 1) - gammaln(terms + 1) - gammaln(count - terms + 1)
    log_odds = (count - terms) * eps0 - count * np.logaddexp(0.0, eps0)
    return float(logsumexp(log_choose + log_odds + np.log(-np.expm1(-gap))))


@lru_cache(maxsize=1024)  # tens of milliseconds each
def eps0_of(eps: float, delta: float, count: int) -> float:
    """Largest eps0 such that `count` eps0-DP mechanisms compose to (eps, delta)-DP, rounded down.

    eps is finite and above 0, delta in [0, 1); with delta = 0 it is ``eps / count``.
    """
    low = pure = eps / count * (1 - 1e-15)  # so that count * low <= eps in floating point too
    if delta <= 0:
        return pure
    target = math.log(delta)

    def excess(eps0: float) -> float:
        return max(log_pure_profile(eps, eps0, count), -1e6) + _rounding(eps0, count) - target

    high = 2 * low + 1e-3
    while excess(high) < 0:
        low, high = high, high * 2
    root = root_on_safe_side(excess, low, high, below=True)
    return max(root * (1 - 1e-12), pure)  # against rounding in the gaps


def pure_eps(eps0: float, count: int, delta: float) -> float:
    """Smallest eps at which `count` eps0-DP mechanisms compose to (eps, delta)-DP, rounded up.

    eps0 is finite, delta in [0, 1); with delta = 0 it is ``count * eps0``.
    """
    pure = count * eps0
    if Fraction(pure) < count * Fraction(eps0):
        pure = math.nextafter(pure, math.inf)
    if delta <= 0:
        return pure
    target = math.log(delta) - _rounding(eps0, count)
    if log_pure_profile(0.0, eps0, count) <= target:
        return 0.0
    root = root_on_safe_side(
        lambda eps: target - max(log_pure_profile(eps, eps0, count), -1e6), 0.0, pure, below=False
    )
    # a gap (count - 2 l) eps0 - eps is off by less than the last term
    return min(root * (1 + 1e-12) + 4e-15 * pure, pure)


def _rounding(eps0: float, count: int) -> float:
    """Bound the rounding of `log_pure_profile`, but for that of the gaps between its terms and eps.

    Logarithms of factorials up to ``count * log(count)`` and of odds up to ``count * (eps0 + 1)`` are
    added up, each right to a few units in its last place.
    """
    return 2e-15 * count * (math.log(count + 1) + eps0 + 1)


def advanced_factor(delta: float, count: float, slack: int = 2) -> float:
    """``sqrt(8 T ln(2/delta))``: BTT18's advanced composition lets each of T mechanisms cost eps over this.

    With delta/slack to spare they cost ``sqrt(2 T ln(slack/delta)) eps0 + T eps0^2/2 <= eps`` together: the
    first term is eps/2, and so is the second at most up to `advanced_limit`. An unstable answer costs
    ``2/lambda``, so BTT18 Algorithm 2 has ``lambda = sqrt(32 T ln(2/delta))/eps``, twice this over eps.
    """
    return math.sqrt(8 * count * math.log(slack / delta))


def advanced_limit(eps: float, delta: float, slack: int = 2) -> None:
    """Refuse an eps above ``8 ln(slack/delta)``, where `advanced_factor` proves nothing: ValueError."""
    most = 8 * math.log(slack / delta)
    if eps > most:
        raise ValueError(f"bassily2018 holds for eps up to 8 ln({slack}/delta) = {most:.4g}")
