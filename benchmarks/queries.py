"""Active queries next to passive ones."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from benchmarks.repeats import repeat_of
from benchmarks.rows import Row
from benchmarks.timing import alternate
from pate_cli.errors import InputError

__all__ = ["measure"]

ACTIVE = 3.0
"""Times the passive repeat."""


def measure(rounds: int) -> list[Row]:
    """Time repeats on a9a and magic, where they are here."""
    rows = []
    for name in ("a9a", "magic"):
        try:
            rows.append(_active(name, min(rounds, 3)))
        except InputError:
            continue  # no such data here
    return rows


def _active(name: str, rounds: int) -> Row:
    from threadpoolctl import threadpool_limits

    given = [f"dataset={name}"]
    if name == "magic":
        path = Path(os.environ.get("PATE_DATA", "data"), "magic.csv")
        if not path.exists():
            raise InputError(f"{path}: no such file")
        with path.open(encoding="utf-8") as file:
            target = file.readline().strip().split(",")[-1]
        given = ["dataset=csv", f"dataset.path={path}", f"dataset.target={target}"]
    works = {mechanism: repeat_of([*given, f"mechanism={mechanism}"]) for mechanism in ("active", "gaussian")}
    with threadpool_limits(limits=1):
        times = alternate(works, rounds)
    ratio = statistics.median(a / b for a, b in zip(times["active"], times["gaussian"], strict=True))
    details = {f"{key}_s": round(statistics.median(values), 3) for key, values in times.items()}
    return Row("queries", f"active repeat, {name}", ratio, "times", "passive", ACTIVE, details=details)
