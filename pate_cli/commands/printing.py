"""Printing: lines, grids of text cells, and tables as `--json`, `--format csv` and `-q` ask."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError
from pate_cli.terminal import out

if TYPE_CHECKING:
    from pate_cli.results.tables import Table

__all__ = ["add_output_options", "print_grid", "print_json", "print_line", "print_table", "print_text"]
__all__ += ["split_output_options"]

_SHORT_CELL = 24  # characters of a cell that stays on one line
_LEAST = 12  # width of a column of longer ones


def add_output_options(parser: argparse.ArgumentParser, *, quiet: bool = True) -> None:
    """Add `--json` and, where there is text below the table, `-q`."""
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    if quiet:
        help_text = "print the table without what is below it, but for the meaning of eps"
        parser.add_argument("-q", "--quiet", action="store_true", help=help_text)
        parser.add_argument("--explain", action="store_true", help="say what columns and words mean, too")


def split_output_options(argv: Sequence[str], *, csv: bool = False) -> tuple[argparse.Namespace, list[str]]:
    """Separate `--json`, `-q` and, with `csv`, `--format csv` from overrides and options of Hydra's."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_output_options(parser)
    if csv:
        parser.add_argument("--format", choices=("console", "csv"), default="console")
    try:
        options, hydra_arguments = parser.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise InputError(str(error)) from error
    options.csv = csv and options.format == "csv"
    if options.csv and options.json:
        raise InputError("--json: not with --format csv; give one of them")
    return options, hydra_arguments


def print_table(table: Table, options: argparse.Namespace, command: str) -> None:
    """Print a table as the options ask."""
    if getattr(options, "csv", False):
        print_text(table.to_csv())
        return
    if options.json:
        print_json(
            command, {"table": table.records}, [text for text in (table.note, *table.footnotes) if text]
        )
        return
    shown = table if options.explain else replace(table, note=table.meaning)
    shown.show(quiet=options.quiet)


def print_json(
    command: str,
    tables: Mapping[str, Sequence[Any]],
    notes: Sequence[str] = (),
    other_keys: Mapping[str, Any] | None = None,
    answer: str = "",
) -> None:
    """Print tables as one JSON document (docs/reference/files.md), infinities as "inf" and nan as null.

    `answer` is what was found, in words; `other_keys` are keys beside the tables.
    """
    import json

    from pate_cli.results.settings import plain

    content: dict[str, Any] = {"schema_version": 1, "command": f"pate {command}"}
    content |= {"answer": answer} if answer else {}
    content |= {"tables": {name: list(lines) for name, lines in tables.items()}, "notes": list(notes)}
    content |= dict(other_keys or {})
    print_text(json.dumps(plain(content, command), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def print_text(text: str) -> None:
    """Print a text as it is, but for signs that the terminal does not have; neither wrapped nor styled."""
    encoding = out().encoding
    out().out(text.encode(encoding, "replace").decode(encoding), end="", highlight=False)


def print_line(text: str, style: str = "") -> None:
    """Print a line that a terminal breaks, where it does not fit, without cutting words or paths."""
    out().print(text, style=style, markup=False, soft_wrap=True)


def print_grid(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    title: str = "",
    caption: str = "",
) -> None:
    """Print a table; columns `right` are numbers, and a row of one cell heads those below it.

    A column without any cell is left out, and on a narrow terminal none is cut to a few letters.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    table.title, table.caption = Text(title) if title else None, Text(caption) if caption else None
    table.caption_justify = "left"
    whole = [row for row in rows if len(row) > 1]
    shown = [index for index in range(len(columns)) if not whole or any(row[index] for row in whole)]
    for index in shown:
        name = columns[index]
        cells = [part for row in whole for part in row[index].splitlines()]
        width = max(map(cell_len, [name, *cells]))
        short = all(cell_len(cell) <= _SHORT_CELL for cell in cells)
        table.add_column(Text(name), no_wrap=short, overflow="fold", min_width=width if short else _LEAST)
        table.columns[-1].justify = "right" if name in right else "left"
    for row in rows:
        table.add_row(
            *(Text(row[index]) for index in shown[: len(row)]), style="bold" if len(row) == 1 else ""
        )
    out().print(table, crop=False)
