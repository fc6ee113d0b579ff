"""Where noise comes from, and the tails of its differences.

The sparse vector technique compares ``dist + query_noise`` with ``w + threshold_noise``, so the difference of
the two noises decides whether a query is answered. Scales are standard deviations for the Gaussian and the
parameter ``b`` of ``exp(-|x|/b)`` for the other two: never an inverse, never a variance.
"""

from __future__ import annotations

import math
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

__all__ = ["Noise", "NoiseKind", "SeededNoise", "difference_tail", "discrete_difference_tail"]

NoiseKind: TypeAlias = Literal["laplace", "exponential"]


class Noise(Protocol):
    """A source of noise; `size` consecutive draws equal `size` single draws."""

    def gaussian(self, scale: float, size: int) -> NDArray[np.float64]:
        """Normal draws with standard deviation `scale`."""

    def laplace(self, scale: float, size: int) -> NDArray[np.float64]:
        """Two-sided exponential draws, density ``exp(-|x|/scale) / (2 scale)``."""

    def exponential(self, scale: float, size: int) -> NDArray[np.float64]:
        """One-sided draws, density ``exp(-x/scale) / scale`` for x >= 0."""

    def spawn(self, count: int) -> list[Noise]:
        """Independent sources, one for each role of noise within a mechanism."""


class SeededNoise:
    """Reproducible pseudo-random noise for experiments; not for a real release.

    The seed is a stream of its own: never the one that split the data.
    """

    def __init__(self, seed: np.random.SeedSequence) -> None:
        self._seed = seed
        self._rng = np.random.default_rng(seed)

    def gaussian(self, scale: float, size: int) -> NDArray[np.float64]:
        """Normal draws with standard deviation `scale`."""
        return scale * self._rng.standard_normal(size)

    def laplace(self, scale: float, size: int) -> NDArray[np.float64]:
        """Two-sided exponential draws of scale `scale`."""
        return self._rng.laplace(0.0, scale, size)

    def exponential(self, scale: float, size: int) -> NDArray[np.float64]:
        """One-sided exponential draws of mean `scale`."""
        return scale * self._rng.standard_exponential(size)

    def spawn(self, count: int) -> list[Noise]:
        """Independent sources."""
        return [SeededNoise(child) for child in self._seed.spawn(count)]


def difference_tail(margin: float, threshold_scale: float, query_scale: float, kind: NoiseKind) -> float:
    """Probability that query noise exceeds threshold noise by more than `margin`, any real number.

    `kind`: two-sided noise, or one-sided noise drawn as ``-Exp(scale)`` for both. All in votes.
    """
    if kind == "exponential":
        total = threshold_scale + query_scale
        if margin >= 0:
            return threshold_scale / total * math.exp(-margin / threshold_scale)
        return 1 - query_scale / total * math.exp(margin / query_scale)
    if margin < 0:
        return 1 - difference_tail(-margin, threshold_scale, query_scale, kind)
    small, large = sorted((threshold_scale, query_scale))
    # (b^2 e^(-x/b) - a^2 e^(-x/a)) / (2 (b^2 - a^2)) rewritten so that a = b needs no case of its own
    bend = float(exprel(-margin * (large - small) / (small * large)))
    return 0.5 * math.exp(-margin / large) * (1 + small * margin * bend / (large * (small + large)))


def discrete_difference_tail(
    margin: int, threshold_scale: float, query_scale: float, kind: NoiseKind
) -> float:
    """`difference_tail` of integer noise, exactly: discrete Laplace, or ``-Geom(scale)`` for both.

    The sum of DL(b1) and DL(b2) has, at k >= 0, probability ``A a^k + B b^k`` with a, b their two q's
    (partial fractions of the generating function); summed and written with ``1-a``, ``1-b`` so that equal and
    large scales need no case of their own.
    """
    least = margin + 1
    if kind == "exponential":  # G1 - G2 >= least, G1 of the threshold
        both = -math.expm1(-1 / threshold_scale - 1 / query_scale)
        if least >= 0:
            return math.exp(-least / threshold_scale) * -math.expm1(-1 / query_scale) / both
        return 1 - math.exp(-(1 - least) / query_scale) * -math.expm1(-1 / threshold_scale) / both
    if least < 0:
        return 1 - discrete_difference_tail(-margin - 1, threshold_scale, query_scale, kind)
    small, large = sorted((threshold_scale, query_scale))
    a, b = math.exp(-1 / large), math.exp(-1 / small)
    alpha, beta = -math.expm1(-1 / large), -math.expm1(-1 / small)
    rate = (large - small) / (small * large)  # log(a/b)
    steps = math.expm1(-(least + 1) * rate) / math.expm1(-rate) if rate > 0 else least + 1.0
    even = (alpha * (2 - alpha - beta) + beta * (2 - beta)) / (1 + a)
    scaled = (a * even + alpha * alpha * steps) / ((1 + b) * (alpha + beta - alpha * beta))
    return math.exp(-least / large) * scaled
