"""Voting fails (LZCW21 Example 1, Figure 1): the vote of many is worse than each of them.

Four points, equally likely, all of class 1, and three hypotheses. Each is right on
x1 and on one point of its own, so each has error 1/2. On records that all say 1,
empirical risk minimisation picks the hypothesis whose own point was seen most
often, ties broken at random: by symmetry each of the three with probability 1/3,
whatever the number of records. Of K independent teachers Bin(K, 1/3) vote 1 on a
hypothesis's own point, so (the vote being 1 where at least K/2 say so)::

    E Err(vote) = 3/4 * P(Bin(K, 1/3) < K/2)

which is 1/2 at K = 1 and tends to 3/4: by Chernoff's bound the difference is at most
``3/4 * exp(-K KL(1/2 || 1/3))``, with ``KL(1/2 || 1/3) = log(9/8)/2 = 0.0589``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binom

from pate_cli.checks import Check, Listed, Whole
from pate_cli.results.figures import STYLES, reference
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.verdicts import Verdict, combined, compare
from pate_cli.types import FloatArray

from ..common.figures import curve, panels
from ..common.tools import AGREES, SAMPLING, judged, seeded, with_ci

RATE = 0.5 * math.log(9 / 8)
"""KL(1/2 || 1/3), the exponent of the convergence to 3/4."""

_BEST = 0.5
_LIMIT = 0.75
CHECKS: dict[str, Check] = {
    "teachers": Listed(Whole(1), ascending=True),
    "records": Listed(Whole(1), ascending=True),
    "fixed_teachers": Whole(1),  # for the list of records
    "fixed_records": Whole(1),  # a teacher, for the list of teachers
    **SAMPLING,
}


def exact_error(n_teachers: int) -> float:
    """Expected error of the vote of K teachers, for any number of records a teacher."""
    return float(_LIMIT * binom.cdf(math.ceil(n_teachers / 2) - 1, n_teachers, 1 / 3))


def simulate(n_teachers: int, n_records: int, repeats: int, rng: np.random.Generator) -> FloatArray:
    """Exact errors, over the four points, of the votes of K trained teachers; shape (repeats,)."""
    seen = rng.multinomial(n_records, [0.25] * 4, size=(repeats, n_teachers))[..., 1:]
    chosen = np.argmax(seen + rng.random(seen.shape), axis=-1)  # the fraction breaks ties at random
    votes = np.stack([np.count_nonzero(chosen == h, axis=1) for h in range(3)], axis=1)
    error: FloatArray = np.count_nonzero(2 * votes < n_teachers, axis=1) / 4
    return error


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Evaluate and simulate Example 1."""
    cases = [("teachers", K, p["fixed_records"]) for K in p["teachers"]]
    cases += [("records", p["fixed_teachers"], N) for N in p["records"]]
    rows = []
    for (growing, K, N), seed in seeded(cases, p["seed"], progress):
        errors = simulate(K, N, p["repeats"], np.random.default_rng(seed))
        row = {"growing": growing, "teachers": K, "records a teacher": N, "records": K * N}
        row |= {"error, exact": exact_error(K)} | with_ci("error, simulated", "ci95", errors)
        row |= {"repeats": p["repeats"], "best hypothesis": _BEST}
        rows.append(row | {"3/4 - Chernoff": _LIMIT * (1 - math.exp(-K * RATE))})
    table = pd.DataFrame(rows)
    return StudyResult(table, {"error": lambda: _draw(table)}, _verdicts(table), _NOTES)


_NOTES = [
    "Simulated and exact rows agree if the whole interval of their difference, corrected for the rows of "
    f"the table (Bonferroni), lies within {AGREES:g} of 0.",
]


def _verdicts(table: pd.DataFrame) -> list[Verdict]:
    growing = table[table["growing"] == "teachers"]
    last = growing.iloc[-1]
    exact, simulated, half = last["error, exact"], last["error, simulated"], last["ci95"]
    off = table["error, simulated"] - table["error, exact"]
    words = judged(compare, off, table["ci95"], table["repeats"], AGREES)
    below = bool((growing["error, exact"] >= growing["3/4 - Chernoff"] - 1e-12).all())
    converges = exact > 0.74 and below
    flat = table[table["growing"] == "records"]
    return [
        Verdict(
            "the vote converges to error 0.75, exponentially quickly in K",
            "reproduces" if converges else "undecided" if below else "differs",
            f"exact {exact:.4f} at K = {last['teachers']} (printed limit 0.75; the best hypothesis has 0.5), "
            + (f"never below 3/4 (1 - exp(-{RATE:.4f} K))" if below else "below Chernoff's bound")
            + ("" if converges else ": K is too small to see the limit"),
        ),
        Verdict(
            "trained teachers behave like uniform picks from h1, h2, h3",
            combined(words),
            f"simulated {simulated:.4f} +- {half:.4f} against exact {exact:.4f} at the largest K; "
            f"{words.count('reproduces')} of {len(table)} rows agree to {AGREES:g}",
            margin=AGREES,
        ),
        Verdict(
            "more records do not help",
            combined([words[index] for index in flat.index]),
            f"from {flat['records'].min():,} to {flat['records'].max():,} records at "
            f"K = {flat['teachers'].iloc[0]} the error stays at {flat['error, exact'].iloc[0]:.4f}",
        ),
    ]


def _draw(table: pd.DataFrame) -> Figure:
    figure, axes = panels(["", ""], "", "expected 0-1 error", log="x", sharey=True)
    labels = {"teachers": ("teachers K", "records a teacher"), "records": ("private records n", "teachers")}
    for axis, (growing, (label, fixed)) in zip(axes, labels.items(), strict=True):
        part = table[table["growing"] == growing]
        curve(axis, part, growing, "error, simulated", "ci95", "vote, simulated (95% CI)", STYLES[1])
        axis.plot(part[growing], part["error, exact"], color="black", linewidth=1.4, label="vote, exact")
        reference(axis, _LIMIT, "limit 3/4", linestyle=":")
        reference(axis, _BEST, "every single hypothesis")
        axis.set_xlabel(label)
        axis.set_title(f"{part[fixed].iloc[0]} {fixed}", fontsize=10)
    axes[0].set_ylim(0.3, 0.8)
    axes[0].legend(fontsize=8, loc="lower right")
    return figure
