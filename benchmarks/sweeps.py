"""Many small runs: a sweep of hundreds of jobs, a frontier of many methods, and the time it says is left."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.commands import PATE
from benchmarks.repeats import MOST
from benchmarks.rows import Row

__all__ = ["estimate_error", "measure", "write_census"]

METHODS = (
    *("best", "gaussian", "active", "gnmax", "svt"),
    *("noisy_gd", "output_perturbation", "soft"),
)
CONFIDENT = "confident_gnmax=mechanism=gnmax,mechanism.confidence=0.75"
JOB, FRONTIER, ESTIMATE = 50.0, 120.0, 0.3
"""Milliseconds a job, seconds of the frontier, and how far off the time left may be said to be."""


def measure(*, quick: bool) -> list[Row]:
    """Time a sweep of 320 jobs, and a frontier at three eps, ten repeats each, on 40,000 x 40 generated."""
    with tempfile.TemporaryDirectory() as folder:
        return [*_sweep(folder, quick=quick), *_frontier(folder, quick=quick)]


def _sweep(folder: str, *, quick: bool) -> list[Row]:
    """Time a sweep, and one of a sixteenth of its jobs; start-up is in both."""
    seeds = 3 if quick else 32
    few, _, n_few = _jobs(Path(folder, "few"), seeds // 16 or 1)
    took, busy, n = _jobs(Path(folder, "many"), seeds)
    details = {"s": round(took, 2), "processor_s": round(busy, 2), "jobs": n}
    exponent = math.log(took / few) / math.log(n / n_few)
    of = f"{n_few} to {n}"
    return [
        Row("sweeps", f"a job of {n}, start-up included", 1000 * took / n, "ms", most=JOB, details=details),
        Row(
            "sweeps",
            "growth in jobs",
            exponent,
            "exponent",
            of,
            MOST,
            details={"few_s": round(few, 2)},
        ),
    ]


def _jobs(folder: Path, seeds: int) -> tuple[float, float, int]:
    """Sweep over ten eps and some seeds: wall time, processor time, jobs."""
    folder.mkdir()
    given = ["dataset.n_records=3000", "split.public=50", "teacher.count=20", "mechanism=gaussian"]
    swept = [f"seed=range({seeds})", "eps=1,2,3,4,5,6,7,8,9,10"]
    took, busy, _ = _watched(["run", "-m", *given, *swept], str(folder))
    return took, busy, 10 * seeds


def _frontier(folder: str, *, quick: bool) -> list[Row]:
    path, n = Path(folder, "census.csv"), 4_000 if quick else 40_000
    write_census(path, n)
    repeats, eps = (2, "1") if quick else (10, "0.5,1,2")
    given = ["frontier", "dataset=csv", f"dataset.path={path}", "dataset.target=income"]
    given += ["--eps", eps, "--repeats", str(repeats), "--methods", ",".join(METHODS)]
    given += ["--method", CONFIDENT]
    took, busy, lines = _watched(given, folder)
    of = f"{len(METHODS) + 1} methods x {eps.count(',') + 1} eps x {repeats} repeats, {n:,} x 40"
    details = {"processor_s": round(busy, 1)}
    rows = [Row("sweeps", f"frontier, {of}", took, "s", most=FRONTIER, details=details)]
    error = estimate_error(lines, "frontier")
    if error is not None:
        name = "time left as said after a tenth of the frontier, off by"
        rows.append(Row("sweeps", name, error, "share", "what was left", ESTIMATE))
    return rows


def estimate_error(lines: list[tuple[float, str]], name: str) -> float | None:
    """How far off the time left was that the first line after a tenth of the work said.

    Parameters
    ----------
    lines : list of (float, str)
        When each line was printed, in seconds, and the line.
    name : str
        What progress is reported of.

    Returns
    -------
    float or None
        abs(said - left) / left; None if all was done before a line could be printed.
    """
    of_it = [(at, line) for at, line in lines if line.startswith(f"{name}: ")]
    for at, line in of_it:
        done, _, total = line.split()[1].partition("/")
        if int(done) * 10 < int(total) or " left" not in line:
            continue
        number, unit = line.rpartition("about ")[2].split()[:2]
        left = of_it[-1][0] - at
        if left > 5:
            return abs(float(number) * {"s": 1, "min": 60, "h": 3600}[unit] - left) / left
    return None


def write_census(path: Path, n: int) -> None:
    """Write a table as a census gives: 20 columns of numbers, some skewed, and 20 of categories."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 4))
    columns = {}
    for i in range(20):
        value = hidden @ rng.normal(size=4) + rng.normal(size=n)
        columns[f"n{i}"] = np.round(np.exp(value / 2) if i % 4 == 0 else value, 3)
    for i in range(20):
        k = int(rng.integers(2, 12))
        scores = hidden @ rng.normal(size=(4, k)) + rng.gumbel(size=(n, k)) - np.arange(k) / 3
        columns[f"c{i}"] = np.array([f"v{j}" for j in range(k)])[scores.argmax(axis=1)]
    odds = hidden @ np.array([1.5, -1.0, 0.7, 0.3]) + rng.logistic(size=n)
    columns["income"] = np.where(odds > 1, "high", "low")
    pd.DataFrame(columns).to_csv(path, index=False)


def _watched(arguments: list[str], folder: str) -> tuple[float, float, list[tuple[float, str]]]:
    """Run `pate`: wall time, processor time of all its processes, and its lines, each with its time."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    with subprocess.Popen(
        [*PATE, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        lines = [(time.perf_counter() - start, line.rstrip()) for line in run.stderr]
    took = time.perf_counter() - start
    if run.returncode:
        sys.stderr.write("\n".join(line for _, line in lines[-20:]) + "\n")
        raise subprocess.CalledProcessError(run.returncode, run.args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, busy, lines
