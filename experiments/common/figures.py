"""Figures of studies: panels with labels and logarithmic axes, lines, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pate_cli.results.figures import band, new_figure


def panels(
    titles: Sequence[str], xlabel: str, ylabel: str, *, log: str = "xy", sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Make a panel for each title; the axes named by `log` are logarithmic."""
    figure, axes = new_figure(len(titles), sharey=sharey)
    for axis, title in zip(axes, titles, strict=True):
        if "x" in log:
            axis.set_xscale("log")
        if "y" in log:
            axis.set_yscale("log")
        if title:
            axis.set_title(title, fontsize=10)
        axis.set_xlabel(xlabel)
    axes[0].set_ylabel(ylabel)
    return figure, axes


def curve(axis: Axes, part: pd.DataFrame, x: str, y: str, ci: str, label: str, style: dict[str, Any]) -> None:
    """Draw columns of a table: y against x with its confidence band, half as wide as column `ci` says."""
    band(axis, part[x], part[y], part[ci], label=label, style=style)


def line(
    axis: Axes, x: Any, y: Any, style: dict[str, Any], label: str | None = None, width: float = 0.7
) -> None:
    """Draw a thin line without markers, in the colour of a series."""
    own = {"color": style["color"], "linestyle": style["linestyle"]}
    axis.plot(x, y, linewidth=width, label=label, **own)


def legend(axes: Sequence[Axes], title: str | None = None) -> None:
    """Put a legend into each panel."""
    for axis in axes:
        axis.legend(fontsize=8, title=title, title_fontsize=8)
