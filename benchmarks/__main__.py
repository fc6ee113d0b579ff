"""`python -m benchmarks`: measure, print, and write results.json, table.svg and growth.png."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from benchmarks import (
    accounting,
    commands,
    ensembles,
    imports,
    machine,
    memory,
    plot,
    queries,
    reading,
    repeats,
    report,
    shards,
    sweeps,
    table4,
)
from benchmarks.rows import Row
from pate_cli.errors import InputError


def _commands(rounds: int, quick: bool, skipped: list[str]) -> Iterator[Row]:
    yield from commands.measure_help(rounds)
    yield from commands.measure_run(rounds)
    yield from accounting.measure(max(rounds, 5))
    yield from imports.measure()


def _fits(rounds: int, quick: bool, skipped: list[str]) -> Iterator[Row]:
    for name in ("synthetic", "mushroom", "a9a"):
        try:
            yield ensembles.measure(name, rounds)
            yield repeats.measure(name, rounds)
        except InputError as error:  # no data and no network
            skipped.append(f"fits on {name}: {error}")


def _growth(rounds: int, quick: bool, skipped: list[str]) -> Iterator[Row]:
    yield from repeats.growth(min(rounds, 3), quick=quick)
    yield from repeats.growth_of_mechanisms(min(rounds, 3), skipped, quick=quick)


PARTS: dict[str, Callable[[int, bool, list[str]], Iterator[Row] | list[Row]]] = {
    "commands": _commands,
    "reading": lambda rounds, quick, skipped: reading.measure(rounds, quick=quick),
    "fits": _fits,
    "ensembles": lambda rounds, quick, skipped: ensembles.measure_any(rounds, quick=quick),
    "table4": lambda rounds, quick, skipped: table4.measure(rounds, quick=quick),
    "sweeps": lambda rounds, quick, skipped: sweeps.measure(quick=quick),
    "shards": lambda rounds, quick, skipped: shards.measure(quick=quick),
    "queries": lambda rounds, quick, skipped: queries.measure(rounds),
    "growth": _growth,
    "memory": lambda rounds, quick, skipped: memory.measure(quick=quick),
}
"""What measures each part, from rounds, whether sizes are small, and a list for what cannot be measured."""


def main() -> int:
    """Measure everything that can be measured here; what is measured is written after each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--rounds", type=int, help="how often each contestant runs (5, with --quick 1)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, about two minutes: to see that it works"
    )
    parser.add_argument("--only", choices=PARTS, nargs="*", default=list(PARTS), help="parts (all)")
    parser.add_argument(
        "--into", type=Path, help="directory of results; parts in it that are not measured again stay"
    )
    options = parser.parse_args()
    directory = options.into or Path("outputs", "bench", f"{datetime.now():%Y-%m-%d-%H-%M-%S}")
    rounds, failed = options.rounds or (1 if options.quick else 5), False
    found = report.read(directory)
    for part in [part for part in PARTS if part in options.only]:
        print(f"bench: {part}", file=sys.stderr, flush=True)
        described, rows, skipped = machine.describe(), list[Row](), list[str]()
        try:
            rows += PARTS[part](rounds, options.quick, skipped)
        except InputError as error:
            skipped.append(f"{part}: {error}")
        except Exception as error:  # the other parts took long, too
            traceback.print_exc()
            failed = True
            skipped.append(f"{part}: failed: {type(error).__name__}: {error}")
        described["load at end"] = machine.load()
        found.replace(part, rows, described, skipped)
        found.rows.sort(key=lambda row: list(PARTS).index(row.part))
        report.write(found, directory)
    plot.draw(found.rows, directory / "growth.png")
    report.show(found, directory / "table.svg")
    print(f"written to {directory}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
