"""One to three tables as a `Dataset`: schema, classes, and the person of each record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.checks import Listed, Or, listed, option
from pate_cli.datasets.inference import (
    ROW_NAMES,
    has_row_names,
    infer,
    kind_in_private,
    looks_like_unit,
    names_persons,
    refuse_doubtful,
    remarks_on,
)
from pate_cli.datasets.labels import Labels, identity, number_in
from pate_cli.datasets.names import alike
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import ColumnSchema, Schema, read_schema, typed
from pate_cli.datasets.three_files import PATH, Cell, FileOptions, LoadedFile, dataset_of
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, IntArray

__all__ = ["Reader", "TableOptions", "make_dataset"]

Reader = Callable[[Path, Collection[str]], RecordTable]
"""``read(path, text)``: see `csv_files.read_csv`."""

_AUTO = "auto"
_COLUMNS = Or("null", Listed(Cell("the name of a column")))


@dataclass(frozen=True)
class TableOptions(FileOptions):
    """Options of a table.

    All records of a person, named by the column `unit`, are protected together; None for each record by
    itself. `auto` is None too, but refused where a column looks like one of persons.
    """

    target: str | None = option(None, Or("null", Cell("the name of the column that holds the class")))
    unit: str | None = option(_AUTO, Or("null", Cell("auto, or the name of a column")))
    schema: str | None = option(None, PATH)
    columns: list[str] | None = option(None, _COLUMNS)
    drop: list[str] | None = option(None, _COLUMNS)
    numeric: list[str] | None = option(None, _COLUMNS)
    categories: list[str] | None = option(None, _COLUMNS)
    missing: list[str] | None = option(None, Or("null", Listed(Cell(empty=True))))


def make_dataset(name: str, options: TableOptions, read: Reader, what: str) -> Dataset:
    """Read the files that the options name, and bring them under one schema.

    The schema is the one declared (`dataset.schema`); else it is inferred from the public file. With one
    file a column is one of numbers if every cell is a number (or missing, where that has a code), and the
    run stops where a single cell decides otherwise; categories, means and scales are those of the public
    share of each split. `what` is the kind of file for messages, as "a CSV file".
    """
    from pate_cli.datasets.encoding import TableEncoder
    from pate_cli.features.generated import Generated

    if options.generated and options.schema is None:  # before the private file is read
        accepted = f"a file that declares the columns, with dataset.public={options.public}"
        raise ConfigError("dataset.schema", None, accepted)
    where, public_path, test_path = options.paths(what)
    known_schema = None if options.schema is None else read_schema(options.schema)
    target = options.target or (known_schema and known_schema.target)
    if not target:
        raise ConfigError("dataset.target", None, "the name of the column that holds the class")
    words = [word.strip() for word in options.missing or []]
    # as it is written, whatever the other cells are: where all of them look like numbers, 01 would be 1
    text = {target, *(options.categories or []), *(known_schema.of_kind("category") if known_schema else ())}
    if options.unit not in (None, _AUTO):
        text.add(str(options.unit))
    public = None if public_path is None else read(public_path, text)
    if known_schema is None and public is not None:
        known_schema = infer(public, target=target, words=words, source=f"inferred from {public.path.name}")
        text |= set(known_schema.of_kind("category"))
    private = read(where, text)
    _check_target(target, private)
    test = None if test_path is None else read(test_path, text)
    if test is not None and target not in test.columns:
        raise ConfigError("dataset.test", str(test.path), f"a file with the target {target!r}")
    unit = _unit(options.unit, private, target)
    units = None if unit is None else _units(private, unit, words)
    schema = _schema(known_schema, private, public, target, unit, options, words)
    if not (schema.of_kind("numeric") or schema.of_kind("category")):
        raise DataError(f"{where}: no column is used; {schema.brief()}")

    def file(table: RecordTable, labels: Any) -> LoadedFile:
        X = schema.apply(table, words)
        return LoadedFile(table.path, X, labels, table.checksum, table.place, target)

    private_y = private.labels(target, words, "dataset.target")
    public_y = _public_labels(public, target, words)
    dataset = dataset_of(
        name,
        options.classes or schema.classes,
        file(private, private_y),
        None if public is None else file(public, public_y),
        None if test is None else file(test, test.labels(target, words, "dataset.target")),
        encoder=TableEncoder(replace(schema, target=target), words),
        units=units,
        unit=unit,
    )
    if options.generated:
        points = Generated.of(str(options.public), schema.columns, dataset.X)
        dataset = replace(dataset, public=points)
    remarks = [f"{where.name}: {schema.brief()}"]
    if public is not None:
        if unused := [name for name in public.columns if name not in {*schema.columns, target, unit}]:
            shown = ", ".join(unused)
            remarks.append(f"{public.path.name}: not used, as the private file does not have them: {shown}")
        if dataset.public is not None and dataset.public.y is not None:
            remarks.append(f"{public.path.name}: its labels ({target}) are for measuring alone")
        elif public_y is not None:
            placeholder = f"one label ({target}) on all records, taken for a placeholder"
            remarks.append(f"{public.path.name}: {placeholder}")
        remarks += remarks_on(public, schema, words)
    if options.public == "ranges":
        remarks.append(
            "dataset.public=ranges: numbers lie evenly within their bounds, as counts, mostly small, do not;"
            " dataset.public=marginals, for a share of the budget, loses less"
        )
    n_public = len(remarks)
    if unit is not None:
        remarks += _unit_remarks(private, public, test, unit)
    if known_schema is None:
        chosen = {*(options.columns or []), *(options.numeric or []), *(options.categories or [])}
        remarks += _idle(private, schema, words, chosen)
    for table in (private, test):
        remarks += () if table is None else remarks_on(table, schema, words)
    return replace(dataset, remarks=tuple(remarks), public_remarks=tuple(remarks[:n_public]))


def _check_target(target: str, table: RecordTable) -> None:
    columns = table.columns
    if target in columns:
        if len(columns) == 1 and not table.unread:
            raise DataError(f"{table.path}: no column but the target {target!r}")
        return
    accepted = f"a column of {table.path}: {', '.join(columns)}"
    if len(columns) == 1:
        accepted += " (dataset.sep says what stands between two cells)"
    elif any(number_in(column) is not None for column in columns):
        accepted += " (with dataset.header=false a column's number, from 1)"
    raise ConfigError("dataset.target", target, accepted)


def _schema(
    given: Schema | None,
    private: RecordTable,
    public: RecordTable | None,
    target: str,
    unit: str | None,
    options: TableOptions,
    words: Collection[str],
) -> Schema:
    """The schema of a run: declared, inferred, or by the cells of the one file; changed by options."""
    present = [column for column in private.columns if column not in (target, unit)]
    declared = options.schema is not None
    lists = {key: getattr(options, key) or [] for key in ("columns", "drop", "numeric", "categories")}
    listed_columns = present
    if given is not None:
        listed_columns = [
            column for column in (given.columns if declared else present) if column in given.columns
        ]
    left_out = {*lists["drop"], *([unit] if unit else [])}
    chosen = {*lists["numeric"], *lists["categories"], *(given.columns if given and declared else ())}
    row_names = {column for column in present if has_row_names(private, column)} - chosen
    if options.columns:
        left_out |= {*listed_columns, *present, *private.unread} - {*options.columns}
    if not declared and public is not None:
        absent = [column for column in present if column not in {*public.columns, *left_out, *row_names}]
        if absent:
            accepted = f"the columns of {private.path}, or dataset.drop=[...] to do without"
            shown = ", ".join(map(repr, absent))
            raise DataError(f"{public.path}: no column {shown}; accepted: {accepted}")
    allowed = {"columns": (target, unit), "drop": (target, unit, *present, *private.unread)}
    for key, names in lists.items():
        if strange := [column for column in names if column not in {*listed_columns, *allowed.get(key, ())}]:
            accepted = f"columns of {private.path}: {', '.join(present)}"
            raise ConfigError(f"dataset.{key}", strange[0], accepted)
    if both := [column for column in lists["numeric"] if column in lists["categories"]]:
        raise ConfigError("dataset.categories", both[0], "columns that are not in dataset.numeric")
    for column, kind in private.unread.items():
        if not declared and column not in left_out:
            accepted = f"numbers, texts, dates, true and false; {typed('drop', column)} does without"
            raise DataError(f"{private.path}: column {column!r} holds {kind}; accepted: {accepted}")
    columns = {}
    for column in listed_columns:
        if column == target:
            continue
        entry = None if given is None else given.columns[column]
        if column in left_out:
            entry = ColumnSchema("ignored", why="left out")
        elif column in row_names:
            entry = ColumnSchema("ignored", why=ROW_NAMES)
        elif column in lists["numeric"]:
            entry = replace(entry if entry and entry.kind == "numeric" else ColumnSchema(), missing=True)
        elif column in lists["categories"]:
            entry = entry if entry and entry.kind == "category" else ColumnSchema("category")
        elif entry is None:
            entry = kind_in_private(private, column, words)
        elif not declared and public is not None and entry.kind != "numeric" and not looks_like_unit(column):
            refuse_doubtful(public, column, words)
        columns[column] = replace(entry, missing=True) if words and entry.kind == "numeric" else entry
    return replace(given or Schema({}, "of each split's public share", target), columns=columns)


def _unit_remarks(
    private: RecordTable, public: RecordTable | None, test: RecordTable | None, unit: str
) -> Iterator[str]:
    """For the owner: facts about persons are private."""
    written = private.texts(unit)[0]
    names = set(map(identity, written))
    if pair := alike(written):
        half = "if they are one person, eps and delta hold for a part of one"
        yield f"{private.path.name}: {unit} {pair}; {half}"
    if len(names) == len(private.frame):
        yield f"{private.path.name}: each {unit} has one record, so dataset.unit changes nothing"
    for table, then in (
        (public, "; what it says of them is public, and not protected"),
        (test, ", so the accuracy is not one for new persons"),
    ):
        if table is None or unit not in table.columns:
            continue
        if n := len(names & set(map(identity, table.texts(unit)[0]))):
            yield f"{table.path.name}: {n:,} {unit} of {private.path.name} are in it too{then}"


def _idle(
    table: RecordTable, schema: Schema, words: Collection[str], chosen: Collection[str]
) -> Iterator[str]:
    """Report columns that a schema inferred from a public file would not use."""
    names = [
        name for name, column in schema.columns.items() if column.kind != "ignored" and name not in chosen
    ]
    part = replace(table, frame=table.frame[names], unread={})
    inferred = infer(part, target=None, words=words, source="").columns
    idle = {name: column.why for name, column in inferred.items() if column.kind == "ignored"}
    if idle:
        shown = listed([f"{name}: {why}" for name, why in idle.items()])
        yield (
            f"{table.path.name}: used, though there is hardly anything to learn from them ({shown});"
            f" {typed('drop', *idle)} leaves them out"
        )


def _unit(chosen: str | None, table: RecordTable, target: str) -> str | None:
    """Column of persons; refuses to guess where one looks like it and nothing was chosen."""
    others = [column for column in table.columns if column != target]
    if chosen == _AUTO:
        for column in filter(looks_like_unit, others):
            n, distinct = len(table.frame), int(table.frame[column].nunique())
            if 2 < distinct < n and (names_persons(column) or distinct > n // 100):
                accepted = f"{column}, to protect all records of one together ({n:,} records name"
                accepted += f" {distinct:,}), or null, to protect each record by itself"
                raise ConfigError("dataset.unit", _AUTO, accepted)
        return None
    if chosen is not None and chosen not in others:
        raise ConfigError("dataset.unit", chosen, f"a column of {table.path}: {', '.join(others)}")
    return chosen


def _units(table: RecordTable, unit: str, words: Collection[str]) -> IntArray:
    """Number of the person of each record, in the order of their names; each record needs one."""
    persons = table.labels(unit, words, "dataset.unit")
    if len(persons.names) < 2:
        name = persons.names[0]
        raise DataError(f"{table.path}: {unit!r} (dataset.unit) is {name!r} in all records; two are needed")
    return np.argsort(np.argsort(persons.names))[persons.codes]


def _public_labels(table: RecordTable | None, target: str, words: Collection[str]) -> Labels | None:
    """Labels of the public file; None where it has no target, or some of its cells are empty."""
    if table is None or target not in table.columns or not table.texts(target, words)[1].all():
        return None
    return table.labels(target, words, "dataset.target")
