"""Universal (NB20 Algorithm 4) beyond m_o queries, against AgPrivCl for all of them.

At a fixed n, m public points are answered: by AgPrivCl alone, or the first m_o of them by AgPrivCl and
the others by the hypothesis that SSPP chooses. T is that of BTT18's Theorem 3.2 for relabelled
records, or the largest that the teachers at hand can bear. Then, from the plans alone, the fewest records
with which the teachers can bear the full T.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.agnostic.printed import records_of_theorem_7
from pate_cli.mechanisms.agnostic.universal import first_queries
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, at_least, combined
from pate_cli.types import UNANSWERED, FloatArray

from ..common import agnostic_methods as methods
from ..common.agnostic_instances import Instance
from ..common.agnostic_methods import Sizes
from ..common.figures import curve, legend, line, panels
from ..common.tools import AGREES, BUDGET, PROBABILITY, SAMPLING, judged, seeded, with_ci

_PRECISION = 0.03  # of the fewest records

CHECKS: dict[str, Check] = {
    "gamma": Real(0, 0.3),  # label noise
    "n": Whole(1000),
    "m": Listed(Whole(10), at_least=2, ascending=True),
    "alpha": PROBABILITY,  # of m_o, as beta is
    "teacher_alpha": PROBABILITY,  # a teacher's error on relabelled records, for T
    "size": Whole(1),  # records a teacher
    "agreement": Real(0.5, 1, open_above=True),  # share of teachers that gets an answer
    **BUDGET,
    **SAMPLING,
}
Row = dict[str, Any]


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure both ways to answer each m, and plan the fewest records."""
    first = first_queries(1, p["alpha"], p["beta"])
    if p["m"][-1] <= first:
        raise ConfigError("params.m", p["m"], f"some number beyond m_o = {first}")
    rows: list[Row] = []
    for m, seed in seeded(p["m"], p["seed"], progress, p["m"]):
        rows += _at(m, min(m, first), p, seed)
    table = pd.DataFrame(rows)
    notes = [
        f"Thresholds, labels wrong with probability gamma = {p['gamma']:g}; n = {p['n']:,}, "
        f"eps = {p['eps']:g}, delta = {p['delta']:g}, m_o = {first:,}. Wrong: wrong or unanswered; no answer "
        "can do better than gamma.",
        f"Records needed: so that the teachers, of {p['size']} records, bear all of T. Universal has half of "
        "eps for each part; up to m_o AgPrivCl has all of it. As published: NB20's constants at "
        f"eps = {min(p['eps'], 1.0):g} (at most 1), with m_o for m in Universal, eps not divided.",
    ]
    figures = {
        "answers": lambda: _draw_answers(table, first, p),
        "records": lambda: _draw_records(table, first),
    }
    return StudyResult(table, figures, _verdicts(table, first), notes)


def _at(m: int, first: int, p: dict[str, Any], seed: np.random.SeedSequence) -> list[Row]:
    """Both ways to answer m points."""
    sizes = Sizes(p["eps"], p["delta"], p["n"], m, "thresholds")
    rest = (p["agreement"], p["beta"], p["size"])
    rows = []
    for name, asked, more in (("AgPrivCl", m, {}), ("Universal", first, {"first": first})):

        def make(T: int, n: int, way: str = name.lower(), more: dict[str, Any] = more) -> Any:
            at = replace(sizes, n=n)
            return methods.feasible(methods.with_teachers, way, at, *rest, cutoff=T, **more)

        wanted = methods.theorem_cutoff(0.0, p["teacher_alpha"], asked, p["beta"])
        # the largest that works, if smaller ones do too
        cutoff = bisect_left(range(1, wanted + 1), True, key=lambda T: make(T, p["n"]) is None)
        if cutoff == 0:
            raise ConfigError("params.n", p["n"], f"more records: {name} cannot answer {m} points")
        mechanism = make(cutoff, p["n"])
        found = _measure(mechanism, Instance("noise", p["gamma"]), sizes, asked, seed, p["repeats"])
        published = (min(p["eps"], 1.0), p["delta"], asked, p["alpha"], p["beta"], 1)
        rows.append(
            {"m": m, "method": name}
            | with_ci("wrong", "ci95", found[:, 0])
            | with_ci("first m_o", "its ci95", found[:, 1])
            | with_ci("after", "ci95 after", found[:, 2])
            | with_ci("after less before", "ci95 of that", found[:, 2] - found[:, 1])
            | {"unanswered": Interval.of(found[:, 3]).mean, "T": cutoff, "T of the theorem": wanted}
            | {"teachers": mechanism.n_teachers, "records needed": fewest_records(partial(make, wanted))}
            | {"as published": records_of_theorem_7(*published), "repeats": p["repeats"]}
        )
    return rows


