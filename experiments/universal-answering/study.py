"""Universal (NB20 Algorithm 4) beyond m_o queries, against AgPrivCl for all of them.

At a fixed n, m public points are answered: by AgPrivCl alone, or the first m_o of them by AgPrivCl and
the others by the hypothesis that SSPP chooses. T is that of BTT18's Theorem 3.2 for relabelled
records, or the largest that the teachers at hand can bear. Then, from the plans alone, the fewest records
with which the teachers can bear the full T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.agnostic.agprivcl import records_of_theorem_7
from pate_cli.mechanisms.agnostic.universal import first_queries
from pate_cli.mechanisms.base import Mechanism
from pate_cli.report.figures import STYLES, band, new_figure
from pate_cli.report.interval import mean_ci
from pate_cli.report.verdict import Verdict, at_least, combined
from pate_cli.reproduce.study import Progress, StudyResult
from pate_cli.types import UNANSWERED

from ..common import agnostic_methods as methods
from ..common.agnostic_instances import Instance
from ..common.agnostic_methods import Sizes
from ..common.statistics import AGREES, judged

__all__ = ["fewest_records", "run"]

CHECKS: dict[str, Check] = {
    "gamma": Real(0, 0.3),
    "n": Whole(1000),
    "m": Listed(Whole(10), at_least=2, ascending=True),
    "eps": Real(0),
    "delta": Real(0, 1, open_above=True),
    "alpha": Real(0, 1, open_above=True),
    "beta": Real(0, 1, open_above=True),
    "teacher_alpha": Real(0, 1, open_above=True),
    "size": Whole(1),
    "agreement": Real(0.5, 1, open_above=True),
    "repeats": Whole(2),
    "seed": Whole(0),
}
Row = dict[str, Any]


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure and plan; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        `gamma` (label noise), `n`, `m` (list), `eps`, `delta`; `alpha`, `beta` (of m_o); `teacher_alpha` (a
        teacher's error on relabelled records, for T), `size` (records a teacher), `agreement` (share of
        teachers that gets an answer), `repeats`, `seed`.
    """
    first = first_queries(1, p["alpha"], p["beta"])
    if p["m"][-1] <= first:
        raise ConfigError("params.m", p["m"], f"some number beyond m_o = {first}")
    rows: list[Row] = []
    progress(0, sum(p["m"]))
    for i, (m, seed) in enumerate(
        zip(p["m"], np.random.SeedSequence(p["seed"]).spawn(len(p["m"])), strict=True)
    ):
        rows += _at(m, min(m, first), p, seed)
        progress(sum(p["m"][: i + 1]), sum(p["m"]))
    table = pd.DataFrame(rows)
    notes = [
        f"Thresholds, labels wrong with probability gamma = {p['gamma']:g}; n = {p['n']:,}, "
        f"eps = {p['eps']:g}, delta = {p['delta']:g}, m_o = {first:,}. Wrong: wrong or unanswered; no answer "
        "can do better than gamma.",
        "A cut-off below its T of Theorem 3.2 is the largest for which the teachers at n are enough; "
        "AgPrivCl may then stop before the end.",
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
    rest = (p["agreement"], p["beta"])
    ways: dict[str, tuple[int, Callable[[Sizes, int], Mechanism | None]]] = {
        "AgPrivCl": (m, lambda s, T: methods.with_parts_of("agprivcl", s, p["size"], T, *rest)),
        "Universal": (
            first,
            lambda s, T: methods.with_parts_of("universal", s, p["size"], T, *rest, first=first),
        ),
    }
    instance, rows = Instance("noise", p["gamma"]), []
    for name, (asked, make) in ways.items():
        wanted = methods.theorem_cutoff(0.0, p["teacher_alpha"], asked, p["beta"])
        cutoff = _largest(lambda T, f=make: f(sizes, T) is not None, wanted)  # type: ignore[misc]
        if cutoff is None:
            raise ConfigError("params.n", p["n"], f"more records: {name} cannot answer {m} points")
        plan = make(sizes, cutoff)
        found = np.full((p["repeats"], 4), np.nan)
        for repeat, own in enumerate(seed.spawn(p["repeats"])):
            found[repeat] = _measure(plan, instance, sizes, asked, own)
        seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)  # the same records for both
        wrong, before, after, unanswered = (mean_ci(found[:, j]) for j in range(4))
        worse = mean_ci(found[:, 2] - found[:, 1])
        rows.append(
            {"m": m, "method": name, "wrong": wrong[0], "ci95": wrong[1]}
            | {"first m_o": before[0], "its ci95": before[1], "after": after[0], "ci95 after": after[1]}
            | {"after less before": worse[0], "ci95 of that": worse[1]}
            | {
                "unanswered": unanswered[0],
                "T": cutoff,
                "T of the theorem": wanted,
                "teachers": _teachers(plan),
            }
            | {"records needed": fewest_records(lambda n, f=make, s=sizes, T=wanted: _enough(f, s, n, T))}  # type: ignore[misc]
            | {
                "as published": records_of_theorem_7(
                    min(p["eps"], 1.0), p["delta"], asked, p["alpha"], p["beta"], 1
                )
            }
            | {"repeats": p["repeats"]}
        )
    return rows


