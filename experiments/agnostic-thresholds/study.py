"""Agnostic private learners against n: BTT18's 3 gamma, NB20's gamma + alpha, LWY25's vanishing 1/eps.

*Blow-up*: the share of public points answered wrongly or not at all, in units of the best hypothesis's
error on the same points, on the distributions of `agnostic_instances`. BTT18's is run as published
(`rule`, T of its Theorem 3.2), with the K at which it answers where a share `agreement` of the teachers
agree: its privacy does not depend on K. What its accuracy is proved for is a share of two thirds.

*Excess*: the excess error of the learnt threshold for several eps, on `thresholds.Family` with a small
tau, where learning is slow even without privacy. NB20 relabels a sample of about eps n records, so its
excess error is a function of eps n; LWY25 chooses its labels on nearly all of the records.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.learners.hypotheses import CLASSES
from pate_cli.mechanisms.base import Mechanism
from pate_cli.privacy import svt
from pate_cli.results.figures import STYLES, new_figure
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, mean_ci, simultaneous
from pate_cli.results.verdicts import Verdict, at_least, combined, compare
from pate_cli.types import UNANSWERED

from ..common import agnostic_methods as methods
from ..common.agnostic_instances import HYPOTHESES, WORST, Instance
from ..common.agnostic_methods import Sizes, feasible
from ..common.figures import curve, legend, panels
from ..common.thresholds import Family
from ..common.tools import PROBABILITY, SAMPLING, fit_slope, judged, one_for_each, seeded

CHECKS: dict[str, Check] = {
    "instances": Listed(OneOf(tuple(HYPOTHESES))),
    "gammas": Listed(Real(0, 0.3)),
    "n": Listed(Whole(1000), ascending=True),
    "points": Whole(10),  # m
    "eps": Real(0),
    "rule": OneOf(svt.CALIBRATIONS),  # calibration of BTT18's
    "agreement": Real(0.5, 1, open_above=True),
    "alpha": Real(0, 1),  # for T
    "tau": Real(0, 1),
    "excess_eps": Listed(Real(0), at_least=2, ascending=True),
    "excess_n": Listed(Whole(1000), at_least=2, ascending=True),
    "excess_repeats": Listed(Whole(2), at_least=2),  # for each n
    "excess_points": Whole(10),  # m
    "excess_cutoff": Whole(1),  # T of AgPrivCl
    "delta": PROBABILITY,
    "failure": PROBABILITY,
    **SAMPLING,
}
_BLOWUP = ("BTT18", "AgPrivCl", "Universal", "SSPP", "LWY25")
_EXCESS = ("AgPrivCl", "LWY25", "SSPP")
_NEAR = 1.2
"""A factor that still counts as 1."""
Row = dict[str, Any]


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the blow-up on the instances, then the excess of thresholds."""
    one_for_each("excess_n", p, CHECKS, "excess_repeats")
    cases: list[tuple[Any, ...]] = list(product(p["instances"], p["gammas"], p["n"]))
    work = [n * p["repeats"] for *_, n in cases]
    excess = list(zip(p["excess_n"], p["excess_repeats"], strict=False))
    rows: list[Row] = []
    work += [n * repeats for n, repeats in excess]
    for case, seed in seeded([*cases, *excess], p["seed"], progress, work):
        if len(case) == 3:
            name, gamma, n = case
            rows += _blowup(Instance(name, gamma), n, p, seed)
        else:
            n, repeats = case
            rows += _excess(n, repeats, p, seed)
    table = pd.DataFrame(rows)
    figures = {
        "blow-up": lambda: _draw_blowup(table[table["part"] == "blow-up"], p),
        "excess": lambda: _draw_excess(table[table["part"] == "excess"], p),
    }
    return StudyResult(table, figures, _verdicts(table, p), _notes(table, p))


def ratio_ci(top: Any, bottom: Any) -> tuple[float, float]:
    """Ratio of the means of paired values, and half the width of its 95% interval (delta method)."""
    top, bottom = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    ratio = float(top.mean() / bottom.mean())
    return ratio, mean_ci(top - ratio * bottom)[1] / float(bottom.mean())


