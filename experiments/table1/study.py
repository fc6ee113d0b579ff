"""Table 1 of LZCW21 as curves: excess risk against private records, public points and eps.

The printed entries are compared with what the theorems give when the number of labelled
points is chosen at its best: same exponents, or not. For the realizable case the bounds are
also evaluated with every constant of the proofs, which tells from how many records on they
say anything at all. See `statements.rates`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.results.figures import STYLES, reference
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.tables import Head, Table
from pate_cli.results.verdicts import Verdict

from ..common.figures import legend, panels
from ..common.tools import PROBABILITY
from ..statements import rates

NAMES = {
    "gaussian": "Gaussian (Thm 28)",
    "svt before": "SVT as analysed before (Thm 5)",
    "svt": "SVT under TNC (Thm 10)",
    "active": "active (Thm 22)",
}
"""Legends of `rates.ALGORITHMS`."""
HEADS = {"gaussian": "Gaussian", "svt before": "SVT, before", "svt": "SVT", "active": "active"}
"""Columns of Table 1."""

CHECKS: dict[str, Check] = {
    "d": Whole(1),  # this and the next three: see rates.Problem
    "tau": Real(0, 1),
    "theta": Real(0.999),
    "err_star": Real(0, 0.5),
    "failure": PROBABILITY,  # of the explicit bounds
    "n": Listed(Real(10), at_least=2, ascending=True),
    "m": Listed(Real(10), at_least=2, ascending=True),
    "eps": Listed(Real(0), at_least=2, ascending=True),
    "fixed_n": Real(10),  # this and the next: on the other axes, where m is unlimited
    "fixed_eps": Real(0),
}

_EXPLICIT = "realizable, all constants"
_AXES = {
    "n": "private records n",
    "m": "public points m",
    "eps": "privacy budget eps (no unit)",
}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Evaluate the rates along each axis, and the bounds with all constants."""
    problem = rates.Problem(p["d"], p["tau"], p["theta"], p["err_star"])
    steps = 1 + len(p["n"])
    progress(0, steps)
    rows = [row for axis in _AXES for row in _curves(axis, p, problem)]
    for done, n in enumerate(p["n"], 1):
        progress(done, steps)
        for algorithm in rates.EXPLICIT:
            value = rates.best_bound(algorithm, n, p["fixed_eps"], 1 / n, p["failure"], p["d"])
            rows.append(_row(_EXPLICIT, algorithm, "n", n, math.inf, p["fixed_eps"], value))
    progress(steps, steps)
    table = pd.DataFrame(rows)
    figures = {f"risk-against-{axis}": partial(_draw, table, axis) for axis in _AXES}
    figures["all-constants"] = partial(_draw_explicit, table)
    notes = [
        f"d = {p['d']}, tau = {p['tau']:g}, theta = {p['theta']:g}, Err(h*) = {p['err_star']:g}; the best "
        "number of public points is labelled (Remarks 6, 12, 29). In the realizable case, m unlimited, the "
        "curves of Gaussian and of SVT as analysed before coincide. "
        f"m is unlimited on the axes n and eps; otherwise n = {p['fixed_n']:,.0f}, eps = {p['fixed_eps']:g}.",
        "All constants: the proofs' own (Lemmas 3, 4, 35, 36, 37), realizable case, delta = 1/n, failure "
        f"probability {p['failure']:g}. Lemma 38 (tau < 1) and Theorem 22 (active) have none.",
        _first_useful(table),
    ]
    return StudyResult(matrix(table, problem), figures, _verdicts(p, problem), notes)


def matrix(curves: pd.DataFrame, problem: rates.Problem) -> Table:
    """Table 1 in the paper's layout, by exponents of n and m; its records are the curves.

    A cell has the exponent of n with public points in plenty as printed, and as the theorem gives it where
    that is another; then that of m with private records in plenty.
    """
    cells = []
    for realizable, case in _cases(problem).items():
        row = [case]
        for algorithm in rates.ALGORITHMS:
            theorem = _exponent(rates.rate, algorithm, problem, realizable=realizable)
            printed = _exponent(rates.printed_rate, algorithm, problem, realizable=realizable)
            same = abs(theorem - printed) < 1e-3
            points = -0.5 if algorithm == "svt before" else -1.0
            row.append(f"n^{printed:.3f}{'' if same else f' ({theorem:.3f})'} v m^{points:g}")
        cells.append(row)
    cells.append(["agnostic, h*", *_AGNOSTIC])
    cells.append(["agnostic, vote", "-", "-", "consistent", "-"])
    columns = [
        Head("excess risk", numeric=False),
        *(Head(HEADS[name], numeric=False) for name in rates.ALGORITHMS),
    ]
    note = (
        "Printed exponents of private records n and public points m, whichever term is larger; where the "
        "theorem gives another of n, it stands in parentheses. The agnostic rows are quoted, not checked."
    )
    records = [dict(zip(curves.columns, line, strict=True)) for line in curves.itertuples(index=False)]
    return Table(columns, cells, records, note)


_AGNOSTIC = ("Err(h*) needed", "13 Err + n^-0.4", "Err(h*) needed", "Err(h*) needed")
"""As printed: at least a multiple of Err(h*) remains, or 13 of them and the term in n."""


