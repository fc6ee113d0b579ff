"""Tools of studies: checks of parameters, seeds, intervals, slopes, and verdicts on rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.stats import binomtest

from pate_cli.checks import Check, Real, Whole, take
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.privacy.door import Door
from pate_cli.results.findings import Progress
from pate_cli.results.interval import Interval, mean_ci, simultaneous
from pate_cli.results.verdicts import FEWEST, Verdict, VerdictWord, combined, compare
from pate_cli.types import UNANSWERED, FloatArray, IntArray, Votes

T = TypeVar("T")
AGREES = 0.01
"""A simulated error rate closer than this to the exact one agrees with it."""

# --- parameters ---------------------------------------------------------------------------------

PROBABILITY = Real(0, 1, open_above=True)

BUDGET: dict[str, Check] = {"eps": Real(0), "delta": PROBABILITY, "beta": PROBABILITY}
"""Beta is the probability of failure."""

SAMPLING: dict[str, Check] = {"repeats": Whole(2), "seed": Whole(0)}


def one_for_each(of: str, p: Mapping[str, Any], checks: Mapping[str, Any], *keys: str) -> None:
    """Refuse lists that are shorter than that of parameter `of` (ConfigError)."""
    for key in keys:
        take(f"params.{key}", p[key], replace(checks[key], at_least=len(p[of])))


# --- seeds and simulations ----------------------------------------------------------------------


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
    words = [compare(one, AGREES, len(gaps)) for one in gaps]
    worst = max(gaps, key=lambda one: abs(one.mean))
    return Verdict(f"control: {claim}, to {AGREES:g}", combined(words), says(worst), margin=AGREES)


# --- slopes and verdicts ------------------------------------------------------------------------


def judged(
    judge: Callable[[Interval, float, int], VerdictWord],
    gaps: Any,
    half_widths: Any,
    repeats: Any,
    margin: float = 0.0,
) -> list[VerdictWord]:
    """Judge the rows of a table together, by `compare` or `at_least` of `pate_cli.results.verdicts`.

    The gaps have 95% intervals of these half widths over these repeats: arrays of shape (R,), or numbers.
    """
    rows = [
        Interval(float(gap), float(half), int(n))
        for gap, half, n in zip(
            *np.broadcast_arrays(*map(np.atleast_1d, (gaps, half_widths, repeats))), strict=True
        )
    ]
    return [judge(row, margin, len(rows)) for row in rows]


def rarely(failed: int, runs: int, share: float, rows: int = 1) -> VerdictWord:
    """Judge the claim that runs fail with probability at most `share`, by the Clopper-Pearson interval.

    Either end is wrong with probability at most 2.5% / rows, where so many are judged together.
    """
    if runs < FEWEST:
        return "no verdict"
    ends = binomtest(failed, runs).proportion_ci(simultaneous(rows), method="exact")
    return "reproduces" if ends.high <= share else "differs (above)" if ends.low > share else "undecided"


def slope_weights(x: Any, means: Any, half_widths: Any) -> FloatArray:
    """Coefficients c with slope = sum c_i log(mean_i): least squares, weighted by the precision of log(mean).

    All are positive, of shape (P,); half widths as `mean_ci` gives them.
    """
    log_x = np.log(np.asarray(x, dtype=float))
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    weights = 1 / relative**2 if np.all(np.isfinite(relative) & (relative > 0)) else np.ones_like(log_x)
    centred = log_x - np.average(log_x, weights=weights)
    coefficients: FloatArray = weights * centred / np.sum(weights * centred**2)
    return coefficients


def fit_slope(x: Any, means: Any, half_widths: Any, repeats: int) -> Interval:
    """Slope of log(mean) against log(x), and its interval by the delta method, of sampling error alone.

    It has the degrees of freedom of one mean over `repeats` (the fewest), which is cautious.
    """
    coefficients = slope_weights(x, means, half_widths)
    relative = np.asarray(half_widths, dtype=float) / np.asarray(means, dtype=float)
    return Interval(
        float(coefficients @ np.log(np.asarray(means, dtype=float))),
        float(np.sqrt(np.sum((coefficients * relative) ** 2))),
        repeats,
    )
