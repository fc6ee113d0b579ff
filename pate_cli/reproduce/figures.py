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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pate_cli.errors import InputError
from pate_cli.report.figures import look, new_figure
from pate_cli.reproduce.rows import DoneRow

__all__ = ["check_figure", "run_figures"]

_KEYS = ("name", "title", "panels", "measures", "series", "printed", "reference")
_AXES = {
    "accuracy": "accuracy on the test split",
    "answered": "queries answered (mean)",
    "asked": "queries asked (mean)",
    "eps_ex_post": "eps_ex_post",
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
class _Line:
    """One series in one panel; a point without x goes across the whole panel."""

    label: str
    style: int
    hollow: bool = False
    points: list[tuple[float | None, float, float | None]] = field(default_factory=list)
    absent: list[float] = field(default_factory=list)


def check_figure(figure: dict[str, Any], recipe: str) -> None:
    """Check a figure of a recipe before any work.

    Raises
    ------
    InputError
        Names the key that is not accepted.
    """
    for key in figure:
        if key not in _KEYS:
            raise InputError(f"{recipe}: figure: {key}: no such key; there are: {', '.join(_KEYS)}")
    if not figure.get("panels") or not figure.get("measures"):
        raise InputError(f"{recipe}: figure: needs panels and measures")
    for panel in figure["panels"]:
        if panel.get("x", "eps") not in ("eps", "cutoff", "teachers"):
            raise InputError(f"{recipe}: figure: x: got {panel['x']!r}; accepted: eps, cutoff, teachers")


def run_figures(
    figures: Sequence[dict[str, Any]], rows: Sequence[DoneRow]
) -> dict[str, Callable[[], Figure]]:
    """Functions that draw a recipe's figures, by name."""
    return {
        str(spec.get("name") or "figure"): functools.partial(_draw, spec, list(rows))
        for spec in figures
        if any(row.chosen(panel.get("where") or {}) for panel in spec["panels"] for row in rows)
    }


def _draw(spec: dict[str, Any], rows: list[DoneRow]) -> Figure:
    panels = [panel for panel in spec["panels"] if any(row.chosen(panel.get("where") or {}) for row in rows)]
    figure, axes = _panels(len(panels), len(spec["measures"]))
    styles: dict[str, int] = {}
    for column, panel in enumerate(panels):
        chosen = [row for row in rows if row.chosen(panel.get("where") or {})]
        for line, measure in enumerate(spec["measures"]):
            ax = axes[line * len(panels) + column]
            _panel(ax, _lines(spec, chosen, panel.get("x", "eps"), measure, styles))
            if measure == "accuracy" and spec.get("reference"):
                _reference(ax, spec["reference"], chosen)
            if not any(row.units for row in chosen):
                reason = ", ".join(dict.fromkeys(row.status for row in chosen))
                box = {"facecolor": "white", "edgecolor": "0.6", "linewidth": 0.6}
                ax.text(0.5, 0.5, f"ours: {reason}", ha="center", transform=ax.transAxes, bbox=box)
            if measure in ("answered", "asked"):
                ax.set_ylim(0, 1.08 * max(float(ax.dataLim.y1), 1.0))
            if line == 0:
                ax.set_title(str(panel.get("title", "")))
            if line == len(spec["measures"]) - 1:
                ax.set_xlabel(str(panel.get("xlabel", "budget eps")))
            if column == 0:
                ax.set_ylabel(_AXES.get(measure, measure.replace("_", " ")))
    _legend(figure)
    return figure


def _lines(
    spec: dict[str, Any], rows: Sequence[DoneRow], x: str, measure: str, styles: dict[str, int]
) -> list[_Line]:
    methods = dict.fromkeys(row.method for row in rows)
    series: dict[str, list[str]] = spec.get("series") or {method: [method] for method in methods}
    lines = []
    for label, members in series.items():
        those = [row for row in rows if row.method in members]
        if not those:
            continue
        style = styles.setdefault(label, len(styles))
        ours = _Line(f"{label}, ours" if spec.get("printed") else label, style)
        theirs = _Line(f"{label}, the paper", style, hollow=True)
        for row in those:
            at = row.value(x)
            found = row.over(measure)
            if found is not None and math.isfinite(found.mean):
                ours.points.append((at, found.mean, found.half_width))
            elif row.status == "infeasible":
                ours.absent += [at] if at is not None else []
            key, ci = _PRINTED.get(measure, ("", ""))
            if spec.get("printed") and math.isfinite(row.printed.get(key, math.inf)):
                theirs.points.append((at, row.printed[key], row.printed.get(ci)))
        lines += [line for line in (ours, theirs) if line.points or line.absent]
    return lines


def _panel(ax: Axes, lines: Sequence[_Line]) -> None:
    """Draw series over equally spaced places, each a little beside the others."""
    places = sorted(
        {x for line in lines for x, *_ in line.points if x is not None}
        | {x for line in lines for x in line.absent}
    )
    at = {x: index for index, x in enumerate(places)}
    for index, line in enumerate(lines):
        shift = 0.07 * (index - (len(lines) - 1) / 2)
        style = look(line.style)
        style["markerfacecolor"] = "white" if line.hollow else style["color"]
        style["linestyle"] = ":" if line.hollow else style["linestyle"]
        drawn = sorted((at[x], y, ci or 0.0) for x, y, ci in line.points if x is not None)
        if drawn:
            xs = [x + shift for x, *_ in drawn]
            ax.errorbar(
                xs, [y for _, y, _ in drawn], [ci for *_, ci in drawn], capsize=2.5, label=line.label, **style
            )
        for x, y, ci in line.points:
            if x is None:
                colour = style["color"]
                ax.axhline(y, color=colour, linestyle=style["linestyle"], linewidth=1.2, label=line.label)
                ax.axhspan(y - (ci or 0), y + (ci or 0), color=colour, alpha=0.15, linewidth=0)
        if line.absent:
            ax.plot(
                [at[x] + shift for x in line.absent],
                [0.04] * len(line.absent),
                linestyle="none",
                marker="x",
                color=style["color"],
                label=f"{line.label}: infeasible",
                transform=ax.get_xaxis_transform(),
            )
    ax.set_xticks(range(len(places)), ["∞" if math.isinf(x) else f"{x:g}" for x in places])
    ax.set_xlim(-0.5, max(len(places) - 0.5, 0.5))
    ax.grid(visible=False, axis="x")


def _reference(ax: Axes, name: str, rows: Sequence[DoneRow]) -> None:
    if name == "majority":
        values = [row.majority for row in rows if row.majority is not None]
    else:
        values = [found.mean for row in rows if (found := row.over(name)) is not None]
    if values:
        mean = math.fsum(values) / len(values)
        ax.axhline(
            mean, color="0.45", linewidth=0.9, linestyle=(0, (2, 2)), label=_REFERENCES.get(name, name)
        )


def _panels(columns: int, rows: int) -> tuple[Figure, list[Axes]]:
    return new_figure(columns, rows, panel=(2.7, 2.3), margin=(0.6, 0.9))


def _legend(figure: Figure) -> None:
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= {
            label: handle for label, handle in zip(labels, handles, strict=True) if label not in entries
        }
    last = {name: 2 if name in _REFERENCES.values() else name.endswith(": infeasible") for name in entries}
    entries = dict(sorted(entries.items(), key=lambda entry: last[entry[0]]))
    columns = max(1, min(len(entries), int(figure.get_figwidth() / 2.2)))
    figure.legend(
        list(entries.values()), list(entries), loc="outside lower center", ncols=columns, frameon=False
    )
