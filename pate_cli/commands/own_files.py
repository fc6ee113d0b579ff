"""Options that say how a table of the user's is written, and reading one by them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pate_cli.checks import take
from pate_cli.datasets import find, kind_of
from pate_cli.datasets.csv_files import ENCODING, SEPARATOR, CsvFormat, read_csv
from pate_cli.datasets.reading import RecordTable
from pate_cli.errors import DataError

__all__ = ["add_format_options", "read_table"]


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a CSV file, as the keys `dataset.sep`, ... are of a data set."""
    default = "(default: found by the content)"
    parser.add_argument("--sep", help=f"separator of cells {default}")
    parser.add_argument("--encoding", help=f"of the file {default}")
    parser.add_argument("--decimal", choices=[".", ","], help=f"before decimals {default}")
    parser.add_argument("--no-header", action="store_true", help="the first line is a record")


def read_table(
    path: Path,
    options: argparse.Namespace,
    text: Collection[str] = (),
    form: Mapping[str, Any] = MappingProxyType({}),
    *,
    keep: bool = False,
) -> RecordTable:
    """Read a table as the data set of its ending does, else as CSV; `text` and `keep` as of `read_csv`.

    What the options leave open is as in `form`, of a schema.
    """
    kind = kind_of(path)
    if kind == "npz" or path.suffix.lower() in (".svm", ".libsvm"):
        accepted = f"a table, of CSV, JSON lines or Parquet; numbers alone have no schema (dataset={kind})"
        raise DataError(f"{path}: no table; accepted: {accepted}")
    if read := getattr(find(kind), "read", None):
        table: RecordTable = read(path, text)
        return table
    sep = None if options.sep is None else take("--sep", options.sep, SEPARATOR)
    encoding = None if options.encoding is None else take("--encoding", options.encoding, ENCODING)
    csv_format = CsvFormat(sep, encoding, options.decimal, header=not options.no_header)
    return read_csv(path, csv_format, text, form, keep=keep, key="--{}")
