"""Options that say how a table of the user's is written, and reading one by them."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from pate_cli.checks import take
from pate_cli.datasets import find, kind_of
from pate_cli.datasets.csv_files import ENCODING, SEPARATOR, CsvFormat, read_csv
from pate_cli.datasets.reading import RecordTable

__all__ = ["add_format_options", "read_table"]


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a CSV file, as the keys `dataset.sep`, ... are of a data set."""
    parser.add_argument("--sep", help="separator of cells (default: found in the first line)")
    parser.add_argument("--encoding", help="of the file (default: UTF-8, or its byte order mark)")
    parser.add_argument("--decimal", default=".", choices=[".", ","], help="before decimals (default: .)")
    parser.add_argument("--no-header", action="store_true", help="the first line is a record")


def read_table(path: Path, options: argparse.Namespace, text: Collection[str] = ()) -> RecordTable:
    """Read a table as the data set of its ending does, else as CSV; `text` as of `read_csv`."""
    if read := getattr(find(kind_of(path)), "read", None):
        table: RecordTable = read(path, text)
        return table
    sep = None if options.sep is None else take("--sep", options.sep, SEPARATOR)
    encoding = None if options.encoding is None else take("--encoding", options.encoding, ENCODING)
    form = CsvFormat(sep, encoding, options.decimal, not options.no_header)
    return read_csv(path, form, text, key="--{}")
