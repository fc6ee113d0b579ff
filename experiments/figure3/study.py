"""Figure 3 of LZCW21: margins of the teachers' votes on Adult, against the vote and against h*.

See `common.adult` for the setting and the three margins.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Whole
from pate_cli.report.figures import new_figure
from pate_cli.report.interval import Interval, mean_ci
from pate_cli.report.verdict import Verdict, above
from pate_cli.reproduce.study import Progress, StudyResult
from pate_cli.types import FloatArray

from ..common import adult
from ..common.adult import Margins

__all__ = ["HIGH", "run", "shares"]

HIGH = 1 / 6
"""A margin is high where at least two thirds of the teachers agree, as in the paper's proofs (xi = 1/6)."""

CHECKS = adult.CHECKS | {"bins": Whole(2)}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the margins; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        Those of `adult.CHECKS`, and `bins`, the bins of [0, 1/2].
    """
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
    rows = []
    signed_edges = np.concatenate([-edges[:0:-1], edges])
    plans: list[tuple[str, FloatArray, Any]] = [
        ("against the vote, |p - 1/2|", edges, lambda m: m.agreement),
        ("against h*, |q - 1/2| as printed", edges, lambda m: np.abs(m.differing - 0.5)),
        ("against h*, 1/2 - q", signed_edges, lambda m: m.signed),
    ]
    for margin, cuts, values in plans:
        per_split = np.array([shares(values(m), cuts) for m in found])
        for j, (low, high) in enumerate(pairwise(cuts)):
            mean, half = mean_ci(per_split[:, j])
            rows.append(
                {
                    "margin": margin,
                    "from": round(float(low), 12),
                    "to": round(float(high), 12),
                    "share of queries": mean,
                    "ci95": half,
                    "splits": len(found),
                }
            )
    return pd.DataFrame(rows)


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
            "for two classes it equals the margin against the vote on every query, whatever h* is "
            "(the rows of the table are the same); the sign has to be kept, as in the third histogram",
        ),
    ]


def _notes(p: dict[str, Any], found: list[Margins]) -> list[str]:
    accuracy = {name: Interval.of(m.accuracy[name] for m in found) for name in ("teacher", "vote", "h*")}
    return [
        f"{p['n_private']:,} private records, {p['n_public']:,} public, {p['n_queries']:,} queries of these, "
        f"{p['teachers']} logistic regressions; {p['repeats']} random splits, CI over splits.",
        "The paper says that the original training set is the private one; that has 32,561 records, so its "
        "36,631 must come from the joined 48,842 (three quarters), and are drawn at random here.",
        "Accuracy on the records left over: "
        + ", ".join(f"{name} {_say(value)}" for name, value in accuracy.items())
        + ".",
        "No numbers are printed with Figure 3, only claims; p: share of teachers for class 1, q: share that "
        "differs from h*. Definition 17 prints P(Delta > xi) <= nu; it means P(Delta <= xi) <= nu.",
        "The paper gives words, not numbers, so the limits of the verdicts are ours: they "
        "agree on 75% of queries, on h* 90% of those, on another answer on 2% at margin 0.4; "
        "a whole interval has to lie beyond, at a level for three of them.",
        "Everything here is computed from private records without a mechanism: not differentially private.",
    ]


def _draw_histograms(found: list[Margins], edges: FloatArray) -> Figure:
    figure, axes = new_figure(2)
    signed_edges = np.concatenate([-edges[:0:-1], edges])
    panels: list[tuple[str, FloatArray, Any]] = [
        ("|share of teachers for class 1 - 1/2|", edges, lambda m: m.agreement),
        ("1/2 - share of teachers that differ from h*", signed_edges, lambda m: m.signed),
    ]
    for axis, (label, cuts, values) in zip(axes, panels, strict=True):
        per_split = np.array([shares(values(m), cuts) for m in found])
        mean, half = np.array([mean_ci(column) for column in per_split.T]).T
        centres, widths = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
        bars = axis.bar(
            centres, 100 * mean, widths, color="0.75", edgecolor="black", linewidth=0.6, label="mean"
        )
        for bar, low in zip(bars, cuts, strict=False):
            if low < -1e-12:
                bar.set_hatch("///")
        axis.errorbar(
            centres,
            100 * mean,
            100 * half,
            fmt="none",
            ecolor="black",
            capsize=2,
            linewidth=0.8,
            label="95% CI",
        )
        axis.set_xlabel(label)
    axes[0].set_ylabel("queries (%)")
    axes[0].set_title("agreement with one another", fontsize=10)
    axes[1].set_title("agreement with h* (hatched: the vote is not h*'s)", fontsize=10)
    axes[0].legend(fontsize=8, loc="upper left")
    return figure


def _draw_nu(found: list[Margins]) -> Figure:
    figure, (axis,) = new_figure()
    grid = np.linspace(0, 0.5, 101)
    curves: list[tuple[str, str, Any]] = [
        ("against the vote", "-", lambda m: m.agreement),
        ("against h* (signed)", "--", lambda m: m.signed),
    ]
    for label, linestyle, values in curves:
        per_split = np.array([[np.mean(values(m) <= xi + 1e-12) for xi in grid] for m in found])
        mean, half = np.array([mean_ci(column) for column in per_split.T]).T
        axis.fill_between(grid, 100 * (mean - half), 100 * (mean + half), color="0.6", alpha=0.4, linewidth=0)
        axis.plot(grid, 100 * mean, color="black", linestyle=linestyle, linewidth=1.2, label=label)
    axis.axvline(HIGH, color="0.4", linestyle=":", linewidth=1, label="xi = 1/6")
    axis.set_xlabel("margin xi (share of teachers)")
    axis.set_ylabel("nu: queries with margin at most xi (%), 95% CI")
    axis.legend(fontsize=8)
    return figure
