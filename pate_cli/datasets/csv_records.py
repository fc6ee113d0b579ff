"""Records of a CSV file of which delimiter and quote are known.

numpy cuts a file in which every line fits; Python's `csv` one that has titles, comments, units, totals or
lines of another length.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pate_cli.datasets.cells import rows_of
from pate_cli.datasets.column import Column
from pate_cli.datasets.names import normal
from pate_cli.datasets.other_lines import (
    are_row_names,
    are_units,
    declared_units,
    has_level,
    header_of,
    is_footer,
    is_record,
    is_rule,
    may_be_below,
    n_filled,
    uncomment_header,
    units_of,
    usual_of,
    without_comments,
)
from pate_cli.datasets.reading import Written
from pate_cli.errors import DataError
from pate_cli.types import IntArray

__all__ = ["SAMPLE", "TOP", "records_of"]

SAMPLE = 100_000
"""Bytes by which the form of a file is found."""

TOP = 20
"""Lines among which the header is."""

_LOOKED = 200
"""Lines that say whether the first one is a record."""

_FEW = 5000
"""Records up to which each has a mark that hardly another one has."""

_Records = tuple[list[str], bytes, Any, IntArray]
"""Names of the columns, the records as CSV without a header, the line of each, and a mark of its content."""

_Row = tuple[int, list[str]]
"""Number of a line, from 1, and its cells."""


def records_of(raw: bytes, written: Written, columns: Mapping[str, Column]) -> _Records:
    """Cut a text in UTF-8 into records; lines that are none, and those that do not fit, go into `written`.

    `columns` are those of a schema or a public file, which say which line is the header.
    """
    plain = None if written.sign == " " else _plain_records(raw, written, columns)  # several blanks are one
    return plain or _each_record(raw, written, columns)


def _plain_records(raw: bytes, written: Written, columns: Mapping[str, Column]) -> _Records | None:
    """Records of a file in which every line fits, and none has to be looked at; None for all others."""
    characters = np.frombuffer(raw, dtype=np.uint8)
    if (ends := _ends_of_equal_lines(raw, characters, written)) is None:
        return None
    starts = np.append(0, ends[:-1] + 1)
    if (characters[starts] == ord("#")).any() or raw.startswith((b"sep=", b"//")):
        return None
    head, second, last = (raw[starts[i] : ends[i]].decode() for i in (0, min(1, len(ends) - 1), -1))
    cells, below, end = (
        next(iter(rows_of(t, written.delimiter, written.quote))) for t in (head, second, last)
    )
    names = _names(cells, written)
    if may_be_below(end) or are_units(below) or is_rule(below):
        return None
    if written.header and not _is_plain_header(raw, cells, names, ends, written, columns):
        return None
    body = raw[starts[1] :] if written.header else raw
    lines = np.searchsorted(np.flatnonzero(characters == 10), starts) + 1
    if len(ends) > _FEW + written.header:
        weights = np.arange(256, dtype=np.uint8)
        weights[list(_unmarked(written))] = 0
        marks: IntArray = np.add.reduceat(weights[characters], starts, dtype=np.int64)[written.header :]
    else:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        marks = _marks([raw[start:end] for start, end in pairs][written.header :], written)
    return names, body, lines[written.header :], marks


def _ends_of_equal_lines(raw: bytes, characters: Any, written: Written) -> IntArray | None:
    """Where lines end, if all have as many cells, more than one, and none is empty; else None."""
    newline, cut = characters == 10, characters == ord(written.delimiter)
    if written.quote.encode() in raw:
        quote = characters == ord(written.quote)
        inside = np.cumsum(quote, dtype=np.uint8) & 1
        opened = np.flatnonzero(quote & (inside == 1))
        closed = np.flatnonzero(quote & (inside == 0)) + 1
        before, behind = characters[opened[opened > 0] - 1], characters[closed[closed < len(characters)]]
        ends_of_cells = [10, ord(written.delimiter), ord(written.quote)]
        if inside[-1] or not (
            np.isin(before, [32, *ends_of_cells]).all() and np.isin(behind, ends_of_cells).all()
        ):
            return None  # a quote within a cell
        newline, cut = newline & (inside == 0), cut & (inside == 0)
    ends: IntArray = np.flatnonzero(newline)
    ends = ends if raw.endswith(b"\n") else np.append(ends, len(raw))
    n_cut = np.diff(np.searchsorted(np.flatnonzero(cut), ends), prepend=0)
    if not 0 < n_cut.min() == n_cut.max() or len(ends) <= written.header:
        return None
    return None if (np.diff(ends + 1, prepend=0) - 1 <= n_cut).any() else ends


def _is_plain_header(
    raw: bytes,
    cells: Sequence[str],
    names: Sequence[str],
    ends: IntArray,
    written: Written,
    columns: Mapping[str, Column],
) -> bool:
    """Whether the first line names every column once, is the only header, and no record."""
    if not all(names) or len(set(names)) < len(names) or b'{""ImportId' in raw[:SAMPLE]:
        return False
    if columns:
        top = rows_of(raw[: ends[min(TOP, len(ends)) - 1]].decode(), written.delimiter, written.quote)
        if header_of([*enumerate(top)], columns):
            return False
    first_ones = raw[ends[0] + 1 : ends[min(_LOOKED, len(ends) - 1)]].decode()
    if is_record(cells, rows_of(first_ones, written.delimiter, written.quote)):
        return False
    return b"\n" + raw[: ends[0] + 1] not in raw  # again below


def _unmarked(written: Written) -> bytes:
    """Bytes that do not count for the mark of a record: a cell may be quoted, or not."""
    return (written.delimiter + written.quote + " \n\r").encode()


def _marks(records: Sequence[bytes], written: Written) -> IntArray:
    """A number of each record, of the bytes of its cells."""
    drop, mark = _unmarked(written), zlib.crc32 if len(records) <= _FEW else sum
    return np.array([mark(record.translate(None, drop)) for record in records], dtype=np.int64)


def _names(cells: Sequence[str], written: Written) -> list[str]:
    return [normal(c) for c in cells] if written.header else [str(i) for i in range(1, len(cells) + 1)]


def _each_record(raw: bytes, written: Written, columns: Mapping[str, Column]) -> _Records:
    """Records of any file, line by line: titles, comments, units and footers are left out and said."""
    rows = _without_comments(_filled_rows(raw, written), written, columns)
    width = usual_of(len(cells) for _, cells in rows)
    usual = usual_of(n_filled(cells) for _, cells in rows)
    if written.header:
        names = _header(rows, width, usual, written, columns)
    else:
        names = _names([""] * width if columns else rows[0][1], written)
    _leave_out_below_header(rows, names, written)
    if "" in columns and "" not in names:
        names.insert(0, "")  # names of rows
    of_all = (len(names), len(names)) if columns else (usual, width)
    while rows and is_footer(rows[-1:] if columns else rows, *of_all) and not has_level(rows[-1][1], columns):
        line, cells = rows.pop()
        written.skip(line, "below the records", cells)
    _name_another_column(rows, names, width)
    rows = _without_empty_ends(rows, names, written)
    names = _told_apart(names, written)
    if units := declared_units(rows[0][1], names, columns) if columns and rows else units_of(rows, names):
        written.units.update(units)
        written.skip(rows[0][0], "units", rows.pop(0)[1])
    kept = _of_one_width(rows, len(names), written)
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=written.delimiter, quotechar=written.quote, lineterminator="\n")
    writer.writerows(cells for _, cells in kept)
    lines = np.array([line for line, _ in kept], dtype=np.int64)
    marks = _marks(["".join(cells).encode() for _, cells in kept], written)
    return names, buffer.getvalue().encode(), lines, marks


def _filled_rows(raw: bytes, written: Written) -> list[_Row]:
    """Lines that hold anything, but for one that names the delimiter; DataError at a quote left open."""
    text = raw.decode()
    reader, lines = rows_of(text, written.delimiter, written.quote), text.split("\n")
    rows: list[_Row] = []
    start = 1
    for cells in reader:
        end = reader.line_num
        if end > start and _is_broken("\n".join(lines[start - 1 : end]), written):
            written.refused.append((start, f"a cell that begins with {written.quote} does not end with it"))
        elif any(cell.strip() for cell in cells):
            rows.append((start, cells))
        start = end + 1
    if b'"' in raw and written.quote == '"' and _is_open(raw):
        raise DataError(f"{written.path}, line {rows[-1][0]}: not CSV (unexpected end of data)")
    if rows and re.match("sep=", rows[0][1][0]):
        written.skip(rows[0][0], "the delimiter", rows.pop(0)[1])
    return rows


def _without_comments(rows: list[_Row], written: Written, columns: Collection[str]) -> list[_Row]:
    """Lines that are no comments; a header behind a # is none."""
    if columns and rows and written.header:
        head = rows[header_of(rows[:TOP], columns)][1]
        head[0] = head[0].lstrip("# ")
    elif not columns:
        uncomment_header(rows)
    rows, comments = without_comments(rows, records_alone=bool(columns) and not written.header)
    for line, cells in comments:
        written.skip(line, "a comment", cells)
    if not rows:
        raise DataError(f"{written.path}: empty, no header line in it")
    return rows


