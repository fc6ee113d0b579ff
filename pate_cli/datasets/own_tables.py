"""The private, the public and the test table of a user, and the schema by which their cells are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.datasets.asking import Ask
from pate_cli.datasets.column import Column
from pate_cli.datasets.encodings import MARKED
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema
from pate_cli.datasets.three_files import TableOptions
from pate_cli.datasets.undeclared import undeclared
from pate_cli.describe_command import AUTO
from pate_cli.errors import ConfigError, DataError

__all__ = ["Reader", "Tables", "read_tables"]

Reader = Callable[[Path, Collection[str], Mapping[str, Any]], RecordTable]
"""``read(path, text, form)``: see `csv_files.read_csv`."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables as they were read, and their schema before the options change it."""

    private: RecordTable
    public: RecordTable | None
    test: RecordTable | None
    schema: Schema
    asked: Sequence[Ask] = ()  # of a schema that is not declared
    warnings: Sequence[str] = ()  # of it
    labelled: NDArray[np.bool_] | None = None  # records that have a label, where others are left out


@dataclass
class _Files:
    """Files that one reader reads, by what is known so far of their form and their texts."""

    reader: Reader
    private: Path
    public: Path | None
    test: Path | None
    reserved: tuple[str | None, ...]  # the target and the column of persons
    text: set[str]  # columns that are read as they are written, whatever the other cells are
    form: dict[str, Any] = field(default_factory=dict)

    def read(self, path: Path) -> RecordTable:
        form = self.form
        if path == self.private:
            form = form | {"every": [name for name in form.get("columns", ()) if name not in self.reserved]}
        return self.reader(path, self.text, form)


def read_tables(
    reader: Reader,
    options: TableOptions,
    what: str,
    declared: Schema | None,
    target: str,
    unit: str | None,
) -> Tables:
    """Read the files that the options name, by the schema `declared`, or by what the public file decides.

    `what` is the kind of file for messages, `target` empty where nothing names it. ConfigError or DataError
    if a file cannot be read, or has no column `target`.
    """
    paths = options.paths(what)
    if not target:
        raise ConfigError("dataset.target", None, "the name of the column that holds the class")
    # where all cells look like numbers, 01 would be 1
    text = {target, *(options.categories or []), *(declared.texts if declared else ())}
    if unit not in (None, AUTO):
        text.add(str(unit))
    files = _Files(reader, *paths, (target, unit), text)
    if declared is None:
        tables = _by_records(files, options, target, unit)
    else:
        tables = _by_schema(files, options, declared, target, unit)
    if files.test is None:
        return tables
    test = files.read(files.test)
    if target not in test.columns:
        raise ConfigError("dataset.test", str(test.path), f"a file with the target {target!r}")
    return replace(tables, test=test)


def _by_schema(
    files: _Files, options: TableOptions, declared: Schema, target: str, unit: str | None
) -> Tables:
    """Tables by a declared schema: no record decides what it says."""
    others = {str(name): Column("category") for name in (target, unit) if name}
    files.form = {"encoding": "utf-8", "decimal": ".", **declared.form}
    files.form["columns"] = others | dict(declared.columns)
    public = None if files.public is None else files.read(files.public)
    private = files.read(files.private)
    _check_target(target, private)
    labelled = None
    if declared.target_missing == "dropped":
        private, labelled = private.labelled(target, declared.missing, options.classes or declared.classes)
    schema = replace(declared, missing=[*declared.missing, *options.words])
    return Tables(private, public, None, schema, labelled=labelled)


def _by_records(files: _Files, options: TableOptions, target: str, unit: str | None) -> Tables:
    """Tables by the schema that the public file decides, or the one file."""
    public = None if files.public is None else files.read(files.public)
    if public is not None:
        files.form = _form_of(public)
    private = files.read(files.private)
    _check_target(target, private)
    schema, asked, warnings = undeclared(private, public, target, unit, options)
    if public is None:
        private = replace(private, decimal=schema.form.get("decimal", private.decimal))
        return Tables(private, None, None, schema, asked, warnings)
    decimal = schema.form.get("decimal", public.decimal)
    if decimal != files.form["decimal"] or not schema.texts <= files.text:  # now its kinds are known
        files.form["decimal"] = decimal
        files.text = files.text | schema.texts
        private = files.read(files.private)
    public, private = replace(public, decimal=decimal), replace(private, decimal=decimal)
    return Tables(private, public, None, schema, asked, warnings)


def _form_of(public: RecordTable) -> dict[str, Any]:
    """What the public file says of the form of the private one, of which no private record decides it."""
    written, encoding = public.written, public.written.encoding
    form: dict[str, Any] = {
        "columns": {
            name: Column("number" if public.frame[name].dtype.kind == "f" else "category")
            for name in public.columns
        },
        # a byte order mark speaks for its own file alone
        "encoding": "utf-8" if encoding in MARKED else encoding,
        "decimal": public.decimal,
    }
    return form if written.header else form | {key: written.form[key] for key in ("delimiter", "quote")}


def _check_target(target: str, table: RecordTable) -> None:
    if target not in table.columns:
        raise ConfigError("dataset.target", target, table.choices)
    if len(table.columns) == 1 and not table.unread:
        raise DataError(f"{table.path}: no column but the target {target!r}")
