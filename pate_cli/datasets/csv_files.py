"""CSV files with a named target column: one, or three."""

from __future__ import annotations

from dataclasses import dataclass

from pate_cli.datasets.table_dataset import TableOptions, declared_by, make_dataset
from pate_cli.datasets.written import CsvFormat, read_csv
from pate_cli.types import Dataset

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options(CsvFormat, TableOptions):
    """Options of `dataset=csv`."""


def load(name: str, options: Options) -> Dataset:
    """Load a CSV file, or three; see `make_dataset`."""
    schema = declared_by(options)
    form = {} if schema is None else schema.form
    return make_dataset(
        name, options, lambda path, text: read_csv(path, options, text, form), "a CSV file", schema
    )
