"""The figure of a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from pate_cli.compare.ranking import Ranking
from pate_cli.report.figures import look, new_figure, number_axis

__all__ = ["draw_leaderboard"]


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
        number_axis(ax, budgets, "eps of the whole run")
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
