"""Doors that record a run, and replay its history whatever private values come."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pate_cli.privacy.door import Door, Passing, RecordingDoor, Spent
from pate_cli.privacy.noise import Noise
from pate_cli.testing.failure import require

__all__ = ["Recorder", "Replay"]

NORMS: dict[str, float] = {
    "gaussian": 2,
    "gamma": 2,
    "laplace": 1,
    "exponential": np.inf,
    "above threshold": np.inf,
}
"""The norm that the proof of each kind of noise takes the sensitivity of one release in."""


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
        return Replay(noise, None, list(self.released))


class Replay(Door):
    """Lets out what another run released: the private values that come are only looked at.

    Attributes
    ----------
    moved : list of (Passing, float)
        For each release how far its private value is from the recorded run's, in units of the sensitivity
        stated; more than 1 is a sensitivity that does not hold for these two private sets.
    """

    def __init__(
        self, noise: Noise, spent: Spent | None = None, history: list[tuple[Passing, Any]] | None = None
    ) -> None:
        super().__init__(noise, spent)
        self.history = history or []
        self.moved: list[tuple[Passing, float]] = []

    def spawn(self, count: int) -> list[Self]:
        """Make doors that let out the same history."""
        doors = super().spawn(count)
        for door in doors:
            door.history, door.moved = self.history, self.moved
        return doors

    def _pass(self, passing: Passing, make: Any) -> Any:
        require(self.history, f"a release more than was recorded: {passing.kind}")
        (kind, value, *stated), out = self.history.pop(0)
        now = (passing.kind, *passing[2:], passing.value.shape)
        require(now == (kind, *stated, value.shape), "another release than was recorded")
        if value.size:
            distances = (np.asarray(passing.value, dtype=float) - value).reshape(passing.releases, -1)
            distances = np.linalg.norm(distances, NORMS[passing.kind], axis=1)
            self.moved.append((passing, float(distances.max()) / passing.sensitivity))
        return out
