"""Any CSV file with a named target column, or three: private, public and test."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pate_cli.checks import Flag, OneOf, Or, option
from pate_cli.datasets.options import Encoding, Separator, TableOptions
from pate_cli.datasets.reading import CsvFormat, Table, read_csv
from pate_cli.datasets.tables import make_dataset
from pate_cli.types import Dataset

__all__ = ["Options", "load"]


class _Decimal(OneOf):
    """What stands before decimals."""

    def describe(self) -> str:
        """See `Check`."""
        return """., or a comma: 'dataset.decimal=","'"""


@dataclass(frozen=True)
class Options(TableOptions):
    """Options of `dataset=csv`; see `TableOptions` and `reading.CsvFormat`."""

    sep: str | None = option(None, Or("null", Separator()))
    encoding: str | None = option(None, Or("null", Encoding()))
    decimal: str = option(".", _Decimal((".", ",")))
    header: bool = option(True, Flag())


def load(name: str, options: Options) -> Dataset:
    """Load a CSV file, or three; see `make_dataset`.

    Raises
    ------
    ConfigError
        If an option is not accepted.
    DataError
        If a file cannot be used; names file, column and line.
    """
    form = CsvFormat(options.sep, options.encoding, options.decimal, options.header)

    def read(path: Path, text: Collection[str], wanted: str | None) -> Table:
        digest = hashlib.sha256()
        frame = read_csv(path, form, text, digest, wanted)
        return Table(frame, path, digest.hexdigest(), decimal=options.decimal)

    return make_dataset(name, options, read, "a CSV file")
