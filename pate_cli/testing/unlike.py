"""Ways in which private records may differ in kind, where whatever leaves beside noise is the same.

A leak that a record of another value does not show, since the law is the same, shows where columns are
constant, a class is absent, or all teachers fail. Each way is a function of records and of what is public of
their columns; so it is tried on every form and every release that has such columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pate_cli.types import FloatArray, IntArray

__all__ = ["EXTREMES", "WAYS", "Columns", "MixedRecords", "Way", "failing_teachers"]

EXTREMES = (1e39, -1e308, 1e308, 5e-324, -0.0, -1e39)
"""Numbers that learners refuse, or that overflow or vanish: a record is any finite numbers."""

_MANY = 15_100
"""Records of one person: more than any rule compares a number of persons with."""


class Columns(NamedTuple):
    """What is public of the columns of a form or a release."""

    n_classes: int
    n_texts: int = 0  # values of a column of texts; one more is declared nowhere
    low: float = -8.0
    high: float = 8.0
    missing: bool = False  # cells may be
    persons: bool = False  # may have several records
    most: int = _MANY  # records of a person


class MixedRecords(NamedTuple):
    """Private records, by columns of each kind."""

    numbers: FloatArray  # shape (n, j); NaN is missing
    texts: IntArray  # codes of values, shape (n, k); -1 is missing
    y: IntArray
    persons: IntArray  # from 0, ascending

    def at(self, rows: Any) -> MixedRecords:
        """Some of the records."""
        return MixedRecords(*(column[rows] for column in self))

    def replaced(self, person: int, by: MixedRecords) -> MixedRecords:
        """The same with other records of one person."""
        first, last = np.searchsorted(self.persons, [person, person + 1])
        by = by._replace(persons=np.full(len(by.y), person))
        parts = zip(self, by, strict=True)
        return MixedRecords(*(np.concatenate([old[:first], new, old[last:]]) for old, new in parts))


Way: TypeAlias = Callable[[MixedRecords, Columns], MixedRecords | None]
"""The other records, of the same persons; None where there are no such columns."""


def other_values(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """Other values of the same kinds, and other classes, in all private records."""
    if not columns.n_texts:  # a form, as in `door_checks.replayed`
        return None
    order = np.random.default_rng(2).permutation(len(cells.y))
    numbers = np.round(cells.numbers[order] + 0.5, 3)
    return cells._replace(numbers=numbers, texts=cells.texts[order], y=(cells.y + 1) % columns.n_classes)


def constant_columns(cells: MixedRecords, columns: Columns) -> MixedRecords:
    """Each column holds one value throughout: no bin but one has records."""
    return cells._replace(numbers=np.full_like(cells.numbers, columns.low), texts=0 * cells.texts)


def missing_cells(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """Every other record lacks its cells, or where some do, none."""
    if not columns.missing:
        return None
    if np.isnan(cells.numbers).any():
        return cells._replace(numbers=np.nan_to_num(cells.numbers), texts=cells.texts.clip(0))
    absent = np.arange(len(cells.y)) % 2 == 0
    numbers = np.where(absent[:, None], np.nan, cells.numbers)
    return cells._replace(numbers=numbers, texts=np.where(absent[:, None], -1, cells.texts))


def one_class(cells: MixedRecords, _: Columns) -> MixedRecords:
    """No record has a class but the first."""
    return cells._replace(y=0 * cells.y)


def rare_class(cells: MixedRecords, columns: Columns) -> MixedRecords:
    """Each class but the first has one record."""
    y = 0 * cells.y
    y[-columns.n_classes :] = np.arange(columns.n_classes)
    return cells._replace(y=y)


def even_classes(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """All classes have as many records."""
    if not columns.n_texts:  # a form, whose classes are even nearly
        return None
    return cells._replace(y=np.arange(len(cells.y)) % columns.n_classes)


def failing_teachers(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """A learner that fails on large numbers fails in every teacher."""
    if not columns.n_texts:  # a form, whose learners do not fail: see `call_checks.failing`
        return None
    y = np.arange(len(cells.y)) % columns.n_classes
    return cells._replace(numbers=np.full_like(cells.numbers, columns.high), texts=0 * cells.texts, y=y)


def records_of_persons(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """The first person has very many records, all others have one."""
    if not columns.persons:
        return None
    firsts = np.unique(cells.persons, return_index=True)[1]
    rows = np.concatenate([np.zeros(columns.most, dtype=np.int64), firsts[1:]])
    return cells.at(rows)


def one_record_each(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """No person has several records."""
    return cells.at(np.unique(cells.persons, return_index=True)[1]) if columns.persons else None


def duplicates(cells: MixedRecords, columns: Columns) -> MixedRecords:
    """All records are copies of one of each class."""
    classes, firsts = np.unique(cells.y, return_index=True)
    rows = firsts[np.arange(len(cells.y)) % len(classes)]
    return cells.at(rows)._replace(persons=cells.persons)


def ordered(cells: MixedRecords, _: Columns) -> MixedRecords:
    """The records are in order of class and value."""
    order = np.lexsort((cells.numbers[:, 0], cells.y))
    return cells.at(order)._replace(persons=cells.persons)


def extremes(cells: MixedRecords, _: Columns) -> MixedRecords:
    """All numbers are very large or very small."""
    return cells._replace(numbers=np.resize(EXTREMES, cells.numbers.shape))


def whole_numbers(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """No number has a fraction, or is negative."""
    return cells._replace(numbers=np.abs(np.round(cells.numbers))) if columns.n_texts else None


def unseen_texts(cells: MixedRecords, columns: Columns) -> MixedRecords | None:
    """No text is one of the values declared, or of the public points."""
    return cells._replace(texts=0 * cells.texts + columns.n_texts) if columns.n_texts else None


WAYS: tuple[Way, ...] = (
    other_values,
    constant_columns,
    missing_cells,
    one_class,
    rare_class,
    even_classes,
    failing_teachers,
    records_of_persons,
    one_record_each,
    duplicates,
    ordered,
    extremes,
    whole_numbers,
    unseen_texts,
)
