"""New records for a saved student: brought under the schema of its training, and compared with it.

The fitted encoder holds that schema and the range of each column of numbers among the public points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import listed
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import ColumnSchema, Schema
from pate_cli.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TrainingTable", "ranges_of", "training_table"]


@dataclass(frozen=True)
class TrainingTable:
    """Schema, words for a missing value, and ranges (see `ranges_of`) of a student's training. PUBLIC."""

    schema: Schema
    words: tuple[str, ...]
    ranges: Mapping[str, Mapping[str, float]]

    def read(self, table: RecordTable) -> tuple[pd.DataFrame, list[str]]:
        """Bring new records into the form that the encoder takes.

        Returns the frame, with texts as plain objects, and a line each for missing cells, numbers out of
        range and unseen categories. DataError names a column that is not there or is of another type,
        or the first cell that a column does not take.
        """
        frame = self.schema.apply(table, self.words, new=True)
        for name in self.schema.of_kind("category"):
            frame[name] = frame[name].astype(object)
        return frame, list(self._remarks(table, frame))

    def _remarks(self, table: RecordTable, frame: pd.DataFrame) -> Iterator[str]:
        by_kind: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
        for name in map(str, frame):
            for kind, where, addition in self._differences(table, name, frame[name]):
                if where.any():
                    row = int(np.argmax(where))
                    cell = frame[name].iloc[row]
                    shown = repr(cell) if isinstance(cell, str) else f"{cell:g}"
                    first = "first" if kind == "missing" else f"first {shown}"
                    place = f"({first}, {table.word} {frame.index[row]})"
                    by_kind[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{addition} {place}")
        yield from (
            f"{table.path}: {kind}: {listed(columns)}" for kind, columns in by_kind.items() if columns
        )

    def _differences(self, table: RecordTable, name: str, cells: pd.Series) -> Iterator[tuple[str, Any, str]]:
        """Cells of a column unlike the training's: kind, mask, and an addition to the count."""
        column, span = self.schema.columns[name], self.ranges.get(name, {})
        if column.kind == "category":
            missing = (cells == "").to_numpy()
            yield "missing", missing, ""
            yield "unseen categories", ~cells.isin(column.values or []).to_numpy() & ~missing, ""
            return
        texts = table.numbers(name, self.words)[1]
        shown = (
            ""
            if texts.first is None
            else f", {texts.n_others} of them text as {table.cell(name, texts.first)!r}"
        )
        yield "missing", cells.isna().to_numpy(), shown
        low, high = (column.low, column.high) if column.low is not None else map(span.get, ("low", "high"))
        if low is not None and high is not None:
            beyond = ((cells < low) | (cells > high)).to_numpy()
            yield "numbers out of range", beyond, f" outside {low:g} to {high:g}"


def training_table(encoder: Any, name: str) -> TrainingTable:
    """Read the table of training from a fitted encoder, perhaps loaded from the file `name`."""
    try:
        columns_by_name = {
            str(column): _column(kind, part, at)
            for kind, part, columns in encoder.transformers_
            for at, column in enumerate(columns)
        }
        profile = getattr(encoder, "profile_", {})
        ranges = {
            name: {end: float(span[end]) for end in ("low", "high")}
            for name, span in profile.get("columns", {}).items()
            if "low" in span
        }
        order = [str(column) for column in encoder.feature_names_in_ if str(column) in columns_by_name]
        schema = Schema({c: columns_by_name[c] for c in order}, "saved with the model", profile.get("target"))
        words = tuple(profile.get("missing", ()))
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return TrainingTable(schema, words, ranges)


def _column(kind: str, part: Any, at: int) -> ColumnSchema:
    """Column number `at` of a part of the encoder."""
    if kind == "numbers":
        return ColumnSchema()
    if kind == "declared":
        low, high, missing = float(part.low[at]), float(part.high[at]), bool(part.missing[at])
        bounded = math.isfinite(low) and math.isfinite(high)
        return ColumnSchema(low=low, high=high, missing=missing) if bounded else ColumnSchema(missing=missing)
    values = [str(value) for value in part.categories_[at]]
    return ColumnSchema("category", values=values, missing="" in values)


def ranges_of(X: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Least and largest number of each column of public records that has any, in plain types."""
    numbers = {str(name): cells.dropna() for name, cells in X.items() if cells.dtype == np.float64}
    return {
        name: {"low": float(cells.min()), "high": float(cells.max())}
        for name, cells in numbers.items()
        if len(cells)
    }