def _blowup(instance: Instance, n: int, p: dict[str, Any], seed: np.random.SeedSequence) -> list[Row]:
    m = p["points"]
    features = 3 if instance.name == "features" else 1
    sizes = Sizes(p["eps"], p["delta"], n, m, HYPOTHESES[instance.name], features)
    cutoff = methods.theorem_cutoff(instance.gamma, p["alpha"], m, p["failure"])
    few = methods.theorem_cutoff(0.0, p["alpha"], m // 2, p["failure"])  # relabelled, gamma is 0
    rest = (p["agreement"], p["failure"])
    calibrated = {
        "BTT18": feasible(methods.binclas, sizes, p["rule"], cutoff, *rest),
        "AgPrivCl": feasible(methods.with_teachers, "agprivcl", sizes, *rest, cutoff=few),
        "Universal": feasible(methods.with_teachers, "universal", sizes, *rest, cutoff=few, first=m // 2),
        "SSPP": feasible(methods.learner, "sspp", sizes),
        "LWY25": feasible(methods.learner, "realizable_to_agnostic", sizes),
    }

    def draw(rng: np.random.Generator) -> methods.Sample:
        return *instance.draw(n, rng), instance.points(m, rng), instance.points(4000, rng)

    best, found = [], []  # of each repeat; by method: error, unanswered, the model's error
    for (_, _, points, fresh), learnt in methods.repeated(calibrated, draw, seed, p["repeats"]):
        best.append(instance.best(points))
        labels = {name: methods.public_labels(one, m) for name, one in learnt.items()}
        found.append(
            {
                name: (
                    instance.error(points, labels[name]),
                    np.mean(labels[name] == UNANSWERED),
                    instance.error(fresh, one.model.predict(fresh)) / instance.best(fresh),
                )
                for name, one in learnt.items()
            }
        )
    rows = []
    for name, mechanism in calibrated.items():
        row: Row = {"part": "blow-up", "data": instance.name, "gamma": instance.gamma, "eps": p["eps"]}
        row |= {"n": n, "method": name}
        of = np.array([one.get(name, [math.nan] * 3) for one in found])
        row["factor"], row["ci95"] = ratio_ci(of[:, 0], best) if mechanism else (math.nan, math.nan)
        row["unanswered"], row["student's factor"] = of[:, 1:].mean(axis=0).tolist()
        rows.append(row | {"teachers": mechanism.n_teachers if mechanism else 0, "repeats": p["repeats"]})
    return rows


def _excess(n: int, repeats: int, p: dict[str, Any], seed: np.random.SeedSequence) -> list[Row]:
    family = Family(p["tau"], 1.0, 1.0)
    m, rest = p["excess_points"], (p["agreement"], p["failure"])
    calibrated: dict[tuple[str, float], Mechanism | None] = {}
    for eps in p["excess_eps"]:
        sizes = Sizes(eps, p["delta"], n, m, "thresholds")
        cutoff = p["excess_cutoff"]
        calibrated |= {
            ("AgPrivCl", eps): feasible(methods.with_teachers, "agprivcl", sizes, *rest, cutoff=cutoff),
            ("LWY25", eps): feasible(methods.learner, "realizable_to_agnostic", sizes),
            ("SSPP", eps): feasible(methods.learner, "sspp", sizes),
        }

    def draw(rng: np.random.Generator) -> methods.Sample:
        x = 2 * rng.random(n) - 1
        y = (2 * rng.random(n) - 1 < family.advantage(x)).astype(np.int64)
        return x[:, None], y, 2 * rng.random((m, 1)) - 1

    found: dict[tuple[str, float], list[float]] = {
        key: [] for key in [*calibrated, ("not private", math.inf)]
    }
    for (X, y, _), learnt in methods.repeated(calibrated, draw, seed, repeats):
        models = {key: one.model for key, one in learnt.items()}
        models["not private", math.inf] = CLASSES["thresholds"].erm(X, y)
        for key, model in models.items():
            found[key].append(float(family.excess(_threshold(model))))
    rows = []
    for (name, eps), values in found.items():
        mean, half = mean_ci(values) if values else (math.nan, math.nan)
        made = calibrated.get((name, eps))
        row = {"part": "excess", "data": f"tau = {p['tau']:g}", "eps": eps, "n": n, "method": name}
        row |= {"excess": mean, "excess ci95": half}
        row |= {"teachers": made.n_teachers if made else 0, "repeats": repeats}
        if values and name in _EXCESS and (lowest := found[name, p["excess_eps"][-1]]):
            row["over largest eps"], row["its ci95"] = ratio_ci(values, lowest)
        rows.append(row)
    return rows


def _threshold(model: Any) -> float:
    """Of a threshold or a constant, within [-1, 1]."""
    t = getattr(model, "threshold_", None)
    if t is None:
        t = -1.0 if model.predict(np.zeros((1, 1)))[0] == 1 else 1.0
    return float(np.clip(t, -1.0, 1.0))


def _verdicts(table: pd.DataFrame, p: dict[str, Any]) -> list[Verdict]:
    rows = table[(table["part"] == "blow-up") & table["factor"].notna()]
    last = rows[rows["n"] == p["n"][-1]]
    verdicts = [_bound(last, p)]
    verdicts += [
        _shows(last[(last["data"] == name) & (last["method"] == "BTT18")], name) for name in p["instances"]
    ]
    verdicts += [_optimal(last[last["method"] == name], name) for name in _BLOWUP[1:]]
    return verdicts + _eps_verdicts(table[table["part"] == "excess"], p)


def _bound(last: pd.DataFrame, p: dict[str, Any]) -> Verdict:
    some = last[last["method"] == "BTT18"]
    claim = "BTT18, Theorem 3.2: its answers are wrong, or none, on at most T of m points"
    most = {g: methods.theorem_cutoff(g, p["alpha"], p["points"], p["failure"]) for g in p["gammas"]}
    to_share = some["gamma"] / (some["gamma"].map(most) / p["points"])
    share = some["factor"] * to_share
    says = f"at the largest n {share.min():.2f} to {share.max():.2f} of T/m"
    few = "too few records for its teachers at every n"
    return _holds(claim, 1 - share, some["ci95"] * to_share, some, says, few)


def _shows(some: pd.DataFrame, name: str) -> Verdict:
    """Whether the factor at the largest n is that of the distribution's worst case."""
    claim = f"BTT18: a blow-up on {name!r} data, up to {WORST[name]:g} gamma, at the largest n"
    if name == "noise":
        claim = "BTT18: the 3 gamma shows on benign label noise, at the largest n"
    middle = (1 + max(WORST[name], 2.0)) / 2
    factors = (
        f"{row['factor']:.2f} ± {row['ci95']:.2f} gamma at gamma = {row['gamma']:g}"
        for _, row in some.iterrows()
    )
    says = f"{'; '.join(factors)}; the worst case is {WORST[name]:g}, {middle:g} is halfway"
    return _holds(
        claim, some["factor"] - middle, some["ci95"], some, says, "too few records for its teachers"
    )


def _optimal(some: pd.DataFrame, name: str) -> Verdict:
    who = "LWY25" if name == "LWY25" else f"NB20, {name}"
    claim = f"{who}: error gamma + alpha at the largest n, at most {_NEAR:g} gamma, on all of the data"
    alpha = ((some["factor"] - 1) * some["gamma"]).max()
    says = f"{some['factor'].min():.2f} to {some['factor'].max():.2f} gamma; alpha is {alpha:.3f} or less"
    return _holds(claim, _NEAR - some["factor"], some["ci95"], some, says, "infeasible at this n")


def _holds(claim: str, gaps: Any, half_widths: Any, some: pd.DataFrame, says: str, missing: str) -> Verdict:
    """Verdict on a claim that gaps are above 0 in all rows of a table, which may have none."""
    if some.empty:
        return Verdict(claim, "missing", missing)
    return Verdict(claim, combined(judged(at_least, gaps, half_widths, some["repeats"])), says)


def _eps_verdicts(rows: pd.DataFrame, p: dict[str, Any]) -> list[Verdict]:
    small, large = p["excess_eps"][0], p["excess_eps"][-1]
    apart = (large / small) ** (1 / (2 - p["tau"]))
    verdicts, tests = [], 2 * len(_EXCESS)
    for name in _EXCESS:
        some = rows[(rows["method"] == name) & (rows["eps"] == small) & rows["over largest eps"].notna()]
        if name == "AgPrivCl":
            claim = f"NB20, AgPrivCl: the excess errors at eps = {small:g} and {large:g} stay apart by 1/eps"
        else:
            who = "LWY25" if name == "LWY25" else "NB20, SSPP"
            claim = f"{who}: they come together as n grows, or are within a factor {_NEAR:g}"
        if some.empty:
            verdicts.append(Verdict(claim, "missing", f"infeasible at eps = {small:g}"))
            continue
        first, last = some.iloc[0], some.iloc[-1]
        ratio, half = float(last["over largest eps"]), float(last["its ci95"])
        n = int(some["repeats"].min())
        told = f"ratio {ratio:.2f} ± {half:.2f} at n = {last['n']:,}"
        if name == "AgPrivCl":
            gap, margin = Interval(math.log(ratio / apart), half / ratio, n), math.log(2)
            word = compare(gap, margin, tests)
            told += f"; 1/eps in the place of 1/n gives {apart:.1f}, and a factor of 2 is accepted"
        else:
            slope = fit_slope(some["n"], some["over largest eps"], some["its ci95"], n)
            gap, margin = Interval(math.log(ratio), half / ratio, n), math.log(_NEAR)
            near = compare(gap, margin, tests)
            word = near if near == "reproduces" else at_least(-slope, rows=tests)
            told += f" ({first['over largest eps']:.1f} ± {first['its ci95']:.1f} at n = {first['n']:,}), "
            told += f"as n^{slope.text(2)}; "
            told += f"1/eps in the place of 1/n would be {apart:.1f}"
        verdicts.append(Verdict(claim, word, told, gap.at(simultaneous(tests)), margin))
    return verdicts


def _notes(table: pd.DataFrame, p: dict[str, Any]) -> list[str]:
    missing = table[(table["teachers"] == 0) & table["factor"].isna() & table["excess"].isna()]
    where = sorted(
        {f"{row['method']} at eps = {row['eps']:g}, n = {row['n']:,}" for _, row in missing.iterrows()}
    )
    return [
        f"Blow-up: eps = {p['eps']:g}, delta = {p['delta']:g}, {p['points']} public points; factor: wrong or "
        "unanswered points over those the best hypothesis gets wrong, the same points. 'noise' and 'coin' "
        "are one-dimensional thresholds, 'features' is three binary features and stumps.",
        "The published K of Theorem 3.2 is so large that a query with a third of the teachers wrong is "
        f"answered, rightly; K here answers where {p['agreement']:.0%} agree. With more teachers the vote on "
        "'features' beats every stump.",
        "Infeasible (no point drawn): " + ("; ".join(where) or "none") + ".",
    ]


def _draw_blowup(rows: pd.DataFrame, p: dict[str, Any]) -> Figure:
    figure, axes = new_figure(len(p["instances"]), len(p["gammas"]), sharey=True)
    titles = {"noise": "label noise", "coin": "coin at the threshold", "features": "three noisy features"}
    for axis, (gamma, name) in zip(axes, product(p["gammas"], p["instances"]), strict=True):
        axis.set_xscale("log")
        for level in (1, 2, 3):
            axis.axhline(level, color="0.6", linewidth=0.7, linestyle=(0, (1, 3)))
        part = rows[(rows["data"] == name) & (rows["gamma"] == gamma) & rows["factor"].notna()]
        for style, method in zip(STYLES, _BLOWUP, strict=False):
            some = part[part["method"] == method]
            if len(some):
                curve(axis, some, "n", "factor", "ci95", method, style)
        axis.set_title(f"{titles[name]}, $\\gamma$ = {gamma:g}", fontsize=10)
        axis.set_xlabel("private records n")
        axis.set_ylim(0, 4)
        axis.set_xticks(p["n"], [f"{n:,}" for n in p["n"]])
        axis.set_xticks([], minor=True)
    for axis in axes[:: len(p["instances"])]:
        axis.set_ylabel("wrong or unanswered, in units of $\\gamma$")
    legend(axes[:1])
    return figure


def _draw_excess(rows: pd.DataFrame, p: dict[str, Any]) -> Figure:
    titles = [{"AgPrivCl": "NB20, AgPrivCl", "SSPP": "NB20, SSPP"}.get(name, name) for name in _EXCESS]
    figure, axes = panels(titles, "private records n", "excess error of the threshold", sharey=True)
    plain = rows[rows["method"] == "not private"]
    for axis, method in zip(axes, _EXCESS, strict=True):
        for style, eps in zip(STYLES, p["excess_eps"], strict=False):
            some = rows[(rows["method"] == method) & (rows["eps"] == eps) & rows["excess"].notna()]
            curve(axis, some, "n", "excess", "excess ci95", f"eps = {eps:g}", style)
        axis.plot(plain["n"], plain["excess"], color="0.6", linewidth=2.5, zorder=0.9, label="not private")
    legend(axes)
    return figure
