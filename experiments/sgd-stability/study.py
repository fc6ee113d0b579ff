"""On-average stability of SGD (BTT18, long version, Definition 5.7), measured, beside the uniform bound.

D is n i.i.d. records, D^i the same with record i replaced by a fresh one. A learner is gamma-on-average
stable, as we read the definition (its formula is lost in our copy of the paper; the proof of its
Lemma 5.8 uses this one), if at every point x::

    (1/n) sum_i E (h_D(x) - h_{D^i}(x))^2 <= gamma^2

Measured by its mean over random D and i, at the worst of some points. The uniform-stability bound of
Hardt, Recht and Singer holds for every D and i, so it bounds gamma too; and by Steele's inequality the
standard deviation of h_D(x) is at most ``gamma sqrt(n/2)``, which is what the soft labels rest on. Lemma 5.8
makes a tail of it: h_D(x) is within ``sqrt(2 n) gamma/beta`` of its mean with probability 1 - beta (Markov's
inequality for the coins, Chebyshev's for the records, beta/2 each).

Logistic regression on records ``|x| <= 1``, ``P(y = 1) = sigmoid(6 x_1)``, with steps
``step (n/n_0)^-rate``, n_0 the smallest n.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.learners.sgd import SgdLogistic, change_of_prediction, largest_step
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import mean_ci
from pate_cli.results.verdicts import Verdict, VerdictWord, above, at_least, combined, compare
from pate_cli.types import FloatArray

from ..common.agnostic_instances import Sigmoid
from ..common.figures import line, panels
from ..common.tools import SAMPLING, fit_slope, judged, rarely, seeded, with_ci

CHECKS: dict[str, Check] = {
    "n": Listed(Whole(20), at_least=2, ascending=True),  # of fewer, too many would be of one class
    "rates": Listed(Real(-1e-9, 1.0)),
    "passes": Whole(2),  # of the longer SGD
    "step": Real(0, 4.0),  # at the smallest n
    "features": Whole(1),
    "points": Whole(1),  # where h is compared
    **SAMPLING,  # repeats: pairs D, D^i
}
_CLIP = 1.0
_ALIKE = 0.2  # mean squares closer than this share count as the same
_TAILS = (0.5, 0.2, 0.1)
"""Probabilities at which Lemma 5.8 is looked at."""
_SLACK = 0.05  # of an exponent, for curvature at finite n


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the stability of each kind of SGD at each n."""
    ways = [("as given", 1), ("permuted", 1), ("permuted", p["passes"])]
    rows = []
    for (rate, n), seed in seeded(list(product(p["rates"], p["n"])), p["seed"], progress):
        step = p["step"] * (n / p["n"][0]) ** -rate
        for order, passes in ways:
            learner = SgdLogistic(passes=passes, permute=order == "permuted", step=step, clip=_CLIP)
            squares, predicted = changes(learner, n, p["features"], p["points"], p["repeats"], seed)
            variance = (predicted - predicted.mean(axis=0)) ** 2 * p["repeats"] / (p["repeats"] - 1)
            worst, worst_half = mean_ci(squares[:, int(squares.mean(axis=0).argmax())])
            gamma, bound = math.sqrt(worst), change_of_prediction(passes, step, _CLIP)
            off = np.abs(predicted - predicted.mean(axis=0))
            row = {"rate": rate, "n": n, "order": order, "passes": passes, "step": step, "gamma": gamma}
            row |= {"uniform bound": bound, "gamma / bound": gamma / bound, "ci95 of gamma^2": worst_half}
            row |= with_ci("mean square", "ci95", squares.mean(axis=1))
            row["variance of h"] = float(variance.mean())
            row |= with_ci("over n/2 mean square", "its ci95", (variance - n / 2 * squares).mean(axis=1))
            row |= {f"beyond, {beta:g}": _beyond(off, n, gamma, beta) for beta in _TAILS}
            rows.append(row | {"repeats": p["repeats"]})
    table = pd.DataFrame(rows)
    notes = [
        f"gamma: root mean square change of a predicted probability when one record is replaced, at the worst"
        f" of {p['points']} points; 'mean square' is its square, averaged over the points.",
        f"The bound needs a step of at most {largest_step(_CLIP):g}; one of 1 says nothing.",
    ]
    return StudyResult(table, {"stability": lambda: _draw(table)}, _verdicts(table), notes)


