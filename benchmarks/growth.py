"""How a passive repeat grows with everything there is more of: exponents, 1 where it is linear."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.fits import repeat_of
from benchmarks.measure import Row

__all__ = ["exponent", "measure"]

_AXES = {
    "private records (100 a teacher)": [(n, n // 100, 1_000, 5) for n in (50_000, 200_000, 800_000)],
    "teachers (of the same records)": [(200_000, count, 1_000, 5) for count in (625, 2_500, 10_000)],
    # few records, so that training does not hide them
    "queries": [(50_000, 1_000, m, 5) for m in (10_000, 40_000, 160_000)],
    "columns": [(200_000, 2_000, 1_000, d) for d in (4, 16, 64)],
}
"""Private records, teachers, queries and columns of the repeats on each axis."""


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time repeats on generated data in processor seconds, one size growing at a time."""
    from threadpoolctl import threadpool_limits

    shrink = 10 if quick else 1
    for axis, settings in _AXES.items():
        grows = next(i for i in range(4) if settings[0][i] != settings[1][i])
        sizes = [setting[grows] for setting in settings]
        seconds = []
        for n, teachers, m, d in settings:
            private, public = n // shrink, m // shrink if axis == "queries" else m
            repeat = repeat_of(
                [
                    *("dataset=synthetic", "mechanism=gaussian", f"split.private={private}"),
                    *(f"dataset.n_records={private + public + 10_000}", f"split.public={public}"),
                    *(f"dataset.n_features={d}", f"teacher.count={teachers // shrink}"),
                ]
            )
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


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
