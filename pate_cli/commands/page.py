"""`pate page`: one HTML file of a result, for somebody who was not there."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from pate_cli.commands.named_results import collect, find_release
from pate_cli.errors import DataError, InputError
from pate_cli.terminal import check_file, err, write_output

__all__ = ["main"]

_DEFAULT = Path("page.html")


def main(argv: list[str]) -> int:
    """Run `pate page`."""
    options = _parser().parse_args(argv)
    output = options.output or _DEFAULT
    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--output {output}: unknown ending; accepted: .html")
    if options.output is None and output.exists():
        raise InputError(f"{output}: is there already; --output {output} writes over it")
    check_file(output)
    if (release := find_release(options.paths)) is not None:
        return _of_release(release, output, options)

    from pate_cli.results.details import find_view
    from pate_cli.results.listing import find
    from pate_cli.results.report import report, sources_of

    views = {text: find_view(text) for text in options.view}
    places = [find(text) for text in options.paths]
    repeats = collect(list(map(str, places)))
    if not (repeats["status"] == "ok").any():
        raise DataError(f"{', '.join(map(str, places))}: no repeat is done, so there is nothing to show")
    command = ["pate", "page", *argv]
    found = report(repeats, command, sources_of(places, repeats), title=options.title or "", views=views)
    write_output(output, found.html())
    err().print(f"written to {output}", style="dim", markup=False, soft_wrap=True)
    return 0


def _of_release(directory: Path, output: Path, options: argparse.Namespace) -> int:
    """Write the card of a release, not among its files, which `pate verify` compares."""
    from pate_cli.release.card import Card
    from pate_cli.release.certificates import made_of
    from pate_cli.results.html import render

    if output.resolve().is_relative_to(directory.resolve()):
        accepted = "a file elsewhere: pate verify compares the files of a release"
        raise InputError(f"--output {output}: accepted: {accepted}")
    if options.view:
        raise InputError("--view: not with a release, whose page is made from its certificate alone")
    page = made_of(directory, lambda facts: Card(facts, str(directory)).page)
    text = render(replace(page, title=options.title or page.title))
    write_output(output, text)
    err().print(f"written to {output}", style="dim", markup=False, soft_wrap=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate page",
        description="Write one HTML file of runs, a sweep, a frontier, a release, ...: what was found, "
        "figure, table, what to do next, and everything else folded. It needs no network, fits a phone and "
        "paper, and follows a dark mode.",
        epilog="Example: pate page outputs/frontier/mushroom-1a2b3c --output mushroom.html",
    )
    parser.add_argument(
        "paths", nargs="+", metavar="DIR", help="a directory, or a name or an id of pate list"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=f"default: {_DEFAULT}, if it is not there"
    )
    parser.add_argument(
        "--view",
        action="append",
        default=[],
        metavar="NAME",
        help="a part of your own: a function from the repeats (a DataFrame) to a table or a figure, by an "
        "entry point of pate.views or its import path; may be given again",
    )
    parser.add_argument("--title", metavar="TEXT", help="default: data and methods")
    return parser
