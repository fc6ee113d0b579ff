"""A valid running account of Gaussian queries that may stop at any moment.

LZCW21's eps_ex_post evaluates the profile at the number of queries that happened to
be asked. That number is chosen by the outputs, so it is a report. This odometer is
a statement: with probability at least 1 - delta over the outputs of the run on D,
the log-ratio of their probabilities on D and on any neighbour is at most the number
shown, wherever the run stopped (Rogers et al. 2016; Whitehouse et al. 2023).

Proof. Query i adds ``a_i^2/(2 sigma^2) + a_i Z_i / sigma`` to the log-ratio, with
``|a_i| <= s`` fixed by what was released before and Z_i fresh, standard normal.
After q queries the variance spent, ``v = sum a_i^2/sigma^2``, is at most
``q s^2/sigma^2`` and the log-ratio is a Brownian motion with drift 1/2 read at time
v. Before time V such a motion passes e with probability
``1 - Phi((e - V/2)/sqrt(V)) + exp(e) (1 - Phi((e + V/2)/sqrt(V)))``.
On a fixed grid of stages, each is given an equal part of delta, and a run that
stopped after q queries reads the first stage that covers them.

References
----------
.. [1] R. Rogers, A. Roth, J. Ullman, S. Vadhan. Privacy odometers and filters. NIPS 2016.
.. [2] J. Whitehouse, A. Ramdas, R. Rogers, Z. S. Wu. Fully-adaptive composition in
   differential privacy. ICML 2023.
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from pate_cli.privacy.roots import root_on_safe_side

__all__ = ["STAGES", "gaussian_odometer", "log_crossing"]

STAGES = 8
"""Stages of the grid, evenly spaced in the number of queries."""


def log_crossing(eps: float, variance: float) -> float:
    """Log of the probability that the log-ratio passes `eps` before `variance` is spent."""
    root = math.sqrt(variance)
    first = float(log_ndtr(-(eps - variance / 2) / root))
    second = eps + float(log_ndtr(-(eps + variance / 2) / root))
    top = max(first, second)
    return min(0.0, top + math.log(math.exp(first - top) + math.exp(second - top)))


def gaussian_odometer(asked: int, ell: int, sigma: float, delta: float, sensitivity: float = 1.0) -> float:
    """Bound on the loss of the first `asked` of at most `ell` queries, valid at any stopping time.

    Parameters
    ----------
    asked : int
        From 0 to `ell`; may depend on the outputs.
    ell : int
        Most queries, fixed in advance.
    sigma : float
        In votes.
    delta : float
        In (0, 1).
    sensitivity : float
        L2 sensitivity of a query, in votes.

    Returns
    -------
    float
        Eps, at most a little above that of `ell` queries.
    """
    if asked == 0:
        return 0.0
    stages = min(STAGES, ell)
    stage = math.ceil(asked * stages / ell)
    covered = math.ceil(ell * stage / stages)
    variance = covered * (sensitivity / sigma) ** 2
    target = math.log(delta / stages)
    high = variance / 2 + math.sqrt(2 * variance * (math.log(2) - target)) + 1e-12
    while log_crossing(high, variance) > target:
        high *= 2
    root = root_on_safe_side(lambda eps: target - log_crossing(eps, variance), 0.0, high, below=False)
    return root * (1 + 1e-12)  # against rounding in the probability
