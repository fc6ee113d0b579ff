"""Pure differential privacy: the Laplace and the exponential mechanism.

References
----------
.. [1] C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating noise to sensitivity. TCC 2006.
.. [2] F. McSherry, K. Talwar. Mechanism design via differential privacy. FOCS 2007.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["exponential_mechanism_probabilities", "laplace_eps", "laplace_scale"]


def laplace_scale(eps: float, sensitivity: float = 1.0) -> float:
    """Scale b of Laplace noise, density ``exp(-|x|/b)/(2b)``, that makes a value eps-DP.

    Parameters
    ----------
    eps : float
        In (0, inf).
    sensitivity : float
        L1 sensitivity of the value, in its unit.
    """
    return sensitivity / eps


def laplace_eps(scale: float, sensitivity: float = 1.0) -> float:
    """Eps of a value released with Laplace noise of scale b; the inverse of `laplace_scale`."""
    return sensitivity / scale


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
