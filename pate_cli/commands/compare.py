"""`pate compare`: what differs between two results, in settings and in every measure."""

from __future__ import annotations

import argparse

from pate_cli.commands.named_results import collect
from pate_cli.commands.printing import add_output_options, print_json
from pate_cli.commands.reporting import show_report
from pate_cli.results.marks import plain
from pate_cli.terminal import out

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate compare`."""
    options = _parser().parse_args(argv)

    from pate_cli.results.two_results import compare_two

    ((a,), first), ((b,), second) = collect([options.a]), collect([options.b])
    report = compare_two(first, second)
    lines = [f"A: {a}", f"B: {b}"]
    tables = report.files
    if options.json:
        notes = [text for table in tables.values() for text in (table.note, *table.footnotes) if text]
        shown = {name: table.records for name, table in tables.items()}
        print_json("compare", shown, [*lines, *notes], answer=plain(report.answer))
        return 0
    if not options.all:
        show_report(report, options, "compare")
        return 0
    for line in (plain(report.answer), *lines):
        out().print(line, markup=False, soft_wrap=True)
    for table in tables.values():
        out().print()
        table.show(quiet=options.quiet)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate compare",
        description="Compare two results (runs, sweeps, frontiers, ...): settings in which they differ, and "
        "of every measure the mean difference with its 95% confidence interval, repeat by repeat where both "
        "are at the same splits of the same data; else the reason why not.",
        epilog="Example: pate compare first second, where both were run with name=first and name=second.",
    )
    for name in ("a", "b"):
        parser.add_argument(name, metavar=name.upper(), help="a directory, or a name or an id of pate list")
    parser.add_argument("--all", action="store_true", help="every setting that differs, and every measure")
    add_output_options(parser)
    return parser
