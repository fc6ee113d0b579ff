"""New records for a saved student: brought under the schema of its training, and compared with it.

The fitted encoder holds that schema and the range of each column of numbers among the public points.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import listed
from pate_cli.datasets.column import Reading
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, schema_of
from pate_cli.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TrainingTable", "ranges_of", "training_table"]


@dataclass(frozen=True)
class TrainingTable:
    """Schema, and ranges (see `ranges_of`), of a student's training. PUBLIC."""

    schema: Schema
    ranges: Mapping[str, Mapping[str, float]]

    def read(self, table: RecordTable) -> tuple[pd.DataFrame, list[str]]:
        """Bring new records into the form that the encoder takes.

        Returns the frame, with texts as plain objects, and a line each for missing cells, numbers out of
        range and unseen categories. DataError names a column that is not there or is of another type,
        or the first cell that a column does not take.
        """
        frame, readings = self.schema.read(table, new=True)
        for name in self.schema.of_kind("category"):
            frame[name] = frame[name].astype(object)
        return frame, list(self._remarks(table, frame, readings))

    def _remarks(
        self, table: RecordTable, frame: pd.DataFrame, readings: Mapping[str, Reading]
    ) -> Iterator[str]:
        by_kind: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
        for name in map(str, frame):
            for kind, where, addition in self._differences(table, name, frame[name], readings[name]):
                if where.any():
                    row = int(np.argmax(where))
                    cell = frame[name].iloc[row]
                    first = "first"
                    if kind != "missing":
                        text = isinstance(cell, str)
                        first += f" {cell!r}" if text else f" {self.schema.columns[name].shown(cell)}"
                    place = f"({first}, {table.word} {frame.index[row]})"
                    by_kind[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{addition} {place}")
        yield from (
            f"{table.path}: {kind}: {listed(columns)}" for kind, columns in by_kind.items() if columns
        )

    def _differences(
        self, table: RecordTable, name: str, cells: pd.Series, reading: Reading
    ) -> Iterator[tuple[str, Any, str]]:
        """Cells of a column unlike the training's: kind, mask, and an addition to the count."""
        column, span = self.schema.columns[name], self.ranges.get(name, {})
        if column.kind == "category":
            missing = (cells == "").to_numpy()
            yield "missing", missing, ""
            yield "unseen categories", ~cells.isin(column.levels or []).to_numpy() & ~missing, ""
            return
        odd = np.flatnonzero(reading.odd)
        shown = f", {len(odd)} of them text as {table.cell(name, int(odd[0]))!r}" if len(odd) else ""
        yield "missing", cells.isna().to_numpy(), shown
        low, high = (column.low, column.high) if column.low is not None else map(span.get, ("low", "high"))
        if low is not None and high is not None:
            beyond = ((cells < low) | (cells > high + (column.kind == "date"))).to_numpy()
            yield "numbers out of range", beyond, f" outside {column.shown(low)} to {column.shown(high)}"


def training_table(encoder: Any, name: str) -> TrainingTable:
    """Read the table of training from a fitted encoder, perhaps loaded from the file `name`."""
    try:
        profile = encoder.profile_
        schema = schema_of(profile["schema"], "saved with the model")
        columns = {str(name): schema.columns[str(name)] for name in encoder.feature_names_in_}
        for kind, part, names in encoder.transformers_:
            for column, levels in zip(names, part.categories_ if kind == "levels" else (), strict=False):
                columns[column] = replace(columns[column], levels=[str(level) for level in levels if level])
        ranges = {
            name: {end: float(span[end]) for end in ("low", "high")}
            for name, span in profile["columns"].items()
        }
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return TrainingTable(replace(schema, columns=columns), ranges)


def ranges_of(X: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Least and largest number of each column of public records that has any, in plain types."""
    numbers = {str(name): cells.dropna() for name, cells in X.items() if cells.dtype == np.float64}
    return {
        name: {"low": float(cells.min()), "high": float(cells.max())}
        for name, cells in numbers.items()
        if len(cells)
    }
