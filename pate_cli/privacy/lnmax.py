"""Moments account of noisy majorities with Laplace noise, as it depends on the votes (Papernot et al. 2017).

The numbers here are computed from votes and are therefore PRIVATE.

References
----------
.. [1] N. Papernot, M. Abadi, U. Erlingsson, I. Goodfellow, K. Talwar. Semi-supervised knowledge transfer for
   deep learning from private training data. ICLR 2017. Theorems 1 to 3, Lemma 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["eps_of_moments", "miss_probability", "moment_of_miss"]

Floats = NDArray[np.float64]
_ORDERS = range(1, 129)


def miss_probability(counts: NDArray[np.int64], scale: float) -> Floats:
    """Bound, shape (m,), on the probability that the label of votes (m, C) is not their majority.

    Two classes: exact, of noise on one count. More: Lemma 4, of noise on each.
    """
    gaps = (counts.max(axis=1, keepdims=True) - counts) / scale
    if counts.shape[1] == 2:
        two: Floats = np.exp(-gaps.max(axis=1) / 2) / 2
        return two
    terms = (2 + gaps) / 4 * np.exp(-gaps)
    several: Floats = np.minimum(1.0, terms.sum(axis=1) - 0.5)  # less that of the majority itself
    return several


def moment_of_miss(q: Floats, eps0: float, order: int) -> Floats:
    """Moment of the privacy loss, of this order, of an eps0-DP label that is another with probability q.

    Theorem 3 where it holds and is less than that of any eps0-DP mechanism, ``order (order + 1) eps0^2/2``.
    """
    worst = min(order * (order + 1) * eps0**2 / 2, order * eps0)
    holds = q < 1 / (math.exp(eps0) + 1)
    small = np.where(holds, q, 0.0)
    stays = np.log1p(-small) * (order + 1) - order * np.log1p(-math.exp(eps0) * small)
    with np.errstate(divide="ignore"):
        moment = np.logaddexp(stays, np.log(small) + eps0 * order)
    result: Floats = np.where(holds, np.clip(moment, 0.0, worst), worst)
    return result


def eps_of_moments(q: Floats, eps0: float, delta: float) -> float:
    """Eps at `delta` of labels with these probabilities of a miss, each eps0-DP: the best of many orders."""
    orders = ((order, float(moment_of_miss(q, eps0, order).sum())) for order in _ORDERS)
    return min((moment - math.log(delta)) / order for order, moment in orders)
