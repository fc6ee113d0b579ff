"""Figures that a black-and-white printer keeps: line styles and markers tell the series apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["STYLES", "band", "new_figure", "reference"]

STYLES: tuple[dict[str, Any], ...] = (
    {"color": "black", "linestyle": "-", "marker": "o"},
    {"color": "0.35", "linestyle": "--", "marker": "s"},
    {"color": "0.0", "linestyle": ":", "marker": "^"},
    {"color": "0.5", "linestyle": "-.", "marker": "D"},
    {"color": "0.2", "linestyle": (0, (6, 2, 1, 2, 1, 2)), "marker": "v"},
)
"""One for each series of a panel, in the order drawn."""


def new_figure(columns: int = 1, rows: int = 1, *, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Make a figure without pyplot's global state; panels in reading order."""
    width = 6.4 if columns == 1 else 4.6 * columns
    figure = Figure(figsize=(width, 4.0 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    axes = [axis for row in panels for axis in row]
    for axis in axes:
        axis.grid(visible=True, which="major", color="0.88", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, axes


def band(axis: Axes, x: Any, mean: Any, half_width: Any, *, label: str, style: dict[str, Any]) -> None:
    """Draw a series with its 95% confidence band, which on a log axis stays above zero."""
    mean, half_width = np.asarray(mean, dtype=float), np.asarray(half_width, dtype=float)
    low = mean - half_width
    if axis.get_yscale() == "log":
        low = np.maximum(low, mean / 100)
    axis.fill_between(x, low, mean + half_width, color=style["color"], alpha=0.18, linewidth=0)
    axis.plot(x, mean, label=label, markersize=4, linewidth=1.2, **style)


def reference(axis: Axes, y: float, label: str, *, linestyle: str = "--") -> None:
    """Draw a horizontal line to compare with, and name it in the legend."""
    axis.axhline(y, color="0.4", linestyle=linestyle, linewidth=1.0, label=label)