def _leave_out_below_header(rows: list[_Row], names: list[str], written: Written) -> None:
    """Leave out the questions of a survey (Qualtrics), rules, and the header wherever it stands again."""
    texts = next((i for i, (_, c) in enumerate(rows[:2]) if sum(t[:11] == '{"ImportId"' for t in c) > 1), -1)
    for line, cells in [rows.pop(0) for _ in range(texts + 1)]:
        written.skip(line, "a question", cells)
    rules = [
        row for at, row in enumerate(rows) if is_rule(row[1]) and len(row[1]) in (1, len(names) * (not at))
    ]
    for line, cells in rules if len(names) > 1 else []:
        written.skip(line, "a rule", cells)
        rows.remove((line, cells))
    for line, cells in [row for row in rows if written.header and _names(row[1], written) == names]:
        written.skip(line, "the header again", cells)
        rows.remove((line, cells))


def _name_another_column(rows: Sequence[_Row], names: list[str], width: int) -> None:
    """Add the empty name of a column that the header has not: names of rows, or behind the last delimiter."""
    wide = [cells for _, cells in rows if len(cells) == width == len(names) + 1]
    if wide and _is_empty([cells[-1] for cells in wide]):
        names.append("")
    elif wide and are_row_names([cells[0] for cells in wide], len(rows)):
        names.insert(0, "")


