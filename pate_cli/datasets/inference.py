"""Kinds of columns, from their cells: numbers, categories, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pate_cli.checks import listed
from pate_cli.datasets.reading import Counts, RecordTable, has_value, texts
from pate_cli.datasets.schema import (
    PLAIN_NUMBERS,
    ColumnSchema,
    Schema,
    has_decimal_comma,
    not_a_number,
    typed,
)
from pate_cli.errors import DataError
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ROW_NAMES", "advice", "has_row_names", "infer", "kind_in_private", "looks_like_unit"]
__all__ += ["names_persons", "refuse_doubtful", "remarks_on"]

_IDENTIFIERS, _CASES, ROW_NAMES = "identifiers", "case numbers", "row names"
"""Reasons why a column is not used."""

_NEARLY_ALL = 0.9
"""Share of numbers among a column's cells from which on the other cells count as slips."""

_FEWEST = 20
"""Records from which on a column of values that are all different holds identifiers."""

_LONG, _WORDS = 40, 4
"""Mean length and number of words of free text, from which on it is no category."""

_ID = re.compile(
    r"(^|_)(id|ids|pid|uid|uuid|guid|ssn|mrn|identifier|key|patient|person|customer|client|subject|member|user"
    r"|account|household|email|e_mail)(_?(id|no|nr|num|number|key|code))?$"
)

_ROW_NAMES = re.compile(
    r"|index|level_\d+|__index_level_\d+__|unnamed: \d+(_level_\d+)?(\.\d+)*|row[._ ]?names?|\.\.\.\d+",
    re.IGNORECASE,
)
"""Names that pandas and R give to the numbers of rows, which they write as a column."""

_PERSON = re.compile(
    r"(^|_)((patient|person|customer|client|subject|member|user|household)_?(id|no|nr|num|number|key|code)"
    r"|patient|pid|ssn|mrn|email|e_mail)$"
)

_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}([ T].*)?|\d{4}/\d\d?/\d\d?.*"
)

_NUMBERED = re.compile(
    r"(^|_)(case|fall|order|invoice|sample|visit|record|(case|fall|order|invoice|sample|visit|record)?_?"
    r"(no|nr|num|number|nummer))$"
)
"""Names of columns of numbers that are given one after another."""

_SERIAL = re.compile(r"([A-Za-z]{1,6}[-_ ]?)\d{3,}")
"""A letter or a few, then a number: the form of names given one after another."""

_LIMIT = re.compile(r"[<>\u2264\u2265]=?\s*[+-]?\d[\d.,]*")
"""A number below or above a limit of detection."""

_MANY_NUMBERS = 20
"""Different values from which on cells that look like numbers are hardly categories."""

_LIKE_NUMBER = re.compile(
    r"[<>=~(\u2264\u2265+\-\s]*[$\u20ac\u00a3]?[+\-\s]*\d[\d.,'\s]*[A-Za-z\u00b5\u00b0/%$\u20ac\u00a3)]{0,6}\s*"
)
"""A number, perhaps with a sign before it, separators in it and a unit behind it."""


def infer(table: RecordTable, *, target: str | None, words: Collection[str], source: str) -> Schema:
    """Propose a schema for a table, from all of its records: only for public ones."""
    columns = {name: _column(table, name, words) for name in table.columns if name != target}
    columns |= {name: ColumnSchema("ignored", why=f"holds {kind}") for name, kind in table.unread.items()}
    return Schema(columns, source, target)


def kind_in_private(table: RecordTable, name: str, words: Collection[str]) -> ColumnSchema:
    """Choose the kind of a column of the one file. No single record decides it, but by stopping the run.

    A column of numbers has two numbers or more and no text; one of categories has no number, or two texts or
    more that are over a tenth of its cells. Between the two the run stops.
    """
    if name in table.dates:
        return ColumnSchema("ignored", why="dates")
    if why := _why_unused(table, name):
        return ColumnSchema("ignored", why=why)
    values, counts = table.numbers(name, words)
    if counts.n_numbers and counts.first is None:
        if counts.n_numbers == 1 and (words or not counts.n_missing):
            row = int(np.argmax(~np.isnan(values)))
            accepted = " or ".join(typed(key, name) for key in ("numeric", "categories", "drop"))
            raise DataError(f"{table.place(row)}: column {name!r} holds one number; accepted: {accepted}")
        return ColumnSchema("numeric")
    slips = counts.n_others <= 1 or counts.n_numbers >= _NEARLY_ALL * (counts.n_numbers + counts.n_others)
    if counts.first is not None and counts.n_numbers and slips:
        raise DataError(not_a_number(table, name, counts))
    refuse_doubtful(table, name, words)
    return ColumnSchema("category")


