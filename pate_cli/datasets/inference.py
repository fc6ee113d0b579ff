"""A schema proposed from public records: which columns hold numbers, categories, or nothing to learn from."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from pate_cli.datasets.labels import texts_of
from pate_cli.datasets.schema import MISSING, NEARLY_ALL, Column, Schema, numbers, said

if TYPE_CHECKING:
    from pate_cli.datasets.reading import Table

__all__ = ["doubtful", "infer", "labels_of", "looks_like_unit", "names_persons", "nothing_to_learn"]
__all__ += ["remarks_on"]

_FEWEST = 20
"""Records from which on it is told whether values are all different."""

_LONG, _WORDS = 40, 4

_ID = re.compile(
    r"(^|_)(id|ids|uid|uuid|guid|ssn|mrn|identifier|key|patient|person|customer|client|subject|member|user"
    r"|account|household|email|e_mail)(_?(id|no|nr|num|number|key|code))?$"
)

_PERSON = re.compile(
    r"(^|_)((patient|person|customer|client|subject|member|user|household)_?(id|no|nr|num|number|key|code)"
    r"|patient|ssn|mrn|email|e_mail)$"
)

_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}([ T].*)?|\d{4}/\d\d?/\d\d?.*"
)

_MANY_NUMBERS = 20
"""Different values from which on cells that look like numbers are hardly categories."""

_LIKE_NUMBER = re.compile(
    r"[<>=~(\u2264\u2265+\-\s]*[$\u20ac\u00a3]?[+\-\s]*\d[\d.,'\s]*[A-Za-z\u00b5\u00b0/%$\u20ac\u00a3)]{0,6}\s*"
)
"""A number, perhaps with a sign before it, separators in it and a unit behind it."""


def labels_of(table: Table, target: str) -> list[str]:
    """Labels of a public table."""
    values, found = numbers(table.frame[target], ())
    if found.first is None:
        return texts_of(np.unique(values[~np.isnan(values)]))
    texts = {str(text).strip() for text in table.frame[target].cat.categories}
    return sorted(text for text in texts if text.lower() not in MISSING)


def remarks_on(table: Table, schema: Schema, words: Collection[str]) -> list[str]:
    """Say which cells are no numbers, in columns that are taken for numbers; quotes one, for its owner."""
    told = []
    for name in schema.of_kind("numeric"):
        _, found = numbers(table.frame[name], words, table.decimal)
        if found.first is not None:
            held = str(table.frame[name].iloc[found.first])
            told.append(
                f"{table.place(found.first)}: {name!r} has {held!r}, the first of {found.n_others} cells"
                " that are no numbers; they are missing by this schema"
            )
    return told


def nothing_to_learn(table: Table, schema: Schema, words: Collection[str]) -> dict[str, str]:
    """Which columns of texts a public file would not have had used, and why; for the table's owner."""
    texts = schema.of_kind("category")
    found = {name: _inferred(table, name, words) for name in texts}
    return {name: str(column.why) for name, column in found.items() if column.kind == "ignored"}


def doubtful(table: Table, name: str, words: Collection[str]) -> tuple[int, bool] | None:
    """Find out whether a column of texts may be one of numbers: half of its cells look so, many different.

    Returns
    -------
    tuple of (int, bool) or None
        The row of the first cell that is no number, and whether half of them are numbers as they stand.
    """
    cells = table.frame[name]
    _, found = numbers(cells, words, table.decimal)
    if found.first is None:
        return None
    texts = [str(text).strip() for text in cells.cat.categories]
    counts = np.bincount(cells.cat.codes, minlength=len(texts))
    there = np.array([said(text, words, numeric=True) for text in texts], dtype=bool)
    like = there & np.array(
        [bool(_LIKE_NUMBER.fullmatch(text) and not _DATE.fullmatch(text)) for text in texts]
    )
    if like.sum() <= _MANY_NUMBERS or 2 * counts[like].sum() < counts[there].sum():
        return None
    return found.first, 2 * found.n_numbers >= found.n_numbers + found.n_others


def infer(table: Table, *, target: str | None, words: Collection[str], source: str) -> Schema:
    """Propose a schema for a table, from all of its records: only for public ones.

    Parameters
    ----------
    table : Table
    target : str or None
    words : collection of str
        As of `Schema.apply`.
    source : str
        Where it is from, for people.
    """
    names = [str(name) for name in table.frame.columns if name != target]
    columns = {name: _inferred(table, name, words) for name in names}
    columns |= {name: Column("ignored", why=f"holds {what}") for name, what in table.unread.items()}
    return Schema(columns, source, target)


def looks_like_unit(name: str) -> bool:
    """Whether a column is named as one that says whose a record is."""
    return bool(_ID.search(_spaced(name)))


def names_persons(name: str) -> bool:
    """Whether a column is named as one of persons, not as any key: few of them are no categories."""
    return bool(_PERSON.search(_spaced(name)))


def _spaced(name: str) -> str:
    """Name of a column in small letters, words apart by an underscore."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip()).lower()
    return re.sub(r"[\s.\-]+", "_", spaced)


def _inferred(table: Table, name: str, words: Collection[str]) -> Column:
    cells = table.frame[name]
    values, found = numbers(cells, words, table.decimal)
    there = ~np.isnan(values)
    n, distinct = len(cells), int(cells.nunique())
    if distinct <= 1:
        return Column("ignored", why="constant")
    if looks_like_unit(name):
        return Column("ignored", why="identifiers")
    if found.n_numbers and found.n_numbers >= NEARLY_ALL * (n - found.n_missing):
        held = values[there]
        whole = bool((held == np.round(held)).all()) and len(held) == n
        if whole and n >= _FEWEST and distinct == n and held.max() - held.min() == n - 1:
            return Column("ignored", why="identifiers")  # a running number
        low, high = float(held.min()), float(held.max())
        if low == high:
            return Column("ignored", why="constant")
        return Column("numeric", low, high, missing=found.n_numbers < n)
    texts = [str(text) for text in cells.cat.categories if said(text, words)]
    like_dates = sum(bool(_DATE.fullmatch(text.strip())) for text in texts)
    if name in table.dates or (texts and like_dates >= NEARLY_ALL * len(texts)):
        return Column("ignored", why="dates")
    length = float(np.mean([len(text) for text in texts])) if texts else 0.0
    spaces = float(np.mean([text.count(" ") for text in texts])) if texts else 0.0
    if distinct > 0.5 * n and n >= _FEWEST:
        free = spaces >= _WORDS - 1 or length > _LONG
        return Column("ignored", why="free text" if free else "identifiers")
    if spaces >= _WORDS and length > _LONG:
        return Column("ignored", why="free text")
    return Column("category", values=texts, missing=len(texts) < len(cells.cat.categories))
