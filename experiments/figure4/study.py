"""Figure 4 of LZCW21: whether margins against the vote and against h* go together, on Adult.

The paper plots the running sums of the two margins over 200 queries against each other,
sees a nearly straight line, and concludes that they are highly correlated. Two cautions
are measured here: running sums of *any* two non-negative quantities give such a line (the
control: the same margins, one of them shuffled), and the unsigned margins are identical
(`common.adult`). Correlation coefficients of the margins themselves are beside; the verdict is by
ranks, which no scaling of the columns decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import rankdata

from pate_cli.checks import Check, Whole
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, mean_ci
from pate_cli.results.verdicts import Verdict, above
from pate_cli.types import FloatArray

from ..common import adult
from ..common.adult import Margins
from ..common.figures import legend, panels

CHECKS: dict[str, Check] = adult.CHECKS | {"shown": Whole(3)}  # queries summed up, 200 in the paper


def pearson(a: FloatArray, b: FloatArray) -> float:
    """Pearson's correlation coefficient; nan where one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def straightness(a: FloatArray, b: FloatArray) -> float:
    """R^2 of the straight line through the running sums of b against those of a."""
    return pearson(np.cumsum(a), np.cumsum(b)) ** 2


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the correlations over random splits."""
    found = adult.measure(p, progress)
    shown = min(p["shown"], p["n_queries"])
    orders = np.random.SeedSequence(p["seed"], spawn_key=(1,)).spawn(len(found))
    per_split = [
        _numbers(m, shown, np.random.default_rng(order)) for m, order in zip(found, orders, strict=True)
    ]
    rows = []
    for quantity in per_split[0]:
        mean, half = mean_ci([numbers[quantity] for numbers in per_split])
        queries = shown if quantity.startswith("running sums") else p["n_queries"]
        rows.append(
            {"quantity": quantity, "mean": mean, "ci95": half, "queries": queries, "splits": len(found)}
        )
    table = pd.DataFrame(rows)
    notes = [
        f"{adult.sizes_text(p)} (the first {shown} for running sums), {p['teachers']} logistic "
        f"regressions; {p['repeats']} random splits, CI over splits. The figures show the first split.",
        adult.PRIVATE,
    ]
    figures = {
        "running-sums": lambda: _draw_sums(found[0], shown, np.random.default_rng(orders[0])),
        "margins": lambda: _draw_margins(found[0]),
    }
    return StudyResult(table, figures, _verdicts(table), notes)


def _numbers(m: Margins, shown: int, rng: np.random.Generator) -> dict[str, float]:
    a, signed = m.agreement, m.signed
    shuffled = rng.permutation(signed[:shown])
    return {
        "Pearson, |p - 1/2| and |q - 1/2|": pearson(a, np.abs(m.differing - 0.5)),
        "Pearson, |p - 1/2| and 1/2 - q": pearson(a, signed),
        "Spearman, |p - 1/2| and 1/2 - q": pearson(rankdata(a), rankdata(signed)),
        "running sums, R^2": straightness(a[:shown], signed[:shown]),
        "running sums, R^2, shuffled": straightness(a[:shown], shuffled),
        "running sums, last ratio": float(np.sum(signed[:shown]) / np.sum(a[:shown])),
        "vote is h*": float(m.vote_is_best.mean()),
    }


def _verdicts(table: pd.DataFrame) -> list[Verdict]:
    columns = table[["quantity", "mean", "ci95", "splits"]]
    found = {quantity: Interval(*numbers) for quantity, *numbers in columns.itertuples(index=False)}

    def say(quantity: str) -> str:
        return found[quantity].text()

    line, control = "running sums, R^2", "running sums, R^2, shuffled"
    ranks, vote = "Spearman, |p - 1/2| and 1/2 - q", "vote is h*"
    return [
        above(
            "running sums over 200 queries: a nearly perfect line",
            found[line].less(0.99),
            f"R^2 {say(line)}, last ratio {say('running sums, last ratio')}",
            rows=4,
        ),
        above(
            "that line indicates high correlation",
            -found[control].less(0.99),
            "with one of the two margins shuffled among the queries, which leaves nothing of a correlation, "
            f"R^2 is {say(control)}",
            rows=4,
        ),
        above(
            "the margins are highly correlated",
            found[ranks].less(0.9),
            f"of ranks {say(ranks)}, Pearson {say('Pearson, |p - 1/2| and 1/2 - q')}, with the sign kept; "
            f"without it {say('Pearson, |p - 1/2| and |q - 1/2|')}, an identity",
            rows=4,
        ),
        above(
            "the vote tends to agree with h*",
            found[vote].less(0.9),
            f"on {say(vote)} of the queries",
            rows=4,
        ),
    ]


def _draw_sums(m: Margins, shown: int, rng: np.random.Generator) -> Figure:
    xlabel = f"running sum of |p - 1/2| over {shown} queries (votes / teachers)"
    figure, axes = panels([""], xlabel, "running sum of the margin against h*", log="")
    a, signed = m.agreement[:shown], m.signed[:shown]
    x = np.concatenate([[0.0], np.cumsum(a)])
    series: list[tuple[str, FloatArray, dict[str, Any]]] = [
        ("|q - 1/2|: the diagonal, always", a, {"color": "0.6", "linestyle": "-"}),
        ("1/2 - q", signed, {"color": "black", "linestyle": "-", "marker": "o"}),
        (
            "1/2 - q, shuffled (control)",
            rng.permutation(signed),
            {"color": "0.35", "linestyle": "--", "marker": "s"},
        ),
    ]
    for label, values, style in series:
        look = {"markevery": max(1, shown // 12), "markersize": 4, "linewidth": 1.2, **style}
        axes[0].plot(x, np.concatenate([[0.0], np.cumsum(values)]), label=label, **look)
    legend(axes)
    return figure


def _draw_margins(m: Margins) -> Figure:
    xlabel, ylabel = "margin against the vote, |p - 1/2|", "margin against h*, 1/2 - q"
    figure, axes = panels([""], xlabel, ylabel, log="")
    looks: dict[str, dict[str, Any]] = {
        "vote is h*": {"marker": "o", "facecolors": "none", "edgecolors": "black"},
        "vote is not h*": {"marker": "x", "color": "black"},
    }
    for (name, look), same in zip(looks.items(), (True, False), strict=True):
        chosen = m.vote_is_best == same
        label = f"{name}: {int(chosen.sum()):,} queries"
        axes[0].scatter(m.agreement[chosen], m.signed[chosen], s=14, linewidths=0.6, label=label, **look)
    axes[0].axhline(0, color="0.4", linewidth=0.8)
    legend(axes)
    return figure
