"""The figure: accuracy against eps on a log axis, methods with their bands, baselines as lines across."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pate_cli.compare.ranking import Ranking
from pate_cli.report.figures import band, look, new_figure
from pate_cli.reproduce.rows import DoneRow

__all__ = ["draw", "draw_leaderboard"]

_ACROSS = ("-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2, 1, 2)))
"""Line style of each baseline, in their order; methods have markers, these have none."""

_INFEASIBLE = ": infeasible"


def draw(title: str, rows: Sequence[DoneRow], baselines: Mapping[str, DoneRow]) -> Figure:
    """Draw a frontier.

    Parameters
    ----------
    title : str
    rows : sequence of DoneRow
        Of methods.
    baselines : mapping of str to DoneRow
        By name.
    """
    figure, (ax,) = new_figure(panel=(5.7, 4.4))
    budgets = sorted({row.eps for row in rows})
    for index, name in enumerate(dict.fromkeys(row.method for row in rows)):
        _method(ax, index, name, sorted((r for r in rows if r.method == name), key=lambda r: r.eps))
    for (name, row), style in zip(baselines.items(), _ACROSS[-len(baselines) :], strict=True):
        if (accuracy := row.over("accuracy")) is not None:
            ax.axhline(accuracy.mean, color="0.35", linewidth=1.0, linestyle=style, label=f"{name} (not DP)")
    _budget_axis(ax, budgets)
    ax.set_ylabel("accuracy on the test split")
    ax.set_title(title, loc="left")
    entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
    entries.sort(key=lambda entry: entry[1].endswith(_INFEASIBLE))
    handles, labels = zip(*entries, strict=True)
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8, handlelength=3)
    return figure


def draw_leaderboard(
    title: str,
    metric: Any,
    ranks: Mapping[float, Mapping[str, Ranking]],
    gaps: Mapping[tuple[float, str], Sequence[float]],
    n_tables: int,
) -> Figure:
    """Draw distances to the best model without privacy, and mean ranks, over tables.

    Parameters
    ----------
    title : str
    metric : leaderboard.Metric
    ranks : mapping of float to mapping of str to Ranking
        By eps and method.
    gaps : mapping of (float, str) to sequence of float
        By eps and method: of each table where there is one.
    n_tables : int
    """
    figure, (left, right) = new_figure(2, panel=(4.6, 4.0), margin=(1.8, 0.0))
    budgets = sorted(ranks)
    for index, name in enumerate(ranks[budgets[0]]):
        style: dict[str, Any] = look(index)
        # a mean over some of the tables is no other's: not drawn; the intervals are in the table of ranks
        whole = [eps for eps in budgets if len(gaps[eps, name]) == n_tables]
        left.plot(whole, [fmean(gaps[eps, name]) for eps in whole], **style)
        right.plot(budgets, [ranks[eps][name].rank.mean for eps in budgets], label=name, **style)
    for ax in (left, right):
        _budget_axis(ax, budgets)
    left.set_ylabel(
        f"{metric.unit} of {metric.name} below the best model\nwithout privacy (not DP), mean over tables"
    )
    left.set_title(title, loc="left")
    most = len(ranks[budgets[0]])
    left.set_ylim(bottom=min(0.0, left.get_ylim()[0]))
    right.set_ylim(most + 0.3, 0.7)
    right.set_ylabel("mean rank, 1 the best")
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8, handlelength=3)
    return figure


def _budget_axis(ax: Axes, budgets: Sequence[float]) -> None:
    ax.set_xscale("log")
    ax.set_xticks(budgets, [f"{eps:g}" for eps in budgets])
    ax.set_xticks([], minor=True)
    low, high = budgets[0], budgets[-1]
    room = (high / low) ** 0.06 if high > low else 1.5
    ax.set_xlim(low / room, high * room)
    ax.set_xlabel("eps of the whole run (log scale)")
    ax.grid(visible=False, axis="x")


def _method(ax: Axes, index: int, name: str, rows: Sequence[DoneRow]) -> None:
    style: dict[str, Any] = look(index)
    points = [(row.eps, found) for row in rows if (found := row.over("accuracy")) is not None]
    if points:
        mean, half = zip(*((found.mean, found.half_width or 0.0) for _, found in points), strict=True)
        band(ax, [eps for eps, _ in points], mean, half, label=name, style=style)
    absent = [row.eps for row in rows if row.status == "infeasible" and math.isfinite(row.eps)]
    if absent:
        ax.plot(
            absent,
            [0.03 + 0.035 * (index % 5)] * len(absent),  # of several methods one above the other
            linestyle="none",
            marker="x",
            color=style["color"],
            label=f"{name}{_INFEASIBLE}",
            transform=ax.get_xaxis_transform(),
        )
