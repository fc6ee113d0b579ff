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
from dataclasses import dataclass, replace
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
from pate_cli.mechanisms.soft import SoftPlan, SoftService, fit_on_scores, score_bins
from pate_cli.mechanisms.sparse_vector import stable_labels
from pate_cli.privacy.door import Door
from pate_cli.report.figures import STYLES, band, new_figure
from pate_cli.report.interval import Interval, mean_ci
from pate_cli.report.verdict import Verdict, VerdictWord, at_least, combined
from pate_cli.reproduce.study import Progress, StudyResult
from pate_cli.students.metrics import calibration_error
from pate_cli.types import FloatArray, IntArray, PrivateRecords, PublicPoints, Setting

__all__ = ["Data", "run"]

CHECKS: dict[str, Check] = {
    "n": Whole(1000),
    "teachers": Whole(10),
    "points": Whole(20),
    "features": Whole(1),
    "steepness": Real(0),
    "width": Real(0, 0.5),
    "eps": Listed(Real(0), ascending=True),
    "C": Listed(Real(0)),
    "delta": Real(0, 1, open_above=True),
    "repeats": Whole(2),
    "seed": Whole(0),
}
_MEASURES = ("accuracy", "calibration error", "Brier, excess", "answered", "label error")
_WAYS = ("hard", "soft")


@dataclass(frozen=True)
class Data:
    """Records with ``|x| <= 1`` and ``p(x) = sigmoid(steepness x_1)``."""

    features: int
    steepness: float

    def points(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n points, shape (n, features)."""
        X = rng.standard_normal((n, self.features))
        return np.asarray(X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)))

    def p(self, X: FloatArray) -> FloatArray:
        """``P(y = 1 | x)``, shape (n,)."""
        return np.asarray(1 / (1 + np.exp(-self.steepness * X[:, 0])))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw n records."""
        X = self.points(n, rng)
        return X, (rng.random(n) < self.p(X)).astype(np.int64)


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        `n` (private records), `teachers`, `points` (public), `features`, `steepness` (of p), `width` (of
        a bin), `eps` (list; no noise is added to it), `C` (of students, a list), `delta`, `repeats`, `seed`.
    """
    levels = [*p["eps"], math.inf]
    data = Data(p["features"], p["steepness"])
    found = np.full((p["repeats"], len(p["C"]), len(levels), len(_WAYS), len(_MEASURES)), np.nan)
    plans = [_plans(eps, p) for eps in levels]
    progress(0, p["repeats"])
    for repeat, seed in enumerate(np.random.SeedSequence(p["seed"]).spawn(p["repeats"])):
        found[repeat] = _repeat(data, plans, p, seed)
        progress(repeat + 1, p["repeats"])
    rows = []
    for (c, C), (i, eps), (j, way) in product(*map(enumerate, (p["C"], levels, _WAYS))):
        row: dict[str, Any] = {"C": C, "eps": eps, "labels": way}
        for k, measure in enumerate(_MEASURES):
            row[measure], row[f"ci95 of {measure}"] = mean_ci(found[:, c, i, j, k])
        rows.append(row | {"repeats": p["repeats"]})
    table = pd.DataFrame(rows)
    notes = [
        f"p(x) = sigmoid({p['steepness']:g} x_1); {p['teachers']} logistic teachers of "
        f"{p['n'] // p['teachers']} records, {p['points']} public points, bins of {p['width']:g}, "
        f"delta = {p['delta']:g}. Infinite eps: no noise.",
        "Accuracy and the excess Brier score, the mean of (predicted - p)^2, are exact in y; the calibration "
        "error is over 15 bins on labelled records. None of them is differentially private.",
        "Label error: mean distance of a released label from p(x); a hard label is 0 or 1. A student of hard "
        "labels sees the vote's side only, so it takes what is likely for certain.",
        "C is the inverse of the student's regularisation. C = 1, the library's default, shrinks "
        "probabilities towards 1/2: it hides a hard label's false certainty, and with few soft labels it is "
        "the larger error.",
        "How stable the teachers' scores are when they learn by SGD is measured by sgd-stability.",
    ]
    verdicts = [v for c, C in enumerate(p["C"]) for v in _verdicts(found[:, c], levels, C)]
    verdicts.append(_within(found[:, 0], levels, p["width"]))
    figures: dict[str, Callable[[], Figure]] = {
        f"C-{C:g}": partial(_draw, table[table["C"] == C]) for C in p["C"]
    }
    return StudyResult(table, figures, verdicts, notes)


def _plans(eps: float, p: dict[str, Any]) -> tuple[VoteMechanism | None, SoftPlan | None]:
    """The hard and the soft mechanism at eps; None where it cannot answer."""
    setting = Setting(
        eps=eps,
        delta=p["delta"],
        n_private=p["n"],
        n_public=p["points"],
        budget=p["points"],
        n_features=p["features"],
        n_classes=2,
        n_teachers=p["teachers"],
        sparse=False,
        teacher=("logistic", {}),
        student=("logistic", {}),
        unanswered="drop",
    )
    hard: VoteMechanism | None = None
    soft: Any = None
    with suppress(InfeasibleError):
        hard = stable_labels(eps, p["delta"], p["points"], p["teachers"], rule="tight", cutoff=None)
    with suppress(InfeasibleError):
        soft = mechanisms.calibrate("soft", {"width": p["width"]}, setting)
    return hard, soft


def _repeat(data: Data, plans: list[Any], p: dict[str, Any], seed: np.random.SeedSequence) -> FloatArray:
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
        if hard is not None:
            answers = queries.collect(order, hard.session(first).answer_all(votes.at(order)))
            given = answers.labels >= 0
            error = (
                np.abs(answers.labels[given] - truth[answers.asked[given]]).mean() if given.any() else np.nan
            )
            for c, C in enumerate(p["C"] if given.any() else ()):
                student = students.fit_student(
                    public,
                    answers,
                    estimator="logistic",
                    params={"C": C},
                    unanswered="drop",
                    rng=rng,
                    n_classes=2,
                    seed=0,
                )
                found[c, i, 0] = *_measure(student, data, test), given.sum() / p["points"], error
        if soft is not None:
            bins = bins or score_bins(ensemble, public.X[order], soft.n_bins)
            released = SoftService(soft.calibration, second).answer_all(bins)
            asked = order[: len(released)]
            scores = np.array([np.nan if score is None else score for score in released])
            given = ~np.isnan(scores)
            error = np.abs(scores[given] - truth[asked[given]]).mean() if given.any() else np.nan
            for c, C in enumerate(p["C"] if given.any() else ()):
                setting = replace(soft.setting, student=("logistic", {"C": C}))
                student = fit_on_scores(setting, public, asked, scores, rng)
                found[c, i, 1] = *_measure(student, data, test), given.sum() / p["points"], error
    return found


def _measure(student: Any, data: Data, test: tuple[FloatArray, IntArray]) -> tuple[float, float, float]:
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
            line = {"color": style["color"], "linestyle": style["linestyle"]}
            axis.axhline(free, linewidth=0.7, label=f"{way}, no noise", **line)
        axis.set_ylabel(measure + (" (share of points)" if measure == "answered" else ""))
        axis.set_xlabel("eps")
    axes[0].legend(fontsize=8)
    figure.suptitle(f"students with C = {table['C'].iloc[0]:g}", fontsize=10)
    return figure
