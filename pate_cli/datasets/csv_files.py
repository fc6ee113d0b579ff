"""CSV files with a named target column: one, or three; as people write them.

Bytes -> encoding, delimiter, quote; records and lines that do not fit are those of `csv_records`.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pate_cli.checks import CheckedBy, Flag, Or, option
from pate_cli.datasets.cells import rows_of, typed_cells
from pate_cli.datasets.column import Column
from pate_cli.datasets.csv_records import SAMPLE, TOP, records_of
from pate_cli.datasets.encodings import decoded
from pate_cli.datasets.other_lines import n_named
from pate_cli.datasets.reading import RecordTable, Written, read_bytes
from pate_cli.datasets.signatures import other_format
from pate_cli.datasets.table_dataset import make_dataset
from pate_cli.datasets.three_files import TableOptions
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset

__all__ = ["ENCODING", "SEPARATOR", "CsvFormat", "Options", "load", "read_csv", "refused_lines"]

_DELIMITERS = ",;\t|"


def _separator(value: Any) -> str:
    value = "\t" if value == "\\t" else value
    if len(value) != 1 or value in '"\r\n':
        raise ValueError
    return str(value)


def _encoding(value: Any) -> str:
    "".encode(value)  # Python's hex and zip are no encodings of texts
    return codecs.lookup(value).name


SEPARATOR = CheckedBy(_separator, "one character, such as , or ; or \\t")
ENCODING = CheckedBy(_encoding, "an encoding such as utf-8, utf-16 or cp1252")
_DECIMAL = CheckedBy({".": ".", ",": ","}.__getitem__, """., or a comma: 'dataset.decimal=","'""")
_QUOTE = CheckedBy({'"': '"', "'": "'"}.__getitem__, "\" or '")


@dataclass(frozen=True)
class CsvFormat:
    """How a file is written; what is None is found by its content."""

    sep: str | None = option(None, Or("null", SEPARATOR))
    encoding: str | None = option(None, Or("null", ENCODING))
    decimal: str | None = option(None, Or("null", _DECIMAL))
    quote: str | None = option(None, Or("null", _QUOTE))
    header: bool = option(True, Flag())  # without one, columns are named by their number, from 1


@dataclass(frozen=True)
class Options(CsvFormat, TableOptions):
    """Options of `dataset=csv`."""


def load(name: str, options: Options) -> Dataset:
    """Load a CSV file, or three; see `make_dataset`."""

    def read(path: Path, text: Collection[str], form: Mapping[str, Any]) -> RecordTable:
        return read_csv(path, options, text, form)

    return make_dataset(name, options, read, "a CSV file")


def read_csv(
    path: Path,
    csv_format: CsvFormat,
    text: Collection[str] = (),
    form: Mapping[str, Any] = MappingProxyType({}),
    *,
    keep: bool = False,
    key: str = "dataset.{}",
) -> RecordTable:
    """Read a file, perhaps compressed; see `RecordTable`.

    The file is written as in `csv_format`, else as in `form`, of a schema; what both leave open its content
    says.
    With `columns` in the form, of a schema or a public file, these say which line is the header and what
    separates its cells, and each other line is judged by itself: no record decides on another.
    Cells of the columns `text` stay as they are written, even where all of them are numbers. Lines that do
    not fit are refused, all at once; with `keep` they are left out, and in `Written.refused`.
    `key` is how a user types an option of the format, for messages.
    """
    usual: dict[str, Any] = {key: form.get(key) for key in ("encoding", "decimal", "quote")}
    csv_format = replace(
        csv_format, **{key: value for key, value in usual.items() if getattr(csv_format, key) is None}
    )
    csv_format = replace(csv_format, header=csv_format.header and form.get("header", True))
    columns: Mapping[str, Column] = form.get("columns", {})
    raw, checksum = read_bytes(path)
    if what := other_format(raw):
        raise DataError(f"{path}: {what}; accepted: a CSV file")
    written = Written(path, key, csv_format.header, decimal=csv_format.decimal)
    raw = decoded(raw, csv_format.encoding, written)
    if not raw.strip():
        raise DataError(f"{path}: empty, no header line in it")
    if raw.lstrip()[:1] in (b"[", b"{") and raw.rstrip()[-1:] in (b"]", b"}"):
        what = "an array of JSON" if raw.lstrip().startswith(b"[") else "JSON"
        accepted = "CSV, or JSON lines, an object a line, without [ ] around them (dataset=jsonl; .jsonl)"
        raise DataError(f"{path}: {what}, not CSV; accepted: {accepted}")
    written.sign, written.quote = _signs(raw, written, csv_format, form.get("delimiter"), columns)
    raw = re.sub(rb" +(\n|$)", rb"\1", raw) if written.sign == " " else raw
    raw = raw if written.sign.isascii() else raw.replace(written.sign.encode(), written.delimiter.encode())
    names, body, lines, marks = records_of(raw, written, columns)
    if written.refused and not (keep and len(lines)):
        raise DataError(refused_lines(path, written.refused))
    if not len(lines):
        at = f"; {written.warnings[0]}" if written.warnings else ""
        raise DataError(f"{path}: no records after the header line{at}")
    frame, decimal = typed_cells(body, names, written.delimiter, written.quote, csv_format.decimal, text)
    if len(frame) != len(lines):
        raise DataError(f"{path}: {len(frame)} records in {len(lines)} lines: quotes that do not fit")
    frame.index = lines
    return RecordTable(frame, path, checksum, decimal=decimal, written=written, marks=marks)


def refused_lines(path: Path, refused: Sequence[tuple[int, str]], word: str = "line") -> str:
    """All lines that do not fit in one, the first 20 and a count."""
    shown = "; ".join(f"{word} {line}: {why}" for line, why in refused[:20])
    not_shown = f"; and {len(refused) - 20} more" if len(refused) > 20 else ""
    return f"{path}, {shown}{not_shown}"


def _signs(
    raw: bytes, written: Written, csv_format: CsvFormat, usual: str | None, columns: Collection[str]
) -> tuple[str, str]:
    """Find delimiter and quote: those that cut most of the first lines into equally many cells.

    Of declared columns, those that cut one of the first lines into the names of most.
    """
    sample = raw[:SAMPLE].decode("utf-8", "replace").splitlines()[:300]
    if columns and written.header:
        signs = [csv_format.sep] if csv_format.sep else [*dict.fromkeys([*(usual or ""), *_DELIMITERS, " "])]
        both = [(sign, quote) for quote in csv_format.quote or "\"'" for sign in signs]
        top = "\n".join(sample[:TOP])
        named = [max(n_named(row, columns) for row in rows_of(top, *pair)) for pair in both]
        if max(named) > 1:
            return both[named.index(max(named))]
    sign = max(_DELIMITERS, key=lambda each: _share(sample, each))
    if not usual and _share(sample, sign) == 0 and _share([line.rstrip() for line in sample], " ") > 0.9:
        sign = " "
    if csv_format.sep is not None:
        if _share(sample, csv_format.sep) == 0 < _share(sample, sign):
            accepted = f"what stands between two cells of {written.path}, as it seems {sign!r}"
            raise ConfigError(written.key.format("sep"), csv_format.sep, accepted)
        sign = csv_format.sep
    elif match := re.match(r"sep=(.)\s*$", sample[0]):
        sign = match[1]
    elif usual and ((columns and not written.header) or usual in sample[0]):
        sign = usual
    cells = [cell.strip() for line in sample[:20] for cell in line.split(sign)]
    single = sum(len(cell) > 1 and cell[0] == "'" == cell[-1] for cell in cells) > len(cells) / 3
    return sign, csv_format.quote or ("'" if single and '"' not in "".join(sample) else '"')


def _share(sample: Sequence[str], delimiter: str) -> float:
    """Share of the first lines that a delimiter cuts into the usual number of cells, the more the better."""
    counts = Counter(len(row) for row in rows_of("\n".join(sample), delimiter, '"') if any(row))
    cells, often = max(counts.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
    return (cells > 1) * (often / max(1, sum(counts.values())) + min(cells, 30) / 1000)
