"""Table 1 of LZCW21 as curves: excess risk against private records, public points and eps.

The printed entries are compared with what the theorems give when the number of labelled
points is chosen at its best: same exponents, or not. For the realizable case the bounds are
also evaluated with every constant of the proofs, which tells from how many records on they
say anything at all. See `common.rates`.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.report.figures import STYLES, new_figure, reference
from pate_cli.report.verdict import Verdict
from pate_cli.reproduce.study import Progress, StudyResult

from ..statements import rates

__all__ = ["NAMES", "run"]

NAMES = {
    "gaussian": "Gaussian (Thm 28)",
    "svt before": "SVT as analysed before (Thm 5)",
    "svt": "SVT under TNC (Thm 10)",
    "active": "active (Thm 22)",
}
"""Legends of `rates.ALGORITHMS`."""

CHECKS: dict[str, Check] = {
    "d": Whole(1),
    "tau": Real(0, 1),
    "theta": Real(0.999),
    "err_star": Real(0, 0.5),
    "failure": Real(0, 1, open_above=True),
    "n": Listed(Real(10), at_least=2, ascending=True),
    "m": Listed(Real(10), at_least=2, ascending=True),
    "eps": Listed(Real(0), at_least=2, ascending=True),
    "fixed_n": Real(10),
    "fixed_eps": Real(0),
}

_AXES = {
    "n": "private records n",
    "m": "public points m",
    "eps": "privacy budget eps (no unit)",
}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Evaluate Table 1; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        `d`, `tau`, `theta`, `err_star` (see `rates.Problem`); `n`, `m`, `eps` (lists, the axes);
        `fixed_n` and `fixed_eps` for the other axes, on which m is unlimited; `failure`, the
        probability of failure of the explicit bounds.
    """
    problem = rates.Problem(p["d"], p["tau"], p["theta"], p["err_star"])
    steps = 1 + len(p["n"])
    progress(0, steps)
    rows = [row for axis in _AXES for row in _curves(axis, p, problem)]
    for done, n in enumerate(p["n"], 1):
        progress(done, steps)
        for algorithm in rates.EXPLICIT:
            value = rates.best_bound(algorithm, n, p["fixed_eps"], 1 / n, p["failure"], p["d"])
            rows.append(_row("realizable, all constants", algorithm, "n", n, math.inf, p["fixed_eps"], value))
    progress(steps, steps)
    table = pd.DataFrame(rows)
    figures = {f"risk-against-{axis}": _drawer(table, axis, problem) for axis in _AXES}
    figures["all-constants"] = lambda: _draw_explicit(table)
    notes = [
        "Rates are up to a constant and logarithms, as in Table 1: only slopes and crossings of rates of "
        "the same kind mean anything, not heights.",
        f"d = {p['d']}, tau = {p['tau']:g}, theta = {p['theta']:g}, Err(h*) = {p['err_star']:g}; the best "
        "number of public points is labelled (Remarks 6, 12, 29). In the realizable case, m unlimited, the "
        "curves of Gaussian and of SVT as analysed before coincide. "
        f"m is unlimited on the axes n and eps; otherwise n = {p['fixed_n']:,.0f}, eps = {p['fixed_eps']:g}.",
        "All constants: the proofs' own (Lemmas 3, 4, 35, 36, 37), realizable case, delta = 1/n, failure "
        f"probability {p['failure']:g}. Lemma 38 (tau < 1) and Theorem 22 (active) have none.",
        _first_useful(table),
    ]
    return StudyResult(table, figures, _verdicts(p, problem), notes)


def _curves(axis: str, p: dict[str, Any], problem: rates.Problem) -> list[dict[str, Any]]:
    rows = []
    for realizable in (True, False):
        case = "realizable" if realizable else f"TNC, tau = {problem.tau:g}"
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


def _row(case: str, algorithm: str, axis: str, n: float, m: float, eps: float, risk: float) -> dict[str, Any]:
    return {
        "case": case,
        "algorithm": algorithm,
        "axis": axis,
        "n": n,
        "m": m,
        "eps": eps,
        "excess risk": risk,
        "Table 1": math.nan,
        "points labelled": math.nan,
    }


