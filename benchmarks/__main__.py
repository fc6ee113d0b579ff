"""`python -m benchmarks`: measure, print a row each, and write results.json."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from benchmarks import beside, commands, fits, growth, reading, table4
from benchmarks.measure import Row, machine
from pate_cli.errors import InputError

PARTS: dict[str, Callable[..., Iterable[Row]]] = {
    "start": commands.start,
    "reading": reading.measure,
    "fits": fits.measure,
    "table4": table4.measure,
    "sweeps": commands.sweeps,
    "shards": commands.shards,
    "growth": growth.measure,
    "beside": beside.measure,
}
"""What measures each part, from rounds and whether sizes are small."""


def main() -> int:
    """Measure each part; rows are written after each. Exit code 1 if a part failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--rounds", type=int, help="how often each contestant runs (5, with --quick 1)")
    parser.add_argument("--quick", action="store_true", help="small sizes, about two minutes")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=list(PARTS), help="parts (all)")
    parser.add_argument("--into", type=Path, help="directory of results.json (outputs/bench/DATE)")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout, for part beside")
    options = parser.parse_args()
    directory = options.into or Path("outputs", "bench", f"{datetime.now():%Y-%m-%d-%H-%M-%S}")
    directory.mkdir(parents=True, exist_ok=True)
    rounds, rows, skipped, failed = options.rounds or (1 if options.quick else 5), [], [], False
    described = machine()
    for part in options.only:
        print(f"bench: {part}", file=sys.stderr, flush=True)
        try:
            more = {"other": options.beside} if part == "beside" else {}
            rows += PARTS[part](rounds, quick=options.quick, **more)
        except InputError as error:  # no such data here
            skipped.append(f"{part}: {error}")
        except Exception as error:  # the other parts took long, too
            traceback.print_exc()
            failed = True
            skipped.append(f"{part}: failed: {type(error).__name__}: {error}")
        found = {"machine": described, "skipped": skipped, "rows": [asdict(row) for row in rows]}
        (directory / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    show(rows, skipped)
    print(f"written to {directory}")
    return 1 if failed else 0


def show(rows: list[Row], skipped: list[str]) -> None:
    """Print a row for each measurement."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("part", "what", "value", "beside"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(row.part, row.name, row.shown, row.beside)
    console = Console(highlight=False)
    console.print(table, crop=False)
    for reason in skipped:
        console.print(f"skipped: {reason}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
