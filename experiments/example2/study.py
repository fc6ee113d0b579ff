"""Voting wins (LZCW21 Example 2): a vote of weak teachers errs exponentially seldom.

If a teacher errs at x with probability at most 1/2 - xi, Hoeffding's inequality gives
``P(vote errs at x) <= exp(-2 K xi^2)``. Exactly, for teachers that err with probability
1/2 - xi, a tie counted as an error as in the paper, it is ``P(Bin(K, 1/2 - xi) >= K/2)``,
whose exponent is ``KL(1/2 || 1/2 - xi) = -log(1 - 4 xi^2)/2``, a little above ``2 xi^2``.

The learning problem that is simulated: points 1 .. M of fixed class; each teacher sees
each point once, its label flipped with probability 1/2 - xi, and remembers it.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binom

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, simultaneous
from pate_cli.results.verdicts import Verdict
from pate_cli.types import FloatArray

from ..common.figures import curve, line, panels
from ..common.tools import SAMPLING, control, seeded, with_ci

CHECKS: dict[str, Check] = {
    "edges": Listed(Real(0, 0.5, open_above=True)),  # xi
    "teachers": Listed(Whole(1), at_least=2, ascending=True),  # K
    "points": Whole(1),  # M
    **SAMPLING,
}


def bound(n_teachers: int, edge: float) -> float:
    """``exp(-2 K xi^2)``, the paper's bound."""
    return math.exp(-2 * n_teachers * edge * edge)


def exact_error(n_teachers: int, edge: float) -> float:
    """``P(Bin(K, 1/2 - xi) >= K/2)``: the vote errs, a tie being an error."""
    return float(binom.sf(math.ceil(n_teachers / 2) - 1, n_teachers, 0.5 - edge))


def simulate(n_teachers: int, edge: float, points: int, repeats: int, rng: np.random.Generator) -> FloatArray:
    """Share of points on which the vote errs, shape (repeats,)."""
    errors = np.empty(repeats)
    for repeat in range(repeats):  # a repeat at a time keeps the memory at K * M
        flipped = rng.random((points, n_teachers), dtype=np.float32) < 0.5 - edge
        errors[repeat] = np.mean(2 * np.count_nonzero(flipped, axis=1) >= n_teachers)
    return errors


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Evaluate the bound, the exact error and a simulation."""
    cases = list(product(p["edges"], p["teachers"]))
    rows = []
    for (edge, K), seed in seeded(cases, p["seed"], progress):
        errors = simulate(K, edge, p["points"], p["repeats"], np.random.default_rng(seed))
        row = {"edge": edge, "teachers": K, "one teacher": 0.5 - edge}
        row |= {"vote, bound": bound(K, edge), "vote, exact": exact_error(K, edge)}
        rows.append(row | with_ci("vote, simulated", "ci95", errors) | {"repeats": p["repeats"]})
    table = pd.DataFrame(rows)
    notes = [
        f"Simulated: {p['points']} points a repeat; bands are 95% CI over repeats. "
        "A simulated 0 is left out of the log axis.",
    ]
    return StudyResult(table, {"error": lambda: _draw(table)}, _verdicts(table), notes)


def _verdicts(table: pd.DataFrame) -> list[Verdict]:
    holds = table["vote, exact"] <= table["vote, bound"]
    worst = table.iloc[int(np.argmax(table["vote, exact"] / table["vote, bound"]))]
    verdicts = [
        Verdict(
            "P(vote errs) <= exp(-2 K xi^2)",
            "reproduces" if bool(holds.all()) else "differs",
            f"holds exactly in {int(holds.sum())} of {len(table)} rows, closest at "
            f"K = {worst['teachers']:.0f}, xi = {worst['edge']:g}: {worst['vote, exact']:.4g} of "
            f"{worst['vote, bound']:.4g}",
        )
    ]
    for edge in table["edge"].unique():
        part = table[table["edge"] == edge]
        first, last = part.iloc[len(part) // 2], part.iloc[-1]
        between = last["teachers"] - first["teachers"]
        fall = (math.log(first["vote, exact"]) - math.log(last["vote, exact"])) / between if between else 0.0
        limit = -0.5 * math.log(1 - 4 * edge**2)
        claim = f"the error falls exponentially, xi = {edge:g}"
        says = (
            f"exponent {fall:.5f} a teacher over the upper half of K; bound {2 * edge**2:.5f}, "
            f"exact limit {limit:.5f}"
        )
        verdicts.append(Verdict(claim, "reproduces" if fall >= 2 * edge**2 else "differs (below)", says))
    gaps = [
        Interval(mean - exact, half, int(n))
        for mean, exact, half, n in zip(
            table["vote, simulated"], table["vote, exact"], table["ci95"], table["repeats"], strict=True
        )
    ]
    agrees = control(
        "a simulated vote errs as often as the exact law says",
        gaps,
        lambda gap: gap.at(simultaneous(len(gaps))).text(),
    )
    return [*verdicts, agrees]


def _draw(table: pd.DataFrame) -> Figure:
    figure, (axis,) = panels([""], "teachers K", "probability that the vote errs at a point", log="y")
    for style, (edge, part) in zip(STYLES, table.groupby("edge"), strict=False):
        seen, label = part[part["vote, simulated"] > 0], rf"simulated, $\xi$ = {edge:g} (95% CI)"
        curve(axis, seen, "teachers", "vote, simulated", "ci95", label, {**style, "linestyle": "none"})
        line(axis, part["teachers"], part["vote, exact"], style, width=1.6)
        line(axis, part["teachers"], part["vote, bound"], style)
    axis.plot([], [], color="black", linewidth=1.6, label="thick: exact")
    axis.plot([], [], color="black", linewidth=0.7, label="thin: bound")
    axis.set_ylim(max(1e-6, table["vote, exact"].min() / 2), 1.2)
    figure.legend(fontsize=8, ncols=3, loc="outside lower center")
    return figure
