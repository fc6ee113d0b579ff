"""Processor time of whole commands, beside that of another checkout: in turn, on the same machine."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import PATE, REPO, Row, Watched, watch

__all__ = ["measure"]

_SMALL_JOBS = ["dataset.n_records=6000", "split.private=5000", "split.public=60", "compute.workers=1"]
_A9A = ["run", "dataset=a9a", "mechanism=gaussian", "teacher.count=390", "compute.workers=1"]
_LARGE = ["run", "dataset.n_features=20", "teacher.count=100", "mechanism=gaussian", "compute.workers=1"]


def measure(rounds: int, *, quick: bool, other: Path | None) -> Iterator[Row]:
    """Run each command with both checkouts; without another one, only what is measured by itself.

    InputError if a dataset is not here.
    """
    from pate_cli import datasets

    for name in ("mushroom", "a9a"):
        datasets.load(name)
    trees = {"this": REPO, **({"other": other.resolve()} if other else {})}
    tables, n_repeats, n_jobs = (["mushroom"], 3, 30) if quick else (["mushroom", "a9a"], 30, 300)
    table4 = ["reproduce", "table4", f"dataset=[{','.join(tables)}]", f"repeats={n_repeats}"]
    frontier = ["frontier", "dataset=mushroom", "--eps", "1", "--repeats", "3" if quick else "10"]
    yield from _ratio("table4", [*table4, "compute.workers=1"], trees, rounds)
    yield from _ratio("frontier of mushroom", [*frontier, "compute.workers=1"], trees, rounds)
    more = 3 if quick else 10
    for features in ("none", "kernel"):
        few, many = ([*_A9A, f"features.name={features}", f"repeats={n}"] for n in (1, 1 + more))
        yield from _each(f"repeat of a9a, features={features}", few, many, more, trees, rounds)
    few, many = (["run", "-m", f"seed=range(0,{n})", *_SMALL_JOBS] for n in (2, 2 + n_jobs))
    yield from _each("small job of a sweep", few, many, n_jobs, trees, rounds)
    for features in ("none", "kernel"):
        n = 100_000 if quick else 1_000_000
        command = [*_LARGE, f"dataset.n_records={n}", f"features.name={features}"]
        found = {name: _run(command, tree) for name, tree in trees.items()}
        details = {f"{name}_{key}": value for name, each in found.items() for key, value in _facts(each)}
        name = f"{n:,} x 20, 100 teachers, features={features}"
        yield Row("beside", name, found["this"].megabytes, "MB", "", details)


def _ratio(name: str, command: Sequence[str], trees: dict[str, Path], rounds: int) -> Iterator[Row]:
    """Processor time of a command, as a share of the other checkout's."""
    busy: dict[str, list[float]] = {tree: [] for tree in trees}
    for _ in range(rounds):
        for tree, path in trees.items():
            busy[tree].append(_run(command, path).busy)
    yield _row(name, {tree: statistics.median(each) for tree, each in busy.items()}, 1.0, "s")


def _each(
    name: str, few: Sequence[str], many: Sequence[str], more: int, trees: dict[str, Path], rounds: int
) -> Iterator[Row]:
    """Processor time of one more of what a command does many times."""
    busy: dict[str, list[float]] = {tree: [] for tree in trees}
    for _ in range(rounds):
        for tree, path in trees.items():
            busy[tree].append((_run(many, path).busy - _run(few, path).busy) / more)
    yield _row(name, {tree: statistics.median(each) for tree, each in busy.items()}, 1000.0, "ms")


def _row(name: str, busy: dict[str, float], scale: float, unit: str) -> Row:
    details = {f"{tree}_{unit}": round(scale * each, 2) for tree, each in busy.items()}
    if "other" in busy:
        return Row("beside", name, busy["this"] / busy["other"], "times", "the other checkout", details)
    return Row("beside", name, scale * busy["this"], unit, "", details)


def _run(command: Sequence[str], tree: Path) -> Watched:
    """Run a command of a checkout in an empty folder."""
    from pate_cli.datasets import known_datasets, known_files

    here = str(known_files.require(known_datasets.ENTRIES["a9a"])[0].path.resolve().parent)
    with tempfile.TemporaryDirectory() as folder:
        return watch([*PATE, *command], folder, PYTHONPATH=os.fspath(tree), PATE_DATA=here)


def _facts(each: Watched) -> list[tuple[str, float]]:
    return [("MB", round(each.megabytes)), ("s", round(each.busy, 1))]
