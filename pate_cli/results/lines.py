"""A figure for a paper: a measure against eps or another setting, a line a method and a panel a dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from pate_cli.errors import InputError
from pate_cli.results.figures import band, below_axis, hollow, new_figure, number_axis, styles, within_shares
from pate_cli.results.interval import Interval
from pate_cli.results.means import MeasuredRow, pooled
from pate_cli.results.settings import BASELINES, SYNONYMS, differing

__all__ = ["Point", "check_columns", "draw", "notes", "points"]

_LEVEL = 1e-3  # most that values of a baseline differ to be one line across
_LEVELS = {"ceiling": "student on exact votes", "majority_class": "majority class"}
"""Baselines that are drawn of diagnostics, where there are no rows of them."""


class Point(NamedTuple):
    """One method at one budget."""

    panel: str  # dataset
    method: str
    x: float  # inf: without privacy
    y: Interval | None  # None where the method cannot work


def check_columns(rows: Sequence[MeasuredRow], x: str, y: str, by: Sequence[str] = ()) -> None:
    """Check that rows have these columns, `x` and `y` with numbers; InputError names those there are."""
    texts = list(dict.fromkeys(name for row in rows for name in row.left if name != "job"))
    measures = dict.fromkeys(name for row in rows for name in row.measures)
    columns = dict.fromkeys(name for row in rows for name in row.columns)
    numbers = [
        name
        for name in ("n_teachers", *measures, *columns)
        if any(_number(row, name) is not None for row in rows)
    ]
    settings = ["mechanism" if name == "method" else name for name in texts] + numbers
    options = [("--x", x, numbers), ("--y", y, numbers), *(("--by", name, settings) for name in by)]
    for option, name, names in options:
        if name not in names:
            kind = "column" if names is settings else "column of numbers"
            accepted = ", ".join(dict.fromkeys(names))
            raise InputError(f"{option}: {name!r}: no such {kind}; there are: {accepted}")


def points(
    rows: Sequence[MeasuredRow], x: str = "eps", y: str = "accuracy", by: Sequence[str] = ()
) -> list[Point]:
    """Points to draw, in the order of the rows; rows that differ in nothing but the seed are pooled.

    InputError where rows of one line differ in a setting that does not follow x, or of one point in none.
    """
    drawn = []
    for (panel, name, baseline), line in _lines(rows, x, y, by).items():
        groups: dict[float, list[MeasuredRow]] = {}
        for row in line:
            groups.setdefault(math.inf if baseline else _number(row, x) or 0.0, []).append(row)
        if baseline and not _seeds_differ(line):  # of several directories: a level if they agree
            means = [mean for row in line if (mean := row.mean(y)) is not None]
            groups = {math.inf: line[:1]} if max(means) - min(means) < _LEVEL else {}
        elif not baseline:
            _check_line(name, line, x, by)
        drawn += [
            Point(panel, name, at, group[0].over(y) if len(group) == 1 else pooled(group, y))
            for at, group in groups.items()
        ]
    return drawn + (_level_points(rows, drawn) if y == "accuracy" else [])


def _level_points(rows: Sequence[MeasuredRow], points_drawn: Sequence[Point]) -> list[Point]:
    """Levels of diagnostics that are the same for all methods of a dataset."""
    drawn, levels = {(point.panel, point.method) for point in points_drawn}, []
    for panel in dict.fromkeys(str(row["dataset"]) for row in rows):
        for measure, name in _LEVELS.items():
            means: dict[Any, list[float]] = {}
            for row in rows:
                if str(row["dataset"]) == panel and (mean := row.mean(measure)) is not None:
                    means.setdefault(row["seed"], []).append(mean)
            # otherwise it differs from method to method, and is no line across
            agree = all(max(values) - min(values) < _LEVEL for values in means.values())
            if means and agree and (panel, name) not in drawn:
                level = fmean(map(fmean, means.values()))
                levels.append(Point(panel, name, math.inf, Interval(level, None, len(means))))
    return levels


def notes(rows: Sequence[MeasuredRow], x: str, y: str, by: Sequence[str]) -> list[str]:
    """Lines on the settings that are neither on the x axis nor in the names of lines."""
    lines = [line for (*_, baseline), line in _lines(rows, x, y, by).items() if not baseline]
    moving = {key: None for line in lines for key in _varying(line) if key != x and _follows(key, x, line)}
    fixed = {value for line in lines for value in _values("eps", line)}
    sentences = [f"{', '.join(moving)} changes with {x} from point to point"] if moving else []
    return sentences + ([f"eps is {fixed.pop()} at every point"] if x != "eps" and len(fixed) == 1 else [])


def _lines(
    rows: Sequence[MeasuredRow], x: str, y: str, by: Sequence[str]
) -> dict[tuple[str, str, bool], list[MeasuredRow]]:
    """Rows to draw of each line, by its panel, its name, and whether it is without privacy: a level."""
    lines: dict[tuple[str, str, bool], list[MeasuredRow]] = {}
    for row in rows:
        at, mean = _number(row, x), row.mean(y)
        level = row["eps"] == math.inf and (at is None or x == "eps")
        drawn = row.status == "infeasible" if mean is None else math.isfinite(mean)
        if drawn and (level or at is not None) and not (level and mean is None):
            name = str(row["method"]) if level and not by else _name(row, rows, x, by)
            lines.setdefault((str(row["dataset"]), name, level), []).append(row)
    return lines


def _seeds_differ(rows: Sequence[MeasuredRow]) -> bool:
    return len({row["seed"] for row in rows}) == len(rows)


def _varying(rows: Sequence[MeasuredRow]) -> list[str]:
    """Settings in which rows of one line may differ, eps among them."""
    others = ("dataset", "method", "job", "seed")
    names = dict.fromkeys(name for row in rows for name in row.left if name not in others)
    return [*differing([row.columns for row in rows], names), "eps"]


def _number(row: MeasuredRow, name: str) -> float | None:
    """Number of a row: a mean of a measure, or a column of it."""
    value = row.mean(name) if name in row.repeats else row[name]
    try:
        number = float(str(None if name in ("row", "splits", "checksum", "dataset", "method") else value))
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _name(row: MeasuredRow, rows: Sequence[MeasuredRow], x: str, by: Sequence[str]) -> str:
    """Name of a row's line: the values of `by`, or its method with the settings that do not follow x."""
    if by:
        return ", ".join(_text(row, name) for name in by)
    same = [other for other in rows if all(other[key] == row[key] for key in ("dataset", "method"))]
    same = [other for other in same if other["eps"] != math.inf or x != "eps"]
    several = [key for key in _varying(same) if key != x and len(_values(key, same)) > 1]
    settings = [key for key in several if not _follows(key, x, same)]
    parts = [f"{key.rpartition('.')[2]}={_text(row, key)}" for key in settings]
    return ", ".join([str(row["method"]), *parts])


