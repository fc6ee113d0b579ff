"""The door: the one place where noise is added to private values, and its cost counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pate_cli.privacy.above_threshold import AboveThreshold, Decisions, SvtCalibration
from pate_cli.privacy.gaussian import vector_mu_squared
from pate_cli.privacy.noise import Noise, SeededNoise

__all__ = ["Door", "Passing", "RecordingDoor", "Spent"]

FloatArray = NDArray[np.float64]
Out = TypeVar("Out")


class Passing(NamedTuple):
    """A release before its noise. PRIVATE."""

    kind: str
    value: NDArray[Any]
    sensitivity: float  # as stated by the mechanism, in the unit of the value
    scale: float  # likewise; of an exponential mechanism, eps
    releases: int = 1  # along the first axis, each of that sensitivity
    unit: float | None = None  # of integer noise


@dataclass
class Spent:
    """Cost of everything that passed a door, by kind of release. Public numbers.

    Attributes
    ----------
    mu_squared, integers : float, int
        Sum of mu^2 of the Gaussian releases, which compose to its root also where they are chosen adaptively
        (Dong, Roth, Su 2022, Corollary 2); how many numbers got integer noise (`pate_cli.privacy.gaussian`).
    pure, inner : Counter of float
        Number of releases of each pure eps: Laplace and gamma noise, exponential mechanisms; and the same
        for choices that are not released.
    sparse : list of AboveThreshold
        Runs of the sparse vector technique.
    apart : list of Spent
        Accounts of the doors that `Door.apart` made, in order; the mechanism's class says how they compose.
    """

    mu_squared: float = 0.0
    integers: int = 0
    pure: Counter[float] = field(default_factory=Counter)
    inner: Counter[float] = field(default_factory=Counter)
    sparse: list[AboveThreshold] = field(default_factory=list)
    apart: list[Spent] = field(default_factory=list)

    @property
    def pure_eps(self) -> float:
        """Sum of the pure losses."""
        return math.fsum(eps * count for eps, count in self.pure.items())

    def only(self, *kinds: str) -> bool:
        """Whether nothing but these kinds of release, named as the attributes are, passed the door."""
        return not any(value for kind, value in vars(self).items() if kind not in (*kinds, "integers"))

    def sparse_loss(self) -> tuple[float, float]:
        """(eps, delta) of all runs of the sparse vector technique, from the noise they had."""
        losses = [
            release.calibration.proved(below) for release in self.sparse for below in release.below.tolist()
        ]
        return math.fsum(eps for eps, _ in losses), math.fsum(delta for _, delta in losses)


class Door:
    """The only way out of the private side: adds noise and counts its cost.

    **What counts as one release.** An array is one release, whose sensitivity is the most that one replaced
    record (or person) moves all of its numbers together: in L2 for Gaussian and in L1 for Laplace noise. With
    `releases`, it is that many along its first axis, each of that sensitivity, and each is paid for. Each
    vector of gamma noise, each choice and each run of the sparse vector technique is a release. Noise of
    scale 0 releases a value as it is, at infinite cost.

    Attributes
    ----------
    noise : Noise
        Seeded, for experiments; exact integers from the system's entropy, for a release. Also for random
        choices inside a mechanism that are not released, such as a sample of the records.
    spent : Spent
        Shared with all doors that `spawn` makes.
    """

    def __init__(self, noise: Noise, spent: Spent | None = None) -> None:
        self.noise = noise
        self.spent = Spent() if spent is None else spent

    @classmethod
    def seeded(cls, seed: int | np.random.SeedSequence) -> Self:
        """Make a door with reproducible noise, for experiments."""
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        return cls(SeededNoise(sequence))

    def spawn(self, count: int) -> list[Self]:
        """Make doors with noise of their own that add to the same account."""
        return [type(self)(source, self.spent) for source in self.noise.spawn(count)]

    def settled(self) -> Spent:
        """Return the account so far, and begin another."""
        done, self.spent = self.spent, Spent()
        return done

    def apart(self, count: int) -> list[Self]:
        """Make doors with their own noise and account, listed in `spent.apart`."""
        doors = self.spawn(count)
        for door in doors:
            door.spent = Spent()
            self.spent.apart.append(door.spent)
        return doors

    def gaussian(
        self,
        value: NDArray[Any],
        *,
        sensitivity: float,
        sigma: float,
        releases: int = 1,
        unit: float | None = None,
    ) -> FloatArray:
        """Release an array with Gaussian noise on each number.

        Parameters
        ----------
        value : ndarray
            PRIVATE.
        sensitivity, sigma : float
            In the unit of `value`; of one release, in L2.
        releases : int
            How many releases this is, along the first axis; see the class.
        unit : float, optional
            For integer noise: `value` is whole multiples of it, and so is the noise.
        """
        if unit is None:
            self._refuse_integers("Gaussian")
            self.spent.mu_squared += releases * (math.inf if sigma == 0 else (sensitivity / sigma) ** 2)
        else:
            self.spent.mu_squared += releases * vector_mu_squared(sensitivity / unit, sigma / unit)
            self.spent.integers += value.size
        step = unit or 1.0

        def noisy() -> FloatArray:
            return value + step * self.noise.gaussian(sigma / step, value.size).reshape(value.shape)

        return self._pass(Passing("gaussian", value, sensitivity, sigma, releases, unit), noisy)

    def laplace(
        self, value: NDArray[Any], *, sensitivity: float, scale: float, releases: int = 1
    ) -> FloatArray:
        """Release an array with Laplace noise on each number: each release is sensitivity/scale-DP.

        Parameters
        ----------
        value : ndarray
            PRIVATE.
        sensitivity, scale : float
            In the unit of `value`; of one release, in L1.
        releases : int
            How many releases this is, along the first axis; see the class.
        """
        self._refuse_integers("Laplace")
        self.spent.pure[sensitivity / scale if scale else math.inf] += releases

        def noisy() -> FloatArray:
            return value + self.noise.laplace(scale, value.size).reshape(value.shape)

        return self._pass(Passing("laplace", value, sensitivity, scale, releases), noisy)

    def gamma(self, value: NDArray[Any], *, sensitivity: float, scale: float) -> FloatArray:
        """Release vectors with noise b of density ``~ exp(-|b|/scale)``, each sensitivity/scale-DP.

        `value` has shape (..., d); the sensitivity is that of one vector, in L2. The norm of the noise is
        Gamma(d, scale), a sum of d exponentials; its direction uniform.
        """
        self._refuse_integers("gamma")
        vectors = value.size // value.shape[-1]
        self.spent.pure[sensitivity / scale if scale else math.inf] += vectors

        def noisy() -> FloatArray:
            norms = self.noise.exponential(scale, value.size).reshape(-1, value.shape[-1]).sum(axis=1)
            directions = self.noise.gaussian(1.0, value.size).reshape(-1, value.shape[-1])
            drawn = directions * (norms / np.linalg.norm(directions, axis=1))[:, None]
            return np.asarray(value + drawn.reshape(value.shape))

        return self._pass(Passing("gamma", value, sensitivity, scale, vectors), noisy)

    def exponential(
        self,
        scores: NDArray[Any],
        *,
        sensitivity: float,
        eps: float,
        axis: int = -1,
        released: bool = True,
    ) -> NDArray[np.int64]:
        """Choose by the exponential mechanism: an index has probability proportional to exp(eps score/2).

        Parameters
        ----------
        scores : ndarray
            PRIVATE. Each slice along `axis` is a choice of its own, of eps-DP.
        sensitivity : float
            Most that one record moves a score, the scores moving in either direction.
        eps : float
            inf takes the first of the largest scores.
        released : bool
            False for a choice that only the mechanism itself sees; see `Spent.inner`.
        """
        self._refuse_integers("exponential")
        choices = scores.size // scores.shape[axis]
        (self.spent.pure if released else self.spent.inner)[eps] += choices

        def chosen() -> NDArray[np.int64]:
            if math.isinf(eps):
                return np.asarray(np.argmax(scores, axis=axis), dtype=np.int64)
            # a race of exponential clocks: no sum, so no rounding of small probabilities
            clocks = self.noise.exponential(1.0, scores.size).reshape(scores.shape)
            ringing = np.log(clocks) - eps / (2 * sensitivity) * scores
            return np.asarray(np.argmin(ringing, axis=axis), dtype=np.int64)

        if not released:
            return chosen()
        return self._pass(Passing("exponential", scores, sensitivity, eps, choices), chosen)

    def above_threshold(self, calibration: SvtCalibration, runs: int = 1) -> AboveThreshold:
        """Start runs of the sparse vector technique, each paid for; their decisions are released."""

        def release(numbers: NDArray[Any], decide: Callable[[], Decisions]) -> Decisions:
            return self._pass(Passing("above threshold", numbers, 1.0, 0.0, len(numbers)), decide)

        self.spent.sparse.append(AboveThreshold(calibration, self.noise, release, runs))
        return self.spent.sparse[-1]

    def _refuse_integers(self, kind: str) -> None:
        """Refuse what has no proof for integers, before the noise: a release of it would be no release."""
        if getattr(self.noise, "integers", False):
            raise RuntimeError(f"{kind} noise on numbers of no unit, from a source of integers")

    def _pass(self, passing: Passing, make: Callable[[], Out]) -> Out:
        """Make a release; tests record, replay and measure here."""
        return make()


class RecordingDoor(Door):
    """Keeps its releases in order, for audits and tests; each door that `spawn` makes keeps its own."""

    def __init__(self, noise: Noise, spent: Spent | None = None) -> None:
        super().__init__(noise, spent)
        self.released: list[tuple[Passing, Any]] = []  # with arrays or Decisions

    def _pass(self, passing: Passing, make: Callable[[], Out]) -> Out:
        out = make()
        self.released.append((passing, out))
        return out
