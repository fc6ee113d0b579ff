"""Students of soft labels and students of hard labels, from the same teachers.

Logistic data whose ``p(x) = P(y = 1 | x)`` is known; logistic teachers on disjoint parts. Hard labels are
those of A_binClas (BTT18 Algorithm 2, the sparse vector technique), soft ones of its extension to scores
(long version, Algorithms 6 to 8), each at the same (eps, delta) and with its own T, chosen from public
numbers. The student is logistic regression on the labels, or on the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli import mechanisms, queries, students, teachers
from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.errors import InfeasibleError
from pate_cli.learners import make_learner
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.soft import Soft, SoftSession, fit_on_scores, score_bins
from pate_cli.privacy.door import Door
from pate_cli.results.figures import STYLES, band, new_figure
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, VerdictWord, at_least, combined
from pate_cli.students.metrics import calibration_error
from pate_cli.types import Answers, FloatArray, IntArray, PrivateRecords, PublicPoints, Setting

from ..common.agnostic_instances import Sigmoid
from ..common.agnostic_methods import Sizes
from ..common.tools import PROBABILITY, SAMPLING, seeded, with_ci

CHECKS: dict[str, Check] = {
    "n": Whole(1000),
    "teachers": Whole(10),
    "points": Whole(20),
    "features": Whole(1),
    "steepness": Real(0),  # of p
    "width": Real(0, 0.5),  # of a bin
    "eps": Listed(Real(0), ascending=True),  # eps = inf, without noise, comes on top
    "C": Listed(Real(0)),  # of students
    "delta": PROBABILITY,
    **SAMPLING,
}
_MEASURES = ("accuracy", "calibration error", "Brier, excess", "answered", "label error")
_WAYS = ("hard", "soft")


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Fit students on hard and on soft labels at each eps and C, from the same teachers."""
    levels = [*p["eps"], math.inf]
    data = Sigmoid(p["features"], p["steepness"])
    found = np.full((p["repeats"], len(p["C"]), len(levels), len(_WAYS), len(_MEASURES)), np.nan)
    plans = [_plans(eps, p) for eps in levels]
    for repeat, seed in seeded(range(p["repeats"]), p["seed"], progress):
        found[repeat] = _repeat(data, plans, p, seed)
    rows = []
    for (c, C), (i, eps), (j, way) in product(*map(enumerate, (p["C"], levels, _WAYS))):
        row: dict[str, Any] = {"C": C, "eps": eps, "labels": way}
        for k, measure in enumerate(_MEASURES):
            row |= with_ci(measure, f"ci95 of {measure}", found[:, c, i, j, k])
        rows.append(row | {"repeats": p["repeats"]})
    table = pd.DataFrame(rows)
    notes = [
        f"p(x) = sigmoid({p['steepness']:g} x_1); {p['teachers']} logistic teachers of "
        f"{p['n'] // p['teachers']} records, {p['points']} public points, bins of {p['width']:g}, "
        f"delta = {p['delta']:g}. Infinite eps: no noise.",
    ]
    verdicts = [v for c, C in enumerate(p["C"]) for v in _verdicts(found[:, c], levels, C)]
    verdicts.append(_within(found[:, 0], levels, p["width"]))
    figures = {f"C-{C:g}": partial(_draw, table[table["C"] == C]) for C in p["C"]}
    return StudyResult(table, figures, verdicts, notes)


def _plans(eps: float, p: dict[str, Any]) -> tuple[VoteMechanism | None, Soft | None]:
    """The hard and the soft mechanism at eps; None where it cannot answer."""
    sizes = Sizes(eps, p["delta"], p["n"], p["points"], "thresholds", p["features"])
    setting = replace(sizes.setting(p["teachers"]), student=("logistic", {}))
    hard: Any = None
    soft: Any = None
    with suppress(InfeasibleError):
        hard = mechanisms.calibrate("svt", {}, setting)
    with suppress(InfeasibleError):
        soft = mechanisms.calibrate("soft", {"width": p["width"]}, setting)
    return hard, soft


def _repeat(data: Sigmoid, plans: list[Any], p: dict[str, Any], seed: np.random.SeedSequence) -> FloatArray:
    """One set of teachers, and every way of labelling with them: shape (C, eps, ways, measures)."""
    stream, noise = seed.spawn(2)
    rng = np.random.default_rng(stream)
    learner = make_learner("logistic", {}, seed=None, n_classes=2)
    private = PrivateRecords(*data.draw(p["n"], rng))
    ensemble = teachers.train(private, n_teachers=p["teachers"], learner=learner, rng=rng, n_classes=2)
    public, test = PublicPoints(data.points(p["points"], rng)), data.draw(20_000, rng)
    votes, bins = ensemble.votes(public.X), None
    order = queries.passive_order(public.n_points, rng)
    truth = data.p(public.X)
    found = np.full((len(p["C"]), len(plans), len(_WAYS), len(_MEASURES)), np.nan)
    for i, ((hard, soft), source) in enumerate(zip(plans, Door.seeded(noise).spawn(len(plans)), strict=True)):
        first, second = source.spawn(2)
        ways: dict[int, tuple[IntArray, FloatArray, Callable[[float], Any]]] = {}
        if hard is not None:
            answers = queries.collect(order, hard.session(first).answer_all(votes.at(order)))
            labels = np.where(answers.labels >= 0, answers.labels, np.nan)
            ways[0] = answers.asked, labels, partial(_fit_hard, public, answers, rng)
        if soft is not None:
            bins = bins or score_bins(ensemble.teachers, public.X[order], soft.n_bins)
            released = SoftSession(soft.tests, second).answer_all(bins)
            asked = order[: len(released)]
            scores = np.array([np.nan if score is None else score for score in released])
            ways[1] = asked, scores, partial(_fit_soft, soft.setting, public, asked, scores, rng)
        for j, (asked, labels, fit) in ways.items():
            given = ~np.isnan(labels)
            if given.any():
                facts = given.sum() / len(truth), np.abs(labels[given] - truth[asked[given]]).mean()
                found[:, i, j] = [[*_measure(fit(C), data, test), *facts] for C in p["C"]]
    return found


