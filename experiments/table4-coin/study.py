"""Constant teachers on a9a: each answers every query by one toss of a fair coin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import chi2

from pate_cli import datasets, learners
from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.results.interval import simultaneous
from pate_cli.results.page import Progress, StudyResult
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
        printed = half * p["splits"] / 1.96
        rows.append(
            {
                "eps": eps,
                "spread": float(accuracy.std(ddof=1)),
                "printed spread": printed,
                "mean": float(accuracy.mean()),
                f"mean, {p['ones']} of {p['splits']} for the larger class": _mixed(accuracy, fell, p),
                "printed mean": mean,
            }
        )
        verdicts.append(_judge(eps, accuracy, printed, p))
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


def _mixed(accuracy: FloatArray, fell: FloatArray, p: dict[str, Any]) -> float:
    """Mean where as many splits as stated have most coins on the larger class."""
    share = p["ones"] / p["splits"]
    parts = [accuracy[fell == side] for side in (True, False)]
    return (
        float(share * parts[0].mean() + (1 - share) * parts[1].mean()) if all(map(len, parts)) else math.nan
    )


def _judge(eps: float, accuracy: FloatArray, printed: float, p: dict[str, Any]) -> Verdict:
    """Test the printed spread against that of the simulation, taken as exact, by chi-square."""
    rows, n = len(p["eps"]), p["splits"]
    low, high = chi2.ppf([0.025 / rows, 1 - 0.025 / rows], n - 1) / (n - 1)
    ratio = (printed / accuracy.std(ddof=1)) ** 2
    word: VerdictWord = "reproduces" if low <= ratio <= high else "differs"
    says = (
        f"printed variance {ratio:.2f} times ours; between {low:.2f} and {high:.2f} by chance, of {n} "
        f"splits, at {simultaneous(rows):.2%}"
    )
    return Verdict(f"spread at eps = {eps:g}", "no verdict" if len(accuracy) < FEWEST else word, says)


def _draw(table: pd.DataFrame) -> Figure:
    figure, (ax,) = panels(["a9a, passive queries"], "budget eps", "standard deviation of accuracy", log="")
    places = np.arange(len(table))
    for name, marker in (("spread", "o"), ("printed spread", "x")):
        ax.plot(places, table[name], marker, label=name)
    ax.set_xticks(places, [f"{eps:g}" for eps in table["eps"]])
    ax.legend()
    return figure
