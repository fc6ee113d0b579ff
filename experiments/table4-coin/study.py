"""Constant teachers on a9a: each answers every query by one toss of a fair coin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli import datasets, learners
from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import simultaneous
from pate_cli.results.verdicts import FEWEST, Verdict, VerdictWord
from pate_cli.types import FloatArray

from ..common.figures import panels
from ..common.tools import SAMPLING, one_for_each, seeded

_POSITIVE = Real(0)
CHECKS: dict[str, Check] = {
    "eps": Listed(Real(0, infinite=True)),
    "accuracy": Listed(Real(0, 1)),
    "half_width": Listed(_POSITIVE),
    "splits": Whole(2),
    "ones": Whole(0),
    "teachers": Whole(1),
    "C": _POSITIVE,
    **SAMPLING,
}


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Simulate the printed rows of passive queries."""
    one_for_each("eps", p, CHECKS, "accuracy", "half_width")
    dataset = datasets.load("a9a")
    cases = [(eps, repeat) for eps in p["eps"] for repeat in range(p["repeats"])]
    found: dict[float, list[tuple[bool, float]]] = {eps: [] for eps in p["eps"]}
    for (eps, _), seed in seeded(cases, p["seed"], progress):
        found[eps].append(once(dataset, eps, p, np.random.default_rng(seed)))
    rows, verdicts = [], []
    for eps, mean, half in zip(p["eps"], p["accuracy"], p["half_width"], strict=False):
        fell = np.array([one for one, _ in found[eps]])
        accuracy = np.array([value for _, value in found[eps]])
        printed, sets = half * p["splits"] / 1.96, resampled(accuracy, fell, p)
        rows.append(
            {
                "eps": eps,
                "spread": float(accuracy.std(ddof=1)),
                "printed spread": printed,
                "mean": float(accuracy.mean()),
                f"mean, {p['ones']} of {p['splits']} for the larger class": _mean_of(sets),
                "printed mean": mean,
            }
        )
        verdicts.append(_judge(eps, sets, mean, printed, p))
    table = pd.DataFrame(rows)
    note = (
        f"{p['repeats']} splits as the paper's; votes for one class: {p['teachers']} coins, the same for all "
        f"queries; noise calibrated exactly for all of them; student: logistic regression, C = {p['C']:g}."
    )
    return StudyResult(table, {"spread": lambda: _draw(table)}, verdicts, [note])


def once(dataset: Any, eps: float, p: dict[str, Any], rng: np.random.Generator) -> tuple[bool, float]:
    """Whether more coins fell on the larger class, and the accuracy of the student of one split."""
    split = datasets.split(dataset, private=0.8, public=0.02, budget=0.3, rng=rng)
    m, majority = split.public.X.shape[0], int(np.bincount(dataset.y).argmax())
    ones = int(rng.binomial(p["teachers"], 0.5))
    sigma = 0.0 if math.isinf(eps) else calibrate_sigma(eps, 1 / len(split.private.y), m)
    labels = (ones + sigma * rng.standard_normal(m) >= p["teachers"] / 2).astype(int)
    fell = (2 * ones >= p["teachers"]) == (majority == 1)
    if len(set(labels)) == 1:
        return fell, float(np.mean(split.test.y == labels[0]))
    student = learners.make_learner("logistic", {"C": p["C"]}, seed=0, n_classes=2)
    return fell, float(np.mean(student.fit(split.public.X, labels).predict(split.test.X) == split.test.y))


def _mean_of(sets: FloatArray) -> float:
    return float(sets[:, 0].mean()) if len(sets) else math.nan


def resampled(accuracy: FloatArray, fell: Any, p: dict[str, Any], draws: int = 20_000) -> FloatArray:
    """Means and standard deviations of sets of the paper's splits, drawn from the simulated ones; (draws, 2).

    As many splits of a set as stated have most coins on the larger class. The law is that of the simulation,
    of two points where there is no noise; no normal law is assumed. Empty where one side was never seen.
    """
    rng, sides = np.random.default_rng(p["seed"]), [accuracy[fell], accuracy[~fell]]
    if not all(map(len, sides)):
        return np.empty((0, 2))
    sizes = (p["ones"], p["splits"] - p["ones"])
    sets = np.hstack([rng.choice(side, (draws, n)) for side, n in zip(sides, sizes, strict=True)])
    return np.column_stack([sets.mean(axis=1), sets.std(axis=1, ddof=1)])


def _judge(eps: float, sets: FloatArray, mean: float, spread: float, p: dict[str, Any]) -> Verdict:
    """Test the printed mean and spread against those of sets of simulated splits."""
    name, level = f"mean and spread at eps = {eps:g}", simultaneous(2 * len(p["eps"]))
    if len(sets) == 0 or p["repeats"] < FEWEST:
        return Verdict(name, "no verdict", "too few simulated splits")
    ends = np.quantile(sets, [(1 - level) / 2, (1 + level) / 2], axis=0)
    inside = (ends[0] <= [mean, spread]) & ([mean, spread] <= ends[1])
    word: VerdictWord = "reproduces" if inside.all() else "differs"
    (low_mean, low), (high_mean, high) = ends
    says = (
        f"printed mean {mean:.4f}, between {low_mean:.4f} and {high_mean:.4f} by chance; printed spread "
        f"{spread:.4f}, between {low:.4f} and {high:.4f}, at {level:.2%} each"
    )
    return Verdict(name, word, says)


def _draw(table: pd.DataFrame) -> Figure:
    figure, (ax,) = panels(["a9a, passive queries"], "budget eps", "standard deviation of accuracy", log="")
    places = np.arange(len(table))
    for name, marker in (("spread", "o"), ("printed spread", "x")):
        ax.plot(places, table[name], marker, label=name)
    ax.set_xticks(places, [f"{eps:g}" for eps in table["eps"]])
    ax.legend()
    return figure
