"""CSV files with a named target column: one, or three; as people write them.

Bytes -> encoding, delimiter, records, lines, and what does not fit. Python's `csv` cuts a file that has
titles, comments or lines of another length, numpy all others.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from pate_cli.checks import CheckedBy, Flag, Or, option
from pate_cli.datasets.cells import rows_of, typed_cells
from pate_cli.datasets.column import Column
from pate_cli.datasets.encodings import decoded
from pate_cli.datasets.names import normal
from pate_cli.datasets.other_lines import (
    are_row_names,
    are_units,
    declared_units,
    has_level,
    header_of,
    is_footer,
    is_record,
    may_be_below,
    n_filled,
    n_named,
    uncomment_header,
    units_of,
    usual_of,
    without_comments,
)
from pate_cli.datasets.reading import RecordTable, Written, read_bytes
from pate_cli.datasets.table_dataset import make_dataset
from pate_cli.datasets.three_files import TableOptions
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, IntArray

__all__ = ["ENCODING", "SEPARATOR", "CsvFormat", "Options", "load", "read_csv", "refused_lines"]

_DELIMITERS = ",;\t|"
_NO_TEXT = {
    rb"PK\x03\x04": "a spreadsheet, to be saved as CSV, or an archive (then its name ends in .zip)",
    rb"\xd0\xcf\x11\xe0": "a spreadsheet, to be saved as CSV",
    rb"PAR1": "a Parquet file (dataset=parquet; its name ends in .parquet)",
    rb"ARROW1": "an Arrow or Feather file, to be saved as Parquet",
    rb"\x1f\x8b|\xfd7zXZ|BZh\d1AY": "compressed (then its name ends in .gz, .xz or .bz2)",
    rb"\x28\xb5\x2f\xfd": "compressed by zstd, to be unpacked",
    rb".{257}ustar|7z\xbc\xaf|Rar!\x1a": "an archive (tar, 7z or rar), to be unpacked",
    rb"\$FL|SQLite|\x89HDF|.{84}SAS FILE": "a file of SPSS, SQLite, HDF5 or SAS, to be saved as CSV",
    rb"%PDF-|\x80[\x02-\x05]": "a PDF, or a pickle of Python, to be saved as CSV",
    rb"version https://git-lfs": "a pointer of Git LFS (git lfs pull gets the file)",
    rb"<(!doctype|html|table|\?xml)": "a page or XML, to be saved as CSV",
}
_SAMPLE = 100_000
_LOOKED = 200
"""Lines that say whether the first one is a record."""

_TOP = 20
"""Lines among which the header is."""

_FEW = 5000
"""Records up to which each has a mark that hardly another one has."""


def _separator(value: Any) -> str:
    value = "\t" if value == "\\t" else value
    if len(value) != 1 or value in '"\r\n':
        raise ValueError
    return str(value)


SEPARATOR = CheckedBy(_separator, "one character, such as , or ; or \\t")
ENCODING = CheckedBy(lambda name: codecs.lookup(name).name, "an encoding such as utf-8, utf-16 or cp1252")
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
    given: CsvFormat,
    text: Collection[str] = (),
    form: Mapping[str, Any] = MappingProxyType({}),
    *,
    keep: bool = False,
    key: str = "dataset.{}",
) -> RecordTable:
    """Read a file, perhaps compressed; see `RecordTable`.

    The file is written as is `given`, else as in `form`, of a schema; what both leave open its content says.
    With `columns` in the form, of a schema or a public file, these say which line is the header and what
    separates its cells, and each other line is judged by itself: no record decides on another.
    Cells of the columns `text` stay as they are written, even where all of them are numbers. Lines that do
    not fit are refused, all at once; with `keep` they are left out, and in `Written.refused`.
    `key` is how a user types an option of the format, for messages.
    """
    usual: dict[str, Any] = {key: form.get(key) for key in ("encoding", "decimal", "quote")}
    given = replace(given, **{key: value for key, value in usual.items() if getattr(given, key) is None})
    given = replace(given, header=given.header and form.get("header", True))
    columns: Mapping[str, Column] = form.get("columns", {})
    raw, checksum = read_bytes(path)
    for mark, what in _NO_TEXT.items():
        if re.match(mark, raw, re.DOTALL | re.IGNORECASE):
            raise DataError(f"{path}: {what}; accepted: a CSV file")
    found = Written(path, key, given.header, decimal=given.decimal)
    raw = decoded(raw, given.encoding, found)
    if not raw.strip():
        raise DataError(f"{path}: empty, no header line in it")
    if raw.lstrip()[:1] in (b"[", b"{") and raw.rstrip()[-1:] in (b"]", b"}"):
        what = "an array of JSON" if raw.lstrip().startswith(b"[") else "JSON"
        accepted = "CSV, or JSON lines, an object a line, without [ ] around them (dataset=jsonl; .jsonl)"
        raise DataError(f"{path}: {what}, not CSV; accepted: {accepted}")
    found.sign, found.quote = _signs(raw, found, given, form.get("delimiter"), columns)
    raw = re.sub(rb" +(\n|$)", rb"\1", raw) if found.sign == " " else raw
    raw = raw if found.sign.isascii() else raw.replace(found.sign.encode(), found.delimiter.encode())
    plain = None if found.sign == " " else _plain_records(raw, found, columns)  # several blanks are one
    names, body, lines, marks = plain or _each_record(raw, found, columns)
    if found.refused and not (keep and len(lines)):
        raise DataError(refused_lines(path, found.refused))
    if not len(lines):
        at = f"; {found.warnings[0]}" if found.warnings else ""
        raise DataError(f"{path}: no records after the header line{at}")
    frame, decimal = typed_cells(body, names, found.delimiter, found.quote, given.decimal, text)
    if len(frame) != len(lines):
        raise DataError(f"{path}: {len(frame)} records in {len(lines)} lines: quotes that do not fit")
    frame.index = lines
    return RecordTable(frame, path, checksum, decimal=decimal, written=found, marks=marks)


def refused_lines(path: Path, refused: Sequence[tuple[int, str]], word: str = "line") -> str:
    """All lines that do not fit in one, the first 20 and a count."""
    shown = "; ".join(f"{word} {line}: {why}" for line, why in refused[:20])
    more = f"; and {len(refused) - 20} more" if len(refused) > 20 else ""
    return f"{path}, {shown}{more}"


def _signs(
    raw: bytes, found: Written, given: CsvFormat, usual: str | None, columns: Collection[str]
) -> tuple[str, str]:
    """Find delimiter and quote: those that cut most of the first lines into equally many cells.

    Of declared columns, those that cut one of the first lines into the names of most.
    """
    sample = raw[:_SAMPLE].decode("utf-8", "replace").splitlines()[:300]
    if columns and found.header:
        signs = [given.sep] if given.sep else [*dict.fromkeys([*(usual or ""), *_DELIMITERS, " "])]
        both = [(sign, quote) for quote in given.quote or "\"'" for sign in signs]
        top = "\n".join(sample[:_TOP])
        named = [max(n_named(row, columns) for row in rows_of(top, *pair)) for pair in both]
        if max(named) > 1:
            return both[named.index(max(named))]
    sign = max(_DELIMITERS, key=lambda each: _share(sample, each))
    if not usual and _share(sample, sign) == 0 and _share([line.rstrip() for line in sample], " ") > 0.9:
        sign = " "
    if given.sep is not None:
        if _share(sample, given.sep) == 0 < _share(sample, sign):
            accepted = f"what stands between two cells of {found.path}, as it seems {sign!r}"
            raise ConfigError(found.key.format("sep"), given.sep, accepted)
        sign = given.sep
    elif match := re.match(r"sep=(.)\s*$", sample[0]):
        sign = match[1]
    elif usual and ((columns and not found.header) or usual in sample[0]):
        sign = usual
    cells = [cell.strip() for line in sample[:20] for cell in line.split(sign)]
    single = sum(len(cell) > 1 and cell[0] == "'" == cell[-1] for cell in cells) > len(cells) / 3
    return sign, given.quote or ("'" if single and '"' not in "".join(sample) else '"')


def _share(sample: Sequence[str], delimiter: str) -> float:
    """Share of the first lines that a delimiter cuts into the usual number of cells, the more the better."""
    counts = Counter(len(row) for row in rows_of("\n".join(sample), delimiter, '"') if any(row))
    cells, often = max(counts.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
    return (cells > 1) * (often / max(1, sum(counts.values())) + min(cells, 30) / 1000)


_Records = tuple[list[str], bytes, Any, IntArray]
"""Names of the columns, the records as CSV without a header, the line of each, and a mark of its content."""


def _plain_records(raw: bytes, found: Written, columns: Mapping[str, Column]) -> _Records | None:
    """Records of a file in which every line fits, and none has to be looked at; None for all others."""
    characters = np.frombuffer(raw, dtype=np.uint8)
    newline, cut = characters == 10, characters == ord(found.delimiter)
    quoted = found.quote.encode() in raw
    if quoted:
        quote = characters == ord(found.quote)
        inside = np.cumsum(quote, dtype=np.uint8) & 1
        opened = np.flatnonzero(quote & (inside == 1))
        before = characters[opened[opened > 0] - 1]
        if inside[-1] or not np.isin(before, [10, 32, ord(found.delimiter), ord(found.quote)]).all():
            return None  # a quote within a cell
        newline, cut = newline & (inside == 0), cut & (inside == 0)
    ends = np.flatnonzero(newline)
    ends = ends if raw.endswith(b"\n") else np.append(ends, len(raw))
    starts = np.append(0, ends[:-1] + 1)
    n_cut = np.diff(np.searchsorted(np.flatnonzero(cut), ends), prepend=0)
    if not 0 < n_cut.min() == n_cut.max() or len(ends) <= found.header:
        return None
    first = characters[starts]
    if ((ends - starts) <= n_cut).any() or (first == ord("#")).any() or raw.startswith((b"sep=", b"//")):
        return None
    head, second, last = (raw[starts[i] : ends[i]].decode() for i in (0, min(1, len(ends) - 1), -1))
    cells, below, end = (next(iter(rows_of(t, found.delimiter, found.quote))) for t in (head, second, last))
    names = _names(cells, found)
    if found.header and (not all(names) or len(set(names)) < len(names) or b'{""ImportId' in raw[:_SAMPLE]):
        return None
    if columns and found.header:
        top = rows_of(raw[: ends[min(_TOP, len(ends)) - 1]].decode(), found.delimiter, found.quote)
        if header_of([*enumerate(top)], columns):
            return None
    first_ones = raw[starts[1] : ends[min(_LOOKED, len(ends) - 1)]].decode() if found.header else ""
    if found.header and is_record(cells, rows_of(first_ones, found.delimiter, found.quote)):
        return None
    if may_be_below(end) or are_units(below) or (found.header and b"\n" + raw[: ends[0] + 1] in raw):
        return None
    marks: IntArray
    if len(ends) > _FEW + found.header:
        weights = np.arange(256, dtype=np.uint8)
        weights[list(_unmarked(found))] = 0
        marks = np.add.reduceat(weights[characters], starts, dtype=np.int64)[found.header :]
    else:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        marks = _marks([raw[start:end] for start, end in pairs][found.header :], found)
    lines = np.searchsorted(np.flatnonzero(characters == 10), starts) + 1
    body = raw[starts[1] :] if found.header else raw
    return names, body, lines[found.header :], marks


def _unmarked(found: Written) -> bytes:
    """Bytes that do not count for the mark of a record: a cell may be quoted, or not."""
    return (found.delimiter + found.quote + " \n\r").encode()


def _marks(records: Sequence[bytes], found: Written) -> IntArray:
    """A number of each record, of the bytes of its cells."""
    drop, mark = _unmarked(found), zlib.crc32 if len(records) <= _FEW else sum
    return np.array([mark(record.translate(None, drop)) for record in records], dtype=np.int64)


def _names(cells: Sequence[str], found: Written) -> list[str]:
    return [normal(c) for c in cells] if found.header else [str(i) for i in range(1, len(cells) + 1)]


def _each_record(raw: bytes, found: Written, columns: Mapping[str, Column]) -> _Records:
    """Records of any file, line by line: titles, comments, units and footers are left out and said."""
    reader = rows_of(raw.decode(), found.delimiter, found.quote)
    rows: list[tuple[int, list[str]]] = []
    start = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            rows.append((start, cells))
        start = reader.line_num + 1
    if b'"' in raw and found.quote == '"' and _is_open(raw):
        raise DataError(f"{found.path}, line {rows[-1][0]}: not CSV (unexpected end of data)")
    if rows and re.match("sep=", rows[0][1][0]):
        found.skip(rows[0][0], "the delimiter", rows.pop(0)[1])
    if columns and rows and found.header:
        head = rows[header_of(rows[:_TOP], columns)][1]
        head[0] = head[0].lstrip("# ")
    elif not columns:
        uncomment_header(rows)
    rows, comments = without_comments(rows, records_alone=bool(columns) and not found.header)
    for line, cells in comments:
        found.skip(line, "a comment", cells)
    if not rows:
        raise DataError(f"{found.path}: empty, no header line in it")
    width = usual_of(len(cells) for _, cells in rows)
    usual = usual_of(n_filled(cells) for _, cells in rows)
    if found.header:
        names = _header(rows, width, usual, found, columns)
    else:
        names = _names([""] * width if columns else rows[0][1], found)
    texts = next((i for i, (_, c) in enumerate(rows[:2]) if sum(t[:11] == '{"ImportId"' for t in c) > 1), -1)
    for line, cells in [rows.pop(0) for _ in range(texts + 1)]:  # as Qualtrics writes
        found.skip(line, "a question", cells)
    if rows and re.fullmatch(r"[-=+ ]{5,}", "".join(rows[0][1])):
        found.skip(rows[0][0], "a rule", rows.pop(0)[1])
    for line, cells in [row for row in rows if found.header and _names(row[1], found) == names]:
        found.skip(line, "the header again", cells)
        rows.remove((line, cells))
    if "" in columns and "" not in names:
        names.insert(0, "")  # names of rows
    of_all = (len(names), len(names)) if columns else (usual, width)
    while rows and is_footer(rows[-1:] if columns else rows, *of_all) and not has_level(rows[-1][1], columns):
        line, cells = rows.pop()
        found.skip(line, "below the records", cells)
    wide = [cells for _, cells in rows if len(cells) == width == len(names) + 1]
    if wide and _is_empty([cells[-1] for cells in wide]):
        names.append("")  # each line ends in a delimiter
    elif wide and are_row_names([cells[0] for cells in wide], len(rows)):
        names.insert(0, "")
    while len(names) > 1 and not names[-1] and _is_empty([c[-1] for _, c in rows if len(c) == len(names)]):
        behind = [row for row in rows if len(row[1]) == len(names) and row[1][-1].strip()]
        found.refused += [(line, "a cell behind the last column") for line, _ in behind]
        kept = [row for row in rows if row not in behind]
        rows = [(line, cells[:-1] if len(cells) == len(names) else cells) for line, cells in kept]
        names = names[:-1]
        if (ends := "each line ends in a delimiter") not in found.warnings:
            found.warnings.append(ends)
    names = _told_apart(names, found)
    if units := declared_units(rows[0][1], names, columns) if columns and rows else units_of(rows, names):
        found.units.update(units)
        found.skip(rows[0][0], "units", rows.pop(0)[1])
    for line, cells in rows:
        if len(cells) != len(names):
            whose = "the header" if found.header else "the first line"
            counted = f"{len(cells)} cells, {whose} has {len(names)}"
            found.refused.append((line, f"{counted} ({found.key.format('sep')} is {found.sign!r})"))
    kept = [(line, cells) for line, cells in rows if len(cells) == len(names)]
    found.refused.sort()
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=found.delimiter, quotechar=found.quote, lineterminator="\n")
    writer.writerows(cells for _, cells in kept)
    lines = np.array([line for line, _ in kept], dtype=np.int64)
    marks = _marks(["".join(cells).encode() for _, cells in kept], found)
    return names, buffer.getvalue().encode(), lines, marks


def _is_empty(cells: Sequence[str]) -> bool:
    """Whether a column holds nothing but for a slip of one record."""
    return (n := n_filled(cells)) < 2 and 10 * n < len(cells)


def _is_open(raw: bytes) -> bool:
    """Whether a quote is opened and not closed."""
    try:
        for _ in csv.reader(io.StringIO(raw.decode(), newline=""), strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _header(
    rows: list[tuple[int, list[str]]], width: int, usual: int, found: Written, columns: Collection[str]
) -> list[str]:
    """Names of the columns; the lines above the header are left out, and it is taken off the rows."""
    enough, top = max(1, min(usual, width) - 1), rows[:_TOP]
    at = next((i for i, (_, c) in enumerate(top) if n_filled(c) >= enough and len(c) >= width - 1), 0)
    above = rows[at - 1][1] if at else []
    if columns:
        at = header_of(top, columns)
    elif n_filled(above) > 1 and len(above) == width:
        at -= is_record(rows[at][1], (c for _, c in rows[at + 1 : _LOOKED]))  # some names are empty
    for line, cells in rows[:at]:
        found.skip(line, "above the header", cells)
    del rows[:at]
    if not columns and is_record(rows[0][1], (c for _, c in rows[1:_LOOKED])):
        found.asked.append(("header", "a record stands where names are expected: is there no header?"))
    found.header_line, cells = rows.pop(0)
    return _names(cells, found)


def _told_apart(names: list[str], found: Written) -> list[str]:
    """Names of the columns, of which no two are equal."""
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if (number := seen[name]) > 1:
            while (other := f"{name}_{number}") in names:
                number += 1
            names[i] = other
            found.warnings.append(f"the column {name!r} occurs {seen[name]} times; called {other!r}")
    return names
