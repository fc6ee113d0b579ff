"""Records larger than memory: a directory of Parquet files, peak memory, and numbers whatever the workers."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from benchmarks.memory import watch
from benchmarks.rows import Row

__all__ = ["measure", "write"]

MOST = 4_000.0
"""Megabytes of the largest process, and of all of them together, that are wanted at most."""


def measure(*, quick: bool) -> list[Row]:
    """Run on 10^7 records of 50 columns with 10^4 teachers (`quick`: 10^5, 100), on one worker and on two."""
    n, n_teachers, n_files = (100_000, 100, 10) if quick else (10_000_000, 10_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "parts"), n, 50, n_files)
        found, rows = [], []
        for workers in (1, 2):
            given = ["run", "dataset=shards", f"dataset.path={folder}/parts", "dataset.target=y"]
            given += [f"teacher.count={n_teachers}", "split.public=1000", f"split.private={n - 2_000}"]
            given += ["mechanism=gaussian", f"compute.workers={workers}", f"hydra.run.dir={folder}/{workers}"]
            took, peak = watch(given, folder)
            record = json.loads(Path(folder, str(workers), "result.json").read_text())
            found.append((record["accuracy"], record["eps_ex_post"]))
            name = f"peak memory: {n:,} x 50 in {n_files} files, {n_teachers:,} teachers, {workers} workers"
            details = {"s": round(took, 1), "accuracy": record["accuracy"]["mean"]}
            rows.append(Row("shards", name, peak, "MB", "its largest process", MOST, details=details))
    same = float(found[0] == found[1])
    return [*rows, Row("shards", "numbers that are those of one worker", same, "share", "two", least=1)]


def write(folder: Path, n: int, d: int, n_files: int) -> None:
    """Write Parquet files of generated records, a noisy half-space; one file is in memory at a time."""
    import numpy as np
    import pandas as pd

    folder.mkdir()
    normal = np.random.default_rng(0).normal(size=d)
    for k in range(n_files):
        rng = np.random.default_rng([1, k])
        X = rng.normal(size=(n // n_files, d)).astype(np.float32)
        y = (X @ normal + 0.5 * rng.normal(size=len(X)) > 0).astype(np.int64)
        table = pd.DataFrame(X, columns=[f"x{i}" for i in range(d)]).assign(y=y)
        table.to_parquet(folder / f"part-{k:03}.parquet", index=False, compression=None)
