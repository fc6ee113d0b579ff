"""Kinds of release: in which norm a sensitivity is stated, how noise is drawn, and what that costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pate_cli.privacy.events import Event, Gdp, Pure
from pate_cli.privacy.gaussian import vector_mu_squared
from pate_cli.privacy.noise import Noise

__all__ = ["ExponentialChoice", "GammaNoise", "GaussianNoise", "Kind", "LaplaceNoise"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """How private values are released: a frozen dataclass, whose class states the proof of its cost.

    Attributes
    ----------
    norm : float
        In which the sensitivity is stated: 1, 2 or inf.
    sensitivity : float
        Most that one replaced record (or person) moves one release, in the unit of the value.
    on_integers : bool
        Whether the proof holds for a source of integers, as that of a release is.
    public_size : bool
        Whether everybody knows how many numbers a value has.
    """

    norm: ClassVar[float]
    public_size: ClassVar[bool] = True
    sensitivity: float

    @property
    def on_integers(self) -> bool:
        """By default there is no such proof."""
        return False

    def count(self, value: NDArray[Any]) -> int:
        """How many releases a value is, unless the mechanism says so; by default one."""
        return 1

    @abstractmethod
    def draw(self, noise: Noise, value: NDArray[Any]) -> Any:
        """Release `value` (PRIVATE)."""

    @abstractmethod
    def event(self, size: int) -> Event:
        """What one release of so many numbers costs."""

    @abstractmethod
    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """How many numbers `draw` takes from the source, by law and scale."""

    def noise_in(self, value: NDArray[Any], out: Any) -> Any:
        """Noise that was added, each number of which is new; by default there is none to see."""
        return np.array([])

    def moved(self, value: NDArray[Any], other: NDArray[Any], releases: int) -> float:
        """Distance of two values, the largest of their releases, in units of the sensitivity."""
        differences = (np.asarray(value, dtype=float) - other).reshape(releases, -1)
        return float(np.linalg.norm(differences, self.norm, axis=1).max()) / self.sensitivity


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Kind):
    """Gaussian noise on each number; of whole multiples of `grain` where the value is that too."""

    norm = 2
    sigma: float
    grain: float | None = None

    @property
    def on_integers(self) -> bool:
        """With a grain."""
        return self.grain is not None

    def draw(self, noise: Noise, value: NDArray[Any]) -> FloatArray:
        """See `Kind`."""
        step = self.grain or 1.0
        return value + step * noise.gaussian(self.sigma / step, value.size).reshape(value.shape)

    def event(self, size: int) -> Gdp:
        """See `Kind`."""
        if self.grain is None:
            return Gdp(math.inf if self.sigma == 0 else (self.sensitivity / self.sigma) ** 2)
        return Gdp(vector_mu_squared(self.sensitivity / self.grain, self.sigma / self.grain), size)

    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        return Counter({("gaussian", self.sigma / (self.grain or 1.0)): value.size})

    def noise_in(self, value: NDArray[Any], out: Any) -> Any:
        """See `Kind`."""
        return (out - value) / self.sigma if self.grain is None else np.array([])


@dataclass(frozen=True, kw_only=True)
class LaplaceNoise(Kind):
    """Laplace noise on each number: a release is sensitivity/scale-DP."""

    norm = 1
    scale: float

    def draw(self, noise: Noise, value: NDArray[Any]) -> FloatArray:
        """See `Kind`."""
        return value + noise.laplace(self.scale, value.size).reshape(value.shape)

    def event(self, size: int) -> Pure:
        """See `Kind`."""
        return Pure(self.sensitivity / self.scale if self.scale else math.inf)

    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        return Counter({("laplace", self.scale): value.size})

    def noise_in(self, value: NDArray[Any], out: Any) -> Any:
        """See `Kind`."""
        return (out - value) / self.scale


@dataclass(frozen=True, kw_only=True)
class GammaNoise(Kind):
    """Vectors, shape (..., d), with noise b of density ``~ exp(-|b|/scale)``, each sensitivity/scale-DP.

    The norm of the noise is Gamma(d, scale), a sum of d exponentials; its direction uniform.
    """

    norm = 2
    scale: float

    def count(self, value: NDArray[Any]) -> int:
        """Each vector is one."""
        return int(value.size // value.shape[-1])

    def draw(self, noise: Noise, value: NDArray[Any]) -> FloatArray:
        """See `Kind`."""
        norms = noise.exponential(self.scale, value.size).reshape(-1, value.shape[-1]).sum(axis=1)
        directions = noise.gaussian(1.0, value.size).reshape(-1, value.shape[-1])
        drawn = directions * (norms / np.linalg.norm(directions, axis=1))[:, None]
        return np.asarray(value + drawn.reshape(value.shape))

    def event(self, size: int) -> Pure:
        """See `Kind`."""
        return Pure(self.sensitivity / self.scale if self.scale else math.inf)

    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        return Counter({("exponential", self.scale): value.size, ("gaussian", 1.0): value.size})

    def noise_in(self, value: NDArray[Any], out: Any) -> Any:
        """See `Kind`."""
        return (out - value) / self.scale


@dataclass(frozen=True, kw_only=True)
class ExponentialChoice(Kind):
    """The exponential mechanism: an index has probability proportional to exp(eps score/2).

    Each slice along `axis` is a choice of its own, of eps-DP; the sensitivity is that of one score, the
    scores moving in either direction. eps inf takes the first of the largest scores.
    """

    norm = math.inf
    eps: float
    axis: int = -1

    def count(self, value: NDArray[Any]) -> int:
        """Each choice is one."""
        return int(value.size // value.shape[self.axis])

    def draw(self, noise: Noise, value: NDArray[Any]) -> NDArray[np.int64]:
        """See `Kind`."""
        if math.isinf(self.eps):
            return np.asarray(np.argmax(value, axis=self.axis), dtype=np.int64)
        # a race of exponential clocks: no sum, so no rounding of small probabilities
        clocks = noise.exponential(1.0, value.size).reshape(value.shape)
        ringing = np.log(clocks) - self.eps / (2 * self.sensitivity) * value
        return np.asarray(np.argmin(ringing, axis=self.axis), dtype=np.int64)

    def event(self, size: int) -> Pure:
        """See `Kind`."""
        return Pure(self.eps)

    def draws(self, value: NDArray[Any], out: Any) -> Counter[tuple[str, float]]:
        """See `Kind`."""
        return Counter({("exponential", 1.0): value.size})
