"""Files of JSON lines: an object for each record, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pate_cli.datasets.reading import Table, as_utf8, columns_of, marked, read_bytes
from pate_cli.datasets.tables import TableOptions as Options
from pate_cli.datasets.tables import make_dataset
from pate_cli.errors import DataError
from pate_cli.types import Dataset

__all__ = ["Options", "load", "read"]


def load(name: str, options: Options) -> Dataset:
    """Load a file of JSON lines, or three; see `make_dataset`."""
    return make_dataset(name, options, read, "a file of JSON lines")


def read(path: Path, text: Collection[str] = ()) -> Table:
    """Read a file, perhaps compressed; see `Table`. A text is no number, whatever it looks like."""
    import pandas as pd

    raw, checksum = read_bytes(path)
    records: dict[int, dict[str, Any]] = {}
    for number, line in enumerate(as_utf8(raw, path, marked(raw) or "utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            if not isinstance(record := json.loads(line, object_pairs_hook=_distinct), dict):
                raise ValueError(f"but a {type(record).__name__}")
            # refuses what the parser takes and JSON does not: NaN, 1e999, half of a surrogate
            json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: not an object of JSON ({error})") from None
        records[number] = record
    if not records:
        raise DataError(f"{path}: no records in it")
    columns, unread = {}, {}
    for name in dict.fromkeys(name for record in records.values() for name in record):
        cells = [record.get(name) for record in records.values()]
        kinds = {type(cell) for cell in cells if cell is not None}
        if kinds & {dict, list}:
            unread[name] = "lists or objects"
        elif kinds <= {int, float} and not (name in text and kinds == {int}):  # an id keeps its digits
            columns[name] = pd.Series(cells)
        else:
            columns[name] = pd.Series([None if cell is None else str(cell) for cell in cells], dtype=object)
    frame = pd.DataFrame(columns_of(pd.DataFrame(columns)), index=pd.Index(list(records)))
    return Table(frame, path, checksum, unread=unread)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(record := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return record
