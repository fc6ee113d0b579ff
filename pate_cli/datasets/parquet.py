"""Parquet files with a named target column: one, or three. Needs pyarrow: pip install pyarrow."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.libsvm import open_bytes
from pate_cli.datasets.options import TableOptions
from pate_cli.datasets.reading import Table, as_text
from pate_cli.datasets.tables import make_dataset
from pate_cli.errors import DataError, InputError
from pate_cli.types import Dataset

__all__ = ["Options", "load", "read_parquet"]


@dataclass(frozen=True)
class Options(TableOptions):
    """Options of `dataset=parquet`; see `TableOptions`."""


def load(name: str, options: Options) -> Dataset:
    """Load a Parquet file, or three; see `make_dataset`.

    Raises
    ------
    InputError
        If pyarrow is not installed, an option is not accepted, or a file cannot be used.
    """
    return make_dataset(name, options, read_parquet, "a Parquet file")


def read_parquet(path: Path, text: Collection[str] = (), wanted: str | None = None) -> Table:
    """Read a file; texts, true and false are categories, dates stay dates. See `Table`.

    Raises
    ------
    InputError
        If pyarrow is not installed.
    DataError
        If the file is missing or no Parquet file, or has no records.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
        from pyarrow import ArrowException, types
    except ImportError:
        raise InputError("dataset=parquet: pyarrow is not installed; pip install pyarrow") from None
    import pandas as pd

    digest = hashlib.sha256()
    with open_bytes(path, digest) as stream:
        raw = stream.read()
    try:
        schema = pq.read_schema(pa.BufferReader(raw))
        names = schema.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise DataError(f"{path}: the column {twice[0]!r} occurs twice")
        texts = [field.name for field in schema if _is_text(field.type)]  # each text is then made but once
        held = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=texts).read()
    except ArrowException as error:
        raise DataError(f"{path}: not a Parquet file ({error})") from None
    del raw
    if not held.num_rows:
        raise DataError(f"{path}: no records in it")
    columns: dict[str, Any] = {}
    dates, unread = set(), {}
    for field in held.schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
        cells = held.column(field.name)
        if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
            unread[field.name] = str(field.type)
        elif _is_text(kind) or (types.is_integer(kind) and field.name in text):
            columns[field.name] = _categories(cells)
        elif number and field.name not in text:
            values = cells.to_pandas().astype(np.float64).to_numpy()
            known = not np.isnan(values).all()
            columns[field.name] = values if known else as_text(pd.Series([""] * len(values)))
        else:
            column = cells.to_pandas()
            if types.is_temporal(kind) and field.name not in text:
                dates.add(field.name)
                column = column.astype(str).where(column.notna(), "")
            columns[field.name] = as_text(_whole(column))
    frame = pd.DataFrame(columns, index=pd.RangeIndex(1, held.num_rows + 1), copy=False)
    return Table(frame, path, digest.hexdigest(), "row", frozenset(dates), unread)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _categories(column: Any) -> Any:
    """Texts of an Arrow column as `as_text` gives them, an empty one where there is nothing."""
    import pandas as pd
    from pyarrow import types

    coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    coded = coded.combine_chunks()
    coded = coded.chunk(0) if hasattr(coded, "chunk") else coded
    texts = ("" if value is None else str(value) for value in coded.dictionary.to_pylist())
    found = np.array(["", *texts], dtype=object)
    codes = coded.indices.cast("int32").fill_null(-1).to_numpy() + 1  # some writers count in bytes
    # a dictionary may list texts that no record has, or one twice
    used = np.flatnonzero(np.bincount(codes, minlength=len(found)))
    names, where = np.unique(found[used], return_inverse=True)
    position = np.zeros(len(found), dtype=np.int32)
    position[used] = where
    return pd.Categorical.from_codes(position[codes], pd.Index(names, dtype=object))


def _whole(column: Any) -> Any:
    """Whole numbers as such, where a missing one has made them floats: 7.0 is a name 7, next to 7.5, too."""
    if column.dtype.kind != "f":
        return column
    held = [int(value) if value.is_integer() else value for value in column.tolist()]
    return type(column)(held, index=column.index, dtype=object)
