"""`python -m benchmarks`: measure, print, and write outputs/bench/*.csv."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import accounting, commands, ensembles, machine, report
from benchmarks.timing import Result
from pate_cli.errors import InputError


def main() -> None:
    """Measure everything that can be measured here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often each contestant runs (7)")
    rounds = parser.parse_args().rounds
    here = machine.describe()
    results: list[Result] = [*commands.measure_help(rounds), *commands.measure_run(rounds)]
    results += accounting.measure(max(rounds, 5))
    skipped = []
    for name in ("a9a", "synthetic"):
        try:
            results.append(ensembles.measure(name, rounds))
        except InputError as error:  # no data and no network
            skipped.append(f"teachers on {name}: {error}")
    here["load at end"] = machine.load()
    report.show(results, here, skipped)
    print(f"written to {report.write(results, here, Path('outputs', 'bench'))}")


if __name__ == "__main__":
    main()
