"""Parquet files with a named target column: one, or three. Needs pyarrow: pip install pyarrow."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.column import MOST_EXACT
from pate_cli.datasets.reading import RecordTable, columns_of, read_bytes
from pate_cli.datasets.table_dataset import make_dataset
from pate_cli.datasets.three_files import TableOptions as Options
from pate_cli.errors import DataError, InputError
from pate_cli.types import Dataset

__all__ = ["Options", "load", "read"]


def load(name: str, options: Options) -> Dataset:
    """Load a Parquet file, or three; see `make_dataset`."""
    return make_dataset(name, options, lambda path, text, _: read(path, text), "a Parquet file")


def read(path: Path, text: Collection[str] = ()) -> RecordTable:
    """Read a file; texts, true, false and dates are texts. See `RecordTable`.

    Whole numbers of the columns `text` stay as they are written: a name of many digits is no float.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
        from pyarrow import types
    except ImportError:
        raise InputError("dataset=parquet: pyarrow is not installed; pip install pyarrow") from None
    import pandas as pd

    raw, checksum = read_bytes(path)
    try:
        table = pq.ParquetFile(pa.BufferReader(raw)).read()
        index = (table.schema.pandas_metadata or {}).get("index_columns", [])
        row_names = frozenset(name for name in index if isinstance(name, str))
    except MemoryError:
        raise DataError(f"{path}: unpacked, it does not fit into memory") from None
    except (pa.ArrowException, ValueError, AttributeError, TypeError) as error:  # the last three: of its JSON
        raise DataError(f"{path}: not a Parquet file ({error})") from None
    names = table.column_names
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"{path}: the column {twice[0]!r} occurs twice")
    if not table.num_rows:
        raise DataError(f"{path}: no records in it")
    columns: dict[str, Any] = {}
    unread = {}
    for name in names:
        cells = table.column(name)
        if types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        kind = cells.type
        if types.is_nested(kind):  # its type would name the keys of each record
            unread[name] = "lists or objects"
            continue
        if types.is_binary(kind) or types.is_large_binary(kind):
            unread[name] = "bytes"
            continue
        long = types.is_integer(kind) and (pc.max(cells).as_py() or 0) >= MOST_EXACT
        if long or (name in text and (types.is_integer(kind) or types.is_decimal(kind))):
            cells = cells.cast(pa.string())
            if types.is_decimal(kind) and kind.scale > 0:  # 7.00 is 7, as in a column of whole numbers
                cells = pc.utf8_rtrim(pc.utf8_rtrim(cells, "0"), ".")
        try:
            if types.is_temporal(kind) and not types.is_duration(kind):
                cells = _as_written(cells)
            if types.is_string(kind) or types.is_large_string(kind):
                cells.validate(full=True)
        except pa.ArrowException as error:  # as of a zone that nobody knows
            raise DataError(f"{path}: column {name!r} cannot be read ({error})") from None
        columns[name] = cells.to_pandas()
        if types.is_decimal(cells.type):
            columns[name] = columns[name].astype(np.float64)
        elif types.is_duration(kind):
            columns[name] = columns[name].dt.total_seconds()
    columns = columns_of(pd.DataFrame(columns, copy=False))
    frame = pd.DataFrame(columns, index=pd.RangeIndex(1, table.num_rows + 1), copy=False)
    return RecordTable(frame, path, checksum, "row", unread, row_names)


def _as_written(times: Any) -> Any:
    """Dates and times as texts, each by itself: no midnight, no zeros behind seconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(
        times.cast(pa.string()), r"(:[0-9]{2}(?:\.[0-9]*[1-9])?)\.?0*([+-][0-9]{4})?$", r"\1\2"
    )
    return pc.replace_substring_regex(texts, " 00:00:00$", "")
