"""The 16 cells of Table 4 on mushroom and a9a: the careful user's script, and `pate`, cold, at 30 repeats."""

from __future__ import annotations

import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.commands import PATE, REPO
from benchmarks.rows import Row

__all__ = ["Accuracy", "measure", "rows_of"]

REPEATS = 30
LEAST = 40.0
"""Times less wall time that is wanted."""


@dataclass(frozen=True)
class Accuracy:
    """One cell: mean accuracies and halves of their 95% confidence intervals.

    Attributes
    ----------
    cell : str
    ours, ours_ci : float
        Over all repeats.
    same : float
        Ours over the repeats that the script did.
    careful, careful_ci : float
        The script's, over those.
    """

    cell: str
    ours: float
    ours_ci: float
    same: float
    careful: float
    careful_ci: float

    @property
    def agrees(self) -> bool:
        """Whether the two are within the interval of each other at the same repeats."""
        return abs(self.same - self.careful) <= self.ours_ci


def measure(rounds: int, *, quick: bool) -> list[Row]:
    """Run both in turn, a repeat of the script (each round another one) and the whole command of ours.

    Wall time of ours has start-up and report in it; of the script, one repeat of all cells is taken times
    the repeats, and its imports and loading once. On a busy machine, compare processor time.

    Raises
    ------
    InputError
        If a dataset is not here.
    """
    from pate_cli import datasets
    from pate_cli.datasets import files

    names = ("mushroom",) if quick else ("mushroom", "a9a")
    for name in names:
        datasets.load(name)
    # where the command finds them from another directory
    here = str(files.require(files.ENTRIES[names[0]])[0].path.resolve().parent)
    repeats = 5 if quick else REPEATS
    chosen = [f"dataset=[{','.join(names)}]", f"repeats={repeats}"]
    times: dict[str, list[float]] = {
        key: [] for key in ("ours", "ours_busy", "script", "start", "script_busy")
    }
    environment = os.environ | {"PATE_DATA": here, "PYTHONPATH": str(REPO)}
    found: dict[tuple[str, str, float], list[float]] = {}
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            script = [sys.executable, "-m", "benchmarks.careful", str(number), *names]
            printed, whole, script_busy = _run(script, folder, environment)
            cells = [line.split() for line in printed.splitlines()]
            for dataset, method, eps, accuracy, _ in cells:
                found.setdefault((dataset, method, float(eps)), []).append(float(accuracy))
            in_cells = sum(float(took) for *_, took in cells)
            times["script"].append(in_cells)
            times["start"].append(whole - in_cells)
            times["script_busy"].append(script_busy)
            _, took, busy = _run([*PATE, "reproduce", "table4", *chosen], folder, environment)
            times["ours"].append(took)
            times["ours_busy"].append(busy)
            table = _table(folder)
            if number == rounds - 1:  # all of it is done already: this only reads
                _run([*PATE, "reproduce", "table4", chosen[0], f"repeats={rounds}"], folder, environment)
                same = {row["name"]: float(row["accuracy"]) for row in _table(folder)}
    accuracies = []
    for row in table:
        key = (row["dataset"], row["method"].removesuffix("-NP"), float(row["eps"]))
        mean, ci = _mean_ci(found[key])
        ours_ci = float(row["accuracy_ci95"] or "inf")
        accuracies.append(Accuracy(row["name"], float(row["accuracy"]), ours_ci, same[row["name"]], mean, ci))
    return rows_of(times, accuracies, repeats)


def rows_of(times: dict[str, list[float]], accuracies: list[Accuracy], repeats: int) -> list[Row]:
    """Give the ratio of wall times, by rounds, and the share of the cells whose accuracies agree."""
    rounds = zip(times["ours"], times["script"], times["start"], strict=True)
    ratio = statistics.median((repeats * script + start) / ours for ours, script, start in rounds)
    details = {f"{key}_s": round(statistics.median(values), 3) for key, values in times.items()}
    beside = f"a careful script, {repeats} repeats"
    agree = sum(a.agrees for a in accuracies) / max(1, len(accuracies))
    cells = {a.cell: [round(a.same, 4), round(a.careful, 4)] for a in accuracies}
    return [
        Row("table4", "times less than by hand", ratio, "times", beside, least=LEAST, details=details),
        Row("table4", "cells whose accuracies agree", agree, "share", beside, least=1, details=cells),
    ]


def _table(folder: str) -> list[dict[str, str]]:
    with Path(folder, "outputs", "reproduce", "table4", "table.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _run(command: list[str], folder: str, environment: dict[str, str]) -> tuple[str, float, float]:
    """What a command prints, its wall time, and the processor time of it and its workers."""
    busy = _children()
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout, time.perf_counter() - start, _children() - busy


def _children() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _mean_ci(values: list[float]) -> tuple[float, float]:
    from scipy.stats import t

    if len(values) < 2:
        return values[0], math.inf
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), half
