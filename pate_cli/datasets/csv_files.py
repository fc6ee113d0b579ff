"""CSV files with a named target column: one, or three."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pate_cli.datasets.table_dataset import TableOptions, declared_by, make_dataset
from pate_cli.datasets.written import CsvFormat, read_csv
from pate_cli.types import Dataset

__all__ = ["Options", "load", "with_form"]


@dataclass(frozen=True)
class Options(CsvFormat, TableOptions):
    """Options of `dataset=csv`."""


def load(name: str, options: Options) -> Dataset:
    """Load a CSV file, or three; see `make_dataset`."""
    schema = declared_by(options)
    form = with_form(options, {} if schema is None else schema.form)
    return make_dataset(name, options, lambda path, text: read_csv(path, form, text), "a CSV file", schema)


def with_form(given: CsvFormat, form: Mapping[str, Any]) -> CsvFormat:
    """How a file is written: as a schema says, where the options do not."""
    values = {one.name: getattr(given, one.name) for one in fields(CsvFormat)}
    plain = CsvFormat(**values)
    more = {"sep": form.get("delimiter"), **{key: form.get(key) for key in ("encoding", "decimal", "quote")}}
    missing = {key: value for key, value in more.items() if value and values[key] is None}
    return replace(plain, header=plain.header and form.get("header", True), **missing)
