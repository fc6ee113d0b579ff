"""Figure 3 of LZCW21: margins of the teachers' votes on Adult, against the vote and against h*.

See `common.adult` for the setting and the three margins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Whole
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, mean_ci
from pate_cli.results.verdicts import Verdict, above
from pate_cli.types import FloatArray

from ..common import adult
from ..common.adult import Margins
from ..common.figures import panels
from ..common.tools import with_ci

CHECKS: dict[str, Check] = adult.CHECKS | {"bins": Whole(2)}  # of [0, 1/2]
HIGH = 1 / 6
"""A margin is high where at least two thirds of the teachers agree, as in the paper's proofs (xi = 1/6)."""


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the margins over random splits."""
    found = adult.measure(p, progress)
    edges = np.linspace(0, 0.5, p["bins"] + 1)
    table = _table(found, edges)
    numbers = {name: Interval.of(measure(m) for m in found) for name, measure in _MEASURES.items()}
    figures = {
        "margins": lambda: _draw_histograms(found, edges),
        "high-margin": lambda: _draw_nu(found),
    }
    return StudyResult(table, figures, _verdicts(numbers), _notes(p, found))


def shares(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Share of the values in each bin [edge, next edge), the last closed; shape (B,)."""
    # a vote share is a ratio of integers: keep 0.3 - 1e-17 out of the bin below 0.3
    return np.asarray(np.histogram(np.round(values, 12), bins=np.round(edges, 12))[0] / len(values))


def _high(m: Margins) -> Any:
    return m.agreement >= HIGH - 1e-12


Margin = Callable[[Margins], FloatArray]
_MEASURES: dict[str, Any] = {
    "mean margin": lambda m: m.agreement.mean(),
    "high": lambda m: _high(m).mean(),
    "unanimous": lambda m: (m.agreement >= 0.5 - 1e-12).mean(),
    "vote is h*": lambda m: m.vote_is_best.mean(),
    "vote is h*, given high": lambda m: m.vote_is_best[_high(m)].mean(),
    "high and not h*": lambda m: (_high(m) & ~m.vote_is_best).mean(),
    "very high and not h*": lambda m: ((m.agreement >= 0.4) & ~m.vote_is_best).mean(),
}


def _table(found: list[Margins], edges: FloatArray) -> pd.DataFrame:
    plans: list[tuple[str, FloatArray, Margin]] = [
        ("against the vote, |p - 1/2|", edges, lambda m: m.agreement),
        ("against h*, |q - 1/2| as printed", edges, lambda m: np.abs(m.differing - 0.5)),
        ("against h*, 1/2 - q", _signed(edges), lambda m: m.signed),
    ]
    rows = []
    for margin, cuts, values in plans:
        per_split = np.array([shares(values(m), cuts) for m in found])
        for (low, high), share in zip(pairwise(cuts), per_split.T, strict=True):
            row = {"margin": margin, "from": round(float(low), 12), "to": round(float(high), 12)}
            rows.append(row | with_ci("share of queries", "ci95", share) | {"splits": len(found)})
    return pd.DataFrame(rows)


def _signed(edges: FloatArray) -> FloatArray:
    """Edges of [-1/2, 1/2]."""
    return np.concatenate([-edges[:0:-1], edges])


def _say(number: Interval) -> str:
    return f"{100 * number.mean:.2f}% ± {100 * (number.half_width or math.nan):.2f}"


