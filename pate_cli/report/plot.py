"""A figure for a paper: a measure against eps, for each method a line with its 95% band."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pate_cli.report.figures import band, below_axis, look, new_figure, number_axis
from pate_cli.report.points import Point

__all__ = ["draw"]

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

    Parameters
    ----------
    found : sequence of Point
    x, y : str
        Columns that the axes show.
    title : str
        Above a single panel; of several each has its dataset's name.
    width, height : float
        Inches: of the figure (by default a column of a paper, its page for several panels), of one panel.
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