def _fit_hard(public: PublicPoints, answers: Answers, rng: np.random.Generator, C: float) -> Any:
    own: dict[str, Any] = {"estimator": "logistic", "params": {"C": C}, "n_classes": 2, "seed": 0}
    return students.fit_student(public, answers, unanswered="drop", rng=rng, **own)


def _fit_soft(
    setting: Setting,
    public: PublicPoints,
    asked: IntArray,
    scores: FloatArray,
    rng: np.random.Generator,
    C: float,
) -> Any:
    return fit_on_scores(replace(setting, student=("logistic", {"C": C})), public, asked, scores, rng)


def _measure(student: Any, data: Sigmoid, test: tuple[FloatArray, IntArray]) -> tuple[float, float, float]:
    """Accuracy, calibration error and excess Brier score."""
    X, y = test
    p, classes = data.p(X), np.asarray(student.classes_)
    ones = np.flatnonzero(classes == 1)
    predicted = student.predict_proba(X)[:, ones[0]] if len(ones) else np.zeros(len(y))
    accuracy = np.where(predicted >= 0.5, p, 1 - p).mean()
    return float(accuracy), calibration_error(predicted, y), float(np.mean((predicted - p) ** 2))


def _verdicts(found: FloatArray, levels: list[float], C: float) -> list[Verdict]:
    calibrated = f"students of soft labels are better calibrated (calibration error), C = {C:g}"
    return [
        _compare(found, levels, 1, calibrated, more=False),
        _compare(found, levels, 2, f"and closer to p (excess Brier score), C = {C:g}", more=False),
        _compare(found, levels, 0, f"and as accurate, to 0.002, C = {C:g}", more=True, slack=0.002),
    ]


def _compare(
    found: FloatArray, levels: list[float], k: int, claim: str, *, more: bool, slack: float = 0.0
) -> Verdict:
    """Soft against hard in paired repeats, for each finite eps at which both have a student."""
    told: list[str] = []
    words: list[VerdictWord] = []
    for i, eps in enumerate(levels[:-1]):
        change = (found[:, i, 1, k] - found[:, i, 0, k]) * (1 if more else -1)
        change = change[~np.isnan(change)]
        if len(change) < 2:
            told.append(f"eps = {eps:g}: too few answers")
            words.append("missing")
            continue
        words.append(at_least(Interval.of(change), slack, len(levels) - 1))
        hard, soft = np.nanmean(found[:, i, 0, k]), np.nanmean(found[:, i, 1, k])
        told.append(f"eps = {eps:g}: {soft:.3f} against {hard:.3f}")
    return Verdict(claim, combined(words), "; ".join(told))


def _within(found: FloatArray, levels: list[float], width: float) -> Verdict:
    some = (found[~np.isnan(found[:, i, 1, 4]), i, 1, 4] for i in range(len(levels)))
    errors = [Interval.of(values) for values in some if len(values)]
    claim = "a released score is within a bin's width of p on average"
    if not errors:
        return Verdict(claim, "missing", "no scores were released")
    return Verdict(
        claim,
        combined([at_least(-one.less(width), rows=len(errors)) for one in errors]),
        f"mean distance {min(one.mean for one in errors):.3f} to {max(one.mean for one in errors):.3f}, "
        f"bins of {width:g}",
    )


def _draw(table: pd.DataFrame) -> Figure:
    figure, axes = new_figure(2, 2)
    finite = table[np.isfinite(table["eps"])]
    for axis, measure in zip(axes, _MEASURES, strict=False):
        axis.set_xscale("log")
        ticks = finite["eps"].unique()
        axis.set_xticks(ticks, [f"{eps:g}" for eps in ticks])
        axis.set_xticks([], minor=True)
        for style, way in zip(STYLES, _WAYS, strict=False):
            some = finite[finite["labels"] == way]
            half = some[f"ci95 of {measure}"].fillna(0)
            band(axis, some["eps"], some[measure], half, label=f"{way} labels", style=style)
            free = table[(table["labels"] == way) & ~np.isfinite(table["eps"])][measure].iloc[0]
            own = {"color": style["color"], "linestyle": style["linestyle"]}
            axis.axhline(free, linewidth=0.7, label=f"{way}, no noise", **own)
        axis.set_ylabel(measure + (" (share of points)" if measure == "answered" else ""))
        axis.set_xlabel("eps")
    axes[0].legend(fontsize=8)
    figure.suptitle(f"students with C = {table['C'].iloc[0]:g}", fontsize=10)
    return figure
