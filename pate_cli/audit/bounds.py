"""Lower bounds on eps from counts: how often an event happened on a database and on its neighbour.

If a mechanism is (eps, delta)-DP then ``P(S) <= exp(eps) Q(S) + delta`` for every set S of outputs, P and Q
its laws on two neighbours. So confidence limits ``p <= P(S)`` and ``q >= Q(S)`` that hold jointly give
``eps >= ln((p - delta)/q)`` with that confidence, for any mechanism ([1]_). S must not be chosen on the runs
that are counted.

If the claim is more, that the mechanism is mu-GDP (no easier to tell apart than N(0, 1) from N(mu, 1)), then
``P(S) <= Phi(Phi^-1(Q(S)) + mu)``, so the same limits give ``mu >= Phi^-1(p) - Phi^-1(q)`` ([2]_). At small
delta it shows far more of a Gaussian mechanism, since events that are common count. It refutes the claim of
mu-GDP only: a mechanism that is (eps, delta)-DP and nothing more may exceed it.

References
----------
.. [1] M. Jagielski, J. Ullman, A. Oprea. Auditing differentially private machine learning: how private is
   private SGD? NeurIPS 2020.
.. [2] M. Nasr, J. Hayes, T. Steinke, B. Balle, F. Tramer, M. Jagielski, N. Carlini, A. Terzis. Tight
   auditing of differentially private machine learning. USENIX Security 2023.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, ndtri

__all__ = ["best_event", "clopper_pearson", "eps_lower_bound", "mu_lower_bound"]


def clopper_pearson(
    hits: ArrayLike, total: int, confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact confidence limits of a probability, from `hits` in `total` independent trials.

    Each fails with probability at most ``(1 - confidence)/2``.
    """
    k = np.asarray(hits, dtype=float)
    miss = (1 - confidence) / 2
    # at the ends the beta law does not exist, and the limit is the end itself
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), total - k + 1, miss))
    high = np.where(k == total, 1.0, betainccinv(k + 1, np.maximum(total - k, 1), miss))
    return low, high


def eps_lower_bound(
    p_hits: ArrayLike, p_total: int, q_hits: ArrayLike, q_total: int, delta: float, confidence: float
) -> NDArray[np.float64]:
    """Lower bound on eps from one event, fixed before the runs; 0 where nothing is shown.

    The event happened in `p_hits` of `p_total` runs on the database, and in `q_hits` of `q_total` on its
    neighbour. Both limits hold together with probability at least `confidence`. The bound is finite even
    where `q_hits` is 0, as the upper limit of a probability never is.
    """
    low, _ = clopper_pearson(p_hits, p_total, confidence)
    _, high = clopper_pearson(q_hits, q_total, confidence)
    return np.maximum(0.0, np.log(np.maximum(low - delta, 1e-300) / high))


def mu_lower_bound(
    p_hits: ArrayLike, p_total: int, q_hits: ArrayLike, q_total: int, confidence: float
) -> NDArray[np.float64]:
    """Lower bound on mu, where mu-GDP is claimed, from one event; see `eps_lower_bound`."""
    low, _ = clopper_pearson(p_hits, p_total, confidence)
    _, high = clopper_pearson(q_hits, q_total, confidence)
    return np.asarray(np.maximum(0.0, ndtri(low) - ndtri(high)))


def best_event(
    p_scores: NDArray[np.float64],
    q_scores: NDArray[np.float64],
    delta: float,
    confidence: float,
    *,
    gdp: bool = False,
) -> tuple[float, float]:
    """Threshold t whose event ``{score >= t}`` shows the largest eps (mu if `gdp`), and that bound.

    The bound is the best of many, so it is not valid itself: count the event on other runs.
    """
    p, q = np.sort(p_scores), np.sort(q_scores)
    # ranks from the top at growing distances: rare events and common ones
    steps = np.unique(np.round(np.geomspace(1, max(len(p), len(q)), 120)).astype(int))
    ranks = [scores[-steps[steps <= len(scores)]] for scores in (p, q)]
    thresholds = np.unique(np.concatenate(ranks))
    p_hits = len(p) - np.searchsorted(p, thresholds, side="left")
    q_hits = len(q) - np.searchsorted(q, thresholds, side="left")
    if gdp:
        bounds = mu_lower_bound(p_hits, len(p), q_hits, len(q), confidence)
    else:
        bounds = eps_lower_bound(p_hits, len(p), q_hits, len(q), delta, confidence)
    best = int(np.argmax(bounds))
    return float(thresholds[best]), float(bounds[best])
