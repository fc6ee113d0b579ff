"""A sweep of many small jobs, beside the same repeats in one run; and a frontier of many methods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator

from benchmarks.measure import PATE, Row, alternate, ratio, watch

__all__ = ["measure"]

_METHODS = "best,gaussian,active,gnmax,svt,noisy_gd,output_perturbation,soft"


def measure(rounds: int, *, quick: bool) -> Iterator[Row]:
    """Time `-m seed=range(0,300)` beside `repeats=300`, and eight methods beside one after another."""
    n = 20 if quick else 300
    with tempfile.TemporaryDirectory() as folder:

        def run(*typed: str) -> Callable[[], float]:
            return lambda: watch([*PATE, *typed], folder).seconds

        times = alternate(
            {
                "ours": run("run", "-m", f"seed=range(0,{n})", "--force"),
                "bare": run("run", f"repeats={n}", "compute.workers=2", "--force"),
            },
            min(rounds, 2),
        )
        yield ratio("sweeps", f"{n} jobs", times, f"repeats={n}, two workers")
        small = ["dataset.n_records=6000", "split.private=5000", "split.public=60"]
        seconds = watch([*PATE, "run", "-m", *small, f"seed=range(0,{n})"], folder).seconds
        yield Row("sweeps", f"a job of {n} on 5,000 records, start-up included", 1000 * seconds / n, "ms")

        def alone() -> float:
            return sum(
                run("run", f"mechanism={name}", "eps=1", "repeats=4", "--force")()
                for name in _METHODS.split(",")
            )

        frontier = run("frontier", "--eps", "1", "--repeats", "4", "--methods", _METHODS, "--force")
        times = alternate({"ours": frontier, "bare": alone}, min(rounds, 2))
        yield ratio("sweeps", "frontier of 8 methods", times, "8 runs one after another")
