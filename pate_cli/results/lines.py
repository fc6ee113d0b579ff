"""A figure for a paper: a measure of runs, a frontier or a leaderboard against eps, a line a method."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pate_cli.errors import InputError
from pate_cli.results.figures import band, below_axis, look, new_figure, number_axis
from pate_cli.results.interval import Interval
from pate_cli.results.means import differing, settings
from pate_cli.results.record import RunRecord
from pate_cli.results.runs import select
from pate_cli.results.runs_table import run_table

__all__ = ["Point", "Row", "check_columns", "draw", "notes", "points"]
__all__ += ["rows_of_comparison", "rows_of_runs", "rows_of_table"]

Row = dict[str, Any]
"""A line of `pate table --format csv`, or of the CSV file of a frontier or a leaderboard."""

_BASELINE = "yardstick"  # kind of a row
_LEVEL = 1e-3  # most that values of a baseline differ to be one line across


class Point(NamedTuple):
    """One method at one budget."""

    panel: str  # dataset
    method: str
    x: float  # inf: without privacy
    y: Interval | None  # None where the method cannot work


def rows_of_runs(records: Sequence[RunRecord]) -> list[Row]:
    """Rows of runs and their baselines; `apart` names the settings in which runs on one dataset differ."""
    runs = select(records, averaged=True).records
    found = [settings(run) for run in runs]
    given = pd.DataFrame(found)
    rows = run_table(runs, metrics=True).records
    for row, of_run in zip(rows, found, strict=True):
        row["dataset"] = of_run["dataset"]  # a file's own name, not csv
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        keys = differing(given[given["dataset"] == dataset], always=True)
        apart = [key for key in keys if key not in ("dataset", "teachers", "seed", "repeats")]
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
            if held and all(max(values) - min(values) < _LEVEL for values in held.values()):
                accuracy = fmean(map(fmean, held.values()))
                rows.append({"kind": _BASELINE, "dataset": dataset, "method": name, "accuracy": accuracy})
    return rows


def rows_of_comparison(records: Sequence[Row]) -> list[Row]:
    """Rows of the table of a frontier or a leaderboard, whose baselines may leave out the dataset."""
    first = records[0].get("dataset") if records else None
    return [
        row
        | {"mechanism": row["method"], "dataset": row.get("table") or row.get("dataset") or first}
        | {"apart": ["mechanism", "eps"]}
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
    """Points to draw, in the order of the rows; runs that differ in nothing but the seed are pooled.

    InputError where runs of one line differ in a setting that does not follow x, or of one point in none.
    """
    found = []
    for (panel, name, baseline), line in _lines(rows, x, y, by).items():
        groups: dict[float, list[Row]] = {}
        for row in line:
            groups.setdefault(math.inf if baseline else float(row[x]), []).append(row)
        if baseline:  # of several directories: a level if they agree
            values = [float(row[y]) for row in line]
            groups = {math.inf: line[:1]} if max(values) - min(values) < _LEVEL else {}
        else:
            _check_line(name, line, x, by)
        found += [Point(panel, name, at, _mean(group, y)) for at, group in groups.items()]
    return found


def notes(rows: Sequence[Row], x: str, y: str, by: Sequence[str]) -> list[str]:
    """Lines on the settings that are neither on the x axis nor in the names of lines."""
    lines = [line for (*_, baseline), line in _lines(rows, x, y, by).items() if not baseline]
    moving = {key: None for line in lines for key in _apart(line) if key != x and _follows(key, x, line)}
    fixed = {value for line in lines for value in _values("eps", line)}
    found = [f"{', '.join(moving)} changes with {x} from point to point"] if moving else []
    return found + ([f"eps is {fixed.pop()} at every point"] if x != "eps" and len(fixed) == 1 else [])


def _lines(rows: Sequence[Row], x: str, y: str, by: Sequence[str]) -> dict[tuple[str, str, bool], list[Row]]:
    """Rows to draw of each line, by its panel, its name, and whether it is a baseline."""
    lines: dict[tuple[str, str, bool], list[Row]] = {}
    for row in rows:
        baseline, value = row.get("kind") == _BASELINE, _number(row, y)
        drawn = row.get("status") == "infeasible" if value is None else math.isfinite(value)
        if drawn and (baseline or _number(row, x) is not None):
            name = row["method"] if baseline else _method(row, rows, x, by)
            lines.setdefault((str(row["dataset"]), name, baseline), []).append(row)
    return lines


def _apart(rows: Iterable[Row]) -> list[str]:
    """Settings in which rows may differ."""
    return list(dict.fromkeys(key for row in rows for key in row.get("apart", ())))


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
    """Name of a row's line: the values of `by`, or its method with the settings that do not follow x."""
    if by:
        return ", ".join(_text(row, name) for name in by)
    same = [other for other in rows if all(other.get(k) == row.get(k) for k in ("dataset", "mechanism"))]
    told = [key for key in row.get("apart", ()) if key not in ("mechanism", x) and not _follows(key, x, same)]
    more = [f"{key.rpartition('.')[2]}={_text(row, key)}" for key in told]
    return ", ".join([str(row.get("mechanism")), *more])


def _text(row: Row, name: str) -> str:
    value = _number(row, name)
    return str(row.get(name) or "–") if value is None else f"{value:g}"


def _values(key: str, rows: Sequence[Row]) -> set[str]:
    return {_text(row, key) for row in rows if row.get(key) is not None}