def _verdicts(numbers: dict[str, Interval]) -> list[Verdict]:
    high, given, wrong = (
        numbers[name] for name in ("high", "vote is h*, given high", "very high and not h*")
    )
    return [
        above(
            "the teachers agree on the large majority of queries",
            high.less(0.75),
            f"at least two thirds of them agree on {_say(numbers['high'])} of the queries, all of them on "
            f"{_say(numbers['unanimous'])}; mean margin {numbers['mean margin'].mean:.3f} of at most 0.5",
            rows=3,
        ),
        above(
            "when they agree, they agree on h* in most cases",
            given.less(0.9),
            f"where they do, the vote is h*'s on {_say(numbers['vote is h*, given high'])} of the queries; "
            f"of all queries on {_say(numbers['vote is h*'])}",
            rows=3,
        ),
        above(
            "only very rarely do they agree on another answer than h*'s with high margin",
            -wrong.less(0.02),
            f"margin at least 1/6 against h*: {_say(numbers['high and not h*'])} of the queries; "
            f"at least 0.4: {_say(wrong)}",
            rows=3,
        ),
        Verdict(
            "the margin against h*, |q - 1/2|, shows agreement with h*",
            "differs",
            "for two classes q is p where h* says 0, and 1 - p where it says 1, so |q - 1/2| = |p - 1/2| on "
            "every query, whatever h* is (the rows of the table are the same); the sign has to be kept, as "
            "in the third histogram",
        ),
    ]


def _notes(p: dict[str, Any], found: list[Margins]) -> list[str]:
    accuracy = {name: Interval.of(m.accuracy[name] for m in found) for name in ("teacher", "vote", "h*")}
    return [
        f"{adult.sizes_text(p)}, {p['teachers']} logistic regressions; {p['repeats']} random splits, "
        "CI over splits.",
        "Accuracy on the records left over: "
        + ", ".join(f"{name} {_say(value)}" for name, value in accuracy.items())
        + ".",
        adult.PRIVATE,
    ]


def _draw_histograms(found: list[Margins], edges: FloatArray) -> Figure:
    titles = ["agreement with one another", "agreement with h* (hatched: the vote is not h*'s)"]
    figure, axes = panels(titles, "", "queries (%)", log="")
    shown: list[tuple[str, FloatArray, Margin]] = [
        ("|share of teachers for class 1 - 1/2|", edges, lambda m: m.agreement),
        ("1/2 - share of teachers that differ from h*", _signed(edges), lambda m: m.signed),
    ]
    for axis, (label, cuts, values) in zip(axes, shown, strict=True):
        mean, half = _bands([shares(values(m), cuts) for m in found])
        at, widths, edge = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts), {"edgecolor": "black", "linewidth": 0.6}
        bars = axis.bar(at, mean, widths, color="0.75", label="mean", **edge)  # type: ignore[arg-type]
        for bar, low in zip(bars, cuts, strict=False):
            if low < -1e-12:
                bar.set_hatch("///")
        look: dict[str, Any] = {"fmt": "none", "ecolor": "black", "capsize": 2, "linewidth": 0.8}
        axis.errorbar(at, mean, half, label="95% CI", **look)
        axis.set_xlabel(label)
    axes[0].legend(fontsize=8, loc="upper left")
    return figure


def _bands(per_split: list[Any]) -> tuple[FloatArray, FloatArray]:
    """Means over the splits and half intervals, in per cent, of arrays of one shape."""
    mean, half = np.array([mean_ci(column) for column in np.array(per_split).T]).T
    return 100 * mean, 100 * half


def _draw_nu(found: list[Margins]) -> Figure:
    ylabel = "nu: queries with margin at most xi (%), 95% CI"
    figure, (axis,) = panels([""], "margin xi (share of teachers)", ylabel, log="")
    grid = np.linspace(0, 0.5, 101)
    curves: list[tuple[str, str, Margin]] = [
        ("against the vote", "-", lambda m: m.agreement),
        ("against h* (signed)", "--", lambda m: m.signed),
    ]
    for label, linestyle, values in curves:
        mean, half = _bands([[np.mean(values(m) <= xi + 1e-12) for xi in grid] for m in found])
        axis.fill_between(grid, mean - half, mean + half, color="0.6", alpha=0.4, linewidth=0)
        axis.plot(grid, mean, color="black", linestyle=linestyle, linewidth=1.2, label=label)
    axis.axvline(HIGH, color="0.4", linestyle=":", linewidth=1, label="xi = 1/6")
    axis.legend(fontsize=8)
    return figure
