"""Files of JSON lines: an object for each record, whose keys are the columns."""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.encodings import as_utf8, marked
from pate_cli.datasets.reading import RecordTable, columns_of, read_bytes
from pate_cli.datasets.table_dataset import make_dataset
from pate_cli.datasets.three_files import TableOptions as Options
from pate_cli.errors import DataError, shortened
from pate_cli.types import Dataset

__all__ = ["Options", "load", "read"]


def load(name: str, options: Options) -> Dataset:
    """Load a file of JSON lines, or three; see `make_dataset`."""

    def read_it(path: Path, text: Collection[str], form: Mapping[str, Any]) -> RecordTable:
        return read(path, text, form.get("columns", ()), form.get("every", ()))

    return make_dataset(name, options, read_it, "a file of JSON lines")


def read(
    path: Path,
    text: Collection[str] = (),
    declared: Collection[str] = (),
    every: Collection[str] = (),
) -> RecordTable:
    """Read a file, perhaps compressed; see `RecordTable`. A text is no number, whatever it looks like.

    Columns of `text`, as labels and names of persons, keep numbers as they are written: 2.10 is not 2.1.
    A list or an object is a text as any other, but in columns of which it is half and that are not
    `declared`. Columns are in the order of their names. There is `every` column that is named so, as a key
    may stand in a single record.
    """
    import pandas as pd

    raw, checksum = read_bytes(path)
    records: dict[int, dict[str, Any]] = {}
    marks = []
    lines = as_utf8(raw, path, marked(raw) or "utf-8").splitlines()
    if lines and lines[0].lstrip().startswith(b"["):
        raise DataError(f"{path}: an array; accepted: JSON lines, an object a line, without [ ] around them")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = _PARSE(line.decode())
            if not isinstance(record, dict):
                raise ValueError(
                    f"but a {'number' if isinstance(record, _Number) else type(record).__name__}"
                )
            json.dumps(record, ensure_ascii=False).encode()  # refuses half of a surrogate
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: not an object of JSON ({error})") from None
        records[number] = record
        marks.append(zlib.crc32(line))  # of a record alone: cells are read by what the others hold
    if not records:
        raise DataError(f"{path}: no records in it")
    columns, unread, keys = {}, {}, {}
    for name in sorted({*(name for record in records.values() for name in record), *every}):
        cells = [record.get(name) for record in records.values()]
        kinds = Counter(type(cell) for cell in cells if cell is not None)
        keys[name] = np.array([(c is not None) + isinstance(c, dict | list) for c in cells], dtype=np.uint8)
        if 2 * (kinds[dict] + kinds[list]) >= max(kinds.total(), 1) and name not in declared:
            unread[name] = "lists or objects"
        elif {*kinds} <= {_Number} and name not in text and not any(map(_is_long, cells)):
            columns[name] = pd.Series([None if cell is None else json.loads(cell) for cell in cells])
        else:
            texts = [cell if isinstance(cell, str | None) else json.dumps(cell) for cell in cells]
            columns[name] = pd.Series([text and str(text) for text in texts], dtype=object)
    frame = pd.DataFrame(columns_of(pd.DataFrame(columns)), index=pd.Index(list(records)))
    return RecordTable(frame, path, checksum, unread=unread, marks=np.array(marks), keys=keys)


class _Number(str):
    """A number as it is written."""


def _is_long(number: _Number | None) -> bool:
    """Whether a whole number has more digits than float64 keeps."""
    return number is not None and len(number) > 15 and number.isdecimal()


def _number(text: str) -> _Number:
    if not math.isfinite(float(text)):  # NaN and Infinity, which the parser takes, too
        raise ValueError(f"{shortened(text)} is no number of JSON, or too large")
    return _Number(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(record := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return record


_PARSE = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_number, parse_float=_number, parse_constant=_number
).decode
