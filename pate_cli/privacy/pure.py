"""Pure differential privacy: the exponential mechanism.

References
----------
.. [1] F. McSherry, K. Talwar. Mechanism design via differential privacy. FOCS 2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["exponential_mechanism_probabilities"]


def exponential_mechanism_probabilities(
    scores: NDArray[np.float64], eps: float, sensitivity: float = 1.0
) -> NDArray[np.float64]:
    """Probability of each candidate: proportional to ``exp(eps * score / (2 sensitivity))``.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Higher is better.
    eps : float
        In [0, inf). Choosing one candidate with these probabilities is eps-DP.
    sensitivity : float
        Most by which one record changes any score.

    Returns
    -------
    ndarray of shape (n,)
        Sums to 1.
    """
    exponent = (eps / (2 * sensitivity)) * (scores - np.max(scores))
    weights: NDArray[np.float64] = np.exp(exponent)
    total: NDArray[np.float64] = weights / weights.sum()
    return total
