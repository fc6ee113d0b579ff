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
    "private records (100 a teacher)": [50_000, 200_000, 800_000],
    "teachers (of the same records)": [625, 2_500, 10_000],
    "queries": [10_000, 40_000, 160_000],
    "columns": [4, 16, 64],
}


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time repeats on generated data in processor seconds, one size growing at a time."""
    from threadpoolctl import threadpool_limits

    shrink = 10 if quick else 1
    for axis, sizes in _AXES.items():
        n, teachers, m, d = 200_000 // shrink, 2_000 // shrink, 1_000, 5
        seconds = []
        for size in sizes:
            match axis.split()[0]:
                case "private":
                    n, teachers = size // shrink, size // shrink // 100
                case "teachers":
                    teachers = size // shrink
                case "queries":  # few records, so that training does not hide them
                    n, teachers, m = 50_000 // shrink, 1_000 // shrink, size // shrink
                case _:
                    d = size
            repeat = repeat_of(
                [
                    *("dataset=synthetic", "mechanism=gaussian", f"dataset.n_records={n + m + 10_000}"),
                    *(f"dataset.n_features={d}", f"split.private={n}", f"split.public={m}"),
                    f"teacher.count={teachers}",
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
        yield Row(
            "growth", axis, exponent(sizes, seconds), "exponent", f"{sizes[0]:,} to {sizes[-1]:,}", details
        )


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
