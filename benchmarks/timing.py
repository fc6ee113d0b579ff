"""Timing things in turn, and what came of it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Result", "Target", "alternate", "seconds"]


@dataclass(frozen=True)
class Target:
    """At most this many seconds, or this many times the bare work."""

    value: float
    is_ratio: bool = False

    def __str__(self) -> str:
        return f"<= {self.value:g}" if self.is_ratio else f"< {self.value:g} s"


@dataclass(frozen=True)
class Result:
    """Seconds of what `pate` does and of the bare work beside it, a round each.

    Attributes
    ----------
    name, bare_name : str
        What was measured, and next to what.
    ours, bare : list of float
        Wall times in seconds, in the order of the rounds.
    target : Target or None
    part : str
        Part of the benchmarks that it belongs to.
    """

    name: str
    bare_name: str
    ours: list[float]
    bare: list[float]
    target: Target | None = None
    part: str = "commands"

    @property
    def ratio(self) -> float:
        """Median over the rounds of ours : bare, each taken within one round."""
        return statistics.median(a / b for a, b in zip(self.ours, self.bare, strict=True))

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        if self.target is None:
            return None
        if self.target.is_ratio:
            return self.ratio <= self.target.value
        return statistics.median(self.ours) < self.target.value


def seconds(work: Callable[[], object]) -> float:
    """Wall time of `work()` in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(contestants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time each contestant once a round, after one round that does not count.

    In turn, so that whatever else the machine does meanwhile falls on all of them alike; every other
    round goes backwards.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for work in contestants.values():
        work()
    for number in range(rounds):
        names = list(contestants)
        for name in names if number % 2 == 0 else reversed(names):
            times[name].append(seconds(contestants[name]))
    return times
