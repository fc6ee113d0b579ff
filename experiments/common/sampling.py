"""Repeats of a study: seeds, means with intervals, labels of simulated votes, least sizes that do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.privacy.door import Door
from pate_cli.report.interval import Interval, mean_ci
from pate_cli.report.verdict import Verdict, combined, compare
from pate_cli.reproduce.study import Progress
from pate_cli.types import UNANSWERED, IntArray, Votes

from .statistics import AGREES

T = TypeVar("T")


def seeded(
    cases: Sequence[T], seed: int, progress: Progress, work: Sequence[int] | None = None
) -> Iterator[tuple[T, np.random.SeedSequence]]:
    """Iterate over cases, each with its own seed; reports progress by the work of each (default 1)."""
    work = work or [1] * len(cases)
    total, done = sum(work), 0
    progress(0, total)
    for case, own, steps in zip(cases, np.random.SeedSequence(seed).spawn(len(cases)), work, strict=True):
        yield case, own
        done += steps
        progress(done, total)


def crossed(
    outer: Sequence[T], n: Sequence[int], seed: int, progress: Progress
) -> Iterator[tuple[T, Iterator[tuple[int, np.random.SeedSequence]]]]:
    """Iterate over cases, each with its own sizes and seeds; reports progress by the records of each."""
    done, total = 0, len(outer) * sum(n)
    progress(0, total)

    def sizes(i: int) -> Iterator[tuple[int, np.random.SeedSequence]]:
        nonlocal done
        for size, own in zip(n, np.random.SeedSequence(seed, spawn_key=(i,)).spawn(len(n)), strict=True):
            yield size, own
            done += size
            progress(done, total)

    for i, case in enumerate(outer):
        yield case, sizes(i)


def streams(seed: np.random.SeedSequence, n: int) -> list[np.random.SeedSequence]:
    """Spawn n children: the same ones whenever it is called with the same seed."""
    return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(n)


def with_ci(name: str, ci: str, values: Iterable[float]) -> dict[str, float]:
    """Two columns of a row: the mean of the values, and half of its 95% interval."""
    mean, half = mean_ci(values)
    return {name: mean, ci: half}


def labels_of(plan: VoteMechanism, ones: IntArray, n_teachers: int, door: Door) -> tuple[IntArray, bool]:
    """Labels of m points, of which `ones` teachers say 1, or `UNANSWERED`; and whether all were asked."""
    released = plan.session(door).ask(Votes(np.column_stack([n_teachers - ones, ones]), n_teachers))
    labels = np.full(len(ones), UNANSWERED)
    labels[: len(released.labels)] = np.where(released.reached, released.labels, UNANSWERED)[:, 0]
    return labels, bool(released.reached.sum() == len(ones))


def fewest(holds: Callable[[int], bool], most: float, step: float) -> float:
    """Logarithm of the least size up to `most` that will do, to a factor `step`, if larger ones do too."""
    low, high = 0.0, math.log(most)
    while high - low > math.log(step):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(math.ceil(math.exp(middle))) else (middle, high)
    return high


def control(claim: str, gaps: Sequence[Interval], says: Callable[[Interval], str]) -> Verdict:
    """Judge the gaps between simulated and exact numbers jointly; `says` describes the largest gap."""
    worst = max(gaps, key=lambda one: abs(one.mean))
    words = [compare(one, AGREES, len(gaps)) for one in gaps]
    return Verdict(f"control: {claim}, to {AGREES:g}", combined(words), says(worst), margin=AGREES)
