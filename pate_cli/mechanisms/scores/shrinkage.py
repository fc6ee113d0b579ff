"""From noisy means to a function: how much of each coefficient is believed."""

from __future__ import annotations

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["shrunk", "shrunk_constant"]

_AMPLITUDES = np.exp(np.linspace(-14.0, 8.0, 60))


def shrunk(
    means: FloatArray,
    noise: float,
    weights: FloatArray,
    variances: FloatArray,
    chance: FloatArray | float = 0.0,
) -> FloatArray:
    """Turn noisy means of unit vectors into coefficients: the posterior mean of a Gaussian process.

    A coefficient of the function is a mean divided by its direction's weight, with noise of a variance
    that is known; its prior variance is `variances` times an amplitude, which maximises the evidence.

    Parameters
    ----------
    means : ndarray of shape (r, q)
        For several classes their mean over classes is taken out: exact ones have none.
    noise : float
        Standard deviation of the noise on each of them.
    weights, variances : ndarray of shape (r,)
    chance : ndarray of shape (r,), optional
        Variance of a mean divided by its weight that exact ones have: teachers are not all alike.

    Returns
    -------
    ndarray of shape (r, q)
    """
    q = means.shape[1]
    if q > 1:
        means = means - means.mean(axis=1, keepdims=True)
    seen = means / weights[:, None]
    known = ((noise / weights) ** 2 * (1.0 if q == 1 else 1 - 1 / q) + chance)[:, None]
    prior = variances[:, None]
    total = _AMPLITUDES[:, None, None] * prior + known
    evidence = -0.5 * (seen**2 / total + np.log(total)).sum(axis=(1, 2))
    prior = prior * _AMPLITUDES[evidence.argmax()]
    found: FloatArray = seen * prior / (prior + known)
    return found


def shrunk_constant(means: FloatArray, noise: float) -> FloatArray:
    """Shrink the mean over points of noisy shares, less that over classes, by what noise makes of it."""
    n_points, q = means.shape
    constant = means.mean(axis=0) - means.mean()
    chance = noise**2 * (1 - 1 / q) / n_points
    found: FloatArray = constant * max(0.0, 1 - chance / max(float((constant**2).mean()), 1e-300))
    return found
