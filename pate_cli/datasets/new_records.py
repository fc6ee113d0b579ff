"""New records for a saved student: brought under the schema of its training, compared with it, or refused.

The fitted encoder holds that schema and a profile of the public points. All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.inference import NEARLY_ALL
from pate_cli.datasets.profile import LARGE, check_profile, drift
from pate_cli.datasets.schema import Column, Schema, listed
from pate_cli.errors import DataError
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.datasets.reading import Table

__all__ = ["TrainingTable", "training_table"]

_FEW = 10
"""Cells from which on a column without a single number is taken for another one."""


@dataclass(frozen=True)
class TrainingTable:
    """What a student holds of the table it was trained on. PUBLIC.

    Attributes
    ----------
    schema : Schema
        Of the columns it uses; `values` of a category are all it has a code for.
    words : tuple of str
        Cells that stand for a missing value.
    profiles : mapping of str to mapping
        See `profile_of`; empty for a student that was saved without.
    """

    schema: Schema
    words: tuple[str, ...]
    profiles: Mapping[str, Any]

    def read(self, table: Table) -> tuple[pd.DataFrame, list[str]]:
        """Bring new records into the form that the encoder takes.

        Parameters
        ----------
        table : Table

        Returns
        -------
        frame : DataFrame
            As of `Schema.apply`; texts are no pandas categories.
        remarks : list of str
            A line for each way in which the records differ from those of the training: missing cells, numbers
            out of range, unseen categories, drift.

        Raises
        ------
        DataError
            Naming the column that is not there or is of another type, or the first cell it does not take.
        """
        absent = [name for name in self.schema.columns if name not in table.frame.columns]
        if absent:
            shown = ", ".join(map(repr, absent))
            raise DataError(f"{table.path}: no column {shown}, which the model was trained on")
        numeric = self.schema.of_kind("numeric")
        read = {name: _numbers(table, name, self.schema.columns[name], self.words) for name in numeric}
        columns = {name: values for name, (values, _) in read.items()}
        frame = self.schema.apply(replace(table, frame=table.frame.assign(**columns)), self.words)
        for name in self.schema.of_kind("category"):
            frame[name] = frame[name].astype(object)
        return frame, list(self._remarks(table, frame, {name: texts for name, (_, texts) in read.items()}))

    def _remarks(self, table: Table, frame: pd.DataFrame, texts: Mapping[str, str]) -> Iterator[str]:
        told: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
        drifted = []
        for name, cells in frame.items():
            for kind, where, more in self._differences(str(name), cells, texts):
                if where.any():
                    row = int(np.argmax(where))
                    held = cells.iloc[row]
                    held = repr(str(table.frame[name].iloc[row])) if isinstance(held, str) else f"{held:g}"
                    first = "" if kind == "missing" else f" {held}"
                    place = f"(first{first}, {table.word} {frame.index[row]})"
                    told[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{more} {place}")
            if name in self.profiles:
                index = drift(self.profiles[str(name)], cells, len(self.profiles))
                drifted += [] if index is None else [f"{name!r} {index:.2f}"]
        yield from (f"{table.path}: {kind}: {listed(columns)}" for kind, columns in told.items() if columns)
        if drifted:
            against = f"population stability index against the public points; {LARGE} is large"
            yield f"{table.path}: drift: {listed(drifted)} ({against})"

    def _differences(
        self, name: str, cells: pd.Series, texts: Mapping[str, str]
    ) -> Iterator[tuple[str, Any, str]]:
        """Which cells of a column are unlike the training's: kind, mask, and what to add to the count."""
        column, profile = self.schema.columns[name], self.profiles.get(name, {})
        if column.kind == "category":
            missing = (cells == "").to_numpy()
            yield "missing", missing, ""
            yield "unseen categories", ~cells.isin(column.values or []).to_numpy() & ~missing, ""
            return
        yield "missing", cells.isna().to_numpy(), texts[name]
        low, high = (column.low, column.high) if column.low is not None else map(profile.get, ("low", "high"))
        if low is not None and high is not None:
            beyond = ((cells < low) | (cells > high)).to_numpy()
            yield "numbers out of range", beyond, f" outside {low:g} to {high:g}"


def training_table(encoder: Any, name: str) -> TrainingTable:
    """Read what a fitted encoder holds of the training's table.

    Parameters
    ----------
    encoder : fitted ColumnTransformer
        Of `encoding.TableEncoder`, perhaps saved and loaded.
    name : str
        What to call it in messages.

    Raises
    ------
    DataError
        If it is not one that `TableEncoder` makes.
    """
    try:
        found: dict[str, Column] = {}
        for kind, part, columns in encoder.transformers_:
            for at, column in enumerate(map(str, columns)):
                found[column] = _column(kind, part, at)
        profile = getattr(encoder, "profile_", {})
        profiles = dict(profile.get("columns", {}))
        for each in profiles.values():
            check_profile(each)
        order = [str(column) for column in encoder.feature_names_in_ if str(column) in found]
        schema = Schema({c: found[c] for c in order}, "saved with the model", profile.get("target"))
        words = tuple(profile.get("missing", ()))
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return TrainingTable(schema, words, {c: profiles[c] for c in order if c in profiles})


def _column(kind: str, part: Any, at: int) -> Column:
    """Column number `at` of a part of the encoder."""
    if kind == "numbers":
        return Column()
    if kind == "declared":
        low, high = float(part.low[at]), float(part.high[at])
        missing = bool(part.missing[at])
        bounded = math.isfinite(low) and math.isfinite(high)
        return Column(low=low, high=high, missing=missing) if bounded else Column(missing=missing)
    values = [str(value) for value in part.categories_[at]]
    return Column("category", values=values, missing="" in values)


def _numbers(table: Table, name: str, column: Column, words: Collection[str]) -> tuple[FloatArray, str]:
    """Read a column of numbers, and count the texts in it; refuses another column, and a cell without a code.

    Where missing numbers have a code, any text is one of them, as it was in training.
    """
    values, found = table.numbers(name, words)
    some, row = found.n_numbers + found.n_others, found.first
    if row is not None and column.missing and (found.n_numbers or some < _FEW):
        return values, f", {found.n_others} of them text as {str(table.frame[name].iloc[row])!r}"
    why = "the model has no code for a missing number in it"
    if row is not None and found.n_numbers < NEARLY_ALL * some:
        why = f"{found.n_others} of {some} cells are no numbers: is this the same column?"
    elif row is None and found.n_missing and not column.missing:
        row = int(np.argmax(np.isnan(values)))
    elif row is None and np.isinf(values).any():
        row, why = int(np.argmax(np.isinf(values))), "a finite number is needed"
    if row is None:
        return values, ""
    held = table.frame[name].iloc[row]
    shown = "" if isinstance(held, float) and math.isnan(held) else str(held)
    comma = "; --decimal , where a comma stands before decimals" if "," in shown else ""
    raise DataError(f"{table.place(row)}: numeric column {name!r} has {shown!r}; {why}{comma}")