def _measure(
    mechanism: Any, instance: Instance, sizes: Sizes, first: int, seed: np.random.SeedSequence, repeats: int
) -> FloatArray:
    """Wrong or unanswered in all, among the first m_o, after them; and unanswered in all; of each repeat."""

    def draw(rng: np.random.Generator) -> methods.Sample:
        return *instance.draw(sizes.n, rng), instance.points(sizes.m, rng)

    found, later = [], sizes.m - first
    for (_, _, points), learnt in methods.repeated({"": mechanism}, draw, seed, repeats):
        labels, asked = methods.public_labels(learnt[""], sizes.m), learnt[""].answers.asked
        early, late = asked[: len(asked) - later], asked[len(asked) - later :]
        given = labels[early] != UNANSWERED
        wrong = instance.error(points[early][given], labels[early][given]) if given.any() else 0.0
        before = (given.sum() * wrong + first - given.sum()) / first
        after = instance.error(points[late], labels[late]) if later else math.nan
        found.append((instance.error(points, labels), before, after, float(np.mean(labels == UNANSWERED))))
    return np.array(found)


def fewest_records(works: Callable[[int], Any]) -> int:
    """Fewest records, from 8,000, with which it works, if more of them do too, to within `_PRECISION`."""
    high = 16_000
    while not works(high):
        high *= 2
    low = high // 2
    while high > low * (1 + _PRECISION):
        middle = math.isqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def _verdicts(table: pd.DataFrame, first: int) -> list[Verdict]:
    universal, alone = (
        table[table["method"] == name].reset_index(drop=True) for name in ("Universal", "AgPrivCl")
    )
    beyond = universal[universal["m"] > first]
    last, last_alone = beyond.iloc[-1], alone.iloc[-1]
    held = judged(at_least, -beyond["after less before"], beyond["ci95 of that"], beyond["repeats"], AGREES)
    grew = float(beyond["records needed"].iloc[-1] / beyond["records needed"].iloc[0])
    here = alone[alone["m"] > first]
    grew_alone = float(last_alone["records needed"] / here["records needed"].iloc[0])
    return [
        Verdict(
            f"after the switch to SSPP answers are no worse than before, to {AGREES:g}",
            combined(held),
            f"wrong or unanswered {last['after']:.4f} after and {last['first m_o']:.4f} before, "
            f"at m = {last['m']:,}",
            margin=AGREES,
        ),
        Verdict(
            "Universal's private sample does not grow with m beyond m_o (Theorem 11)",
            "reproduces" if grew <= 1.04 else "differs (above)",
            f"{last['records needed']:,} records at m = {last['m']:,}, {grew:.3f} times those at m = "
            f"{beyond['m'].iloc[0]:,}; AgPrivCl for all m: {last_alone['records needed']:,}, "
            f"{grew_alone:.1f} times",
        ),
        Verdict(
            "at this n Universal answers all m where AgPrivCl for all m does not",
            judged(
                at_least,
                last_alone["wrong"] - last["wrong"],
                math.hypot(last["ci95"], last_alone["ci95"]),
                last["repeats"],
            )[0],
            f"wrong or unanswered at m = {last['m']:,}: {last['wrong']:.3f}, {last_alone['wrong']:.3f}",
        ),
    ]


def _draw_answers(table: pd.DataFrame, first: int, p: dict[str, Any]) -> Figure:
    xlabel = "public points m (vertical line: m_o)"
    figure, axes = panels([""], xlabel, "wrong or unanswered, beyond gamma")
    alone, universal = (table[table["method"] == name] for name in ("AgPrivCl", "Universal"))
    beyond = universal[universal["m"] > first]
    series = (
        (alone, "wrong", "ci95", "AgPrivCl for all m"),
        (universal, "wrong", "ci95", "Universal, all m"),
        (beyond, "first m_o", "its ci95", "Universal, before the switch"),
        (beyond, "after", "ci95 after", "Universal, after it"),
    )
    for style, (some, column, half, label) in zip(STYLES, series, strict=False):
        excess = some.assign(**{column: np.maximum(some[column] - p["gamma"], 1e-5)})
        curve(axes[0], excess, "m", column, half, label, style)
    axes[0].axvline(first, color="0.6", linewidth=0.8)
    legend(axes)
    return figure


def _draw_records(table: pd.DataFrame, first: int) -> Figure:
    figure, axes = panels([""], "public points m (vertical line: m_o)", "private records needed")
    for style, name in zip(STYLES, ("AgPrivCl", "Universal"), strict=False):
        some = table[table["method"] == name]
        axes[0].plot(some["m"], some["records needed"], label=f"{name}, tight", markersize=4, **style)
        line(axes[0], some["m"], some["as published"], style, f"{name}, published constants")
    axes[0].axvline(first, color="0.6", linewidth=0.8)
    legend(axes)
    return figure
