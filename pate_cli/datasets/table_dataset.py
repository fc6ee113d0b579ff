"""One to three tables as a `Dataset`: schema, classes, and the person of each record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.asking import Ask
from pate_cli.datasets.column import Column, Reading, distinct_texts
from pate_cli.datasets.column_names import looks_like_unit, names_persons
from pate_cli.datasets.describing import may_name_persons
from pate_cli.datasets.encodings import MARKED
from pate_cli.datasets.labels import Labels, identity, one_person, spellings
from pate_cli.datasets.names import alike, normal
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, read_schema, typed
from pate_cli.datasets.three_files import LoadedFile, TableOptions, dataset_of
from pate_cli.datasets.undeclared import undeclared
from pate_cli.describe_command import AUTO
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, IntArray

__all__ = ["make_dataset"]

_IGNORED = Column("ignored")

Reader = Callable[[Path, Collection[str], Mapping[str, Any]], RecordTable]
"""``read(path, text, form)``: see `csv_files.read_csv`."""


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
        options = replace(options, path=str(Path(str(options.schema)).expanduser().parent / declared.data))
    unit = declared.unit if declared and options.unit == AUTO else options.unit
    form: dict[str, Any] = {}
    if declared is not None:  # no record decides what a schema says
        others = {str(name): Column("category") for name in (options.target or declared.target, unit) if name}
        form = {"encoding": "utf-8", "decimal": ".", **declared.form}
        form["columns"] = others | dict(declared.columns)

    def read(path: Path, text: Collection[str]) -> RecordTable:
        every = [name for name in form.get("columns", ()) if name not in (target, unit)]
        return reader(path, text, form | ({"every": every} if path == where else {}))

    where, public_path, test_path = options.paths(what)
    target = options.target or (declared and declared.target)
    if not target:
        raise ConfigError("dataset.target", None, "the name of the column that holds the class")
    words = [word.strip() for word in options.missing or []]
    # as it is written, whatever the other cells are: where all of them look like numbers, 01 would be 1
    text = {target, *(options.categories or []), *(declared.texts if declared else ())}
    if unit not in (None, AUTO):
        text.add(str(unit))
    public = None if public_path is None else read(public_path, text)
    if declared is None and public is not None:  # no private record decides what the public file says
        are_numbers = {name: public.frame[name].dtype.kind == "f" for name in public.columns}
        form["columns"] = {
            name: Column("number" if is_it else "category") for name, is_it in are_numbers.items()
        }
        encoding = public.written.encoding  # a byte order mark speaks for its own file alone
        form |= {"encoding": "utf-8" if encoding in MARKED else encoding, "decimal": public.decimal}
        if not public.written.header:
            form |= {key: public.written.form[key] for key in ("delimiter", "quote")}
    private = read(where, text)
    _check_target(target, private)
    labelled = None
    if declared is not None and declared.target_missing == "dropped":
        private, labelled = private.labelled(target, declared.missing, options.classes or declared.classes)
    asked: Sequence[Ask] = ()
    of_undeclared: Sequence[str] = ()
    if declared is None:
        schema, asked, of_undeclared = undeclared(private, public, target, unit, options, words)
        if public is None:
            private = replace(private, decimal=schema.form.get("decimal", private.decimal))
        else:  # by its kinds and decimals the private file is read
            decimal = schema.form.get("decimal", public.decimal)
            if decimal != form["decimal"] or not schema.texts <= text:
                form["decimal"] = decimal
                private = read(where, text := text | schema.texts)
            public, private = (replace(table, decimal=decimal) for table in (public, private))
    else:
        schema = replace(declared, missing=[*declared.missing, *words])
    test = None if test_path is None else read(test_path, text)
    if test is not None and target not in test.columns:
        raise ConfigError("dataset.test", str(test.path), f"a file with the target {target!r}")
    unit = _unit(unit, private, target, asked, declared if public is None else schema)
    schema = _edited(schema, private, target, unit, options, declared is not None)
    if not (schema.numbers or schema.of_kind("category")):
        raise DataError(f"{where}: no column is used; {schema.brief()}")
    persons = None if unit is None else _persons(private, unit, words)
    readings: dict[str, dict[str, Reading]] = {}

    classes = options.classes or schema.classes
    entry = None if declared is None else declared.columns.get(target)
    buys_classes = not classes and (schema.classes_bought or (entry is not None and entry.bought))
    # a schema has decided that texts which read alike are one; without one they are refused
    labels_of = partial(_labels, target=target, words=schema.missing, levels=classes)
    labels_of = partial(labels_of, one=declared is not None, bought=buys_classes)

    def file(table: RecordTable) -> LoadedFile:
        labels = labels_of(table, missing=table is public) if target in table.columns else None
        X, readings[str(table.path)] = schema.read(table)
        return LoadedFile(table.path, X, labels, table.checksum, table.place, target)

    dataset = dataset_of(
        name,
        classes,
        file(private),
        public_file := None if public is None else file(public),
        None if test is None else file(test),
        encoder=TableEncoder(replace(schema, target=target)),
        persons=persons,
        person_column=unit,
        labelled=labelled,
        bought=buys_classes,
    )
    bought = [target] * buys_classes
    bought += [name for name, column in schema.columns.items() if column.bought and column.kind != "ignored"]
    if bought and options.public != "marginals":
        free = "those of public points are free"
        free = "else dataset.classes=[...] declares the classes" if buys_classes else free
        accepted = f"marginals, as {bought[0]!r} has levels: private; {free}"
        raise ConfigError("dataset.public", options.public, accepted)
    if options.generated:
        target_bought = target if buys_classes else None
        points = Generated.of(str(options.public), schema.columns, dataset.X, target_bought)
        dataset = replace(dataset, public=points)
    warnings = [f"{where.name}: {schema.brief()}"]
    if options.public == "ranges":
        warnings.append(
            "dataset.public=ranges: numbers lie evenly within their bounds, as counts, mostly small, do not;"
            " dataset.public=marginals, for a share of the budget, loses less"
        )
    if public is not None:
        if unused := [column for column in public.columns if column not in {*schema.columns, target, unit}]:
            shown = ", ".join(unused)
            warnings.append(f"{public.path.name}: not used, as the private file does not have them: {shown}")
        if dataset.public is not None and dataset.public.y is not None:
            warnings.append(f"{public.path.name}: its labels ({target}) are for measuring alone")
        elif public_file is not None and public_file.labels is not None:
            placeholder = f"one label ({target}) on all records, taken for a placeholder"
            warnings.append(f"{public.path.name}: {placeholder}")
        warnings += _warnings_on(public, schema, readings[str(public.path)])
    n_public = len(warnings)
    warnings += [f"{where.name}: {warning}" for warning in of_undeclared or private.written.warnings]
    if public is not None and (keys := {*private.keys} - {*schema.columns, target, unit}):
        shown = ", ".join(sorted(keys))
        warnings.append(f"{where.name}: not used, as the public file does not have them: {shown}")
    if unit is not None:
        warnings += _person_warnings(private, public, test, unit)
    for table in (private, test):
        warnings += () if table is None else _warnings_on(table, schema, readings[str(table.path)])
    return replace(dataset, warnings=tuple(warnings), public_warnings=tuple(warnings[:n_public]))


def _check_target(target: str, table: RecordTable) -> None:
    columns = table.columns
    if target in columns:
        if len(columns) == 1 and not table.unread:
            raise DataError(f"{table.path}: no column but the target {target!r}")
        return
    raise ConfigError("dataset.target", target, table.choices)


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
    lists = {key: getattr(options, key) or [] for key in ("columns", "drop", "numeric", "categories")}
    names = [c for c in (schema.columns if declared else present) if c in schema.columns]
    left_out = {*lists["drop"], *([unit] if unit else [])}
    chosen = {*lists["numeric"], *lists["categories"], *(names if declared else ())}
    row_names = {c for c in present if private.has_row_names(c)} - chosen
    if options.columns:
        left_out |= {*names, *present, *private.unread} - {*options.columns}
    absent = [c for c in present if c not in {*schema.columns, *left_out, *row_names}]
    settled = declared or (private.keys and options.public)  # a key of JSON may be one record's
    if absent and not settled:
        accepted = f"the columns of {private.path}, or dataset.drop=[...] to do without"
        raise DataError(f"{options.public}: no column {', '.join(map(repr, absent))}; accepted: {accepted}")
    allowed = {"columns": (target, unit), "drop": (target, unit, *present, *private.unread)}
    allowed["drop"] += tuple(lists["drop"] if private.keys and settled else ())
    for key, given in lists.items():
        if strange := [column for column in given if column not in {*names, *allowed.get(key, ())}]:
            accepted = f"columns of {private.path}: {', '.join(present)}"
            raise ConfigError(f"dataset.{key}", strange[0], accepted)
    if both := [column for column in lists["numeric"] if column in lists["categories"]]:
        raise ConfigError("dataset.categories", both[0], "columns that are not in dataset.numeric")
    for column, kind in private.unread.items():
        if not settled and column not in left_out:
            accepted = f"numbers, texts, dates, true and false; {typed('drop', column)} does without"
            raise DataError(f"{private.path}: column {column!r} holds {kind}; accepted: {accepted}")
    columns: dict[str, Column] = {}
    for name in names:
        entry = schema.columns[name]
        if name == target:
            continue
        if name in left_out:
            entry = Column("ignored", why="left out")
        elif name in row_names:
            entry = Column("ignored", why="row names")
        elif name in lists["numeric"]:
            entry = replace(entry if entry.is_number else Column(), missing=True)
        elif name in lists["categories"]:
            entry = entry if entry.kind == "category" else Column("category")
        columns[name] = replace(entry, missing=None) if options.missing and entry.missing is False else entry
    return replace(schema, columns=columns)


def _warnings_on(table: RecordTable, schema: Schema, readings: Mapping[str, Reading]) -> Iterator[str]:
    """Report cells that are no numbers, and unseen levels; quotes one, for the owner of the file."""
    for name, reading in readings.items():
        column = schema.columns[name]
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


def _person_warnings(
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
    names = table.labels(unit, words, "dataset.unit", one=True, distinct=False)
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
    one: bool,
    missing: bool,
    bought: bool,
) -> Labels | None:
    """Labels of a file; those that read alike, or differ in capitals alone, are `one` of the levels.

    None of a file of which some may be `missing`, and are. Where classes are `bought`, no label is refused,
    and a missing one is empty.
    """
    labels = table.labels(
        target,
        words,
        "dataset.target",
        declared=levels,
        missing=missing or bought,
        one=one,
        distinct=not (bought or levels),
    )
    absent = labels.codes < 0
    if bought:
        names = [*labels.names, *[""] * bool(absent.any())]
        return Labels(names, np.where(absent, len(labels.names), labels.codes))
    if absent.any():
        return None
    if not one:
        return labels
    counts = np.bincount(labels.codes, minlength=len(labels.names)).tolist()
    best = spellings(dict(zip(labels.names, counts, strict=True)))
    best |= {level.casefold(): level for level in levels or ()}
    spelled = [name if name in (levels or ()) else best[name.casefold()] for name in labels.names]
    names = list(dict.fromkeys(spelled))
    return Labels(names, np.array([names.index(name) for name in spelled])[labels.codes])
