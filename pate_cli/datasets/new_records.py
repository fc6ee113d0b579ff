"""New records for a saved student: brought under the schema of its training, and compared with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import listed
from pate_cli.datasets.column import Column, Reading
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, schema_of
from pate_cli.errors import DataError, shortened

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_new", "training_schema"]


def read_new(schema: Schema, table: RecordTable) -> tuple[pd.DataFrame, list[str]]:
    """Bring new records into the form that the encoder with a `training_schema` takes.

    Returns the frame, with texts as plain objects, and a line each for missing cells, numbers out of
    range and unseen categories. DataError names a column that is not there or is of another type,
    or the first cell that a column does not take.
    """
    frame, readings = schema.read(table, new=True)
    for name in schema.of_kind("category"):
        frame[name] = frame[name].astype(object)
    return frame, list(_warnings(schema, table, frame, readings))


def _warnings(
    schema: Schema, table: RecordTable, frame: pd.DataFrame, readings: Mapping[str, Reading]
) -> Iterator[str]:
    by_kind: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
    for name in map(str, frame):
        column = schema.columns[name]
        for kind, where, addition in _differences(table, name, column, frame[name], readings[name]):
            if where.any():
                row = int(np.argmax(where))
                cell = frame[name].iloc[row]
                first = "first"
                if kind != "missing":
                    first += (
                        f" {shortened(repr(cell))}" if isinstance(cell, str) else f" {column.shown(cell)}"
                    )
                place = f"({first}, {table.word} {frame.index[row]})"
                by_kind[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{addition} {place}")
    yield from (f"{table.path}: {kind}: {listed(columns)}" for kind, columns in by_kind.items() if columns)


def _differences(
    table: RecordTable, name: str, column: Column, cells: pd.Series, reading: Reading
) -> Iterator[tuple[str, Any, str]]:
    """Cells of a column unlike the training's: kind, mask, and an addition to the count."""
    if column.kind == "category":
        yield "missing", (cells == "").to_numpy(), ""
        yield "unseen categories", ~cells.isin([*(column.levels or ()), ""]).to_numpy(), ""
        return
    odd = np.flatnonzero(reading.odd)
    shown = (
        f", {len(odd)} of them text as {shortened(repr(table.cell(name, int(odd[0]))))}" if len(odd) else ""
    )
    yield "missing", cells.isna().to_numpy(), shown
    yield "numbers out of range", column.beyond(cells.to_numpy()), f" outside {column.about}"


def training_schema(encoder: Any, name: str) -> Schema:
    """Schema of a fitted encoder, perhaps loaded from the file `name`, with what public records decided.

    Bounds that were not declared are the ends of the public records, levels those that they have.
    """
    try:
        profile = encoder.profile_
        schema = schema_of(profile["schema"], "saved with the model")
        columns = {str(name): schema.columns[str(name)] for name in encoder.feature_names_in_}
        for kind, part, names in encoder.transformers_:
            for column, levels in zip(names, part.categories_ if kind == "levels" else (), strict=False):
                columns[column] = replace(columns[column], levels=[str(level) for level in levels if level])
        for column, span in profile["columns"].items():
            if columns[column].low is None:
                low, high = float(span["low"]), float(span["high"])
                columns[column] = replace(columns[column], low=low, high=high)
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return replace(schema, columns=columns)
