"""Whole commands, start-up included: small ones, sweeps of many jobs, and records larger than memory."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.fits import private_parts
from benchmarks.measure import PATE, Row, alternate, ratio, watch

__all__ = ["shards", "start", "sweeps"]

_FITS = """
import sys
import numpy as np
from benchmarks.fits import fit_by_hand
data = np.load(sys.argv[1])
fit_by_hand(list(zip(np.split(data["X"], data["cuts"]), np.split(data["y"], data["cuts"]))))
"""

_METHODS = "best,gaussian,active,gnmax,svt,noisy_gd,output_perturbation,soft"


def _timer(folder: str, *command: str) -> Callable[[], float]:
    return lambda: watch(command, folder).seconds


def start(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time `pate --help`, and the default run beside its teachers' fits by scikit-learn."""
    with tempfile.TemporaryDirectory() as folder:
        works = {
            "ours": _timer(folder, *PATE, "--help"),
            "bare": _timer(folder, sys.executable, "-c", "pass"),
        }
        yield ratio("start", "pate --help", alternate(works, rounds), "python -c pass")
        file = Path(folder, "parts.npz")
        _, _, parts = private_parts("synthetic")
        cuts = np.cumsum([len(y) for _, y in parts])[:-1]
        np.savez(file, X=np.vstack([X for X, _ in parts]), y=np.concatenate([y for _, y in parts]), cuts=cuts)
        run = ["run", "mechanism=svt", "eps=1.0"]
        works = {
            "ours": _timer(folder, *PATE, *run, "--force"),
            "bare": _timer(folder, sys.executable, "-c", _FITS, str(file)),
        }
        yield ratio("start", f"pate {' '.join(run)}", alternate(works, rounds), "its fits by hand")


def sweeps(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time `-m seed=range(0,300)` beside `repeats=300`, and eight methods beside one after another."""
    n, rounds = 20 if quick else 300, min(rounds, 2)
    with tempfile.TemporaryDirectory() as folder:
        jobs = ["run", "-m", f"seed=range(0,{n})"]
        works = {
            "ours": _timer(folder, *PATE, *jobs, "--force"),
            "bare": _timer(folder, *PATE, "run", f"repeats={n}", "compute.workers=2", "--force"),
        }
        yield ratio("sweeps", f"{n} jobs", alternate(works, rounds), f"repeats={n}, two workers")
        small = ["dataset.n_records=6000", "split.private=5000", "split.public=60"]
        seconds = watch([*PATE, *jobs, *small], folder).seconds
        yield Row("sweeps", f"a job of {n} on 5,000 records, start-up included", 1000 * seconds / n, "ms")
        alone = [
            _timer(folder, *PATE, "run", f"mechanism={name}", "eps=1", "repeats=4", "--force")
            for name in _METHODS.split(",")
        ]
        frontier = ["frontier", "--eps", "1", "--repeats", "4", "--methods", _METHODS, "--force"]
        works = {"ours": _timer(folder, *PATE, *frontier), "bare": lambda: sum(run() for run in alone)}
        yield ratio("sweeps", "frontier of 8 methods", alternate(works, rounds), "8 runs one after another")


def shards(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Run on 10^7 records of 50 columns with 10^4 teachers (`quick`: 10^5, 100), on one worker and on two.

    RuntimeError if the two runs have unequal numbers.
    """
    n, n_teachers, n_files = (100_000, 100, 10) if quick else (10_000_000, 10_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        _write_shards(Path(folder, "parts"), n, 50, n_files)
        found = []
        for workers in (1, 2):
            given = ["run", "dataset=shards", f"dataset.path={folder}/parts", "dataset.target=y"]
            given += [f"teacher.count={n_teachers}", "split.public=1000", f"split.private={n - 2_000}"]
            given += ["mechanism=gaussian", f"compute.workers={workers}", f"hydra.run.dir={folder}/{workers}"]
            watched = watch([*PATE, *given], folder)
            record = json.loads(Path(folder, str(workers), "result.json").read_text())
            found.append((record["accuracy"], record["eps_ex_post"]))
            name = f"{n:,} x 50, {n_teachers:,} teachers, {workers} workers"
            yield Row("shards", name, watched.megabytes, "MB", "", {"s": round(watched.seconds, 1)})
        if found[0] != found[1]:
            raise RuntimeError(f"other numbers on two workers: {found}")


def _write_shards(folder: Path, n: int, d: int, n_files: int) -> None:
    """Write Parquet files of generated records, a noisy half-space; one file is in memory at a time."""
    import pandas as pd

    folder.mkdir()
    normal = np.random.default_rng(0).normal(size=d)
    for k in range(n_files):
        rng = np.random.default_rng([1, k])
        X = rng.normal(size=(n // n_files, d)).astype(np.float32)
        y = (X @ normal + 0.5 * rng.normal(size=len(X)) > 0).astype(np.int64)
        table = pd.DataFrame(X, columns=[f"x{i}" for i in range(d)]).assign(y=y)
        table.to_parquet(folder / f"part-{k:03}.parquet", index=False, compression=None)
