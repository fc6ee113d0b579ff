"""The door: the one place where noise is added to private values, and its cost counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pate_cli.privacy.events import Account, Apart, Event, Inner
from pate_cli.privacy.kinds import Kind
from pate_cli.privacy.noise import Noise, SeededNoise

__all__ = ["Door", "Passing", "RecordingDoor"]

Out = TypeVar("Out")


class Passing(NamedTuple):
    """A release before its noise. PRIVATE."""

    kind: Kind
    value: NDArray[Any]
    releases: int = 1  # along the first axis, each of the sensitivity stated

    @property
    def event(self) -> Event:
        """What each of them costs."""
        return self.kind.event(-(-self.value.size // max(self.releases, 1)))


class Door:
    """The only way out of the private side: adds noise and counts its cost.

    **What counts as one release.** An array is one release, whose sensitivity is the most that one replaced
    record (or person) moves all of its numbers together, in the norm of its kind. With `releases`, it is that
    many along its first axis, each of that sensitivity, and each is paid for. Each vector of gamma noise,
    each choice and each run of the sparse vector technique is a release. Noise of scale 0 releases a value as
    it is, at infinite cost.

    Attributes
    ----------
    noise : Noise
        Seeded, for experiments; exact integers from the system's entropy, for a release. Also for random
        choices inside a mechanism that are not released, such as a sample of the records.
    accounts : dict of str to Account
        All that ever passed, by chapter; shared with all doors that `spawn` makes. None is ever dropped.
    spent : Account
        The last of them, or that of a door of `apart`.
    """

    def __init__(
        self, noise: Noise, spent: Account | None = None, accounts: dict[str, Account] | None = None
    ) -> None:
        self.noise = noise
        self.spent = Account() if spent is None else spent
        self.accounts = {"": self.spent} if accounts is None else accounts

    @classmethod
    def seeded(cls, seed: int | np.random.SeedSequence) -> Self:
        """Make a door with reproducible noise, for experiments."""
        sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        return cls(SeededNoise(sequence))

    def spawn(self, count: int) -> list[Self]:
        """Make doors with noise of their own that add to the same account."""
        return [type(self)(source, self.spent, self.accounts) for source in self.noise.spawn(count)]

    def chapter(self, name: str) -> Self:
        """Count what follows in an account of that name; a name is given once. Returns the door."""
        if name in self.accounts:
            raise RuntimeError(f"{name} leave the private side a second time")
        self.spent = self.accounts[name] = Account()
        return self

    def apart(self, count: int) -> list[Self]:
        """Make doors with their own noise and account, listed in `spent.apart`."""
        doors = self.spawn(count)
        for door in doors:
            door.spent = Account()
            self.spent.pay(Apart(door.spent))
        return doors

    def release(self, value: NDArray[Any], kind: Kind, releases: int | None = None) -> Any:
        """Release an array.

        Parameters
        ----------
        value : ndarray
            PRIVATE.
        kind : Kind
            Its noise, and the sensitivity of one release.
        releases : int, optional
            How many releases this is, along the first axis; by default the kind says so. See the class.
        """
        stated = kind.count(value) if value.size or releases is None else 0
        passing = Passing(kind, value, stated if releases is None else releases)
        if passing.releases < (least := max(stated, min(value.size, 1))):
            counted = f"{passing.releases} releases of {type(kind).__name__}"
            raise ValueError(f"{counted}; accepted: {least} or more")
        self._refuse(kind)
        self.spent.pay(passing.event, passing.releases)
        return self._pass(passing, lambda: kind.draw(self.noise, value))

    def keep(self, value: NDArray[Any], kind: Kind) -> Any:
        """Draw as `release` does, for the eyes of the mechanism alone; see `Inner`."""
        self._refuse(kind)
        self.spent.pay(Inner(kind.event(value.size)), kind.count(value))
        return kind.draw(self.noise, value)

    def _refuse(self, kind: Kind) -> None:
        """Refuse, before the noise, a sensitivity that is none, and what has no proof for integers."""
        if not kind.sensitivity >= 0:  # a negative one would be paid back what others cost
            raise ValueError(
                f"sensitivity {kind.sensitivity} of {type(kind).__name__}; accepted: the most that one "
                "record moves a release, 0 or more"
            )
        if getattr(self.noise, "integers", False) and not kind.on_integers:
            raise RuntimeError(f"{type(kind).__name__} on numbers of no grain, from a source of integers")

    def _pass(self, passing: Passing, make: Callable[[], Out]) -> Out:
        """Make a release; tests record, replay and measure here."""
        return make()


class RecordingDoor(Door):
    """Keeps its releases in order, for audits and tests; each door that `spawn` makes keeps its own."""

    def __init__(
        self, noise: Noise, spent: Account | None = None, accounts: dict[str, Account] | None = None
    ) -> None:
        super().__init__(noise, spent, accounts)
        self.released: list[tuple[Passing, Any]] = []  # with arrays or Decisions

    def _pass(self, passing: Passing, make: Callable[[], Out]) -> Out:
        out = make()
        self.released.append((passing, out))
        return out