def _follows(key: str, x: str, rows: Sequence[Row]) -> bool:
    """Whether a setting has a value of its own at each x, of several."""
    pairs = {(_text(row, key), _text(row, x)) for row in rows if row.get(key) is not None}
    return 1 < len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def _check_line(name: str, rows: Sequence[Row], x: str, by: Sequence[str]) -> None:
    """Refuse a line with a setting that changes from point to point, or within one: it would show neither."""
    for key in _apart(rows):
        values = _values(key, rows)
        if key not in (x, *by) and len(values) > 1 and not _follows(key, x, rows):
            differ = f"the runs of {name!r} differ in {key} ({', '.join(sorted(values))})"
            more = f"--by {','.join([*(by or ['mechanism']), key])} draws a line for each"
            raise InputError(f"--x {x}: {differ}; {more}, or give the directories of one of them")
    if "seed" not in rows[0] and len(rows) > len(_values(x, rows)):
        raise InputError(f"--x {x}: several rows of {name!r} at one {x}; give one directory")


def _mean(group: Sequence[Row], y: str) -> Interval | None:
    """Pooled interval of a point, for accuracy; of a seed the run that is finished counts, if any is."""
    finished = sorted(group, key=lambda row: row.get("status") == "ok")
    held = {row.get("seed"): row for row in finished if _number(row, y) is not None}
    intervals = [
        Interval(value, _number(row, f"{y}_ci95"), int(row.get("n_repeats") or row.get("n") or 1))
        for row in held.values()
        if (value := _number(row, y)) is not None
    ]
    if len(intervals) < 2:
        return intervals[0] if intervals else None
    if y == "accuracy":
        return Interval.pooled(intervals)
    return Interval(math.fsum(one.mean for one in intervals) / len(held), None, len(held))


COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0
"""Inches, of a paper with two columns."""

_SHARES = ("accuracy", "balanced_accuracy", "roc_auc", "ceiling", "majority")
_ACROSS: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2, 1, 2)))
"""Line style of each baseline, in their order; methods have markers, these have none."""


def draw(
    found: Sequence[Point],
    x: str = "eps",
    y: str = "accuracy",
    *,
    title: str = "",
    width: float | None = None,
    height: float = 2.1,
) -> Figure:
    """Draw points, a panel a dataset, with one legend below.

    `title` stands above a single panel. `width`, of the figure, and `height`, of a panel, are in inches; by
    default it is as wide as a column of a paper, or its page for several panels.
    """
    panels = list(dict.fromkeys(point.panel for point in found)) or [""]
    columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    n_rows = math.ceil(len(panels) / columns)
    width = width or (COLUMN_WIDTH if columns == 1 else PAGE_WIDTH)
    figure, axes = new_figure(columns, n_rows)
    styles = {name: look(index) for index, name in enumerate(_names(found, private=True))}
    across = dict(zip(_names(found, private=False), itertools.cycle(_ACROSS), strict=False))
    for axis, panel in zip(axes, panels, strict=False):
        those = [point for point in found if point.panel == panel]
        _panel(axis, those, styles, across)
        number_axis(axis, sorted({point.x for point in those if math.isfinite(point.x)}), x.replace("_", " "))
        axis.set_ylabel(y.replace("_", " "))
        axis.set_title(panel if len(panels) > 1 else title, loc="left")
        if y in _SHARES:  # an interval of few repeats may be wider than what is possible
            low, high = axis.get_ylim()
            axis.set_ylim(max(low, -0.02), min(high, 1.02))
    for axis in axes[len(panels) :]:
        axis.remove()
    entries: dict[str, Any] = {name: Line2D([], [], markersize=4, **style) for name, style in styles.items()}
    if any(point.y is None for point in found):
        hollow = Line2D([], [], linestyle="none", marker="o", markersize=4, color="0.35", markerfacecolor="w")
        entries["infeasible"] = hollow
    for name, line in across.items():
        entries[f"{name} (not DP)"] = Line2D([], [], color="0.35", linewidth=1, linestyle=line)
    size = 0.875 * rcParams["font.size"]
    fit = _legend_columns(list(entries), size, 72 * width)
    place = {"loc": "outside lower center", "ncols": fit, "fontsize": size, "frameon": False}
    figure.legend(list(entries.values()), list(entries), handlelength=3, **place)
    figure.set_size_inches(width, height * n_rows + math.ceil(len(entries) / fit) * size / 48 + 0.1)
    return figure


def _names(found: Sequence[Point], *, private: bool) -> list[str]:
    return list(dict.fromkeys(point.method for point in found if math.isfinite(point.x) is private))


def _legend_columns(labels: Sequence[str], size: float, width: float) -> int:
    """Largest number of columns for which a legend is about as wide as `width`, in points like `size`."""
    for columns in range(min(4, len(labels)), 1, -1):
        parts = np.array_split([len(label) for label in labels], columns)
        if sum(size * (5 + 0.55 * part.max()) for part in parts) <= width:
            return columns
    return 1


def _panel(axis: Axes, found: Sequence[Point], styles: dict[str, Any], across: dict[str, Any]) -> None:
    """Draw a line for each method, a level for each baseline, and marks where a method is infeasible."""
    absent = []
    for name, style in styles.items():
        those = [point for point in found if point.method == name and math.isfinite(point.x)]
        those.sort(key=lambda point: point.x)
        if drawn := [(point.x, one.mean, one.half_width or 0.0) for point in those if (one := point.y)]:
            band(axis, *zip(*drawn, strict=True), label=name, style=style)
        if len(drawn) < len(those):
            absent.append(([point.x for point in those if point.y is None], style))
    for point in found:
        if math.isinf(point.x) and point.y is not None:
            axis.axhline(point.y.mean, color="0.35", linewidth=1, linestyle=across[point.method])
    below_axis(axis, absent)
