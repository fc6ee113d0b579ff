"""One to three tables as a `Dataset`: schema, classes, and the person of each record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from pate_cli.datasets.asking import Ask
from pate_cli.datasets.column import Column, Reading
from pate_cli.datasets.column_names import looks_like_unit, names_persons
from pate_cli.datasets.describing import may_name_persons
from pate_cli.datasets.labels import Labels, spellings
from pate_cli.datasets.own_tables import Reader, read_tables
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, read_schema, typed
from pate_cli.datasets.table_warnings import TableWarnings
from pate_cli.datasets.three_files import LoadedFile, TableOptions, dataset_of
from pate_cli.describe_command import AUTO
from pate_cli.errors import ConfigError, DataError
from pate_cli.terminal import typed_path
from pate_cli.types import Dataset, IntArray

__all__ = ["make_dataset"]

_IGNORED = Column("ignored")


def make_dataset(name: str, options: TableOptions, reader: Reader, what: str) -> Dataset:
    """Read the files that the options name, and bring them under one schema.

    The schema is the one `declared` (`dataset.schema`); else the public file decides it, or the one file, of
    which no single record does: see `describing`. Bounds, levels, means and scales are then those of the
    public share of each split. `what` is the kind of file for messages, as "a CSV file".
    """
    from pate_cli.datasets.encoding import TableEncoder
    from pate_cli.features.generated import Generated

    if options.generated and options.schema is None:  # before the private file is read
        accepted = f"a file that declares the columns, with dataset.public={options.public}"
        raise ConfigError("dataset.schema", None, accepted)
    declared = None if options.schema is None else read_schema(options.schema)
    if declared is not None and declared.data and not (options.path or options.private):
        options = replace(options, path=str(typed_path(str(options.schema)).parent / declared.data))
    target = options.target or (declared and declared.target) or ""
    unit = declared.unit if declared and options.unit == AUTO else options.unit
    tables = read_tables(reader, options, what, declared, target, unit)
    private, public = tables.private, tables.public
    unit = _unit(unit, private, target, tables.asked, declared if public is None else tables.schema)
    schema = _edited(tables.schema, private, target, unit, options, declared is not None)
    if not (schema.numbers or schema.of_kind("category")):
        raise DataError(f"{private.path}: no column is used; {schema.brief()}")
    persons = None if unit is None else _persons(private, unit, options.words)
    classes = options.classes or schema.classes
    buys_classes = not classes and (
        schema.classes_bought or (declared is not None and declared.columns.get(target, _IGNORED).bought)
    )
    readings: dict[str, dict[str, Reading]] = {}

    def labels_of(table: RecordTable, levels: Sequence[str] | None) -> Labels | None:
        if target not in table.columns:
            return None
        # a schema has decided that texts which read alike are one; without one they are refused
        how = {"merge_alike": declared is not None, "missing": table is public, "bought": buys_classes}
        return _labels(table, target, schema.missing, levels, **how)

    spelled = classes
    if declared is not None and public is not None and not (classes or buys_classes):
        named = labels_of(public, None)  # most private labels may be spelled otherwise, by one record
        spelled = named.names if named and len(named.names) > 1 else None

    def file(table: RecordTable) -> LoadedFile:
        labels = labels_of(table, spelled)
        X, readings[str(table.path)] = schema.read(table)
        return LoadedFile(table.path, X, labels, table.checksum, table.place, target)

    dataset = dataset_of(
        name,
        classes,
        file(private),
        public_file := None if public is None else file(public),
        None if tables.test is None else file(tables.test),
        encoder=TableEncoder(replace(schema, target=target)),
        persons=persons,
        person_column=unit,
        labelled=tables.labelled,
        bought=buys_classes,
    )
    _check_bought(schema, options, target, buys_classes)
    if options.generated:
        target_bought = target if buys_classes else None
        points = Generated.of(str(options.public), schema.columns, dataset.X, target_bought)
        dataset = replace(dataset, public=points)
    warnings = TableWarnings(tables, schema, readings, target, unit)
    of_public = tuple(warnings.public(options, dataset, public_file))
    return replace(dataset, warnings=(*of_public, *warnings.private()), public_warnings=of_public)


def _check_bought(schema: Schema, options: TableOptions, target: str, buys_classes: bool) -> None:
    """Refuse to buy levels or classes of which the public points are not made (ConfigError)."""
    bought = [target] * buys_classes
    bought += [name for name, column in schema.columns.items() if column.bought and column.kind != "ignored"]
    if bought and options.public != "marginals":
        free = "those of public points are free"
        free = "else dataset.classes=[...] declares the classes" if buys_classes else free
        accepted = f"marginals, as {bought[0]!r} has levels: private; {free}"
        raise ConfigError("dataset.public", options.public, accepted)


def _edited(
    schema: Schema,
    private: RecordTable,
    target: str,
    unit: str | None,
    options: TableOptions,
    declared: bool,
) -> Schema:
    """The schema of a run, changed by the options."""
    present = [column for column in private.columns if column not in (target, unit)]
    names = [c for c in (schema.columns if declared else present) if c in schema.columns]
    settled = declared or bool(private.keys and options.public)  # a key of JSON may be one record's
    _check_names(options, names, private, (target, unit), settled)
    chosen = {*(options.numeric or []), *(options.categories or []), *(names if declared else ())}
    row_names = {c for c in present if private.has_row_names(c)} - chosen
    left_out = {*(options.drop or []), *([unit] if unit else [])}
    if options.columns:
        left_out |= {*names, *present, *private.unread} - {*options.columns}
    if not settled:
        _check_all_used(schema, private, [c for c in present if c not in row_names], left_out, options)
    columns: dict[str, Column] = {}
    for name in names:
        entry = schema.columns[name]
        if name == target:
            continue
        if name in left_out:
            entry = Column("ignored", why="left out")
        elif name in row_names:
            entry = Column("ignored", why="row names")
        elif name in (options.numeric or ()):
            entry = replace(entry if entry.is_number else Column(), missing=True)
        elif name in (options.categories or ()):
            entry = entry if entry.kind == "category" else Column("category")
        columns[name] = replace(entry, missing=None) if options.missing and entry.missing is False else entry
    return replace(schema, columns=columns)


def _check_names(
    options: TableOptions,
    names: Sequence[str],
    private: RecordTable,
    reserved: tuple[str, str | None],
    settled: bool,
) -> None:
    """Refuse a column that an option names and that is not there, or is named by two (ConfigError)."""
    present = [column for column in private.columns if column not in reserved]
    dropped = options.drop or []
    any_key = dropped if private.keys and settled else []
    allowed = {"columns": reserved, "drop": (*reserved, *present, *private.unread, *any_key)}
    for key in ("columns", "drop", "numeric", "categories"):
        allowed_names = {*names, *allowed.get(key, ())}
        if strange := [column for column in getattr(options, key) or [] if column not in allowed_names]:
            accepted = f"columns of {private.path}: {', '.join(present)}"
            raise ConfigError(f"dataset.{key}", strange[0], accepted)
    if both := [column for column in options.numeric or [] if column in (options.categories or [])]:
        raise ConfigError("dataset.categories", both[0], "columns that are not in dataset.numeric")


def _check_all_used(
    schema: Schema, private: RecordTable, present: Sequence[str], left_out: set[str], options: TableOptions
) -> None:
    """Refuse columns of the private file that the public one has not, or that hold no cells (DataError)."""
    if absent := [column for column in present if column not in {*schema.columns, *left_out}]:
        accepted = f"the columns of {private.path}, or dataset.drop=[...] to do without"
        raise DataError(f"{options.public}: no column {', '.join(map(repr, absent))}; accepted: {accepted}")
    for column, kind in private.unread.items():
        if column not in left_out:
            accepted = f"numbers, texts, dates, true and false; {typed('drop', column)} does without"
            raise DataError(f"{private.path}: column {column!r} holds {kind}; accepted: {accepted}")


def _unit(
    chosen: str | None, table: RecordTable, target: str, asked: Sequence[Ask], declared: Schema | None
) -> str | None:
    """Column of persons; refuses to guess where one looks like it and nothing was chosen."""
    others = [column for column in table.columns if column != target]
    if chosen == AUTO and declared is not None:  # by its name alone: a record more may repeat one
        for column in filter(looks_like_unit, others):
            if names_persons(column) or declared.columns.get(column, _IGNORED).kind == "ignored":
                accepted = (
                    f"{column}, to protect all records of one together, or null, to protect each record"
                )
                raise ConfigError("dataset.unit", AUTO, f"{accepted} by itself (in a schema: unit: null)")
        return None
    if chosen == AUTO:
        for column, distinct in may_name_persons(table, others, asked):
            accepted = f"{column}, to protect all records of one together ({len(table.frame):,} records name"
            accepted += f" {distinct:,}), or null, to protect each record by itself"
            raise ConfigError("dataset.unit", AUTO, accepted)
        return None
    if chosen is not None and chosen not in others:
        raise ConfigError("dataset.unit", chosen, f"a column of {table.path}: {', '.join(others)}")
    return chosen


def _persons(table: RecordTable, unit: str, words: Collection[str]) -> IntArray:
    """Number of the person of each record, see `Labels.persons`; each record needs one."""
    names = table.labels(unit, words, "dataset.unit", merge_alike=True, distinct=False)
    persons = names.persons(table.decimal)
    if not persons.any():
        name = names.names[0]
        raise DataError(f"{table.path}: {unit!r} (dataset.unit) is {name!r} in all records; two are needed")
    return persons


def _labels(
    table: RecordTable,
    target: str,
    words: Collection[str],
    levels: Sequence[str] | None,
    *,
    merge_alike: bool,
    missing: bool,
    bought: bool,
) -> Labels | None:
    """Labels of a file; `merge_alike` makes one level of those that read alike, or differ in capitals alone.

    None of a file of which some may be `missing`, and are. Where classes are `bought`, no label is refused,
    and a missing one is empty.
    """
    labels = table.labels(
        target,
        words,
        "dataset.target",
        declared=levels,
        missing=missing or bought,
        merge_alike=merge_alike,
        distinct=not (bought or levels),
    )
    absent = labels.codes < 0
    if bought:
        names = [*labels.names, *[""] * bool(absent.any())]
        return Labels(names, np.where(absent, len(labels.names), labels.codes))
    if absent.any():
        return None
    if not merge_alike:
        return labels
    counts = np.bincount(labels.codes, minlength=len(labels.names)).tolist()
    best = spellings(dict(zip(labels.names, counts, strict=True)))
    best |= {level.casefold(): level for level in levels or ()}
    spelled = [name if name in (levels or ()) else best[name.casefold()] for name in labels.names]
    names = list(dict.fromkeys(spelled))
    return Labels(names, np.array([names.index(name) for name in spelled])[labels.codes])
