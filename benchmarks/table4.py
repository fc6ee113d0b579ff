"""The 16 cells of Table 4 on mushroom and a9a: the careful user's script beside `pate`, 30 repeats, cold."""

from __future__ import annotations

import csv
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import PATE, Row, watch

__all__ = ["measure", "rows_of"]


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Run both in turn: a repeat of the script (each round another one) and the whole command of ours.

    The script's time is that of one repeat of all cells times the repeats, and its imports and loading once.
    InputError if a dataset is not here.
    """
    from pate_cli import datasets
    from pate_cli.datasets import known_datasets, known_files

    names, repeats = (("mushroom",), 5) if quick else (("mushroom", "a9a"), 30)
    for name in names:
        datasets.load(name)
    # where the command finds them from another directory
    here = str(known_files.require(known_datasets.ENTRIES[names[0]])[0].path.resolve().parent)
    command = [*PATE, "reproduce", "table4", f"dataset=[{','.join(names)}]"]
    ratios, details, by_hand = [], [], {}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            script = watch(
                [sys.executable, "-m", "benchmarks.careful", str(number), *names], folder, PATE_DATA=here
            )
            in_cells = 0.0
            for line in script.printed.splitlines():
                *cell, accuracy, took = line.split()
                by_hand.setdefault(" ".join(cell), []).append(float(accuracy))
                in_cells += float(took)
            ours = watch([*command, f"repeats={repeats}"], folder, PATE_DATA=here)
            ratios.append((repeats * in_cells + script.seconds - in_cells) / ours.seconds)
            details.append((ours.seconds, ours.busy, in_cells))
            # the repeats that the script did too; they are finished, so this only reads them
            watch([*command, f"repeats={rounds}"], folder, PATE_DATA=here)
            with Path(folder, "outputs", "reproduce", "table4", "table.csv").open(encoding="utf-8") as file:
                cells = list(csv.DictReader(file))
    yield from rows_of(ratios, details, cells, by_hand, repeats)


def rows_of(
    ratios: list[float],
    details: list[tuple[float, float, float]],
    cells: list[dict[str, str]],
    by_hand: dict[str, list[float]],
    repeats: int,
) -> Iterator[Row]:
    """Give the ratio of wall times, and the largest difference of a cell's mean accuracy at equal repeats."""
    names = ("ours_s", "ours_busy_s", "script_repeat_s")
    columns = zip(names, zip(*details, strict=True), strict=True)
    medians = {name: round(statistics.median(each), 3) for name, each in columns}
    beside = f"a careful script, {repeats} repeats"
    yield Row("table4", "times faster than by hand", statistics.median(ratios), "times", beside, medians)
    apart = {}
    for row in cells:
        cell = f"{row['dataset']} {row['method'].removesuffix('-NP')} {float(row['eps'])}"
        apart[cell] = round(float(row["accuracy"]) - statistics.fmean(by_hand[cell]), 4)
    yield Row(
        "table4", "largest difference of a cell", max(map(abs, apart.values())), "accuracy", beside, apart
    )