def _without_empty_ends(rows: list[_Row], names: list[str], written: Written) -> list[_Row]:
    """Take off last columns without a name that hold nothing; a record with a cell there is refused."""
    while len(names) > 1 and not names[-1] and _is_empty([c[-1] for _, c in rows if len(c) == len(names)]):
        behind = [row for row in rows if len(row[1]) == len(names) and row[1][-1].strip()]
        written.refused += [(line, "a cell behind the last column") for line, _ in behind]
        kept = [row for row in rows if row not in behind]
        rows = [(line, cells[:-1] if len(cells) == len(names) else cells) for line, cells in kept]
        names.pop()
        if (ends := "each line ends in a delimiter") not in written.warnings:
            written.warnings.append(ends)
    return rows


def _of_one_width(rows: Sequence[_Row], width: int, written: Written) -> list[_Row]:
    """Lines with a cell for each column; others are refused."""
    whose = "the header" if written.header else "the first line"
    for line, cells in rows:
        if len(cells) != width:
            counted = f"{len(cells)} cells, {whose} has {width}"
            hint = f"{written.key.format('sep')} is {written.sign!r}"
            if any('\\"' in cell for cell in cells):  # as Spark, Hive and MySQL write it
                hint = r'a quote within a cell is written \"; accepted: ""'
            written.refused.append((line, f"{counted} ({hint})"))
    written.refused.sort()
    return [(line, cells) for line, cells in rows if len(cells) == width]


def _is_empty(cells: Sequence[str]) -> bool:
    """Whether a column holds nothing but for a slip of one record."""
    return (n := n_filled(cells)) < 2 and 10 * n < len(cells)


def _is_broken(record: str, written: Written) -> bool:
    """Whether a record of several lines has a quote that ends no cell: it holds others, perhaps."""
    sign, quote = written.delimiter, written.quote
    record = re.sub(f"{quote} +(?={re.escape(sign)}|$)", quote, record)
    try:
        next(csv.reader([record], delimiter=sign, quotechar=quote, skipinitialspace=True, strict=True))
    except csv.Error as error:
        return "expected after" in str(error)
    return False


def _is_open(raw: bytes) -> bool:
    """Whether a quote is opened and not closed."""
    try:
        for _ in csv.reader(io.StringIO(raw.decode(), newline=""), strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _header(
    rows: list[_Row], width: int, usual: int, written: Written, columns: Collection[str]
) -> list[str]:
    """Names of the columns; the lines above the header are left out, and it is taken off the rows."""
    enough, top = max(1, min(usual, width) - 1), rows[:TOP]
    at = next((i for i, (_, c) in enumerate(top) if n_filled(c) >= enough and len(c) >= width - 1), 0)
    above = rows[at - 1][1] if at else []
    if columns:
        at = header_of(top, columns)
    elif n_filled(above) > 1 and len(above) == width:
        at -= is_record(rows[at][1], (c for _, c in rows[at + 1 : _LOOKED]))  # some names are empty
    for line, cells in rows[:at]:
        written.skip(line, "above the header", cells)
    del rows[:at]
    if not columns and is_record(rows[0][1], (c for _, c in rows[1:_LOOKED])):
        written.asked.append(("header", "a record stands where names are expected: is there no header?"))
    written.header_line, cells = rows.pop(0)
    return _names(cells, written)


def _told_apart(names: list[str], written: Written) -> list[str]:
    """Names of the columns, of which no two are equal."""
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):
        seen[name] += 1
        if (number := seen[name]) > 1:
            while (other := f"{name}_{number}") in names:
                number += 1
            names[i] = other
            written.warnings.append(f"the column {name!r} occurs {seen[name]} times; called {other!r}")
    return names
