"""`python -m benchmarks`: measure, print, and write outputs/bench/DATE-TIME/*.csv and growth.png."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
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


def _commands(found: report.Findings, rounds: int, quick: bool) -> None:
    found.results += [*commands.measure_help(rounds), *commands.measure_run(rounds)]
    found.results += accounting.measure(max(rounds, 5))
    found.rows += imports.measure()


def _reading(found: report.Findings, rounds: int, quick: bool) -> None:
    results, peaks, rows = reading.measure(rounds, quick=quick)
    found.results += results
    found.peaks += peaks
    found.rows += rows


def _fits(found: report.Findings, rounds: int, quick: bool) -> None:
    for name in ("synthetic", "mushroom", "a9a"):
        try:
            found.results += [ensembles.measure(name, rounds), repeats.measure(name, rounds)]
        except InputError as error:  # no data and no network
            found.skipped.append(f"fits on {name}: {error}")


def _ensembles(found: report.Findings, rounds: int, quick: bool) -> None:
    found.rows += ensembles.measure_any(rounds, quick=quick)


def _table4(found: report.Findings, rounds: int, quick: bool) -> None:
    found.comparison = table4.measure(rounds, quick=quick)


def _sweeps(found: report.Findings, rounds: int, quick: bool) -> None:
    found.rows += sweeps.measure(quick=quick)


def _shards(found: report.Findings, rounds: int, quick: bool) -> None:
    found.rows += shards.measure(quick=quick)


def _queries(found: report.Findings, rounds: int, quick: bool) -> None:
    found.rows += queries.measure(rounds, quick=quick)


def _growth(found: report.Findings, rounds: int, quick: bool) -> None:
    found.curves += repeats.growth(min(rounds, 3), quick=quick)
    of_any = list(repeats.growth_of_mechanisms(min(rounds, 3), found.skipped, quick=quick))
    worst = max(of_any, key=lambda curve: curve.exponent)
    found.rows.append(
        Row("growth", f"worst of all: {worst.name}", worst.exponent, "exponent", most=worst.most)
    )
    found.curves += of_any


def _memory(found: report.Findings, rounds: int, quick: bool) -> None:
    found.peaks += memory.measure(quick=quick)


PARTS: dict[str, Callable[[report.Findings, int, bool], None]] = {
    "commands": _commands,
    "reading": _reading,
    "fits": _fits,
    "ensembles": _ensembles,
    "table4": _table4,
    "sweeps": _sweeps,
    "shards": _shards,
    "queries": _queries,
    "growth": _growth,
    "memory": _memory,
}
"""Parts of the benchmarks in the order they are done: from rounds, and whether sizes are small."""


def main() -> int:
    """Measure everything that can be measured here; what is measured is written after each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--rounds", type=int, help="how often each contestant runs (5, with --quick 1)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, about a minute: to see that it works"
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="parts (all)")
    parser.add_argument("--output", type=Path, default=Path("outputs", "bench"))
    options = parser.parse_args()
    found = report.Findings(machine.describe())
    directory = options.output / f"{datetime.now():%Y-%m-%d-%H-%M-%S}"
    failed = []
    for name, measure in PARTS.items():
        if name not in options.only:
            continue
        print(f"bench: {name}", file=sys.stderr, flush=True)
        try:
            measure(found, options.rounds or (1 if options.quick else 5), options.quick)
        except InputError as error:
            found.skipped.append(f"{name}: {error}")
        except Exception as error:  # the other parts took long, too
            traceback.print_exc()
            failed.append(name)
            found.skipped.append(f"{name}: failed: {type(error).__name__}: {error}")
        found.machine["load at end"] = machine.load()
        report.write(found, directory)
        plot.draw(found.curves, found.comparison, directory / "growth.png")
    report.show(found)
    print(f"written to {directory}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