def _text(row: MeasuredRow, name: str) -> str:
    name = "method" if name == "mechanism" else SYNONYMS.get(name, name)
    value = _number(row, name)
    return str(row[name] or "–") if value is None else f"{value:g}"


def _values(key: str, rows: Sequence[MeasuredRow]) -> set[str]:
    return {_text(row, key) for row in rows if row[key] is not None}


def _follows(key: str, x: str, rows: Sequence[MeasuredRow]) -> bool:
    """Whether a setting has a value of its own at each x, of several."""
    pairs = {(_text(row, key), _text(row, x)) for row in rows if row[key] is not None}
    return 1 < len(pairs) == len({value for value, _ in pairs}) == len({other for _, other in pairs})


def _check_line(name: str, rows: Sequence[MeasuredRow], x: str, by: Sequence[str]) -> None:
    """Refuse a line with a setting that changes from point to point, or within one: it would show neither."""
    for key in (*_varying(rows), "method"):
        values = _values(key, rows)
        shown = "mechanism" if key == "method" else key
        if shown not in (x, *by) and len(values) > 1 and not _follows(key, x, rows):
            differ = f"the runs of {name!r} differ in {shown} ({', '.join(sorted(values))})"
            hint = f"--by {','.join([*(by or ['mechanism']), shown])} draws a line for each"
            raise InputError(f"--x {x}: {differ}; {hint}, or give the directories of one of them")
    done = [row for row in rows if row.n]
    if len({(_text(row, x), row["seed"]) for row in done}) < len(done):
        raise InputError(f"--x {x}: several rows of {name!r} at one {x}; give one directory")


COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0
"""Inches, of a paper with two columns."""

_PANEL_HEIGHT = 2.1  # inches

_SHARES = ("accuracy", "balanced_accuracy", "roc_auc", "ceiling", "majority")
_ACROSS: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2, 1, 2)))
"""Line style of each baseline, in their order; methods have markers, these have none."""