def remarks_on(table: RecordTable, schema: Schema, words: Collection[str]) -> Iterator[str]:
    """Report texts in columns of numbers and unknown categories; quotes one, for the owner of the file."""
    for name in schema.of_kind("numeric"):
        _, counts = table.numbers(name, words)
        if counts.first is not None:
            yield (
                f"{table.place(counts.first)}: {name!r} has {table.cell(name, counts.first)!r}, the first of"
                f" {counts.n_others} cells that are no numbers; they are missing by this schema"
            )
    for name in schema.of_kind("category"):
        values, cells = set(schema.columns[name].values or ()), texts(table.frame[name])
        names = [str(text) for text in cells.categories] if values else []
        unseen = [code for code, text in enumerate(names) if text not in values and has_value(text, words)]
        if len(rows := np.flatnonzero(np.isin(cells.codes, unseen))):
            first = int(rows[0])
            yield (
                f"{table.place(first)}: {name!r} has {table.cell(name, first)!r}, the first of"
                f" {len(rows)} cells in none of the schema's categories"
            )


def advice(table: RecordTable, schema: Schema, words: Collection[str]) -> Iterator[str]:
    """Explain a proposed schema to the owner of the table, a line each: it quotes cells."""
    yield from remarks_on(table, schema, words)
    for name, column in schema.columns.items():
        if name in table.unread or column.kind == "numeric":
            continue
        cells = table.frame[name]
        n, distinct = len(cells), int(cells.nunique())
        doubt = None if looks_like_unit(name) else _doubtful(table, name, words)
        if doubt is not None and doubt.first is not None:
            cell = table.cell(name, doubt.first)
            mend = "kind: numeric with missing: true in the schema takes such cells as missing"
            if has_decimal_comma(cell):
                mend = "--decimal , if the comma stands before decimals"
            elif not _half_numbers(doubt):
                mend = f"{PLAIN_NUMBERS} are read"
            yield f"{table.place(doubt.first)}: {name!r} has {cell!r} and looks like numbers; {mend}"
        elif column.why in (_IDENTIFIERS, _CASES) and 2 < distinct < n:
            many = f"{name!r} has {distinct:,} different cells in {n:,} records; if they name persons,"
            yield f"{many} dataset.unit={name} protects all records of one together"
        elif column.kind == "category" and hasattr(cells, "cat") and _are_codes(cells):
            yield f"{name!r} has codes with leading zeros, which are no numbers"
    if whole := [name for name in schema.of_kind("numeric") if not schema.columns[name].missing]:
        yield (
            f"a run and pate predict refuse a missing number in {listed(whole)}; missing: true in the schema"
            " gives it a code"
        )


def refuse_doubtful(table: RecordTable, name: str, words: Collection[str]) -> None:
    """Refuse to read as categories a column that may be one of numbers, see `_doubtful`."""
    counts = _doubtful(table, name, words)
    if counts is not None:
        raise DataError(not_a_number(table, name, counts, among=_half_numbers(counts)))


def _doubtful(table: RecordTable, name: str, words: Collection[str]) -> Counts | None:
    """Counts of a column of texts that may be one of numbers: half of its cells look so, many different."""
    _, number_counts = table.numbers(name, words)
    if number_counts.first is None:
        return None
    names, has_text, codes = table.texts(name, words)
    counts = np.bincount(codes, minlength=len(names))
    plain = map(str.strip, names)
    like = has_text & np.array([bool(_LIKE_NUMBER.fullmatch(t) and not _DATE.fullmatch(t)) for t in plain])
    if like.sum() <= _MANY_NUMBERS or 2 * counts[like].sum() < counts[has_text].sum():
        return None
    return number_counts


def _half_numbers(found: Counts) -> bool:
    """Whether half of the cells are numbers as they stand."""
    return found.n_numbers >= found.n_others


def has_row_names(table: RecordTable, name: str) -> bool:
    """Whether a column is one of row names or numbers, by its name or the file's metadata."""
    return name in table.row_names or bool(_ROW_NAMES.fullmatch(name.strip()))


def _why_unused(table: RecordTable, name: str) -> str:
    """Reason not to use a column, whatever its cells are."""
    return ROW_NAMES if has_row_names(table, name) else _IDENTIFIERS if looks_like_unit(name) else ""


