"""Integer noise from OpenDP's exact samplers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from pate_cli.errors import InputError
from pate_cli.privacy.noise import Noise
from pate_cli.types import FloatArray

__all__ = ["ExactNoise"]

_MOST = 2**53
"""Integers below it are exact in floating point."""


class ExactNoise:
    """Discrete Gaussian, discrete Laplace and geometric noise; a `pate_cli.privacy.noise.Noise`.

    Draws are integers, held as floats; their privacy is that of `pate_cli.privacy.gaussian`. They have
    exactly the law stated: OpenDP's samplers (Canonne, Kamath and Steinke 2020) work on random bits with
    rational arithmetic, and take a scale as the rational number its double is. The bits come from OpenSSL's
    generator, seeded by the operating system; there is no seed to give, so nothing can be drawn twice.
    InputError if OpenDP is not installed.
    """

    integers = True

    def __init__(self) -> None:
        _opendp()

    def gaussian(self, scale: float, size: int) -> FloatArray:
        """Draw from N_Z(0, scale^2), probabilities proportional to ``exp(-k^2 / (2 scale^2))``."""
        return _draw("gaussian", scale, size)

    def laplace(self, scale: float, size: int) -> FloatArray:
        """Draw from the discrete Laplace law, probabilities proportional to ``exp(-|k| / scale)``."""
        return _draw("laplace", scale, size)

    def exponential(self, scale: float, size: int) -> FloatArray:
        """Draw from the geometric law, probabilities proportional to ``exp(-k / scale)`` on k >= 0.

        It is the discrete Laplace law given k >= 0, which holds more than half of it: draws
        are repeated until enough are not negative.
        """
        drawn = np.empty(0)
        while len(drawn) < size:
            draws = _draw("laplace", scale, 2 * (size - len(drawn)) + 2)
            drawn = np.concatenate([drawn, draws[draws >= 0]])
        return drawn[:size]

    def spawn(self, count: int) -> list[Noise]:
        """As many sources like this one, independent as all draws are."""
        return [ExactNoise() for _ in range(count)]


def _draw(law: str, scale: float, size: int) -> FloatArray:
    draws = np.array(_measurement(law, scale)([0] * size), dtype=np.int64)
    if size and max(int(draws.max()), -int(draws.min())) >= _MOST:
        raise RuntimeError("noise of 2^53 or more")
    return draws.astype(np.float64)


@cache
def _measurement(law: str, scale: float) -> Any:
    """OpenDP's mechanism on vectors of integers; on zeros, it returns its noise."""
    dp = _opendp()
    integers = dp.vector_domain(dp.atom_domain(T=dp.i64))
    if law == "gaussian":
        return dp.m.make_gaussian(integers, dp.l2_distance(T=dp.f64), scale=float(scale))
    return dp.m.make_laplace(integers, dp.l1_distance(T=dp.i64), scale=float(scale))


@cache
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise InputError(
            "exact noise (release=true; Python: no random_state) needs OpenDP: pip install opendp"
        ) from error
    dp.enable_features("contrib")
    return dp
