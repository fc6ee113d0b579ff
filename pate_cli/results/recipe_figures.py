"""Figures of runs, readable in black and white: a marker and a line style each, bars or bands for 95% CI.

A recipe says what to draw, under `figure` (one, or a list of them):

    name, title     text
    panels          list of {title, where, x, xlabel}: rows chosen by `where`; x is eps, cutoff or teachers
    measures        list of accuracy, answered, asked, eps_ex_post, or a diagnostic: a line of panels each
    series          {label: [methods]}; left out: a series for each method
    printed         true to draw the paper's accuracy and queries beside ours, hollow
    reference       majority, or a diagnostic whose mean is drawn as a line across
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pate_cli.checks import OneOf, take
from pate_cli.errors import InputError
from pate_cli.results.figures import new_figure, styles, within_shares
from pate_cli.results.means import MeasuredRow
from pate_cli.results.recipe_tables import chosen, value_of
from pate_cli.results.verdicts import ended

__all__ = ["Series", "check_figure", "draw_series", "run_figures"]

_KEYS = ("name", "title", "panels", "measures", "series", "printed", "reference")
_AXES = {
    "accuracy": "accuracy on the test split",
    "answered": "queries answered (mean)",
    "asked": "queries asked (mean)",
    "eps_ex_post": "eps used",
    "label_agreement": "labels that agree with\nthe teachers' vote (share)",
    "label_accuracy": "labels that are right (share)",
    "ceiling": "accuracy of the student\non exact votes",
}
_PRINTED = {
    "accuracy": ("accuracy", "ci"),
    "answered": ("queries", "queries_ci"),
    "eps_ex_post": ("eps_ex_post", ""),
}
_REFERENCES = {"majority": "majority class", "vote_accuracy": "the teachers' vote, on public points"}


@dataclass
class Series:
    """One series in one panel; a point without x goes across the whole panel."""

    label: str
    look: dict[str, Any]
    points: list[tuple[Any, float, float]] = field(default_factory=list)  # x, mean, half width
    infeasible: list[float] = field(default_factory=list)


def check_figure(figure: dict[str, Any], recipe: str) -> None:
    """Check a figure of a recipe before any work; `InputError` names the key that is not accepted."""
    for key in figure:
        if key not in _KEYS:
            raise InputError(f"{recipe}: figure: {key}: no such key; there are: {', '.join(_KEYS)}")
    if not figure.get("panels") or not figure.get("measures"):
        raise InputError(f"{recipe}: figure: needs panels and measures")
    name = str(figure.get("name") or "figure")
    if not re.fullmatch(r"[\w-]+", name):  # it is part of a file's name
        raise InputError(f"{recipe}: figure: name: got {name!r}; accepted: letters, digits, - and _")
    for panel in figure["panels"]:
        take(f"{recipe}: figure: x", panel.get("x", "eps"), OneOf(("eps", "cutoff", "teachers")))


def run_figures(
    figures: Sequence[dict[str, Any]], rows: Sequence[MeasuredRow]
) -> dict[str, Callable[[], Figure]]:
    """Functions that draw a recipe's figures, by name."""
    drawings: dict[str, Callable[[], Figure]] = {}
    for spec in figures:
        panels = [(panel, _chosen(panel, rows)) for panel in spec["panels"]]
        if panels := [(panel, part) for panel, part in panels if part]:
            drawings[str(spec.get("name") or "figure")] = functools.partial(_draw, spec, panels)
    return drawings


