"""Figure 4 of LZCW21: whether margins against the vote and against h* go together, on Adult.

The paper plots the running sums of the two margins over 200 queries against each other,
sees a nearly straight line, and concludes that they are highly correlated. Two cautions
are measured here: running sums of *any* two non-negative quantities give such a line (the
control: the same margins, one of them shuffled), and the unsigned margins are identical
(`common.adult`). Correlation coefficients of the margins themselves are beside.
"""

from __future__ import annotations

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

__all__ = ["pearson", "run", "straightness"]

CHECKS = adult.CHECKS | {"shown": Whole(3)}


def pearson(a: FloatArray, b: FloatArray) -> float:
    """Pearson's correlation coefficient; nan where one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def straightness(a: FloatArray, b: FloatArray) -> float:
    """R^2 of the straight line through the running sums of b against those of a."""
    return pearson(np.cumsum(a), np.cumsum(b)) ** 2


def _spearman(a: FloatArray, b: FloatArray) -> float:
    from scipy.stats import rankdata

    return pearson(rankdata(a), rankdata(b))


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the correlations; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        Those of `adult.CHECKS`, and `shown`, the queries whose margins are summed up (200 in the paper).
    """
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
        f"{p['n_private']:,} private records, {p['n_public']:,} public, {p['n_queries']:,} queries of these "
        f"(the first {shown} for running sums), {p['teachers']} logistic regressions; {p['repeats']} random "
        "splits, CI over splits. The figures show the first split.",
        "q - 1/2 in the paper's Figure 4 is minus the signed margin here; the sign of a slope changes, "
        "correlations and R^2 do not in size.",
        "The paper gives words, not numbers, so the limits of the verdicts are ours: "
        "R^2 0.99, correlation 0.9, agreement 0.9; a whole interval has to lie beyond, at a level "
        "for four of them.",
        "Everything here is computed from private records without a mechanism: not differentially private.",
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
        "Spearman, |p - 1/2| and 1/2 - q": _spearman(a, signed),
        "running sums, R^2": straightness(a[:shown], signed[:shown]),
        "running sums, R^2, shuffled": straightness(a[:shown], shuffled),
        "running sums, last ratio": float(np.sum(signed[:shown]) / np.sum(a[:shown])),
        "vote is h*": float(m.vote_is_best.mean()),
    }


def _verdicts(table: pd.DataFrame) -> list[Verdict]:
    found = {
        quantity: Interval(mean, half, splits)
        for quantity, mean, half, splits in table[["quantity", "mean", "ci95", "splits"]].itertuples(
            index=False
        )
    }

    def say(quantity: str) -> str:
        return found[quantity].text()

    line, control = "running sums, R^2", "running sums, R^2, shuffled"
    r, vote = "Pearson, |p - 1/2| and 1/2 - q", "vote is h*"
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
            f"with one of the two margins shuffled among the queries, R^2 is {say(control)}",
            rows=4,
        ),
        above(
            "the margins are highly correlated",
            found[r].less(0.9),
            f"Pearson {say(r)}, Spearman {say('Spearman, |p - 1/2| and 1/2 - q')} with the sign kept; "
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
    figure, (axis,) = new_figure()
    a, signed = m.agreement[:shown], m.signed[:shown]
    x = np.concatenate([[0.0], np.cumsum(a)])
    every = max(1, shown // 12)
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
        y = np.concatenate([[0.0], np.cumsum(values)])
        axis.plot(x, y, label=label, markevery=every, markersize=4, linewidth=1.2, **style)
    axis.set_xlabel(f"running sum of |p - 1/2| over {shown} queries (votes / teachers)")
    axis.set_ylabel("running sum of the margin against h*")
    axis.legend(fontsize=8)
    return figure


def _draw_margins(m: Margins) -> Figure:
    figure, (axis,) = new_figure()
    for same, marker, label in ((True, "o", "vote is h*"), (False, "x", "vote is not h*")):
        chosen = m.vote_is_best == same
        colour: dict[str, Any] = {"facecolors": "none", "edgecolors": "black"} if same else {"color": "black"}
        axis.scatter(
            m.agreement[chosen],
            m.signed[chosen],
            s=14,
            marker=marker,
            linewidths=0.6,
            label=f"{label}: {int(chosen.sum()):,} queries",
            **colour,
        )
    axis.axhline(0, color="0.4", linewidth=0.8)
    axis.set_xlabel("margin against the vote, |p - 1/2|")
    axis.set_ylabel("margin against h*, 1/2 - q")
    axis.legend(fontsize=8)
    return figure
