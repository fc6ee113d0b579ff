"""Doors that record a run, and replay its history whatever private values come."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from pate_cli.privacy.door import Door, Passing, RecordingDoor
from pate_cli.privacy.events import Account
from pate_cli.privacy.noise import Noise
from pate_cli.testing.failure import CheckFailed

__all__ = ["Recorder", "Replay"]


class Recorder(RecordingDoor):
    """Keeps the releases of a run in one list, those of doors that it spawns too."""

    def spawn(self, count: int) -> list[Self]:
        """Make doors that record into the same list."""
        doors = super().spawn(count)
        for door in doors:
            door.released = self.released
        return doors

    def replay(self, noise: Noise) -> Replay:
        """Make a door that lets the same history out again."""
        door = Replay(noise)
        door.history = list(self.released)
        return door


class Replay(Door):
    """Lets out what another run released: the private values that come are only looked at.

    Attributes
    ----------
    moved : list of (Passing, float)
        For each release how far its private value is from the recorded run's, in units of the sensitivity
        stated; more than 1 is a sensitivity that does not hold for these two private sets.
    problems : list of str
        Why it stopped, for who runs what withholds the cause.
    """

    def __init__(
        self, noise: Noise, spent: Account | None = None, accounts: dict[str, Account] | None = None
    ) -> None:
        super().__init__(noise, spent, accounts)
        self.history: list[tuple[Passing, Any]] = []
        self.moved: list[tuple[Passing, float]] = []
        self.problems: list[str] = []

    def spawn(self, count: int) -> list[Self]:
        """Make doors that let out the same history."""
        doors = super().spawn(count)
        for door in doors:
            door.history, door.moved, door.problems = self.history, self.moved, self.problems
        return doors

    def _pass(self, passing: Passing, make: Any) -> Any:
        kind, value, releases = passing
        if not self.history:
            self._stop(f"a release more than was recorded: {type(kind).__name__}")
        recorded, out = self.history.pop(0)
        passed, expected = ((each.kind, each.releases) for each in (passing, recorded))
        if passed != expected or (kind.public_size and value.shape != recorded.value.shape):
            self._stop("another release than was recorded")
        if value.size:
            self.moved.append((passing, kind.moved(value, recorded.value, releases)))
        return out

    def _stop(self, why: str) -> NoReturn:
        self.problems.append(why)
        raise CheckFailed(why)