def _exponent(function: Any, algorithm: str, problem: rates.Problem, *, realizable: bool) -> float:
    """Slope of log(risk) in log(n) where public points abound; the constant 13 Err(h*) left out."""
    plain = rates.Problem(problem.d, problem.tau, problem.theta)
    low, high = (function(algorithm, n, math.inf, 1.0, plain, realizable=realizable) for n in (1e12, 1e16))
    return math.log(high / low) / math.log(1e4)


def _verdicts(p: dict[str, Any], problem: rates.Problem) -> list[Verdict]:
    verdicts = []
    for realizable in (True, False):
        case = "realizable" if realizable else f"TNC, tau = {problem.tau:g}"
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
            verdicts.append(
                Verdict(
                    f"{NAMES[algorithm]}, {case}: Table 1 follows from the theorem",
                    "reproduces" if same else "differs",
                    f"exponent in n {theorem:.4f}, printed {printed:.4f}; over the whole grid the theorem's "
                    f"rate is {min(ratio):.2f} to {max(ratio):.2f} times the printed one",
                )
            )
    verdicts.append(
        Verdict(
            "section 1, contribution 2: Gaussian, realizable, n = d^(3/2)/(alpha eps)",
            "differs",
            "not what Theorem 28 and Table 1 give: d/(n eps)^(2/3) = alpha is n = d^(3/2)/(alpha^(3/2) eps), "
            "as the same sentence says by 'matches the bound of Bassily et al.'; a slip, not a result",
        )
    )
    return verdicts


def _first_useful(table: pd.DataFrame) -> str:
    parts = []
    explicit = table[table["case"] == "realizable, all constants"]
    for algorithm, part in explicit.groupby("algorithm", sort=False):
        useful = part[part["excess risk"] < 0.5]
        where = f"from n = {useful['n'].iloc[0]:.1e} on" if len(useful) else "at no n shown"
        parts.append(f"{NAMES[str(algorithm)]} {where}")
    return "With all constants the bound on the error is below 1/2: " + "; ".join(parts) + "."


def _drawer(table: pd.DataFrame, axis_name: str, problem: rates.Problem) -> Any:
    def draw() -> Figure:
        figure, axes = new_figure(2, sharey=True)
        cases = ["realizable", f"TNC, tau = {problem.tau:g}"]
        for axis, case in zip(axes, cases, strict=True):
            axis.set_xscale("log")
            axis.set_yscale("log")
            for i, algorithm in enumerate(rates.ALGORITHMS):
                style = STYLES[i]
                chosen = (table["axis"] == axis_name) & (table["case"] == case)
                part = table[chosen & (table["algorithm"] == algorithm)]
                axis.plot(
                    part[axis_name],
                    part["Table 1"],
                    label=NAMES[algorithm],
                    markevery=(i % len(part), len(rates.ALGORITHMS)),  # in turn: some curves coincide
                    markersize=4,
                    linewidth=1.2,
                    **style,
                )
            axis.set_title(case, fontsize=10)
            axis.set_xlabel(_AXES[axis_name])
        axes[0].set_ylabel("excess risk (Table 1), up to a constant and logs")
        axes[0].legend(fontsize=8)
        return figure

    return draw


def _draw_explicit(table: pd.DataFrame) -> Figure:
    figure, (axis,) = new_figure()
    axis.set_xscale("log")
    axis.set_yscale("log")
    explicit = table[table["case"] == "realizable, all constants"]
    for style, algorithm in zip(STYLES, rates.EXPLICIT, strict=False):
        part = explicit[explicit["algorithm"] == algorithm]
        every = max(1, len(part) // 8)
        axis.plot(
            part["n"], part["excess risk"], label=NAMES[algorithm], markevery=every, markersize=4, **style
        )
    reference(axis, 0.5, "a coin", linestyle=":")
    axis.set_xlabel(_AXES["n"])
    axis.set_ylabel("bound on the error, all constants, at most 1")
    axis.legend(fontsize=8)
    return figure
