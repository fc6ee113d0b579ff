"""From one to three files with columns to a `Dataset`: whose records, which classes, which schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pate_cli.datasets.inference import (
    doubtful,
    infer,
    looks_like_unit,
    names_persons,
    nothing_to_learn,
    remarks_on,
)
from pate_cli.datasets.labels import encode_parts
from pate_cli.datasets.options import AUTO, TableOptions
from pate_cli.datasets.reading import Table, check_target
from pate_cli.datasets.schema import (
    NEARLY_ALL,
    Column,
    Schema,
    listed,
    not_a_number,
    numbers,
    read_schema,
    said,
    typed,
)
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, IntArray, Part

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Reader", "make_dataset"]

Reader = Callable[[Path, Collection[str], str | None], Table]
"""``read(path, text, wanted)``: see `reading.read_csv`."""


def make_dataset(name: str, options: TableOptions, read: Reader, what: str) -> Dataset:
    """Read the files that the options name, and bring them under one schema.

    The schema is the one declared (`dataset.schema`); else it is inferred from the public file. With one
    file a column is one of numbers if every cell is a number (or missing, where that has a code), and the
    run stops where a single cell decides otherwise; categories, means and scales are those of the public
    share of each split.

    Parameters
    ----------
    name : str
    options : TableOptions
    read : Reader
    what : str
        What a file is called in messages, as "a CSV file".

    Raises
    ------
    ConfigError
        If an option does not fit the files.
    DataError
        If a file cannot be used; names file, column and line.
    """
    where = options.private_path(what)
    schema = None if options.schema is None else read_schema(options.schema)
    target = options.target or (schema and schema.target)
    if not target:
        raise ConfigError("dataset.target", None, "the name of the column that holds the class")
    named_unit = options.unit if options.unit not in (None, AUTO) else None
    text = {target, *(options.categories or []), *([named_unit] if named_unit else [])}
    if schema is not None:
        text |= set(schema.of_kind("category"))
    private = read(where, text, target)
    check_target(target, private)
    files = [None if path is None else Path(path).expanduser() for path in (options.public, options.test)]
    public, test = (None if file is None else read(file, text, None) for file in files)
    if test is not None and target not in test.frame.columns:
        raise ConfigError("dataset.test", str(test.path), f"a file with the target {target!r}")
    unit = _unit(options.unit, private, target, schema)
    words = [word.strip() for word in options.missing or []]
    units = None if unit is None else _units(private, unit, words)
    schema = _schema(schema, private, public, target, unit, options)
    if options.schema is None and public is not None:
        # as it is written, whatever the other cells are: where all of them look like numbers, 01 would be 1
        text |= set(schema.of_kind("category"))
        private = _as_written(private, text, target, read)
        test = None if test is None else _as_written(test, text, None, read)
    labels = [_labels(private, target, words), _public_labels(public, target, words)]
    labels.append(None if test is None else _labels(test, target, words))
    tables = (private, public, test)
    alone = options.schema is None and public is None
    idle = nothing_to_learn(private, schema, words) if alone else {}
    codes, classes, from_private = encode_parts(
        labels,
        [f"{table.path}, column {target!r}" if table else None for table in tables],
        options.classes or schema.classes,
        lambda part, row: cast(Table, tables[part]).place(row),
    )
    X = schema.apply(private, words)
    if not len(X.columns):
        raise DataError(f"{where}: no column is used; {schema.brief()}")
    from pate_cli.datasets.encoding import TableEncoder

    def part(table: Table | None, y: IntArray | None) -> Part | None:
        return None if table is None else Part(schema.apply(table, words), y, table.checksum)

    return Dataset(
        name=name,
        X=X,
        y=codes[0],
        classes=classes,
        checksum=private.checksum,
        source=str(where),
        encoder=TableEncoder(replace(schema, target=target), words),
        public=part(public, codes[1]),
        test=part(test, codes[2]),
        units=units,
        unit=unit,
        classes_from_private=from_private,
        remarks=(
            *_remarks(*tables, [held is not None for held in (labels[1], codes[1])], target, unit, schema),
            *_idle(private, {name: why for name, why in idle.items() if name not in (options.columns or [])}),
            *(text for table in tables if table is not None for text in remarks_on(table, schema, words)),
        ),
    )


def _remarks(
    private: Table,
    public: Table | None,
    test: Table | None,
    labelled: list[bool],
    target: str,
    unit: str | None,
    schema: Schema,
) -> Iterator[str]:
    """Say how the files are read; for their owner, as what is said of a unit is a private fact.

    `labelled` says whether the public file has labels, and whether they are used.
    """
    yield f"{private.path.name}: {schema.brief()}"
    if public is not None:
        more = [str(c) for c in public.frame.columns if c not in schema.columns and c not in (target, unit)]
        if more:
            yield f"{public.path.name}: not used, as the private file does not have them: {', '.join(more)}"
        if labelled[1]:
            yield f"{public.path.name}: its labels ({target}) are for measuring alone"
        elif labelled[0]:
            yield f"{public.path.name}: one label ({target}) on all records, taken for a placeholder"
    if unit is None:
        return
    if private.frame[unit].nunique() == len(private.frame):
        yield f"{private.path.name}: each {unit} has one record, so dataset.unit changes nothing"
    names = _names(private, unit)
    if public is not None and (shared := names & _names(public, unit)):
        counted = f"{len(shared):,} {unit} of {private.path.name} are in it too"
        yield f"{public.path.name}: {counted}; what it says of them is public, and not protected"
    if test is not None and (shared := names & _names(test, unit)):
        counted = f"{len(shared):,} {unit} of {private.path.name} are in it too"
        yield f"{test.path.name}: {counted}, so the accuracy is not one for new persons"


def _names(table: Table, unit: str) -> set[str]:
    """Names of the persons in a table; none where it has no such column."""
    if unit not in table.frame.columns:
        return set()
    found = table.frame[unit]
    return {str(name).strip() for name in (found.cat.categories if hasattr(found, "cat") else found.unique())}


def _idle(table: Table, idle: dict[str, str]) -> Iterator[str]:
    """Say which columns hold nothing to learn from; what is in the one file may not decide it."""
    if idle:
        shown = listed([f"{name}: {why}" for name, why in idle.items()])
        yield (
            f"{table.path.name}: used, though there is hardly anything to learn from them ({shown});"
            f" {typed('drop', *idle)} leaves them out"
        )


def _schema(
    declared: Schema | None,
    private: Table,
    public: Table | None,
    target: str,
    unit: str | None,
    options: TableOptions,
) -> Schema:
    """The schema of a run: declared, or inferred, then changed by the keys for single columns."""
    words = options.missing or []
    there = [str(column) for column in private.frame.columns if column not in (target, unit)]
    chosen = options.lists()
    if declared is not None:
        schema = declared
    elif public is not None:
        absent = [column for column in there if column not in public.frame.columns]
        named = set(chosen["dataset.drop"]) | {
            column for column in there if options.columns and column not in options.columns
        }
        absent = [column for column in absent if column not in named]
        if absent:
            shown = ", ".join(map(repr, absent))
            accepted = f"the columns of {private.path}, or dataset.drop=[...] to do without"
            raise DataError(f"{public.path}: no column {shown}; accepted: {accepted}")
        schema = infer(public, target=target, words=words, source=f"inferred from {public.path.name}")
        schema = replace(schema, columns={c: schema.columns[c] for c in there if c in schema.columns})
    else:
        schema = Schema({}, "of each split's public share", target)
    known = schema.columns if declared is not None or public is not None else there
    for key, names in chosen.items():
        for column in names:
            if column == unit and key in ("dataset.numeric", "dataset.categories"):
                accepted = f"columns to learn from: {', '.join(there)}; {unit} is dataset.unit"
                raise ConfigError(key, column, accepted)
            # what is left out need not be in the public file
            held = [*there, *private.unread] if key == "dataset.drop" else known
            if column not in known and column not in held and column not in (target, unit):
                raise ConfigError(key, column, f"columns of {private.path}: {', '.join(there)}")
    both = [column for column in chosen["dataset.numeric"] if column in chosen["dataset.categories"]]
    if both:
        raise ConfigError("dataset.categories", both[0], "columns that are not in dataset.numeric")
    drop = {*chosen["dataset.drop"], *([unit] if unit in schema.columns else [])}
    if options.columns:
        drop |= {column for column in known if column not in options.columns}
    numeric = [column for column in chosen["dataset.numeric"] if column not in drop]
    categories = [column for column in chosen["dataset.categories"] if column not in drop]
    settled = {*numeric, *categories, *drop}
    for column, what in private.unread.items():
        chosen_out = column in drop or (options.columns and column not in options.columns)
        if declared is None and not chosen_out:
            accepted = f"numbers, texts, dates, true and false; {typed('drop', column)} does without"
            raise DataError(f"{private.path}: column {column!r} holds {what}; accepted: {accepted}")
    if declared is None and public is not None:
        for column, kind in schema.columns.items():
            if kind.kind != "numeric" and column not in settled and not looks_like_unit(column):
                _refuse_doubtful(public, column, words)
    if declared is None and public is None:
        columns = {}
        for column in there:
            columns[column] = Column() if column in settled else _kind(private, column, words)
        schema = replace(schema, columns=columns)
    schema = schema.with_choices(
        numeric=numeric, categories=categories, drop=sorted(drop & set(known)), coded=bool(words)
    )
    return replace(schema, columns={c: v for c, v in schema.columns.items() if c != target})


def _as_written(table: Table, text: Collection[str], wanted: str | None, read: Reader) -> Table:
    """Read a file again where columns that are to be texts were taken for numbers."""
    frame = table.frame
    numeric = [name for name in text if name in frame.columns and not hasattr(frame[name], "cat")]
    return read(table.path, text, wanted) if numeric else table


def _kind(table: Table, name: str, words: Collection[str]) -> Column:
    """Kind of a column of the one file: no single record decides it, but by stopping the run.

    Numbers are two at least, and of categories two are none, or all: between the two the run stops.
    """
    if name in table.dates:
        return Column("ignored", why="dates")
    if looks_like_unit(name):
        return Column("ignored", why="identifiers")
    values, found = numbers(table.frame[name], words, table.decimal)
    if found.n_numbers and found.first is None:
        if found.n_numbers == 1 and (words or not found.n_missing):
            row = int(np.argmax(~np.isnan(values)))
            accepted = " or ".join(typed(key, name) for key in ("numeric", "categories", "drop"))
            raise DataError(f"{table.place(row)}: column {name!r} holds one number; accepted: {accepted}")
        return Column("numeric")
    slips = found.n_others <= 1 or found.n_numbers >= NEARLY_ALL * (found.n_numbers + found.n_others)
    if found.first is not None and found.n_numbers and slips:
        raise DataError(not_a_number(table, name, found.first))
    _refuse_doubtful(table, name, words)
    return Column("category")


def _refuse_doubtful(table: Table, name: str, words: Collection[str]) -> None:
    """Refuse to take for categories what may be numbers, each a category of its own: it has to be said."""
    found = doubtful(table, name, words)
    if found is not None:
        raise DataError(not_a_number(table, name, found[0], among=found[1]))


def _unit(chosen: str | None, table: Table, target: str, schema: Schema | None) -> str | None:
    """Column that says whose a record is; asks where one looks like it and nothing was said."""
    columns = [str(column) for column in table.frame.columns]
    if chosen == AUTO:
        for column in columns:
            if column == target or not looks_like_unit(column):
                continue
            n, distinct = len(table.frame), int(table.frame[column].nunique())
            if 2 < distinct < n and (names_persons(column) or distinct > n // 100):
                raise ConfigError(
                    "dataset.unit",
                    AUTO,
                    f"{column}, to protect all records of one together ({n:,} records name {distinct:,}), or"
                    " null, to protect each record by itself",
                )
        return None
    others = [column for column in columns if column != target]
    if chosen is not None and chosen not in others:
        raise ConfigError("dataset.unit", chosen, f"a column of {table.path}: {', '.join(others)}")
    return chosen


def _units(table: Table, unit: str, words: Collection[str]) -> IntArray:
    """Number of the person of each record, in the order of their names."""
    cells = table.frame[unit]
    texts = np.array([str(text).strip() for text in cells.cat.categories], dtype=object)
    empty = _absent(cells, words)
    if empty.any():  # who has no name may have other records under one: nobody would know whose they are
        row = int(np.argmax(empty))
        held = str(cells.iloc[row]).strip()
        what = f"{held!r}, no name," if held else "empty"
        raise DataError(
            f"{table.place(row)}: dataset.unit is {unit!r}, and it is {what} here; a name is needed in each"
            " record"
        )
    found, numbers_ = np.unique(texts, return_inverse=True)
    if len(found) < 2:
        raise DataError(
            f"{table.path}: {unit!r} (dataset.unit) is {found[0]!r} in all records; two are needed"
        )
    return numbers_[cells.cat.codes.to_numpy()].astype(np.int64)


def _public_labels(table: Table | None, target: str, words: Collection[str]) -> Any:
    """Labels of the public file; None where it has no target, or some of its cells are empty."""
    if table is None or target not in table.frame.columns:
        return None
    held = table.frame[target]
    _, found = numbers(held, words)
    return None if found.n_missing else _labels(table, target, words)


def _labels(table: Table, target: str, words: Collection[str]) -> Any:
    """Labels as floats where all of them are numbers, else as texts."""
    cells: pd.Series = table.frame[target]
    values, found = numbers(cells, words)
    if found.first is None:
        labels, bad = values, ~np.isfinite(values)
    else:
        codes = cells.cat.codes.to_numpy()
        labels = np.array([str(text).strip() for text in cells.cat.categories], dtype=str)[codes]
        bad = _absent(cells, words)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"{table.place(row)}: target {target!r} has {str(cells.iloc[row])!r}; a class is needed"
        )
    return labels


def _absent(cells: pd.Series, words: Collection[str]) -> Any:
    """Which cells of a column of texts hold no value."""
    absent = [not said(text, words, numeric=True) for text in cells.cat.categories]
    return np.array(absent, dtype=bool)[cells.cat.codes.to_numpy()]
