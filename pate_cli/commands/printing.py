"""Options of every command that prints a table: `--json`, `--format csv`, `-q`; and printing it so."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError
from pate_cli.terminal import out

if TYPE_CHECKING:
    from pate_cli.results.tables import Table

__all__ = ["add_output_options", "print_json", "print_table", "print_text"]
__all__ += ["split_output_options"]


def add_output_options(parser: argparse.ArgumentParser, *, quiet: bool = True) -> None:
    """Add `--json` and, where there is text below the table, `-q`."""
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    if quiet:
        said = "print the table without what is below it, but for the meaning of eps"
        parser.add_argument("-q", "--quiet", action="store_true", help=said)
        parser.add_argument("--explain", action="store_true", help="say what columns and words mean, too")


def split_output_options(argv: Sequence[str], *, csv: bool = False) -> tuple[argparse.Namespace, list[str]]:
    """Separate `--json`, `-q` and, with `csv`, `--format csv` from overrides and options of Hydra's."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_output_options(parser)
    if csv:
        parser.add_argument("--format", choices=("console", "csv"), default="console")
    try:
        options, rest = parser.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise InputError(str(error)) from error
    options.csv = csv and options.format == "csv"
    if options.csv and options.json:
        raise InputError("--json: not with --format csv; give one of them")
    return options, rest


def print_table(table: Table, options: argparse.Namespace, command: str) -> None:
    """Print a table as the options ask."""
    if getattr(options, "csv", False):
        print_text(table.to_csv())
        return
    if options.json:
        print_json(command, {"table": table.records}, [text for text in (table.note, *table.remarks) if text])
        return
    said = table if options.explain else replace(table, note=table.meaning)
    said.show(quiet=options.quiet)


def print_json(
    command: str,
    tables: Mapping[str, Sequence[Any]],
    notes: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
    answer: str = "",
) -> None:
    """Print tables as one JSON document (docs/reference/files.md), infinities as "inf" and nan as null.

    `answer` is what was found, in words; `more` are keys beside the tables.
    """
    import json

    from pate_cli.results.settings import plain

    content: dict[str, Any] = {"schema_version": 1, "command": f"pate {command}"}
    content |= {"answer": answer} if answer else {}
    content |= {"tables": {name: list(lines) for name, lines in tables.items()}, "notes": list(notes)}
    content |= dict(more or {})
    print_text(json.dumps(plain(content, command), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def print_text(text: str) -> None:
    """Print a text as it is, but for signs that the terminal does not have; neither wrapped nor styled."""
    encoding = out().encoding
    out().out(text.encode(encoding, "replace").decode(encoding), end="", highlight=False)
