"""Records larger than memory: peak memory beside the records' size, and equal numbers on two workers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import PATE, Row, watch

__all__ = ["measure", "write"]


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Run on 10^7 records of 50 columns with 10^4 teachers (`quick`: 10^5, 100), on one worker and on two.

    Raises
    ------
    RuntimeError
        If the two runs have unequal numbers.
    """
    n, n_teachers, n_files = (100_000, 100, 10) if quick else (10_000_000, 10_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "parts"), n, 50, n_files)
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
