"""Random choices that privacy rests on: the exponential mechanism, and who is sampled.

All of it is drawn from a source of noise, never from the generator that deals out data.
"""

from __future__ import annotations

import math

import numpy as np

from pate_cli.privacy.noise import Noise
from pate_cli.privacy.pure import exponential_mechanism_probabilities
from pate_cli.types import FloatArray, IntArray

__all__ = ["choose", "drawn", "draws", "subset"]


def choose(mistakes: FloatArray, eps: float, noise: Noise, size: int = 1) -> IntArray:
    """Choose among candidates by the exponential mechanism: fewer mistakes are likelier.

    **Guarantee.** Each choice is eps-DP if one replaced record changes every entry of
    `mistakes` by at most 1 and the number of candidates by nothing (McSherry and Talwar 2007).

    Parameters
    ----------
    mistakes : ndarray of shape (k,)
        In records.
    eps : float
        In (0, inf]; inf takes the first of the fewest mistakes.
    noise : Noise
    size : int
        How many independent choices.

    Returns
    -------
    ndarray of int64, shape (size,)
    """
    if math.isinf(eps):
        return np.full(size, int(np.argmin(mistakes)), dtype=np.int64)
    probabilities = exponential_mechanism_probabilities(-mistakes, eps, 1.0)
    # a race of exponential clocks: no sum, so no rounding of small probabilities
    with np.errstate(divide="ignore", over="ignore"):
        clocks = noise.exponential(1.0, size * len(mistakes)).reshape(size, -1) / probabilities
    chosen: IntArray = np.argmin(clocks, axis=1).astype(np.int64)
    return chosen


def subset(n: int, size: int, noise: Noise) -> IntArray:
    """A uniformly random set of `size` of n records, in random order."""
    clocks = noise.exponential(1.0, n)
    if size == n:
        return np.argsort(clocks).astype(np.int64)
    first = np.argpartition(clocks, size)[:size]
    return first[np.argsort(clocks[first])].astype(np.int64)


def drawn(n: int, noise: Noise, size: int | None = None) -> IntArray:
    """Draw `size` times (n) with replacement from n records: their numbers in the order drawn."""
    clocks = noise.exponential(1.0, n if size is None else size)
    return np.minimum((np.exp(-clocks) * n).astype(np.int64), n - 1)


def draws(n: int, noise: Noise) -> IntArray:
    """Count how often each of n records is drawn in n draws with replacement, shape (n,)."""
    return np.bincount(drawn(n, noise), minlength=n).astype(np.int64)
