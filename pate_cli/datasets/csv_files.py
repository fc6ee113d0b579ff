"""CSV files with a named target column: one, or three.

pandas reads the cells, after Python's `csv` has counted them: pandas fills a line that is too short without a
word, and does not say on which line a record is.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.checks import Flag, Or, option
from pate_cli.datasets.reading import RecordTable, as_utf8, columns_of, marked, read_bytes
from pate_cli.datasets.table_dataset import TableOptions, make_dataset
from pate_cli.errors import DataError
from pate_cli.types import Dataset

__all__ = ["ENCODING", "SEPARATOR", "CsvFormat", "Options", "Word", "load", "read_csv"]

_SEPARATORS = ",;\t|"
_NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet, to be saved as CSV, or an archive (then its name ends in .zip)",
    b"PAR1": "a Parquet file (dataset=parquet; its name ends in .parquet)",
    b"\x1f\x8b": "compressed (then its name ends in .gz)",
}


@dataclass(frozen=True)
class Word:
    """Check of a text by the function that brings it into its usual form."""

    what: str
    read: Callable[[Any], str]

    def take(self, value: object) -> str:
        """See `Check`."""
        try:
            return self.read(value)
        except (LookupError, TypeError):
            raise ValueError from None

    def describe(self) -> str:
        """See `Check`."""
        return self.what


def _separator(value: Any) -> str:
    value = "\t" if value == "\\t" else value
    if len(value) != 1 or value in '"\r\n':
        raise ValueError
    return str(value)


SEPARATOR = Word("one character, such as , or ; or \\t", _separator)
ENCODING = Word("an encoding such as utf-8, utf-16 or cp1252", lambda name: codecs.lookup(name).name)
_DECIMAL = Word("""., or a comma: 'dataset.decimal=","'""", {".": ".", ",": ","}.__getitem__)


@dataclass(frozen=True)
class CsvFormat:
    """Format of a CSV file."""

    sep: str | None = option(None, Or("null", SEPARATOR))  # None: found in the first line
    encoding: str | None = option(None, Or("null", ENCODING))  # None: UTF-8, or by the byte order mark
    decimal: str = option(".", _DECIMAL)
    header: bool = option(True, Flag())  # without one, columns are named by their number, from 1


@dataclass(frozen=True)
class Options(CsvFormat, TableOptions):
    """Options of `dataset=csv`."""


def load(name: str, options: Options) -> Dataset:
    """Load a CSV file, or three; see `make_dataset`."""
    return make_dataset(name, options, lambda path, text: read_csv(path, options, text), "a CSV file")


def read_csv(
    path: Path, form: CsvFormat, text: Collection[str] = (), *, key: str = "dataset.{}"
) -> RecordTable:
    """Read a file, perhaps compressed; see `RecordTable`.

    Cells of the columns `text` stay as they are written, even where all of them are numbers. `key` is how a
    user types an option of the format, for messages.
    """
    import pandas as pd

    raw, checksum = read_bytes(path)
    raw = _as_utf8(raw, form, path, key)
    sep = form.sep or _found_separator(raw)
    header, lines = _lines(raw, sep, path, form, key)

    def cells(names: list[str], kind: type | None = None) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns with cells of several kinds
            return pd.read_csv(
                io.BytesIO(raw),
                dtype=kind,
                sep=sep,
                names=header,
                usecols=names,
                header=0 if form.header else None,
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=[""],
                encoding="utf-8",
                decimal=form.decimal,
            )

    frame = cells(header)
    if len(frame) != len(lines):
        raise DataError(f"{path}: {len(frame)} records in {len(lines)} lines: quotes that do not fit")
    numeric = {name for name in header if frame[name].dtype.kind in "iuf" and name not in text}
    numeric -= {name for name in numeric if frame[name].isin([math.inf, -math.inf]).any()}  # "inf" is a text
    # a column of texts may hold 7 and "007", and one of numbers is one of codes where it holds 007
    coded = _may_have_codes(raw, sep)
    if again := [name for name in header if coded or name not in numeric]:
        written = cells(again, str)
        changed = [name for name in again if name not in numeric or _are_codes(written[name])]
        frame[changed] = written[changed]
    table = pd.DataFrame(columns_of(frame), index=pd.Index(lines), copy=False)
    return RecordTable(table, path, checksum, decimal=form.decimal)


def _may_have_codes(raw: bytes, sep: str) -> bool:
    """Whether 0 and a digit stand at the begin of a cell somewhere, quoted or not."""
    characters = np.frombuffer(raw, dtype=np.uint8)
    zeros = np.flatnonzero(characters[:-1] == ord("0"))
    zeros = zeros[characters[zeros + 1] - ord("0") < 10]
    begins = list(b'" \t\r\n' + sep.encode())
    return bool((zeros == 0).any() or np.isin(characters[zeros - 1], begins).any())


def _are_codes(column: Any) -> bool:
    """Whether all cells are whole numbers, some with a leading zero, which a number would lose."""
    cells = column.dropna()
    return bool(cells.str.fullmatch(r"[0-9]+\s*").all() and cells.str.fullmatch(r"0[0-9]+\s*").any())


def _as_utf8(raw: bytes, form: CsvFormat, path: Path, key: str) -> bytes:
    """Text in UTF-8; refuses a file that is no text."""
    for mark, what in _NO_TEXT.items():
        if raw.startswith(mark):
            raise DataError(f"{path}: {what}; accepted: a CSV file")
    hint = f"; {key.format('encoding')} says what it is, as cp1252"
    return as_utf8(raw, path, form.encoding or marked(raw) or "utf-8", hint)


def _found_separator(raw: bytes) -> str:
    """Separator that cuts the first line into most cells, the first of several."""
    begin = next((line for line in io.BytesIO(raw) if line.strip()), b"").decode("utf-8")
    first = next(iter(begin.splitlines()), "")
    csv.field_size_limit(2**31 - 1)
    rows = {sep: csv.reader([first], delimiter=sep, skipinitialspace=True) for sep in _SEPARATORS}
    return max(rows, key=lambda sep: len(next(rows[sep], [])))


def _n_plain_lines(raw: bytes, sep: str) -> int | None:
    """Number of lines, if no cell is quoted and all lines have equally many cells, two or more; else None."""
    if len(sep.encode()) > 1 or sep == " " or b'"' in raw or b"\0" in raw:
        return None
    if raw.count(b"\r") != raw.count(b"\r\n"):
        return None
    characters = np.frombuffer(raw, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    ends = ends if raw.endswith(b"\n") else np.append(ends, len(raw))
    separators = np.flatnonzero(characters == ord(sep))
    counts = np.diff(np.searchsorted(separators, ends), prepend=0)
    return len(counts) if 0 < counts.min() == counts.max() else None


def _lines(raw: bytes, sep: str, path: Path, form: CsvFormat, key: str) -> tuple[list[str], list[int]]:
    """Names of the columns, and the line each record starts on; refuses lines of another length.

    Line by line only where cells are quoted, or lines differ.
    """
    if (n_lines := _n_plain_lines(raw, sep)) and n_lines > form.header:
        first = raw.partition(b"\n")[0] + b"\n"
        header, _ = _lines_one_by_one(first * 2, sep, path, form, key)  # a file without records is refused
        return header, list(range(1 + form.header, 1 + n_lines))
    return _lines_one_by_one(raw, sep, path, form, key)


def _lines_one_by_one(
    raw: bytes, sep: str, path: Path, form: CsvFormat, key: str
) -> tuple[list[str], list[int]]:
    """Names of the columns, and the line each record starts on; DataError names the first that is wrong."""
    csv.field_size_limit(2**31 - 1)  # of each cell: by default 131,072, which 9,000 names of genes exceed
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=sep, skipinitialspace=True, strict=True)
    header: list[str] = []
    lines: list[int] = []
    start = 1
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                if not header:
                    header = cells if form.header else [str(number) for number in range(1, len(cells) + 1)]
                    if twice := {column for column in header if header.count(column) > 1}:
                        raise DataError(f"{path}, line {start}: the column {min(twice)!r} occurs twice")
                elif len(cells) != len(header):
                    whose = "the header" if form.header else "the first line"
                    counted = f"{len(cells)} cells, {whose} has {len(header)}"
                    raise DataError(f"{path}, line {start}: {counted} ({key.format('sep')} is {sep!r})")
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}, line {start}: not CSV ({error})") from None
    if not header:
        raise DataError(f"{path}: empty, no header line in it")
    if not (lines := lines[form.header :]):
        raise DataError(f"{path}: no records after the header line")
    return header, lines
