"""Rows of runs, of a frontier or of a leaderboard as points of a figure."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pate_cli.errors import InputError
from pate_cli.report.frame import differing, settings
from pate_cli.report.interval import Interval
from pate_cli.report.record import RunRecord
from pate_cli.report.runs import select
from pate_cli.report.runs_table import run_table

__all__ = ["Point", "Row", "check_columns", "points", "rows_of_comparison", "rows_of_runs", "rows_of_table"]

Row = dict[str, Any]
"""A line of `pate table --format csv`, or of the CSV file of a frontier or a leaderboard."""

_BASELINE = "yardstick"  # kind of a row


class Point(NamedTuple):
    """One method at one budget."""

    panel: str  # dataset
    method: str
    x: float  # inf: without privacy
    y: Interval | None  # None where the method cannot work


def rows_of_runs(records: Sequence[RunRecord]) -> list[Row]:
    """Rows of runs and their baselines; `apart` names the settings in which runs on one dataset differ."""
    import pandas as pd

    runs = select(records, averaged=True).records
    given = pd.DataFrame([settings(run) for run in runs])
    rows = run_table(runs, metrics=True).records
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        keys = differing(given[given["dataset"] == dataset])
        apart = [key for key in keys if key not in ("seed", "repeats", "data")]
        those = [row for row in rows if row["dataset"] == dataset]
        for row in those:
            row["accuracy_ci95"] = row.pop("ci95")
            row["apart"] = [key for key in apart if row.get(key) is not None]
        for column, name in (("ceiling", "student on exact votes"), ("majority", "majority class")):
            held: dict[Any, list[float]] = {}
            for row in those:
                if (value := _number(row, column)) is not None:
                    held.setdefault(row["seed"], []).append(value)
            # otherwise it differs from method to method, and is no line across
            if held and all(max(values) - min(values) < 1e-3 for values in held.values()):
                accuracy = fmean(map(fmean, held.values()))
                rows.append({"kind": _BASELINE, "dataset": dataset, "method": name, "accuracy": accuracy})
    return rows


def rows_of_comparison(records: Sequence[Row]) -> list[Row]:
    """Rows of the table of a frontier or a leaderboard, whose baselines may leave out the dataset."""
    first = records[0].get("dataset") if records else None
    return [
        row | {"mechanism": row["method"], "dataset": row.get("table") or row.get("dataset") or first}
        for row in records
    ]


def rows_of_table(directory: Path) -> list[Row]:
    """Rows that the directory of a frontier or a leaderboard holds; none if it is neither."""
    for path in (directory / "table.csv", directory / "rows.csv"):
        if path.is_file():
            rows = list(csv.DictReader(path.read_text(encoding="utf-8", errors="replace").splitlines()))
            if rows and {"kind", "method", "eps"} <= rows[0].keys():
                return rows_of_comparison(rows)
    return []


def check_columns(rows: Sequence[Row], x: str, y: str, by: Sequence[str] = ()) -> None:
    """Check that rows have these columns, `x` and `y` with numbers; InputError names those there are."""
    there = _columns(rows)
    numbers = [name for name in there if any(_number(row, name) is not None for row in rows)]
    asked = [("--x", x, numbers), ("--y", y, numbers), *(("--by", name, there) for name in by)]
    for option, name, names in asked:
        if name not in names:
            of = "column" if names is there else "column of numbers"
            raise InputError(f"{option}: {name!r}: no such {of}; there are: {', '.join(names)}")


def points(rows: Sequence[Row], x: str = "eps", y: str = "accuracy", by: Sequence[str] = ()) -> list[Point]:
    """Points to draw, in the order of the rows.

    Rows of one point are pooled if they differ in nothing but the seed; otherwise their mean has no interval.
    """
    groups: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        baseline, value = row.get("kind") == _BASELINE, _number(row, y)
        at = math.inf if baseline else _number(row, x)
        drawn = row.get("status") == "infeasible" if value is None else math.isfinite(value)
        if at is not None and drawn:
            name = row["method"] if baseline else _method(row, rows, x, by)
            groups.setdefault((str(row["dataset"]), name, at), []).append(row)
    return [Point(*key, _mean(group, y, [x, *by])) for key, group in groups.items()]


def _columns(rows: Iterable[Row]) -> list[str]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if name not in ("kind", "apart") and not name.endswith("_ci95")]


def _number(row: Row, name: str) -> float | None:
    try:
        value = float(str(row.get(name)))
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _method(row: Row, rows: Sequence[Row], x: str, by: Sequence[str]) -> str:
    """Name of a row's line: the values of `by`, or its method with the settings that x does not tell."""
    if by:
        return ", ".join(str(row.get(name) or "–") for name in by)
    told = [key for key in row.get("apart", ()) if not _follows(key, x, rows)]
    more = [f"{key.rpartition('.')[2]}={row[key]}" for key in told]
    return ", ".join([str(row.get("mechanism")), *more])


def _follows(key: str, x: str, rows: Sequence[Row]) -> bool:
    """Whether a setting has one value at each x and x one at each of its values."""
    pairs = {(row.get(key), row.get(x)) for row in rows if row.get(key) is not None}
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def _mean(group: Sequence[Row], y: str, told: Sequence[str]) -> Interval | None:
    held = [row for row in group if _number(row, y) is not None]
    intervals = [
        Interval(value, _number(row, f"{y}_ci95"), int(row.get("n_repeats") or row.get("n") or 1))
        for row in held
        if (value := _number(row, y)) is not None
    ]
    if len(intervals) < 2:
        return intervals[0] if intervals else None
    others = {key for row in held for key in row.get("apart", ()) if key not in told}
    alike = all(len({row.get(key) for row in held}) == 1 for key in others)
    if y == "accuracy" and alike and len({row.get("seed") for row in held}) == len(held):
        return Interval.pooled(intervals)
    return Interval(math.fsum(one.mean for one in intervals) / len(held), None, len(held))
