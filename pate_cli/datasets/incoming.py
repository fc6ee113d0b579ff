"""New records for a saved student: brought under the schema it was made with, or refused.

What is known of that schema stands in the fitted encoder: the columns, their kinds, bounds and categories,
and the profile of the public points. All of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.profile import LARGE, check_profile, drift
from pate_cli.datasets.schema import NEARLY_ALL, Column, Schema, listed, numbers
from pate_cli.errors import DataError
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.datasets.reading import Table

__all__ = ["Known", "known_of"]

_FEW = 10
"""Cells from which on a column without a single number is taken for another one."""


@dataclass(frozen=True)
class Known:
    """What a student knows of the table it was made of. PUBLIC.

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
        kinds = {
            "missing": self._missing,
            "numbers out of range": self._beyond,
            "unseen categories": self._unseen,
        }
        for word, kind in kinds.items():
            told = []
            for name in self.schema.columns:
                where, more = kind(name, frame[name])
                more += texts.get(name, "") if word == "missing" else ""
                if where.any():
                    row = int(np.argmax(where))
                    held = frame[name].iloc[row]
                    held = repr(str(table.frame[name].iloc[row])) if isinstance(held, str) else f"{held:g}"
                    first = "" if word == "missing" else f" {held}"
                    told.append(
                        f"{name!r} {int(where.sum())} of {len(frame)}{more} (first{first}, {table.word}"
                        f" {frame.index[row]})"
                    )
            if told:
                yield f"{table.path}: {word}: {listed(told)}"
        drifted = []
        for name, profile in self.profiles.items():
            index = drift(profile, frame[name], len(self.profiles))
            if index is not None:
                drifted.append(f"{name!r} {index:.2f}")
        if drifted:
            yield (
                f"{table.path}: drift: {listed(drifted)} (population stability index against the public"
                f" points; {LARGE} is large)"
            )

    def _missing(self, name: str, cells: pd.Series) -> tuple[Any, str]:
        missing = cells.isna() if self.schema.columns[name].kind == "numeric" else cells == ""
        return missing.to_numpy(), ""

    def _beyond(self, name: str, cells: pd.Series) -> tuple[Any, str]:
        column = self.schema.columns[name]
        low, high = column.low, column.high
        if low is None and name in self.profiles:
            low, high = self.profiles[name].get("low"), self.profiles[name].get("high")
        if column.kind != "numeric" or low is None or high is None:
            return np.zeros(len(cells), dtype=bool), ""
        return ((cells < low) | (cells > high)).to_numpy(), f" outside {low:g} to {high:g}"

    def _unseen(self, name: str, cells: pd.Series) -> tuple[Any, str]:
        column = self.schema.columns[name]
        if column.kind != "category":
            return np.zeros(len(cells), dtype=bool), ""
        return (~cells.isin(column.values or []) & (cells != "")).to_numpy(), ""


def known_of(encoder: Any, name: str) -> Known:
    """Read what a fitted encoder of a table knows.

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
        words, target = tuple(profile.get("missing", ())), profile.get("target")
        profiles = dict(profile.get("columns", {}))
        for each in profiles.values():
            check_profile(each)
        order = [str(column) for column in encoder.feature_names_in_ if str(column) in found]
        schema = Schema({column: found[column] for column in order}, "saved with the model", target)
    except Exception as error:
        raise DataError(f"{name}: its encoder is not one that pate writes ({error})") from error
    return Known(schema, words, {column: profiles[column] for column in order if column in profiles})


def _column(kind: str, part: Any, at: int) -> Column:
    if kind == "numbers":
        return Column()
    if kind == "declared":
        low, high = float(part.low[at]), float(part.high[at])
        bounded = math.isfinite(low) and math.isfinite(high)
        missing = bool(part.missing[at])
        return Column("numeric", low, high, missing=missing) if bounded else Column(missing=missing)
    values = [str(value) for value in part.categories_[at]]
    return Column("category", values=values, missing="" in values)


def _numbers(table: Table, name: str, column: Column, words: Collection[str]) -> tuple[FloatArray, str]:
    """Read a column of numbers, and count the texts in it; refuses another column, and a cell without a code.

    Where missing numbers have a code, any text is one of them, as it was in training.
    """
    values, found = numbers(table.frame[name], words, table.decimal)
    some = found.n_numbers + found.n_others
    first = found.first
    if first is not None and column.missing and (found.n_numbers or some < _FEW):
        return values, f", {found.n_others} of them text as {str(table.frame[name].iloc[first])!r}"
    if first is not None and found.n_numbers < NEARLY_ALL * some:
        why = f"{found.n_others} of {some} cells are no numbers: is this the same column?"
    elif first is not None:
        why = "the model has no code for a missing number in it"
    elif found.n_missing and not column.missing:
        first, why = int(np.argmax(np.isnan(values))), "the model has no code for a missing number in it"
    elif np.isinf(values).any():
        first, why = int(np.argmax(np.isinf(values))), "a finite number is needed"
    else:
        return values, ""
    held = table.frame[name].iloc[first]
    shown = "" if isinstance(held, float) and math.isnan(held) else str(held)
    comma = "; --decimal , where a comma stands before decimals" if "," in shown else ""
    raise DataError(f"{table.place(first)}: numeric column {name!r} has {shown!r}; {why}{comma}")