def _curves(axis: str, p: dict[str, Any], problem: rates.Problem) -> list[dict[str, Any]]:
    rows = []
    for realizable, case in _cases(problem).items():
        for algorithm in rates.ALGORITHMS:
            for value in p[axis]:
                at = {"n": p["fixed_n"], "m": math.inf, "eps": p["fixed_eps"]} | {axis: value}
                theorem = rates.rate(algorithm, **at, problem=problem, realizable=realizable)
                row = _row(case, algorithm, axis, at["n"], at["m"], at["eps"], theorem)
                row["Table 1"] = rates.printed_rate(algorithm, **at, problem=problem, realizable=realizable)
                two = rates.terms(algorithm, at["n"], at["eps"], problem, realizable=realizable)
                row["points labelled"] = two.best_m(at["m"])
                rows.append(row)
    return rows


def _cases(problem: rates.Problem) -> dict[bool, str]:
    """Names of the cases, by whether they are realizable."""
    return {True: "realizable", False: f"TNC, tau = {problem.tau:g}"}


def _row(case: str, algorithm: str, axis: str, n: float, m: float, eps: float, risk: float) -> dict[str, Any]:
    row = {"case": case, "algorithm": algorithm, "axis": axis, "n": n, "m": m, "eps": eps}
    return row | {"excess risk": risk, "Table 1": math.nan, "points labelled": math.nan}


def _exponent(function: Any, algorithm: str, problem: rates.Problem, *, realizable: bool) -> float:
    """Slope of log(risk) in log(n) where public points abound; the constant 13 Err(h*) left out."""
    plain = rates.Problem(problem.d, problem.tau, problem.theta)
    low, high = (function(algorithm, n, math.inf, 1.0, plain, realizable=realizable) for n in (1e12, 1e16))
    return math.log(high / low) / math.log(1e4)


def _verdicts(p: dict[str, Any], problem: rates.Problem) -> list[Verdict]:
    verdicts = []
    for realizable, case in _cases(problem).items():
        for algorithm in rates.ALGORITHMS:
            theorem = _exponent(rates.rate, algorithm, problem, realizable=realizable)
            printed = _exponent(rates.printed_rate, algorithm, problem, realizable=realizable)
            ratio = [
                rates.rate(algorithm, n, m, eps, problem, realizable=realizable)
                / rates.printed_rate(algorithm, n, m, eps, problem, realizable=realizable)
                for n in p["n"]
                for m in [*p["m"], math.inf]
                for eps in p["eps"]
            ]
            same = abs(theorem - printed) < 1e-3 and min(ratio) > 0.2 and max(ratio) < 5
            claim = f"{NAMES[algorithm]}, {case}: Table 1 follows from the theorem"
            says = (
                f"exponent in n {theorem:.4f}, printed {printed:.4f}; over the whole grid the theorem's "
                f"rate is {min(ratio):.2f} to {max(ratio):.2f} times the printed one"
            )
            verdicts.append(Verdict(claim, "reproduces" if same else "differs", says))
    claim = "section 1, contribution 2: Gaussian, realizable, n = d^(3/2)/(alpha eps)"
    says = (
        "not what Theorem 28 and Table 1 give: d/(n eps)^(2/3) = alpha is n = d^(3/2)/(alpha^(3/2) eps), "
        "as the same sentence says by 'matches the bound of Bassily et al.'; a slip, not a result"
    )
    verdicts.append(Verdict(claim, "differs", says))
    return verdicts


def _first_useful(table: pd.DataFrame) -> str:
    parts = []
    explicit = table[table["case"] == _EXPLICIT]
    for algorithm, part in explicit.groupby("algorithm", sort=False):
        useful = part[part["excess risk"] < 0.5]
        where = f"from n = {useful['n'].iloc[0]:.1e} on" if len(useful) else "at no n shown"
        parts.append(f"{NAMES[str(algorithm)]} {where}")
    return "With all constants the bound on the error is below 1/2: " + "; ".join(parts) + "."


def _draw(table: pd.DataFrame, along: str) -> Figure:
    rows = table[(table["axis"] == along) & (table["case"] != _EXPLICIT)]
    groups = list(rows.groupby("case", sort=False))
    ylabel = "excess risk (Table 1), up to a constant and logs"
    figure, axes = panels([str(case) for case, _ in groups], _AXES[along], ylabel, sharey=True)
    for axis, (_, case) in zip(axes, groups, strict=True):
        for i, (algorithm, part) in enumerate(case.groupby("algorithm", sort=False)):
            every = (i % len(part), len(rates.ALGORITHMS))  # in turn: some curves coincide
            look: dict[str, Any] = {**STYLES[i], "markersize": 4, "markevery": every, "linewidth": 1.2}
            axis.plot(part[along], part["Table 1"], label=NAMES[str(algorithm)], **look)
    legend(axes[:1])
    return figure


def _draw_explicit(table: pd.DataFrame) -> Figure:
    figure, axes = panels([""], _AXES["n"], "bound on the error, all constants, at most 1")
    groups = table[table["case"] == _EXPLICIT].groupby("algorithm", sort=False)
    for style, (algorithm, part) in zip(STYLES, groups, strict=False):
        look: dict[str, Any] = {**style, "markersize": 4, "markevery": max(1, len(part) // 8)}
        axes[0].plot(part["n"], part["excess risk"], label=NAMES[str(algorithm)], **look)
    reference(axes[0], 0.5, "a coin", linestyle=":")
    legend(axes)
    return figure