def draw(drawn: Sequence[Point], x: str = "eps", y: str = "accuracy") -> Figure:
    """Draw points, a panel a dataset, with one legend below.

    It is as wide as a column of a paper, or as its page for several panels.
    """
    panels = list(dict.fromkeys(point.panel for point in drawn)) or [""]
    columns = min(len(panels), 2 if len(panels) in (2, 4) else 3)
    n_rows = math.ceil(len(panels) / columns)
    width = COLUMN_WIDTH if columns == 1 else PAGE_WIDTH
    figure, axes = new_figure(columns, n_rows)
    looks = styles([point.method for point in drawn if point.method not in BASELINES])
    series = {name: looks[name] for name in _names(drawn, private=True)}
    across = {name: _level(name, looks) for name in _names(drawn, private=False)}
    for axis, panel in zip(axes, panels, strict=False):
        inside = [point for point in drawn if point.panel == panel]
        _panel(axis, inside, series, across)
        number_axis(
            axis, sorted({point.x for point in inside if math.isfinite(point.x)}), x.replace("_", " ")
        )
        axis.set_ylabel(y.replace("_", " "))
        axis.set_title(panel if len(panels) > 1 else "", loc="left")
        if y in _SHARES:
            within_shares(axis)
    for axis in axes[len(panels) :]:
        axis.remove()
    entries = _entries(drawn, series)
    entries |= {f"{name} (not DP)": Line2D([], [], **style) for name, style in across.items()}
    size = 0.875 * rcParams["font.size"]
    fit = _legend_columns(list(entries), size, 72 * width)
    place = {"loc": "outside lower center", "ncols": fit, "fontsize": size, "frameon": False}
    figure.legend(
        list(entries.values()),
        list(entries),
        handlelength=3,
        handler_map={tuple: HandlerTuple(None)},
        **place,
    )
    figure.set_size_inches(width, _PANEL_HEIGHT * n_rows + math.ceil(len(entries) / fit) * size / 48 + 0.1)
    return figure


def _entries(points: Sequence[Point], series: dict[str, Any]) -> dict[str, Any]:
    """Handles of the legend by their labels: methods that have a point, and marks of those without."""
    measured = {point.method for point in points if point.y is not None}
    absent = dict.fromkeys(point.method for point in points if point.y is None)
    marks = {name: Line2D([], [], **hollow(series[name])) for name in absent}
    entries: dict[str, Any] = {
        name: Line2D([], [], markersize=4, **style) for name, style in series.items() if name in measured
    }
    if some := tuple(mark for name, mark in marks.items() if name in measured):
        entries["cannot run"] = some
    return entries | {f"{name}: cannot run": mark for name, mark in marks.items() if name not in measured}


def _level(name: str, looks: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Line across: a baseline's is grey, and that of a method without privacy has its colour."""
    if name in looks:
        return {key: looks[name][key] for key in ("color", "linestyle")} | {"linewidth": 1}
    return {"color": "0.35", "linewidth": 1, "linestyle": _ACROSS[list(BASELINES).index(name)]}


def _names(points: Sequence[Point], *, private: bool) -> list[str]:
    return list(dict.fromkeys(point.method for point in points if math.isfinite(point.x) is private))


def _legend_columns(labels: Sequence[str], size: float, width: float) -> int:
    """Largest number of columns for which a legend is about as wide as `width`, in points like `size`."""
    for columns in range(min(4, len(labels)), 1, -1):
        parts = np.array_split([len(label) for label in labels], columns)
        if sum(size * (5 + 0.55 * part.max()) for part in parts) <= width:
            return columns
    return 1


def _panel(axis: Axes, points: Sequence[Point], series: dict[str, Any], across: dict[str, Any]) -> None:
    """Draw a line for each method, a level for each baseline, and marks where a method is infeasible."""
    absent = []
    for name, style in series.items():
        marks = [point for point in points if point.method == name and math.isfinite(point.x)]
        marks.sort(key=lambda point: point.x)
        if drawn := [(point.x, mean.mean, mean.half_width or 0.0) for point in marks if (mean := point.y)]:
            band(axis, *zip(*drawn, strict=True), label=name, style=style)
        if len(drawn) < len(marks):
            absent.append(([point.x for point in marks if point.y is None], style))
    for point in points:
        if math.isinf(point.x) and point.y is not None:
            axis.axhline(point.y.mean, **across[point.method])
    below_axis(axis, absent)
