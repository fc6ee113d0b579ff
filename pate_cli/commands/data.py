"""`pate data`: list, fetch and check datasets, and propose a schema for a table."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from pate_cli.commands.own_files import add_format_options, read_table
from pate_cli.datasets import NAMES, inference, schema
from pate_cli.datasets.files import (
    EMBEDDED,
    ENTRIES,
    Entry,
    FileStatus,
    download_directory,
    find,
    require,
    status,
)
from pate_cli.errors import ConfigError, DataError, one_line
from pate_cli.terminal import check_file, out, write_output

__all__ = ["main"]


def main(argv: list[str]) -> int:
    """Run `pate data`."""
    parser = argparse.ArgumentParser(
        prog="pate data", description="List, fetch and check datasets; describe your own."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="list|fetch|verify|describe")
    commands.add_parser("list", help="every dataset, its sizes, and where its files are")
    fetch = commands.add_parser("fetch", help="download what is missing, check what is there")
    fetch.add_argument("names", nargs="+", metavar="NAME", help="a dataset, or all")
    verify = commands.add_parser(
        "verify", help="re-check the files that are there; exit code 2 if one is wrong"
    )
    verify.add_argument("names", nargs="*", metavar="NAME", help="a dataset, or all (the default)")
    describe = commands.add_parser(
        "describe",
        help="propose a schema for a public CSV or Parquet file, to be read, edited and given back",
    )
    describe.add_argument("file", type=Path, metavar="FILE", help="public records: a schema is public")
    describe.add_argument("--target", metavar="COLUMN", help="the column that holds the class")
    describe.add_argument("--output", type=Path, metavar="FILE.yaml", help="write it here (dataset.schema=)")
    describe.add_argument(
        "--missing", action="append", default=[], metavar="TEXT", help="a cell that stands for no value"
    )
    add_format_options(describe)
    options = parser.parse_args(argv)
    if options.command == "list":
        return _list()
    if options.command == "describe":
        return _describe(options)
    if options.command == "fetch":
        return _fetch(_entries(options.names, "fetch"))
    return _verify(_entries(options.names or ["all"], "verify"), named=bool(options.names))


def _entries(names: list[str], command: str) -> list[Entry]:
    for name in names:
        if name not in ENTRIES and name != "all":
            raise ConfigError(f"pate data {command}", name, f"{', '.join(ENTRIES)} (they have files), or all")
    return list(ENTRIES.values()) if "all" in names else [ENTRIES[name] for name in dict.fromkeys(names)]


def _list() -> int:
    from rich.table import Table

    table = Table("name", box=None, pad_edge=False)
    for heading in ("records", "features", "classes"):
        table.add_column(heading, justify="right")
    for heading in ("files", "state", "source"):
        table.add_column(heading)
    here: dict[str, list[str]] = {}
    for name in NAMES:
        entry = ENTRIES.get(name)
        if entry is not None:
            rows = []
            for file in entry.files:
                form, path = find(file) or (file, None)
                rows.append((form.name, "here" if path else "missing"))
                if path:
                    here.setdefault(str(path.parent.resolve()), []).append(form.name)
            sizes = (entry.n_records, entry.n_features, entry.n_classes)
            files, states = ("\n".join(column) for column in zip(*rows, strict=True))
            table.add_row(name, *(f"{size:,}" for size in sizes), files, states, entry.source)
        elif name in EMBEDDED:
            made = EMBEDDED[name]
            sizes = (made.n_records, made.n_features, made.n_classes)
            table.add_row(name, *(f"{size:,}" for size in sizes), "none", "", made.source)
        else:
            table.add_row(name, "", "", "", "dataset.path", "", "your file")
    out().print(table)
    # Outside the table, where a path is not cut in two.
    for directory, names in here.items():
        out().print(f"in {directory}: {', '.join(names)}", soft_wrap=True, markup=False)
    where = download_directory().resolve()
    out().print(f"pate data fetch NAME downloads to {where}", soft_wrap=True, markup=False)
    return 0


def _describe(options: argparse.Namespace) -> int:
    """Print the schema proposed for a file, and write it where it was asked for."""
    from rich.markup import escape
    from rich.table import Table as Shown

    if options.output is not None:
        check_file(options.output)
    table = read_table(options.file, options)
    if options.target is not None and options.target not in table.columns:
        accepted = f"a column of {options.file}: {', '.join(table.columns)}"
        raise ConfigError("--target", options.target, accepted)
    words = [word.strip() for word in options.missing]
    found = inference.infer(table, target=options.target, words=words, source=str(options.file))
    if options.target is not None:
        found = dataclasses.replace(found, classes=inference.labels_of(table, options.target, words))
    shown = Shown("column", "kind", "", "missing", box=None, pad_edge=False)
    for name, column in found.columns.items():
        missing = "" if column.kind == "ignored" else "has a code" if column.missing else "none"
        shown.add_row(escape(one_line(name)), column.kind, escape(one_line(column.about)), missing)
    if found.classes is not None:
        shown.add_row(escape(options.target), "target", escape(one_line(", ".join(found.classes))), "")
    out().print(shown)
    for remark in inference.advice(table, found, words):
        out().print(one_line(remark), soft_wrap=True, markup=False)
    if options.output is None:
        out().print(
            "--output FILE.yaml writes it, for dataset.schema=FILE.yaml", soft_wrap=True, markup=False
        )
    else:
        write_output(options.output, schema.as_yaml(found))
        out().print(f"written to {options.output}", soft_wrap=True, markup=False)
    return 0


def _fetch(entries: list[Entry]) -> int:
    for entry in entries:
        for found in require(entry):
            out().print(f"{entry.name}: {found.path} ok", soft_wrap=True, markup=False)
    return 0


def _verify(entries: list[Entry], *, named: bool) -> int:
    bad: list[FileStatus] = []
    for entry in entries:
        for file in status(entry):
            out().print(f"{entry.name}: {file.path or file.file} {file.state}", soft_wrap=True, markup=False)
            # A missing file is only a fault if the user asked about it.
            if file.state == "wrong" or (file.state == "missing" and named):
                bad.append(file)
    if bad:
        first = (
            bad[0].detail
            or f"{bad[0].dataset}: {bad[0].file} is missing; run `pate data fetch {bad[0].dataset}`"
        )
        raise DataError(first + (f" (and {len(bad) - 1} more, above)" if len(bad) > 1 else ""))
    return 0
