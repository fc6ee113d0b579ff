"""Timing things in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["alternate", "seconds"]


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