def looks_like_unit(name: str) -> bool:
    """Whether a column is named like an identifier."""
    return bool(_ID.search(_spaced(name)))


def names_persons(name: str) -> bool:
    """Whether a column is named like one of persons, not of any key: few of them are no categories."""
    return bool(_PERSON.search(_spaced(name)))


def _spaced(name: str) -> str:
    """Name of a column in small letters, words apart by an underscore."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    return re.sub(r"[\s.\-]+", "_", spaced)


def _column(table: RecordTable, name: str, words: Collection[str]) -> ColumnSchema:
    cells = table.frame[name]
    n, distinct = len(cells), int(cells.nunique())
    if distinct <= 1:
        return ColumnSchema("ignored", why="constant")
    if why := _why_unused(table, name):
        return ColumnSchema("ignored", why=why)
    values, counts = table.numbers(name, words)
    numbers = values[~np.isnan(values)]
    numeric = counts.n_numbers and counts.n_numbers >= _NEARLY_ALL * (n - counts.n_missing)
    if numeric and _are_case_numbers(name, numbers):
        return ColumnSchema("ignored", why=_CASES)
    codes = numeric and hasattr(cells, "cat") and _are_codes(cells)
    if (numeric and not codes) or _has_limits(table, name, words):
        low, high = float(numbers.min()), float(numbers.max())
        if low == high:
            return ColumnSchema("ignored", why="constant")
        return ColumnSchema("numeric", low, high, missing=counts.n_numbers < n)
    names = [str(text) for text in cells.cat.categories if has_value(text, words)]
    like_dates = sum(bool(_DATE.fullmatch(text.strip())) for text in names)
    if name in table.dates or (names and like_dates >= _NEARLY_ALL * len(names)):
        return ColumnSchema("ignored", why="dates")
    if _are_serial(names, n):
        return ColumnSchema("ignored", why=_IDENTIFIERS)
    length = sum(map(len, names)) / max(1, len(names))
    spaces = sum(text.count(" ") for text in names) / max(1, len(names))
    if distinct > 0.5 * n and n >= _FEWEST:
        free = spaces >= _WORDS - 1 or length > _LONG
        return ColumnSchema("ignored", why="free text" if free else _IDENTIFIERS)
    if spaces >= _WORDS and length > _LONG:
        return ColumnSchema("ignored", why="free text")
    return ColumnSchema("category", values=names, missing=len(names) < len(cells.cat.categories))


def _are_case_numbers(name: str, held: FloatArray) -> bool:
    """Whether whole numbers hardly repeat, by the name of the column or where chance would repeat them."""
    n, repeats = len(held), len(held) - len(np.unique(held))
    if n < _FEWEST or repeats > (1 - _NEARLY_ALL) * n or (held != np.round(held)).any():
        return False
    if _NUMBERED.search(_spaced(name)):
        return True
    # pairs of equal numbers among uniform draws; where 9 are expected, none has a probability of e^-9
    by_chance = n * (n - 1) / (2 * (float(held.max()) - float(held.min()) + 1))
    return by_chance >= max(30, 3 * repeats) if repeats else by_chance >= 9


def _are_codes(cells: pd.Series) -> bool:
    """Whether texts are whole numbers, and two or more have a leading zero, as 01067."""
    names = [text for text in map(str.strip, cells.cat.categories) if text.isdecimal()]
    return sum(len(text) > 1 and text[0] == "0" for text in names) > 1


def _are_serial(names: Sequence[str], n: int) -> bool:
    """Whether texts of n records are numbers behind the same letters, as P0001, each in few records."""
    matches = [_SERIAL.fullmatch(text.strip()) for text in names]
    enough = len(names) >= _FEWEST and 20 * len(names) >= n
    return enough and None not in matches and len({match[1] for match in matches if match}) == 1


def _has_limits(table: RecordTable, name: str, words: Collection[str]) -> bool:
    """Whether a column that may be one of numbers has no other texts than limits of detection."""
    if _doubtful(table, name, words) is None:
        return False
    cells = table.frame[name]
    limits = np.array([bool(_LIMIT.fullmatch(text.strip())) for text in cells.cat.categories], dtype=bool)
    values, counts = table.numbers(name, words)
    return counts.n_others == np.count_nonzero(limits[cells.cat.codes]) and len(np.unique(values)) > 2