def _teachers(plan: Mechanism | None) -> int:
    return plan.n_teachers if plan else 0


def _enough(make: Callable[[Sizes, int], Mechanism | None], sizes: Sizes, n: int, cutoff: int) -> bool:
    at = Sizes(sizes.eps, sizes.delta, n, sizes.m, sizes.hypotheses)
    return make(at, cutoff) is not None


def _measure(
    plan: Any, instance: Instance, sizes: Sizes, first: int, seed: np.random.SeedSequence
) -> tuple[float, float, float, float]:
    """Wrong or unanswered in all, among the first m_o, after them; and unanswered in all."""
    data, stream = seed.spawn(2)
    rng = np.random.default_rng(data)
    X, y = instance.draw(sizes.n, rng)
    points = instance.points(sizes.m, rng)
    answers = methods.run(plan, X, y, points, stream).answers
    labels = np.full(sizes.m, UNANSWERED)
    labels[answers.asked] = answers.labels
    later = sizes.m - first
    early = answers.asked[: len(answers.asked) - later]
    given = labels[early] != UNANSWERED
    wrong = instance.error(points[early][given], labels[early][given]) if given.any() else 0.0
    before = (given.sum() * wrong + first - given.sum()) / first
    late = answers.asked[len(answers.asked) - later :]
    after = instance.error(points[late], labels[late]) if later else math.nan
    return instance.error(points, labels), before, after, float(np.mean(labels == UNANSWERED))


def _largest(works: Callable[[int], bool], most: int) -> int | None:
    """Largest number from 1 to `most` that works, if smaller ones work too; None if 1 does not."""
    if works(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low or None


def fewest_records(works: Callable[[int], bool], precision: float = 0.03) -> int:
    """Fewest records, from 8,000, with which it works, if more of them do too, to within `precision`."""
    high = 16_000
    while not works(high):
        high *= 2
    low = high // 2
    while high > low * (1 + precision):
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
    figure, (axis,) = new_figure()
    axis.set_xscale("log")
    axis.set_yscale("log")
    alone, universal = (table[table["method"] == name] for name in ("AgPrivCl", "Universal"))
    beyond = universal[universal["m"] > first]
    series = (
        (alone, "wrong", "ci95", "AgPrivCl for all m"),
        (universal, "wrong", "ci95", "Universal, all m"),
        (beyond, "first m_o", "its ci95", "Universal, before the switch"),
        (beyond, "after", "ci95 after", "Universal, after it"),
    )
    for style, (some, column, half, label) in zip(STYLES, series, strict=False):
        excess = np.maximum(some[column] - p["gamma"], 1e-5)
        band(axis, some["m"], excess, some[half], label=label, style=style)
    axis.axvline(first, color="0.6", linewidth=0.8)
    axis.set_xlabel("public points m (vertical line: m_o)")
    axis.set_ylabel("wrong or unanswered, beyond gamma")
    axis.legend(fontsize=8)
    return figure


def _draw_records(table: pd.DataFrame, first: int) -> Figure:
    figure, (axis,) = new_figure()
    axis.set_xscale("log")
    axis.set_yscale("log")
    for style, name in zip(STYLES, ("AgPrivCl", "Universal"), strict=False):
        some = table[table["method"] == name]
        axis.plot(some["m"], some["records needed"], label=f"{name}, tight", markersize=4, **style)
        thin = {"color": style["color"], "linestyle": style["linestyle"]}
        axis.plot(
            some["m"], some["as published"], linewidth=0.7, label=f"{name}, published constants", **thin
        )
    axis.axvline(first, color="0.6", linewidth=0.8)
    axis.set_xlabel("public points m (vertical line: m_o)")
    axis.set_ylabel("private records needed")
    axis.legend(fontsize=8)
    return figure
