"""`pate list`: the results below a directory, newest first."""

from __future__ import annotations

import argparse
from pathlib import Path

from pate_cli.commands.printing import add_output_options, print_table
from pate_cli.errors import ConfigError, DataError
from pate_cli.results.record import STATUSES

__all__ = ["main"]

_STATUSES = (*STATUSES, "unfinished")


def main(argv: list[str]) -> int:
    """Run `pate list`."""
    options = _parser().parse_args(argv)
    if options.status not in (None, *_STATUSES):
        raise ConfigError("--status", options.status, ", ".join(_STATUSES))
    for path in map(Path, options.paths):
        if not path.exists():
            raise DataError(f"{path}: no such directory; give one that results are below")

    from pate_cli.results.listing import entries, listing

    results, unreadable = entries(options.paths)
    results = [entry for entry in results if options.status in (None, entry.status)]
    results = [entry for entry in results if {*options.tag} <= {*entry.tags}]
    table = listing(results)
    table.footnotes.extend(f"left out: {path}: {reason}" for path, reason in unreadable)
    if not results:
        table.footnotes.append(f"no result found in {', '.join(options.paths)}")
    print_table(table, options, "list")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate list",
        description="List runs, sweeps, frontiers, recipes and releases, newest first: what "
        "they are of, how far they came, their mean accuracy (of several rows, the least and the largest).",
        epilog="Example: pate list --tag trial. Name a run by name=..., and tag it by tags=[a,b].",
    )
    parser.add_argument("paths", nargs="*", default=["outputs"], metavar="DIR", help="default: outputs")
    parser.add_argument("--status", metavar="S", help=f"only those: {', '.join(_STATUSES)}")
    parser.add_argument(
        "--tag", action="append", default=[], metavar="T", help="only those with this tag; may be given again"
    )
    add_output_options(parser)
    return parser
