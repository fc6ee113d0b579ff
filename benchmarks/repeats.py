"""A whole repeat, next to the solver's fits alone; and how it grows with everything there is more of."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.numbers import ON_THRESHOLDS, PLAIN
from benchmarks.parts import bare_fits, private_records, sliced
from benchmarks.rows import Row, beside
from benchmarks.rows import growth as growth_row
from benchmarks.timing import alternate, seconds
from pate_cli.errors import InputError

__all__ = ["growth", "growth_of_mechanisms", "measure", "repeat_of"]

BARE, MOST = 1.3, 1.05
"""Times the fits by hand, and exponent of growth, that are wanted at most."""

STARTS = {"private records": 12_500, "queries": 500, "teachers": 100, "columns": 8}
"""Smallest of three sizes; the others are 4 and 16 times it."""

_WITHOUT = {
    "private records": (),
    "queries": (),
    "teachers": ("best", "noisy_gd", "output_perturbation", *ON_THRESHOLDS),
    "columns": ON_THRESHOLDS,
}
"""Those that have no such size."""


def measure(name: str, rounds: int) -> Row:
    """Time a passive repeat on data set `name`: split, teachers, votes, noise, student, diagnostics.

    Next to it, the fits of its teachers and its student by hand, on data already cut out.
    """
    from threadpoolctl import threadpool_limits

    private, n_teachers, _ = private_records(name)
    pairs = sliced(private, n_teachers)
    one = repeat_of([f"dataset={name}", "mechanism=gaussian"])
    public = _public(name)
    with threadpool_limits(limits=1):
        times = alternate({"ours": one, "bare": lambda: bare_fits([*pairs, public])}, rounds)
    return beside("fits", f"passive repeat, {name}", times, "its fits by hand", most=BARE)


def growth(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time passive repeats on generated data, one size growing at a time."""
    from threadpoolctl import threadpool_limits

    scale = 10 if quick else 1
    base = {"n": 200_000 // scale, "K": 2_000 // scale, "m": 1_000, "d": 5}
    axes: list[tuple[str, str, list[int]]] = [
        ("n", "private records (100 a teacher)", [50_000, 100_000, 200_000, 400_000, 800_000]),
        ("K", "teachers (of the same records)", [625, 1_250, 2_500, 5_000, 10_000]),
        ("m", "queries", [10_000, 20_000, 40_000, 80_000, 160_000]),
        ("d", "dimension", [4, 8, 16, 32, 64, 128]),
    ]
    for key, name, sizes in axes:
        sizes = [size // (1 if key == "d" else scale) for size in sizes]
        medians = []
        for size in sizes:
            at = base | {key: size}
            if key == "n":
                at["K"] = size // 100
            if key == "m":  # few records, so that training does not hide them
                at |= {"n": base["n"] // 4, "K": base["K"] // 2}
            one = repeat_of(
                [
                    "dataset=synthetic",
                    f"dataset.n_records={at['n'] + at['m'] + 10_000}",
                    f"dataset.n_features={at['d']}",
                    f"split.private={at['n']}",
                    f"split.public={at['m']}",
                    f"teacher.count={at['K']}",
                    "mechanism=gaussian",
                ]
            )
            with threadpool_limits(limits=1):
                one()
                medians.append(statistics.median(seconds(one) for _ in range(rounds)))
        yield growth_row(name, sizes, medians, MOST)


def growth_of_mechanisms(rounds: int, skipped: list[str], *, quick: bool) -> Iterator[Row]:
    """Time a repeat of each mechanism in processor-seconds, each size growing by a factor of 16.

    What cannot work at these sizes goes to `skipped`.
    """
    from threadpoolctl import threadpool_limits

    scale = 10 if quick else 1
    names = PLAIN[:2] if quick else (*PLAIN, "score_boosting", *ON_THRESHOLDS)
    for name in names:
        for axis, start in STARTS.items():
            if name in _WITHOUT[axis]:
                continue
            least = start if axis == "columns" else start // scale
            sizes, medians = [least * factor for factor in (1, 4, 16)], []
            for size in sizes:
                try:
                    one = repeat_of([*_given(name, axis, size, scale), f"mechanism={name}", "eps=8"])
                except InputError as error:
                    skipped.append(f"growth of {name} in {axis}: {error}")
                    break
                with threadpool_limits(limits=1):
                    medians.append(statistics.median(_busy(one) for _ in range(rounds)))
            if len(medians) == len(sizes):
                yield growth_row(f"{axis}: {name}", sizes, medians, MOST, f"{axis}, each mechanism")


def _given(name: str, axis: str, size: int, scale: int) -> list[str]:
    """Overrides for a size; what does not grow is small, so that it does not hide what does."""
    n = size if axis == "private records" else 50_000 // scale
    m = size if axis == "queries" else 500 // scale
    given = [f"dataset.n_records={n + m + 5_000}", f"split.private={n}", f"split.public={m}"]
    if name in ON_THRESHOLDS:
        return ["dataset=thresholds", *given]
    if axis == "columns":
        given.append(f"dataset.n_features={size}")
    return [*given, f"teacher.count={size}" if axis == "teachers" else "teacher.size=50"]


def _busy(work: Callable[[], object]) -> float:
    """Processor time of `work()` in seconds: what others on the machine do does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def repeat_of(overrides: list[str]) -> Callable[[], object]:
    """Make a function that does the first repeat of a configuration; loading and calibration are done."""
    from pate_cli import datasets
    from pate_cli.config import parse
    from pate_cli.config.rows import Composer
    from pate_cli.pipeline import prepare, run_repeat

    config = parse(Composer().compose(overrides))
    prepared = prepare(config, datasets.load(config.dataset.name, **config.dataset.options))
    result = run_repeat(prepared, 0).result
    if not math.isfinite(result.accuracy):
        raise RuntimeError("a repeat without an accuracy")
    return lambda: run_repeat(prepared, 0)


def _public(name: str) -> tuple[Any, Any]:
    from pate_cli import datasets

    data = datasets.load(name)
    public = 400 if name == "synthetic" else 0.02
    split = datasets.split(data, private=0.8, public=public, budget=0.3, rng=np.random.default_rng(0))
    return split.public.X, split.public_labels.y