def changes(
    learner: SgdLogistic, n: int, features: int, points: int, repeats: int, seed: np.random.SeedSequence
) -> tuple[FloatArray, FloatArray]:
    """Fit on D and on D^i, with the same coins, for random D and i spread over the records.

    Returns ``(h_D(x) - h_{D^i}(x))^2`` and ``h_D(x)``, each of shape (repeats, points). Equal seeds draw the
    same records and points for any learner.
    """
    rng = np.random.default_rng(seed)
    data = Sigmoid(features, 6.0)
    at, _ = data.draw(points, rng)
    found = np.empty((2, repeats, points))
    for repeat in range(repeats):
        X, y = data.draw(n + 1, rng)
        i = int((repeat + rng.random()) * n / repeats)  # uniform, spread evenly: late records weigh most
        learner.random_state = int(rng.integers(2**31))
        for side in (0, 1):
            rows = np.arange(n)
            rows[i] = n if side else i
            labels = y[rows]
            if labels.min() == labels.max():  # the library wants two classes; a constant is what it would be
                found[side, repeat] = labels[0]
            else:
                found[side, repeat] = learner.fit(X[rows], labels).predict_proba(at)[:, 1]
    return (found[0] - found[1]) ** 2, found[0]


def _beyond(off: FloatArray, n: int, gamma: float, beta: float) -> int:
    """At the worst point, how many predictions are further from their mean than Lemma 5.8 says."""
    return int((off > math.sqrt(2 * n) * gamma / beta).sum(axis=0).max())


def _verdicts(table: pd.DataFrame) -> list[Verdict]:
    repeats = int(table["repeats"].iloc[0])

    def count(words: list[VerdictWord]) -> str:
        return f"{words.count('reproduces')} of {len(words)}"

    below = table["uniform bound"] ** 2 - table["gamma"] ** 2
    inside = judged(at_least, below, table["ci95 of gamma^2"], repeats)
    steele = judged(at_least, -table["over n/2 mean square"], table["its ci95"], repeats)
    shares = table["variance of h"] / (table["variance of h"] - table["over n/2 mean square"])
    ratios = table["gamma / bound"]
    verdicts = [
        Verdict(
            "on-average stability is within the uniform bound",
            combined(inside),
            f"in {count(inside)} rows; it is {ratios.min():.2g} to {ratios.max():.2g} of it",
        ),
        Verdict(
            "the variance of a prediction is at most n/2 mean squares (Lemma 5.8, by Steele's inequality)",
            combined(steele),
            f"wholly, in {count(steele)} rows; it is {shares.min():.2g} to {shares.max():.2g} of that",
        ),
    ]
    tails = [(beta, int(beyond)) for beta in _TAILS for beyond in table[f"beyond, {beta:g}"]]
    words = [rarely(beyond, repeats, beta, len(tails)) for beta, beyond in tails]
    worst, often = max(tails, key=lambda one: one[1] / one[0])
    claim = "a prediction is within sqrt(2 n) gamma/beta of its mean, but with probability beta (Lemma 5.8)"
    says = (
        f"wholly, in {count(words)} cases; at most {often} of {repeats} are not, at beta = {worst:g} and the"
        " worst point"
    )
    verdicts.append(Verdict(claim, combined(words), says))
    given, permuted = (
        table[(table["passes"] == 1) & (table["order"] == order)].reset_index(drop=True)
        for order in ("as given", "permuted")
    )
    apart = given["mean square"] / permuted["mean square"] - 1
    half = np.hypot(given["ci95"], permuted["ci95"]) / permuted["mean square"]
    within = judged(compare, apart, half, repeats, _ALIKE)
    claim = "one pass without a permutation is as stable on average as with one (Theorem 2)"
    says = f"mean squares agree to {_ALIKE:.0%} in {count(within)} pairs"
    verdicts.append(Verdict(claim, combined(within), says, margin=_ALIKE))
    rates = given["rate"].unique().tolist()
    for rate in rates:
        part = given[given["rate"] == rate]
        slope = fit_slope(part["n"], part["mean square"], part["ci95"], repeats)
        low, high = slope.low / 2, slope.high / 2
        claim = f"gamma falls at least as fast as the step, n^-{rate:g}, to {_SLACK:g} (one pass)"
        says = f"exponent {slope.mean / 2:.3f} [{low:.3f}, {high:.3f}] against {-rate:g}"
        verdicts.append(above(claim, -slope.less(-2 * rate), says, 2 * _SLACK, len(rates)))
    return verdicts


def _draw(table: pd.DataFrame) -> Figure:
    rates = table["rate"].unique().tolist()
    titles = [f"step falls as $n^{{-{rate:g}}}$" for rate in rates]
    figure, axes = panels(titles, "records n", r"change of a prediction, $\gamma$", sharey=True)
    for axis, rate in zip(axes, rates, strict=True):
        groups = table[table["rate"] == rate].groupby(["order", "passes"], sort=False)
        for style, ((order, passes), part) in zip(STYLES, groups, strict=False):
            axis.plot(part["n"], part["gamma"], label=f"{order}, passes: {passes}", markersize=4, **style)
            if order == "permuted":
                line(axis, part["n"], part["uniform bound"], style)
    axes[0].plot([], [], color="black", linewidth=0.7, label="thin: uniform-stability bound")
    axes[0].legend(fontsize=8)
    return figure
