"""How a passive repeat grows with everything there is more of: exponents, 1 where it is linear."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.fits import repeat_of
from benchmarks.measure import Row

__all__ = ["exponent", "measure"]

_AXES = {
    "private records (100 a teacher)": [(n, n // 100, 1_000, 5, 2) for n in (10_000, 100_000, 1_000_000)],
    "teachers (of the same records)": [(200_000, count, 1_000, 5, 2) for count in (100, 1_000, 10_000)],
    # few records, so that training does not hide them
    "queries": [(50_000, 1_000, m, 5, 2) for m in (100, 1_000, 10_000)],
    "columns": [(200_000, 2_000, 1_000, d, 2) for d in (4, 16, 64)],
    "classes": [(50_000, 500, 1_000, 5, classes) for classes in (2, 8, 26)],
}
"""Private records, teachers, queries, columns and classes of the repeats on each axis."""


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time repeats on generated data in processor seconds, one size growing at a time."""
    from threadpoolctl import threadpool_limits

    shrink = 10 if quick else 1
    for axis, settings in _AXES.items():
        grows = next(i for i in range(5) if settings[0][i] != settings[1][i])
        sizes = [setting[grows] for setting in settings]
        seconds = []
        for n, teachers, m, d, n_classes in settings:
            private, public = n // shrink, m
            with tempfile.TemporaryDirectory() as folder:
                given = _data(Path(folder), private + public + 10_000, d, n_classes)
                given += ["mechanism=gaussian", f"split.private={private}", f"split.public={public}"]
                repeat = repeat_of([*given, f"teacher.count={max(2, teachers // shrink)}"])
            taken = []
            with threadpool_limits(limits=1):
                for _ in range(min(rounds, 3)):
                    start = time.process_time()
                    repeat()
                    taken.append(time.process_time() - start)
            seconds.append(statistics.median(taken))
        details = {"sizes": sizes, "seconds": [round(value, 4) for value in seconds]}
        shown = f"{sizes[0]:,} to {sizes[-1]:,}"
        yield Row("growth", axis, exponent(sizes, seconds), "exponent", shown, details)


def _data(folder: Path, n: int, d: int, n_classes: int) -> list[str]:
    """Options of generated records: of two classes ours, of more a file, in classes by the largest score."""
    if n_classes == 2:
        return ["dataset=synthetic", f"dataset.n_records={n}", f"dataset.n_features={d}"]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    np.savez(folder / "records.npz", X=X, y=(X @ rng.normal(size=(d, n_classes))).argmax(axis=1))
    return ["dataset=npz", f"dataset.path={folder}/records.npz"]


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
