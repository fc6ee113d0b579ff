"""Rows of a table of repeats: means of their measures, paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

from pate_cli.results.interval import Interval
from pate_cli.results.tables import ABSENT

__all__ = ["MeasuredRow", "by_settings", "flat", "other_splits", "paired_difference", "pool_seeds"]
__all__ += ["lead", "on_new_records", "pooled", "rows_of", "sort_keys"]

_SHORT = {"answered": "n_answered", "asked": "n_asked"}
"""Names of measures in recipes and tables."""

_OF_SEED = ("seed", "job", "row", "splits", "directory", "overrides")
_SPLITS = ("seed", "evaluate", "split.private", "split.public", "split.mode")
_OF_DATA = ("dataset.", "generate.")
_SHARES = ("accuracy", "balanced_accuracy", "roc_auc", "recall.", "precision.")
_SHARED = 0.22  # test records for each one learned from, of the split by default


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """One row with the repeats that were done; `row["eps"]` is a column of it, None where it has none."""

    columns: Mapping[str, Any]
    repeats: pd.DataFrame  # measures, by the number of the repeat
    status: str  # ok, or of the first line that says otherwise
    reason: str
    left: tuple[str, ...] = ()  # names of the columns before eps: dataset, method, settings
    _means: dict[str, Interval | None] = field(default_factory=dict, init=False, repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.columns.get(name)

    @property
    def n(self) -> int:
        """Number of repeats that were done."""
        return len(self.repeats)

    @property
    def shared(self) -> float:
        """Test records for each one that is learned from; see `Interval.on_new_records`."""
        tested, private = self["n_test"], self["n_private"]
        return tested / (private + (self["n_public"] or 0.0)) if tested and private else _SHARED

    @property
    def measures(self) -> list[str]:
        """Names of the measures that have a value."""
        return [str(name) for name in self.repeats if self.over(str(name))]

    @property
    def classes(self) -> list[str]:
        """Names of the classes that its measures tell apart."""
        names = self.measures
        return [name.removeprefix("recall.") for name in names if name.startswith("recall.")]

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
    lines_of: dict[tuple[Any, ...], list[int]] = {}
    settings = [[None if value != value else value for value in repeats[name]] for name in keys]
    for place, key in enumerate(zip(*settings, strict=True)):
        lines_of.setdefault(key, []).append(place)
    rows = []
    for key, places in lines_of.items():
        columns, lines = dict(zip(keys, key, strict=True)), repeats.iloc[places]
        done, others = lines[lines["status"] == "ok"], lines[lines["status"] != "ok"]
        status, reason = ("ok", "") if others.empty else map(_text, others[["status", "reason"]].iloc[0])
        if status == "failed":
            reason = f"{len(others)} of {len(lines)} repeats failed: {reason}"
        measured = done.set_index("repeat")[measures].sort_index()
        rows.append(MeasuredRow(columns, measured, status, reason, tuple(keys[: keys.index("eps")])))
    return rows


def _text(cell: Any) -> str:
    """Text of a cell; of an empty one nothing."""
    return "" if pd.isna(cell) else str(cell)


def by_settings(row: MeasuredRow) -> tuple[Any, ...]:
    """Sort key: data, method, eps, settings; numbers by their size."""
    settings = [str(row[name] if row[name] is not None else "") for name in row.left if name != "job"]
    eps = math.inf if row["eps"] is None else row["eps"]
    return str(row["dataset"]), str(row["method"]), eps, sort_keys(settings)


def other_splits(row: MeasuredRow, other: MeasuredRow) -> str:
    """Why repeat i of two rows is not at the same split of the same data; empty where it is."""
    sums = [str(each["checksum"] or "unknown")[:12] for each in (row, other)]
    if sums[0] != sums[1] or not row["checksum"]:
        return f"their data differ (SHA-256 {sums[0]} and {sums[1]})"
    if row["splits"] and row["splits"] == other["splits"]:
        return ""
    if row["directory"] != other["directory"] and not (row["seed"] and other["seed"]):
        return "their files do not say whether their splits are the same; those of runs do"
    names = [n for n in dict.fromkeys((*row.left, *other.left)) if n in _SPLITS or n.startswith(_OF_DATA)]
    unlike = [n for n in names if row[n] != other[n] and None not in (row[n], other[n])]
    if "auto" in (row["split.public"], other["split.public"]):  # as many points as each one's bound says
        unlike = list(dict.fromkeys([*unlike, "split.public"]))
    return f"their splits differ, by {', '.join(unlike)}" if unlike else ""


def pool_seeds(rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    """Rows that differ in nothing but the seed as one, with the repeats of all of them."""
    groups: dict[tuple[Any, ...], list[MeasuredRow]] = {}
    for row in rows:
        same = tuple((name, repr(value)) for name, value in row.columns.items() if name not in _OF_SEED)
        groups.setdefault(same, []).append(row)
    pooled_rows = []
    for group in groups.values():
        seeds = {row["seed"] for row in group} - {None}
        pooled_rows += [_pooled(group)] if len(seeds) == len(group) > 1 else group
    return pooled_rows


def _pooled(rows: Sequence[MeasuredRow]) -> MeasuredRow:
    """One row of several seeds; it ended as the first that is not done."""
    first = next((row for row in rows if row.status != "ok"), rows[0])
    repeats = pd.concat([row.repeats for row in rows], keys=[row["seed"] for row in rows])
    of_seeds = {name: ", ".join(str(row[name]) for row in rows) for name in ("seed", "splits")}
    return MeasuredRow({**first.columns, **of_seeds}, repeats, first.status, first.reason, first.left)


def paired_difference(row: MeasuredRow, reference: MeasuredRow, name: str) -> Interval | None:
    """Mean difference of a measure over the repeats both have: the same splits, teachers and points."""
    name = _SHORT.get(name, name)
    if name not in row.repeats or name not in reference.repeats:
        return None
    if row.repeats.index.nlevels != reference.repeats.index.nlevels:
        return None
    gaps = row.repeats[name] - reference.repeats[name]
    gaps = gaps[np.isfinite(gaps)]
    return Interval.of(gaps) if len(gaps) else None


def lead(row: MeasuredRow, reference: MeasuredRow, name: str) -> Interval | None:
    """The same with the interval of what is to be expected on new records."""
    gap = paired_difference(row, reference, name)
    shares = [row.mean(name), reference.mean(name)] if name.startswith(_SHARES) else []
    return gap and on_new_records(gap, [row, reference], shares)


def on_new_records(gap: Interval, rows: Sequence[MeasuredRow], shares: Sequence[float | None]) -> Interval:
    """A difference with the interval of what is to be expected on new records; `shares` are its sides.

    On one test file two shares of right answers differ at most on the records that either has wrong.
    """
    tested = [row["test_file"] for row in rows if row["test_file"]]
    wrong = math.fsum(1 - share for share in shares if share is not None)
    error = math.sqrt(min(wrong, 1.0) / min(tested)) if tested else 0.0
    return gap.on_new_records(max(row.shared for row in rows), error)


def pooled(rows: Sequence[MeasuredRow], name: str) -> Interval | None:
    """Mean over all repeats of rows that differ in nothing but the seed."""
    values = [value for row in rows if name in row.repeats for value in row.repeats[name].dropna()]
    return Interval.of(values) if values else None


def flat(means: Mapping[str, Interval | None]) -> dict[str, float | None]:
    """Columns of a CSV file: each mean by its name, and its half width as NAME_ci95."""
    columns: dict[str, float | None] = {}
    for name, mean in means.items():
        columns |= {name: mean.mean if mean else None, f"{name}_ci95": mean.half_width if mean else None}
    return columns


def sort_keys(texts: Iterable[str]) -> list[tuple[int, float, str]]:
    """Sort keys of texts: numbers by their size, then other texts, then absent ones."""
    keys = []
    for text in texts:
        try:
            keys.append((0, float(text.replace("∞", "inf")), text))
        except ValueError:
            keys.append((2 if text == ABSENT else 1, math.inf, text))
    return keys
