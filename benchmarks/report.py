"""The table on the terminal and the CSV file."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from benchmarks.timing import Result

__all__ = ["show", "write"]


def show(results: Sequence[Result], machine: Mapping[str, str], skipped: Sequence[str]) -> None:
    """Print the machine and a row a comparison, ratios first."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(", ".join(f"{key} {value}" for key, value in machine.items()), style="dim")
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading, side in (("ratio", "right"), ("ours", "left"), ("time", "right"), ("bare", "left")):
        table.add_column(heading, justify=side, no_wrap=True)  # type: ignore[arg-type]
    for heading in ("time", "target", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for r in results:
        verdict = {None: "", True: "[green]met[/]", False: "[red]MISSED[/]"}[r.met]
        table.add_row(
            f"{r.ratio:.2f}",
            r.name,
            _time(r.ours),
            r.bare_name,
            _time(r.bare),
            str(r.target or ""),
            verdict,
        )
    console.print(table)
    console.print(
        "Medians of wall times; ours and bare run in turn, the ratio is taken within a round. "
        "pate run is mechanism=svt eps=1.0, start-up included; its fits are those of its teachers, by hand.",
        style="dim",
    )
    for reason in skipped:
        console.print(f"skipped: {reason}", markup=False)


def _time(seconds: Sequence[float]) -> str:
    median = statistics.median(seconds)
    return f"{median:.2f} s" if median >= 0.1 else f"{1000 * median:.2g} ms"


def write(results: Sequence[Result], machine: Mapping[str, str], directory: Path) -> Path:
    """Write one row a comparison to a new CSV file in `directory`, and give its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{datetime.now():%Y-%m-%d-%H-%M-%S}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        times = [f"{side}_{what}_s" for side in ("ours", "bare") for what in ("median", "min", "max")]
        writer.writerow(["ratio", "ours", "bare", *times, "rounds", "target", "met", *machine])
        for r in results:
            spread = [f"{f(side):.4f}" for side in (r.ours, r.bare) for f in (statistics.median, min, max)]
            row = [f"{r.ratio:.3f}", r.name, r.bare_name, *spread, len(r.ours), r.target or "", r.met]
            writer.writerow([*row, *machine.values()])
    return path
