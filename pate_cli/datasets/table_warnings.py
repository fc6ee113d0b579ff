"""What is said of the tables of a user: of the public file to all, of the private one to its owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.datasets.column import Reading, distinct_texts
from pate_cli.datasets.labels import identity, one_person
from pate_cli.datasets.names import alike, normal
from pate_cli.datasets.own_tables import Tables
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema
from pate_cli.datasets.three_files import LoadedFile, TableOptions
from pate_cli.types import Dataset

__all__ = ["TableWarnings"]


@dataclass(frozen=True, eq=False)
class TableWarnings:
    """Warnings on the tables of a data set."""

    tables: Tables
    schema: Schema  # with the changes of the options
    readings: Mapping[str, Mapping[str, Reading]]  # of the columns of each file, by its path
    target: str
    person_column: str | None

    def public(self, options: TableOptions, dataset: Dataset, file: LoadedFile | None) -> Iterator[str]:
        """Those that follow from the schema and the public file alone."""
        yield f"{self.tables.private.path.name}: {self.schema.brief()}"
        if options.public == "ranges":
            yield (
                "dataset.public=ranges: numbers lie evenly within their bounds, as counts, mostly small, do"
                " not; dataset.public=marginals, for a share of the budget, loses less"
            )
        if (public := self.tables.public) is None:
            return
        if unused := [name for name in public.columns if name not in self._used]:
            shown = ", ".join(unused)
            yield f"{public.path.name}: not used, as the private file does not have them: {shown}"
        if dataset.public is not None and dataset.public.y is not None:
            yield f"{public.path.name}: its labels ({self.target}) are for measuring alone"
        elif file is not None and file.labels is not None:
            placeholder = f"one label ({self.target}) on all records, taken for a placeholder"
            yield f"{public.path.name}: {placeholder}"
        yield from self._cells(public)

    def private(self) -> Iterator[str]:
        """Those for the owner alone."""
        private, public, test = self.tables.private, self.tables.public, self.tables.test
        for warning in self.tables.warnings or private.written.warnings:
            yield f"{private.path.name}: {warning}"
        if public is not None and (keys := {*private.keys} - self._used):
            shown = ", ".join(sorted(keys))
            yield f"{private.path.name}: not used, as the public file does not have them: {shown}"
        if self.person_column is not None:
            yield from _of_persons(private, public, test, self.person_column)
        for table in (private, test):
            if table is not None:
                yield from self._cells(table)

    @property
    def _used(self) -> set[str | None]:
        return {*self.schema.columns, self.target, self.person_column}

    def _cells(self, table: RecordTable) -> Iterator[str]:
        """Report cells that are no numbers, and unseen levels; quotes one, for the owner of the file."""
        for name, reading in self.readings[str(table.path)].items():
            column = self.schema.columns[name]
            if reading.odd is not None:
                rows = np.flatnonzero(reading.odd)
                what = "cells that are no numbers; they are missing by this schema"
            else:
                unseen = column.levels is not None and ~reading.values.isin([*column.levels, ""])
                rows = np.flatnonzero(unseen)
                what = "cells in none of the schema's categories"
            if len(rows):
                first = int(rows[0])
                cell = table.cell(name, first)
                yield f"{table.place(first)}: {name!r} has {cell!r}, the first of {len(rows)} {what}"


def _of_persons(
    private: RecordTable, public: RecordTable | None, test: RecordTable | None, unit: str
) -> Iterator[str]:
    """For the owner: facts about persons are private."""
    texts = distinct_texts(private.frame[unit])[0]
    if pair := one_person(texts, private.decimal):
        yield f"{private.path.name}: {unit} {pair}"
    if pair := alike(dict.fromkeys(map(normal, texts))):
        half = "if they are one person, eps and delta hold for a part of one"
        yield f"{private.path.name}: {unit} {pair}; {half}"
    names = _identities(private, unit)
    if len(names) == len(private.frame):
        yield f"{private.path.name}: each {unit} has one record, so dataset.unit changes nothing"
    for table, then in (
        (public, "; what it says of them is public, and not protected"),
        (test, ", so the accuracy is not one for new persons"),
    ):
        if table is None or unit not in table.columns:
            continue
        if n := len(names & _identities(table, unit)):
            yield f"{table.path.name}: {n:,} {unit} of {private.path.name} are in it too{then}"


def _identities(table: RecordTable, unit: str) -> set[Any]:
    return {identity(text) for text in distinct_texts(table.frame[unit])[0]}
