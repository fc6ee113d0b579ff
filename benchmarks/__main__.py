"""`python -m benchmarks`: measure, print, and write outputs/bench/DATE-TIME/*.csv and growth.png."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from benchmarks import (
    accounting,
    commands,
    ensembles,
    machine,
    memory,
    plot,
    reading,
    repeats,
    report,
    sweeps,
    table4,
)
from pate_cli.errors import InputError

PARTS = ("commands", "reading", "fits", "ensembles", "table4", "sweeps", "growth", "memory")


def main() -> None:
    """Measure everything that can be measured here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--rounds", type=int, help="how often each contestant runs (5, with --quick 1)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, about a minute: to see that it works"
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="parts (all)")
    parser.add_argument("--output", type=Path, default=Path("outputs", "bench"))
    options = parser.parse_args()
    quick: bool = options.quick
    rounds: int = options.rounds or (1 if quick else 5)
    found = report.Findings(machine.describe())
    if "commands" in options.only:
        found.results += [*commands.measure_help(rounds), *commands.measure_run(rounds)]
        found.results += accounting.measure(max(rounds, 5))
    if "reading" in options.only:
        results, peaks, rows = reading.measure(rounds, quick=quick)
        found.results += results
        found.peaks += peaks
        found.rows += rows
    if "memory" in options.only:
        found.peaks += memory.measure(quick=quick)
    if "fits" in options.only:
        for name in ("synthetic", "mushroom", "a9a"):
            try:
                found.results += [ensembles.measure(name, rounds), repeats.measure(name, rounds)]
            except InputError as error:  # no data and no network
                found.skipped.append(f"fits on {name}: {error}")
    if "ensembles" in options.only:
        found.rows += ensembles.measure_any(rounds, quick=quick)
    if "sweeps" in options.only:
        found.rows += sweeps.measure(quick=quick)
    if "table4" in options.only:
        try:
            found.comparison = table4.measure(rounds, quick=quick)
        except InputError as error:
            found.skipped.append(f"Table 4: {error}")
    if "growth" in options.only:
        found.curves += repeats.growth(min(rounds, 3), quick=quick)
    found.machine["load at end"] = machine.load()
    directory = options.output / f"{datetime.now():%Y-%m-%d-%H-%M-%S}"
    report.write(found, directory)
    plot.draw(found.curves, found.comparison, directory / "growth.png")
    report.show(found)
    print(f"written to {directory}")


if __name__ == "__main__":
    main()