def _chosen(panel: dict[str, Any], rows: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    return [row for row in rows if chosen(row, panel.get("where") or {})]


def _draw(spec: dict[str, Any], panels: Sequence[tuple[dict[str, Any], list[MeasuredRow]]]) -> Figure:
    measures = spec["measures"]
    figure, axes = new_figure(len(panels), len(measures), panel=(2.7, 2.3), margin=(0.6, 0.9))
    labels = dict.fromkeys(label for _, rows in panels for label in _methods(spec, rows))
    looks = styles(labels)
    for column, (panel, rows) in enumerate(panels):
        for line, measure in enumerate(measures):
            ax = axes[line * len(panels) + column]
            draw_series(ax, _series(spec, rows, panel.get("x", "eps"), measure, looks))
            if measure == "accuracy" and spec.get("reference"):
                _reference(ax, spec["reference"], rows)
            if not any(row.n for row in rows):
                reason = ", ".join(dict.fromkeys(ended(row.status) for row in rows))
                box = {"facecolor": "white", "edgecolor": "0.6", "linewidth": 0.6}
                ax.text(0.5, 0.5, f"ours: {reason}", ha="center", transform=ax.transAxes, bbox=box)
            if measure == "accuracy":
                within_shares(ax)
            if measure in ("answered", "asked"):
                ax.set_ylim(0, 1.08 * max(float(ax.dataLim.y1), 1.0))
            if column == 0:
                ax.set_ylabel(_AXES.get(measure, measure.replace("_", " ")))
        axes[column].set_title(str(panel.get("title", "")))
        ax.set_xlabel(str(panel.get("xlabel", "budget eps")))  # the lowest of the column
    if spec.get("title"):
        figure.suptitle(str(spec["title"]))
    _legend(figure)
    return figure


def _methods(spec: dict[str, Any], rows: Sequence[MeasuredRow]) -> dict[str, list[str]]:
    """Methods of each series by its label."""
    return spec.get("series") or {row["method"]: [row["method"]] for row in rows}


def _series(
    spec: dict[str, Any], rows: Sequence[MeasuredRow], x: str, measure: str, looks: dict[str, dict[str, Any]]
) -> list[Series]:
    """Our numbers of each series, and the paper's, hollow."""
    series = []
    for label, names in _methods(spec, rows).items():
        of_method = [row for row in rows if row["method"] in names]
        if not of_method:
            continue
        style = looks[label] | {"markerfacecolor": looks[label]["color"]}
        ours = Series(f"{label}, ours" if spec.get("printed") else label, style)
        theirs = Series(f"{label}, the paper", style | {"markerfacecolor": "white", "linestyle": ":"})
        key, ci = _PRINTED.get(measure, ("", "")) if spec.get("printed") else ("", "")
        for row in of_method:
            at, mean = value_of(row, x), row.over(measure)
            if mean is not None and math.isfinite(mean.mean):
                ours.points.append((at, mean.mean, mean.half_width or 0.0))
            elif row.status == "infeasible" and at is not None:
                ours.infeasible.append(at)
            printed = row[f"printed_{key}"]
            if printed is not None and math.isfinite(printed):
                theirs.points.append((at, printed, row[f"printed_{ci}"] or 0.0))
        series += [line for line in (ours, theirs) if line.points or line.infeasible]
    return series


def draw_series(ax: Axes, every: Sequence[Series], xs: Iterable[float] = ()) -> None:
    """Draw series over equally spaced places (their x, and `xs`), each a little beside the others."""
    drawn_at = {x for line in every for x in (*(x for x, *_ in line.points), *line.infeasible)}
    places: list[float] = sorted({*xs, *drawn_at} - {None})
    at = {x: index for index, x in enumerate(places)}
    for index, line in enumerate(every):
        shift = 0.07 * (index - (len(every) - 1) / 2)
        if drawn := sorted((at[x] + shift, y, ci) for x, y, ci in line.points if x is not None):
            at_x, means, half_widths = zip(*drawn, strict=True)
            ax.errorbar(at_x, means, half_widths, capsize=2.5, label=line.label, **line.look)
        for x, y, ci in line.points:
            if x is None:
                colour = line.look["color"]
                ax.axhline(y, color=colour, linestyle=line.look["linestyle"], linewidth=1.2, label=line.label)
                ax.axhspan(y - ci, y + ci, color=colour, alpha=0.15, linewidth=0)
        if line.infeasible:
            ax.plot(
                [at[x] + shift for x in line.infeasible],
                [0.04] * len(line.infeasible),
                linestyle="none",
                marker="x",
                color=line.look["color"],
                label=f"{line.label}: cannot run",
                transform=ax.get_xaxis_transform(),
            )
    ax.set_xticks(range(len(places)), ["∞" if math.isinf(x) else f"{x:g}" for x in places])
    ax.set_xlim(-0.5, max(len(places) - 0.5, 0.5))
    ax.grid(visible=False, axis="x")


def _reference(ax: Axes, name: str, rows: Sequence[MeasuredRow]) -> None:
    """Draw the mean over rows of the share of the largest class, or of a diagnostic, as a line across."""
    if name == "majority":
        values = [row["majority_rate"] for row in rows if row["majority_rate"] is not None]
    else:
        values = [interval.mean for row in rows if (interval := row.over(name)) is not None]
    if values:
        mean, label = math.fsum(values) / len(values), _REFERENCES.get(name, name)
        ax.axhline(mean, color="0.45", linewidth=0.9, linestyle=(0, (2, 2)), label=label)


def _legend(figure: Figure) -> None:
    """One legend for all panels: series first, then what was infeasible, then references."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    last = {name: 2 if name in _REFERENCES.values() else name.endswith(": cannot run") for name in entries}
    names = sorted(entries, key=lambda name: last[name])
    columns = max(1, min(len(names), int(figure.get_figwidth() / 2.2)))
    handles = [entries[name] for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)
