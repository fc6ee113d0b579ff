"""New records for a saved student: brought under the schema of its training, and compared with it.

The fitted encoder holds that schema and, of each column, a profile: how many public points lie in each of a
few bins. All of it is computed from public points alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Column, Schema, listed
from pate_cli.errors import DataError
from pate_cli.types import IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LARGE", "TrainingTable", "drift", "profile_of", "training_table"]

LARGE = 0.25
"""Population stability index of a drift: the usual rule of thumb."""

_BINS = 10
_FEWEST = 5
"""Public records that a text needs for a bin of its own."""

_CHANCE = 0.001
"""False alarm rate of drift, for all columns together."""


@dataclass(frozen=True)
class TrainingTable:
    """Schema, words for a missing value, and profiles (see `profile_of`) of a student's training. PUBLIC."""

    schema: Schema
    words: tuple[str, ...]
    profiles: Mapping[str, Any]

    def read(self, table: RecordTable) -> tuple[pd.DataFrame, list[str]]:
        """Bring new records into the form that the encoder takes.

        Returns the frame, with texts as plain objects, and a line each for missing cells, numbers out of
        range, unseen categories and drift. DataError names a column that is not there or is of another type,
        or the first cell that a column does not take.
        """
        frame = self.schema.apply(table, self.words, new=True)
        for name in self.schema.of_kind("category"):
            frame[name] = frame[name].astype(object)
        return frame, list(self._remarks(table, frame))

    def _remarks(self, table: RecordTable, frame: pd.DataFrame) -> Iterator[str]:
        by_kind: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
        drifted = []
        for name in map(str, frame):
            for kind, where, addition in self._differences(table, name, frame[name]):
                if where.any():
                    row = int(np.argmax(where))
                    cell = frame[name].iloc[row]
                    shown = repr(cell) if isinstance(cell, str) else f"{cell:g}"
                    first = "first" if kind == "missing" else f"first {shown}"
                    place = f"({first}, {table.word} {frame.index[row]})"
                    by_kind[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{addition} {place}")
            if name in self.profiles:
                index = drift(self.profiles[name], frame[name], len(self.profiles))
                drifted += [] if index is None else [f"{name!r} {index:.2f}"]
        yield from (
            f"{table.path}: {kind}: {listed(columns)}" for kind, columns in by_kind.items() if columns
        )
        if drifted:
            against = f"population stability index against the public points; {LARGE} is large"
            yield f"{table.path}: drift: {listed(drifted)} ({against})"

    def _differences(self, table: RecordTable, name: str, cells: pd.Series) -> Iterator[tuple[str, Any, str]]:
        """Cells of a column unlike the training's: kind, mask, and an addition to the count."""
        column, profile = self.schema.columns[name], self.profiles.get(name, {})
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
        low, high = (column.low, column.high) if column.low is not None else map(profile.get, ("low", "high"))
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
        profiles = dict(profile.get("columns", {}))
        for each in profiles.values():
            _check_profile(each)
        order = [str(column) for column in encoder.feature_names_in_ if str(column) in columns_by_name]
        schema = Schema({c: columns_by_name[c] for c in order}, "saved with the model", profile.get("target"))
        words = tuple(profile.get("missing", ()))
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return TrainingTable(schema, words, {c: profiles[c] for c in order if c in profiles})


def _column(kind: str, part: Any, at: int) -> Column:
    """Column number `at` of a part of the encoder."""
    if kind == "numbers":
        return Column()
    if kind == "declared":
        low, high, missing = float(part.low[at]), float(part.high[at]), bool(part.missing[at])
        bounded = math.isfinite(low) and math.isfinite(high)
        return Column(low=low, high=high, missing=missing) if bounded else Column(missing=missing)
    values = [str(value) for value in part.categories_[at]]
    return Column("category", values=values, missing="" in values)


def profile_of(X: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Describe public records column by column, in plain types: how many of them lie in each of a few bins.

    Numbers (float64, NaN where missing) have `low`, `high`, the bounds `edges` of at most ten bins of about
    equal size (a bound belongs to the bin below it), and `counts`, the last one of missing numbers. Texts
    have the nine most frequent `values` that five records have, and `counts`, the last one of other texts.
    """
    profiles = {}
    for name, cells in X.items():
        profile: dict[str, Any]
        if cells.dtype == np.float64:
            numbers = cells.dropna().to_numpy()
            shares = np.arange(1, _BINS) / _BINS
            edges = np.unique(np.quantile(numbers, shares, method="lower")).tolist() if len(numbers) else []
            low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)
            profile = {"low": low, "high": high, "edges": edges}
        else:
            counts = cells.astype(str).value_counts()
            # of values as frequent as each other the first by name: the order of records says nothing
            ordered = sorted(counts.index, key=lambda value: (-counts[value], value))
            profile = {"values": [value for value in ordered[: _BINS - 1] if counts[value] >= _FEWEST]}
        profiles[str(name)] = profile | {"counts": _counted(profile, cells).tolist()}
    return profiles


def _counted(profile: Mapping[str, Any], cells: pd.Series) -> IntArray:
    """Count the records of each bin; the last one is of missing numbers, or of other texts."""
    if "edges" in profile:
        values, edges = cells.to_numpy(dtype=np.float64), np.asarray(profile["edges"], dtype=np.float64)
        n = len(edges) + 1
        at = np.where(np.isnan(values), n, np.searchsorted(edges, values, side="left"))
    else:
        places = {value: place for place, value in enumerate(profile["values"])}
        n = len(places)
        at = np.array([places.get(text, n) for text in cells.astype(str)], dtype=np.int64)
    return np.bincount(at, minlength=n + 1).astype(np.int64)


def _check_profile(profile: Mapping[str, Any]) -> None:
    """Raise an exception of any kind if a profile, loaded from a file, is malformed."""
    import pandas as pd

    n_bins = len(_counted(profile, pd.Series([], dtype=np.float64 if "edges" in profile else object)))
    counts = profile["counts"]
    if len(counts) != n_bins or any(type(n) is not int or n < 0 for n in counts) or not sum(counts):
        raise ValueError(f"counts {counts}")
    if "edges" in profile:
        float(profile["low"]), float(profile["high"])


def drift(profile: Mapping[str, Any], cells: pd.Series, n_columns: int) -> float | None:
    """Population stability index of new records in one column of `n_columns`; None for no drift.

    The index is the sum over bins of (q - p) ln(q / p), p and q the shares of public points and of new
    records in a bin, each count raised by 1/2. Of n points and m records of one distribution it is about
    (1/n + 1/m) times a chi-squared variable with a degree of freedom less than there are bins (Yurdakul
    2018): it counts where it is large, and larger than chance makes it.

    References
    ----------
    N. Siddiqi. Credit Risk Scorecards. Wiley, 2006.
    B. Yurdakul. Statistical Properties of Population Stability Index. PhD thesis, Western Michigan
    University, 2018.
    """
    from scipy.stats import chi2

    table = np.array([profile["counts"], _counted(profile, cells)])
    table = table[:, table.any(axis=0)]
    raised = table + 0.5
    p, q = raised / raised.sum(axis=1, keepdims=True)
    index = float(((q - p) * np.log(q / p)).sum())
    by_chance = chi2.isf(_CHANCE / n_columns, table.shape[1] - 1) * (1 / table.sum(axis=1)).sum()
    return index if index >= max(LARGE, by_chance) else None
