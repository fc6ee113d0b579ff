"""Rows of a table of repeats: means of their measures, paired differences, pivots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

from pate_cli.results.interval import Interval
from pate_cli.results.tables import ABSENT, Column

__all__ = ["MeasuredRow", "flat", "paired_difference", "pivoted", "pooled", "rows_of", "sort_keys"]

_SHORT = {"answered": "n_answered", "asked": "n_asked"}
"""Names of measures in recipes and tables."""


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """One row with the repeats that were done; `row["eps"]` is a column of it, None where it has none."""

    columns: Mapping[str, Any]
    repeats: pd.DataFrame  # measures, by the number of the repeat
    status: str  # ok, or of the first line that says otherwise
    reason: str
    left: tuple[str, ...] = ()  # names of the columns before eps: dataset, method, settings

    def __getitem__(self, name: str) -> Any:
        return self.columns.get(name)

    @property
    def n(self) -> int:
        """Number of repeats that were done."""
        return len(self.repeats)

    @property
    def measures(self) -> list[str]:
        """Names of the measures that have a value."""
        return [str(name) for name in self.repeats if self.over(str(name))]

    @cached_property
    def _means(self) -> dict[str, Interval | None]:
        return {}

    def over(self, name: str) -> Interval | None:
        """Mean of a measure over the repeats in which it is defined; None if there is none."""
        name = _SHORT.get(name, name)
        if name not in self._means:
            values = self.repeats[name].dropna() if name in self.repeats else ()
            self._means[name] = Interval.of(values) if len(values) else None
        return self._means[name]

    def mean(self, name: str) -> float | None:
        """Mean of a measure without its interval."""
        return interval.mean if (interval := self.over(name)) else None


def rows_of(repeats: pd.DataFrame) -> list[MeasuredRow]:
    """Rows of a table of repeats, in the order of their first lines."""
    names = list(repeats.columns)
    keys = [*takewhile(lambda name: name != "repeat", names), *({"directory"} & set(names))]
    measures = [name for name in names if name not in (*keys, "repeat", "status", "reason")]
    rows = []
    for key, lines in repeats.groupby(keys, sort=False, dropna=False):
        columns = {name: None if value != value else value for name, value in zip(keys, key, strict=True)}
        done, others = lines[lines["status"] == "ok"], lines[lines["status"] != "ok"]
        status, reason = ("ok", "") if others.empty else map(str, others[["status", "reason"]].iloc[0])
        if status == "failed":
            reason = f"{len(others)} of {len(lines)} repeats failed: {reason}"
        measured = done.set_index("repeat")[measures].sort_index()
        rows.append(MeasuredRow(columns, measured, status, reason, tuple(keys[: keys.index("eps")])))
    return rows


def paired_difference(of: MeasuredRow, minus: MeasuredRow, name: str) -> Interval | None:
    """Mean difference of a measure over the repeats both have: the same splits, teachers and points."""
    name = _SHORT.get(name, name)
    if name not in of.repeats or name not in minus.repeats:
        return None
    gaps = of.repeats[name] - minus.repeats[name]
    gaps = gaps[np.isfinite(gaps)]
    return Interval.of(gaps) if len(gaps) else None


def pooled(rows: Sequence[MeasuredRow], name: str) -> Interval | None:
    """Mean over all repeats of rows that differ in nothing but the seed."""
    values = [value for row in rows if name in row.repeats for value in row.repeats[name].dropna()]
    return Interval.of(values) if values else None


def flat(found: Mapping[str, Interval | None]) -> dict[str, float | None]:
    """Columns of a CSV file: each mean by its name, and its half width as NAME_ci95."""
    columns: dict[str, float | None] = {}
    for name, one in found.items():
        columns |= {name: one.mean if one else None, f"{name}_ci95": one.half_width if one else None}
    return columns


def pivoted(
    keys: Sequence[Column], heads: Sequence[str], cells: Mapping[tuple[str, ...], Mapping[str, str]]
) -> tuple[list[Column], list[list[str]]]:
    """Columns and cells of a table with a row for each key, and a column for each of `heads`."""
    lines = [[*key, *(row.get(head, ABSENT) for head in heads)] for key, row in cells.items()]
    return [*keys, *map(Column, heads)], lines


def sort_keys(texts: Iterable[str]) -> list[tuple[int, float, str]]:
    """Sort keys of texts: numbers by their size, then other texts, then absent ones."""
    keys = []
    for text in texts:
        try:
            keys.append((0, float(text.replace("∞", "inf")), text))
        except ValueError:
            keys.append((2 if text == ABSENT else 1, math.inf, text))
    return keys
