"""New records for a saved student: brought under the schema of its training, and compared with it.

The fitted encoder holds that schema and, of each column, a profile: how many public points lie in each of a
few bins. All of it is computed from public points alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.reading import Table
from pate_cli.datasets.schema import Column, Schema, listed
from pate_cli.errors import DataError
from pate_cli.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LARGE", "TrainingTable", "drift", "profile_of", "training_table"]

LARGE = 0.25
"""Population stability index of a drift: the usual rule of thumb."""

_BINS = 10
_FEWEST = 5
"""Records expected in a bin, below which the test is not to be relied on (Cochran's rule)."""

_CHANCE = 0.001
"""False alarm rate of drift, for all columns together."""

_FEW = 10
"""Cells from which on a column without a number is refused as another one."""


@dataclass(frozen=True)
class TrainingTable:
    """Schema, words for a missing value, and profiles (see `profile_of`) of a student's training. PUBLIC."""

    schema: Schema
    words: tuple[str, ...]
    profiles: Mapping[str, Any]

    def read(self, table: Table) -> tuple[pd.DataFrame, list[str]]:
        """Bring new records into the form that the encoder takes.

        Returns
        -------
        frame : DataFrame
            As of `Schema.apply`; texts are no pandas categories.
        remarks : list of str
            A line each for missing cells, numbers out of range, unseen categories, and drift.

        Raises
        ------
        DataError
            Naming the column that is not there or is of another type, or the first cell it does not take.
        """
        if absent := [name for name in self.schema.columns if name not in table.columns]:
            shown = ", ".join(map(repr, absent))
            raise DataError(f"{table.path}: no column {shown}, which the model was trained on")
        numbers, texts = {}, {}
        for name in self.schema.of_kind("numeric"):
            numbers[name], texts[name] = _read_numbers(table, name, self.schema.columns[name], self.words)
        frame = self.schema.apply(replace(table, frame=table.frame.assign(**numbers)), self.words)
        for name in self.schema.of_kind("category"):
            frame[name] = frame[name].astype(object)
        return frame, list(self._remarks(table, frame, texts))

    def _remarks(self, table: Table, frame: pd.DataFrame, texts: Mapping[str, str]) -> Iterator[str]:
        found: dict[str, list[str]] = {"missing": [], "numbers out of range": [], "unseen categories": []}
        drifted = []
        for name in map(str, frame):
            for kind, where, more in self._differences(name, frame[name], texts.get(name, "")):
                if where.any():
                    row = int(np.argmax(where))
                    cell = frame[name].iloc[row]
                    shown = repr(cell) if isinstance(cell, str) else f"{cell:g}"
                    first = "first" if kind == "missing" else f"first {shown}"
                    place = f"({first}, {table.word} {frame.index[row]})"
                    found[kind].append(f"{name!r} {int(where.sum())} of {len(frame)}{more} {place}")
            if name in self.profiles:
                index = drift(self.profiles[name], frame[name], len(self.profiles))
                drifted += [] if index is None else [f"{name!r} {index:.2f}"]
        yield from (f"{table.path}: {kind}: {listed(columns)}" for kind, columns in found.items() if columns)
        if drifted:
            against = f"population stability index against the public points; {LARGE} is large"
            yield f"{table.path}: drift: {listed(drifted)} ({against})"

    def _differences(self, name: str, cells: pd.Series, texts: str) -> Iterator[tuple[str, Any, str]]:
        """Cells of a column unlike the training's: kind, mask, and an addition to the count."""
        column, profile = self.schema.columns[name], self.profiles.get(name, {})
        if column.kind == "category":
            missing = (cells == "").to_numpy()
            yield "missing", missing, ""
            yield "unseen categories", ~cells.isin(column.values or []).to_numpy() & ~missing, ""
            return
        yield "missing", cells.isna().to_numpy(), texts
        low, high = (column.low, column.high) if column.low is not None else map(profile.get, ("low", "high"))
        if low is not None and high is not None:
            beyond = ((cells < low) | (cells > high)).to_numpy()
            yield "numbers out of range", beyond, f" outside {low:g} to {high:g}"


def training_table(encoder: Any, name: str) -> TrainingTable:
    """Read the table of training from a fitted encoder, perhaps loaded from the file `name`."""
    try:
        found = {
            str(column): _column(kind, part, at)
            for kind, part, columns in encoder.transformers_
            for at, column in enumerate(columns)
        }
        profile = getattr(encoder, "profile_", {})
        profiles = dict(profile.get("columns", {}))
        for each in profiles.values():
            _check_profile(each)
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
        low, high, missing = float(part.low[at]), float(part.high[at]), bool(part.missing[at])
        bounded = math.isfinite(low) and math.isfinite(high)
        return Column(low=low, high=high, missing=missing) if bounded else Column(missing=missing)
    values = [str(value) for value in part.categories_[at]]
    return Column("category", values=values, missing="" in values)


def _read_numbers(table: Table, name: str, column: Column, words: Collection[str]) -> tuple[FloatArray, str]:
    """Read a column of numbers, and count the texts in it; refuses another column, and a cell without a code.

    Where missing numbers have a code, any text is one of them, as it was in training.
    """
    values, found = table.numbers(name, words)
    some, row, why = found.n_numbers + found.n_others, found.first, ""
    if row is not None:
        if column.missing and (found.n_numbers or some < _FEW):
            return values, f", {found.n_others} of them text as {table.cell(name, row)!r}"
        if found.n_numbers < found.n_others:
            why = f"{found.n_others} of {some} cells are no numbers: is this the same column?"
    elif found.n_missing and not column.missing:
        row = int(np.argmax(np.isnan(values)))
    elif np.isinf(values).any():
        row, why = int(np.argmax(np.isinf(values))), "a finite number is needed"
    if row is None:
        return values, ""
    held, why = table.cell(name, row), why or "the model has no code for a missing number in it"
    comma = "; --decimal , where a comma stands before decimals" if "," in held else ""
    raise DataError(f"{table.place(row)}: numeric column {name!r} has {held!r}; {why}{comma}")


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
            held = cells.dropna().to_numpy()
            shares = np.arange(1, _BINS) / _BINS
            edges = np.unique(np.quantile(held, shares, method="lower")).tolist() if len(held) else []
            low, high = (float(held.min()), float(held.max())) if len(held) else (0.0, 0.0)
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
    """Compute the population stability index of new records in one column of `n_columns`; None for no drift.

    The index is the sum over bins of (q - p) ln(q / p), p and q the shares of public points and of new
    records in a bin, each count raised by 1/2. Of few records it is large by chance: it counts only where the
    chi-squared test of homogeneity, too, refuses that both are of one distribution. Neighbouring bins are put
    together until the test expects five records of each kind in every bin.

    References
    ----------
    N. Siddiqi. Credit Risk Scorecards. Wiley, 2006.
    """
    from scipy.stats import chi2_contingency

    table = _joined(np.array([profile["counts"], _counted(profile, cells)]))
    if table.shape[1] < 2:
        return None
    raised = table + 0.5
    p, q = raised / raised.sum(axis=1, keepdims=True)
    index = float(((q - p) * np.log(q / p)).sum())
    if index < LARGE or chi2_contingency(table, correction=False).pvalue >= _CHANCE / n_columns:
        return None
    return index


def _joined(table: IntArray) -> IntArray:
    """Put neighbouring columns of two rows of counts together until enough is expected in each cell."""
    share = float(table.sum(axis=1).min() / table.sum())
    joined: list[IntArray] = []
    left = np.zeros(2, dtype=np.int64)
    for column in table.T:
        left = left + column
        if left.sum() * share >= _FEWEST:
            joined.append(left)
            left = np.zeros(2, dtype=np.int64)
    if joined:
        joined[-1] = joined[-1] + left
    return np.array(joined, dtype=np.int64).reshape(-1, 2).T
