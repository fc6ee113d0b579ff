"""Which records are sampled: drawn from a source of noise, never from the generator that deals out data."""

from __future__ import annotations

import numpy as np

from pate_cli.privacy.noise import Noise
from pate_cli.types import IntArray

__all__ = ["drawn", "draws", "subset"]


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
