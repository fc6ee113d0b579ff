"""`pate page`: one HTML file of a result, for somebody who was not there."""

from __future__ import annotations

import argparse
import base64
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.commands.named_results import collect, find_release
from pate_cli.errors import DataError, InputError
from pate_cli.plugins import contained, what_failed
from pate_cli.terminal import checked_output, err, write_output

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.results.page import Section

__all__ = ["main"]

_DEFAULT = Path("page.html")
_VIEWS = "pate.views"  # entry points of views


def main(argv: list[str]) -> int:
    """Run `pate page`."""
    options = _parser().parse_args(argv)
    output = checked_output(options.output, _DEFAULT, (".html", ".htm"))
    release = find_release(options.paths)
    text, failed = _of_repeats(argv, options) if release is None else _of_release(release, output, options)
    write_output(output, text)
    err().print(f"written to {output}", style="dim", markup=False, soft_wrap=True)
    if failed:
        raise InputError("; ".join(failed))
    return 0


def _of_repeats(argv: Sequence[str], options: argparse.Namespace) -> tuple[str, list[str]]:
    """The page of repeats, and which views failed."""
    from pate_cli.results.report import report, sources_of

    os.environ.setdefault("MPLBACKEND", "agg")  # no view opens a window
    views = {text: _view(text) for text in options.view}
    places, repeats = collect(options.paths)
    if not (repeats["status"] == "ok").any():
        raise DataError(f"{', '.join(map(str, places))}: no repeat is done, so there is nothing to show")
    failed: list[str] = []
    sections = [_section(text, view, repeats, failed) for text, view in views.items()]
    command = ["pate", "page", *argv]
    sources, title = sources_of(places, repeats), options.title or ""
    page = report(repeats, command, sources, title=title, extra_sections=sections)
    return page.html(), failed


def _of_release(directory: Path, output: Path, options: argparse.Namespace) -> tuple[str, list[str]]:
    """The card of a release; not to be written among its files, which `pate verify` compares."""
    from pate_cli.release.card import Card
    from pate_cli.release.certificates import made_of
    from pate_cli.results.page import render

    if output.resolve().is_relative_to(directory.resolve()):
        accepted = "a file elsewhere: pate verify compares the files of a release"
        raise InputError(f"--output {output}: accepted: {accepted}")
    if options.view:
        raise InputError("--view: not with a release, whose page is made from its certificate alone")
    page = made_of(directory, lambda facts: Card(facts, str(directory)).page)
    return render(replace(page, title=options.title or page.title)), []


def _view(text: str) -> Callable[[pd.DataFrame], Any]:
    """Function of this name: an entry point, or an import path; InputError if there is none."""
    from importlib import import_module, metadata

    points = {point.name: point for point in metadata.entry_points(group=_VIEWS)}
    module, _, of = text.replace(":", ".").rpartition(".")
    view = None
    try:
        with contained():
            if text in points:
                view = points[text].load()
            elif module:
                view = getattr(import_module(module), of, None)
    except Exception as error:  # importing runs any code
        raise InputError(f"--view {text}: {what_failed(error)}") from error
    if not callable(view):
        accepted = (
            f"an import path, as mine.views.recall, or an entry point of {_VIEWS}, of which there are: "
        )
        raise InputError(
            f"--view {text}: no such function; accepted: {accepted}{', '.join(points) or 'none'}"
        )
    return view  # type: ignore[no-any-return]


def _section(
    text: str, view: Callable[[pd.DataFrame], Any], repeats: pd.DataFrame, failed: list[str]
) -> Section:
    """What a view shows of repeats, below the first line of its docstring; why not, if it fails."""
    from pate_cli.results.page import Section

    try:
        with contained():
            block = _block(view(repeats.copy()), text)
    except Exception as error:  # of somebody else's code
        why = str(error) if isinstance(error, InputError) else what_failed(error)
        failed.append(f"--view {text}: {why}")
        block = "p", "Not shown: this view failed."
    title = (view.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return Section(title or text, [block])


def _block(made: Any, text: str) -> tuple[str, Any]:
    import pandas as pd

    from pate_cli.results.tables import Table, from_frame

    if isinstance(made, pd.DataFrame):
        return "table", from_frame(made.reset_index() if made.index.names != [None] else made)
    if isinstance(made, Table):
        return "table", made
    if not hasattr(made, "savefig"):
        accepted = "a DataFrame, a Table or a matplotlib figure"
        raise InputError(f"made {type(made).__name__}; accepted: {accepted}")
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": text}):  # the same bytes for the same figure
        made.savefig(svg := io.BytesIO(), format="svg", metadata={"Date": None})
    return "svg", (text, base64.b64encode(svg.getvalue()).decode(), round(96 * made.get_figwidth()))


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
