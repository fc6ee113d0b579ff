"""Private prediction on fresh queries: ``err(A(S, .))`` against n and eps (LWY25, Lemma 4.1 and Theorem 4.2).

What is measured is the error of the *answer* to one fresh query, as the theorem speaks of it, and not of a
student. For a private set S the algorithm samples and relabels T, trains its teachers, and answers x with
label 1 with a probability that is known once their votes are; so the error of the answer, averaged over its
noise and over x, is exact given S, T and the hypothesis that relabels, and only these are drawn.

Data from `common.thresholds`. At tau = 1 a threshold is learnt at the rate 1/n, and what privacy
costs, about 1/(eps n), is seen at every n. At a small tau even without privacy learning is slow, as slow as
``1/sqrt(n)`` in the limit tau = 0: there the theorem's second term rules, which has no eps in it. Excess
error has very long tails there (it is as ``Dis^(1/tau)``), so the two are compared by Dis, how often an
answer differs from h*, paired with that of the threshold of least error on the same records.

With the constants of the paper: ``|T| = ceil(eps_in n)``, an inner prediction that is 1-DP, and
``r = ceil(6 ln(4/alpha))`` teachers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit
from scipy.stats import binom

from pate_cli import mechanisms
from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.agnostic.private_prediction import PrivatePrediction
from pate_cli.privacy.door import Door
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, close
from pate_cli.types import FloatArray, PrivateRecords

from ..common import thresholds
from ..common.agnostic_methods import Sizes
from ..common.figures import curve, legend, panels
from ..common.thresholds import Family
from ..common.tools import PROBABILITY, crossed, fit_slope, one_for_each, slope_weights, with_ci

CHECKS: dict[str, Check] = {
    "taus": Listed(Real(0, 1)),
    "strength": Real(0, 1),  # of both sides
    "eps": Listed(Real(0), at_least=2, ascending=True),
    "n": Listed(Whole(1000), at_least=2, ascending=True),
    "alpha": PROBABILITY,  # of Lemma 4.1
    "calibration": OneOf(("paper", "tight")),
    "size": Whole(1),  # records a teacher, of the tight calibration
    "repeats": Listed(Whole(2), at_least=2),  # for each n
    "control": Listed(Whole(3)),  # records a teacher
    "control_repeats": Whole(2),
    "seed": Whole(0),
}
_SLACK = 0.1
"""A slope this near to the predicted one counts as the same."""
_SAME = 0.2
"""Answers that differ from h* within this part as often as without privacy count as the same."""
Row = dict[str, Any]
Results = dict[tuple[float, float, int], FloatArray]
"""Measures of each repeat by tau, eps and n."""


def error_of(family: Family, trained: FloatArray, eps: float) -> tuple[float, float]:
    """Error of the answer to a fresh query, in excess of h*'s, and how often it differs from h*; exact.

    `trained` are thresholds, PRIVATE, anything beyond [-1, 1] standing for its end. The answer is label y
    with probability in proportion to ``exp(eps count(y)/2)``.
    """
    trained = np.clip(trained, -1.0, 1.0)
    cuts = np.concatenate([[-1.0], np.sort(trained), [1.0]])
    ones = np.arange(len(trained) + 1)  # between cut j and the next, j teachers say 1
    says_one = expit(eps * (2 * ones - len(trained)) / 2)
    left, right = np.minimum(cuts, 0.0), np.maximum(cuts, 0.0)
    # what a wrong answer on [0, t] costs is the excess of threshold t, and on [t, 0] likewise
    below, above = -np.diff(family.excess(left)), np.diff(family.excess(right))
    excess = says_one @ below + (1 - says_one) @ above
    return float(excess), thresholds.differing(trained, says_one)


def exact_error(size: int, n_teachers: int, eps: float) -> float:
    """Mean of `error_of` where labels are never wrong, in closed form but for one integral.

    A teacher of s uniform records cuts in the middle of the gap around 0, whose ends are at -a and b with
    ``P(a > u, b > v) = (1 - (u + v)/2)^s``; so it says 1 at x > 0 with probability ``1 - (1 - x)^s/2``, and
    the votes of K teachers are binomial. The mean is over x; it is the same on both sides of 0, each of which
    is to have a record.
    """
    t, w = np.polynomial.legendre.leggauss(60)
    edges = np.unique(np.minimum(1.0, np.array([0, 1, 3, 10, 50, size]) / size))  # all happens near 0
    half = np.diff(edges)[:, None] / 2
    x, weights = (edges[:-1, None] + half * (1 + t)).ravel(), (half * w).ravel()
    counts = np.arange(n_teachers + 1)
    wrong = expit(-eps * (2 * counts - n_teachers) / 2)
    law = binom.pmf(counts, n_teachers, 1 - (1 - x[:, None]) ** size / 2)
    return float(weights @ (law @ wrong))


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure the error of the answer to a fresh query at each tau, n and eps, paired."""
    one_for_each("n", p, CHECKS, "repeats")
    plans = {(eps, n): _plan(eps, n, p) for eps in p["eps"] for n in p["n"]}
    rows: list[Row] = []
    held: list[bool] = []
    found: Results = {}
    for tau, sizes in crossed(p["taus"], p["n"], p["seed"], progress):
        family = Family(tau, p["strength"], p["strength"])
        for (n, seed), repeats in zip(sizes, p["repeats"], strict=False):
            plain = np.empty((repeats, 2))
            measured = np.empty((len(p["eps"]), repeats, 4))
            for repeat, own in enumerate(seed.spawn(repeats)):
                data, noise = own.spawn(2)
                rng = np.random.default_rng(data)
                x = rng.uniform(-1.0, 1.0, n)
                y = 2 * rng.random(n) - 1 < family.advantage(x)
                best = thresholds.learn(x, y)
                plain[repeat] = family.excess(best), family.disagreement(best)
                records = PrivateRecords(x[:, None], y.astype(np.int64))
                for i, source in enumerate(noise.spawn(len(p["eps"]))):
                    *numbers, holds = _once(family, plans[p["eps"][i], n], records, source)
                    measured[i, repeat] = *numbers, plain[repeat, 1]
                    held.append(holds)
            found |= {(tau, eps, n): measured[i] for i, eps in enumerate(p["eps"])}
            rows += [_row(tau, eps, n, plans[eps, n], found[tau, eps, n], plain) for eps in p["eps"]]
    table = pd.DataFrame(rows)
    verdicts = _verdicts(table, found, held, p) + _control(p)
    return StudyResult(table, {"error": lambda: _draw(table, p)}, verdicts, _notes(p))


def _plan(eps: float, n: int, p: dict[str, Any]) -> PrivatePrediction:
    """One query of the mechanism, at the sizes of the study."""
    options = {"hypotheses": "thresholds", "calibration": p["calibration"], "alpha": p["alpha"], "queries": 1}
    setting = Sizes(eps, 0.0, n, 2, "thresholds").setting(max(1, n // p["size"]))
    try:
        made: Any = mechanisms.calibrate("private_prediction", options, setting)
    except InfeasibleError as error:
        raise ConfigError("params.n", n, f"more records: {error}") from error
    return made  # type: ignore[no-any-return]


def _once(
    family: Family, mechanism: PrivatePrediction, records: PrivateRecords, seed: np.random.SeedSequence
) -> tuple[float, float, float, bool]:
    """Excess and disagreement of the answer, excess of the relabelling threshold, whether Lemma 4.1 holds."""
    source = Door.seeded(seed)
    T, labels = mechanism.division.relabelled(mechanism.classroom.hypotheses, records, source)
    x = T[:, 0]
    ordered = np.sort(x)
    ones = int(np.count_nonzero(labels))
    cut = len(x) - ones  # labels are those of one threshold
    low = ordered[cut - 1] if cut else -1.0
    high = ordered[cut] if cut < len(x) else 1.0
    chosen = float((low + high) / 2)
    # equal parts of T, which is in random order, as `Classroom.votes` deals them
    part = np.arange(len(x)) * mechanism.n_teachers // len(x)
    trained = np.array([_consistent(x[part == k], labels[part == k]) for k in range(mechanism.n_teachers)])
    excess, differs = error_of(family, trained, mechanism.vote_eps)
    errors = np.abs(np.clip(trained, -1.0, 1.0) - chosen) / 2
    # the least alpha for which the teachers are good enough, and enough of them
    alpha = 4 * max(float(errors.max()), math.exp(-mechanism.n_teachers * mechanism.vote_eps / 6))
    inside = np.clip(trained, -1.0, 1.0) - chosen  # the chosen threshold moved to 0
    holds = error_of(Family(1.0, 1.0, 1.0), inside, mechanism.vote_eps)[1] <= alpha
    return excess, differs, float(family.excess(chosen)), holds


def _consistent(x: FloatArray, labels: Any) -> float:
    """Middle of the gap between the labels 0 and 1; an end of [-1, 1] stands for a label that is missing."""
    low = x[labels == 0].max(initial=-1.0)
    high = x[labels == 1].min(initial=1.0)
    if not (labels == 0).any():
        return -1.0
    return float((low + high) / 2) if (labels == 1).any() else 1.0


def _row(
    tau: float, eps: float, n: int, mechanism: PrivatePrediction, found: FloatArray, plain: FloatArray
) -> Row:
    return {
        "tau": tau,
        "eps": eps,
        "n": n,
        **with_ci("excess", "ci95", found[:, 0]),
        **with_ci("differs from h*", "its ci95", found[:, 1]),
        **with_ci("of relabelling", "ci95 of it", found[:, 2]),
        **with_ci("not private", "ci95 without", plain[:, 0]),
        "relabelled": mechanism.division.t,
        "teachers": mechanism.n_teachers,
        "eps a vote": mechanism.vote_eps,
        "repeats": len(found),
    }


def _verdicts(
    table: pd.DataFrame,
    found: dict[tuple[float, float, int], FloatArray],
    held: list[bool],
    p: dict[str, Any],
) -> list[Verdict]:
    made = []
    fast, slow = max(p["taus"]), min(p["taus"])
    for eps in p["eps"]:
        some = table[(table["tau"] == fast) & (table["eps"] == eps)]
        slope = fit_slope(some["n"], some["excess"], some["ci95"], int(some["repeats"].min()))
        claim = f"Theorem 4.2: excess error is as 1/n, tau = {fast:g}, eps = {eps:g}"
        says = f"slope {slope.text(3)} from n = {p['n'][0]:,} to {p['n'][-1]:,}"
        made.append(close(claim, slope.less(-1.0), _SLACK, says, len(p["eps"])))
    last = table[(table["tau"] == fast) & (table["n"] == p["n"][-1])]
    slope = fit_slope(last["eps"], last["excess"], last["ci95"], int(last["repeats"].min()))
    weights = slope_weights(last["eps"], last["excess"], last["ci95"])
    known = -float(weights @ np.log(last["relabelled"]))
    claim = f"Theorem 4.2: and as 1/eps, tau = {fast:g}, n = {p['n'][-1]:,}"
    says = (
        f"slope {slope.text(3)} from eps = {p['eps'][0]:g} to {p['eps'][-1]:g},"
        f" predicted {known:.3f} in range, with the |T| in use, -1 where eps is small"
    )
    made.append(close(claim, slope.less(known), _SLACK, says))
    for eps in p["eps"]:
        each = found[slow, eps, p["n"][-1]]
        plain = float(each[:, 3].mean())
        ours = Interval.of(each[:, 1] - each[:, 3])
        gap = Interval(ours.mean / plain, (ours.half_width or math.nan) / plain, ours.n)
        claim = f"Theorem 4.2: no 1/eps in the second term, tau = {slow:g}, eps = {eps:g}"
        says = (
            f"answers differ from h* {gap.less(-1).text(3)} times as often as without "
            f"privacy, {plain:.4f}, at n = {p['n'][-1]:,}"
        )
        made.append(close(claim, gap, _SAME, says, len(p["eps"])))
    claim = "Lemma 4.1: teachers of error at most alpha/4 give answers of error at most alpha"
    says = (
        f"held in {sum(held)} of {len(held)} runs, at the least alpha for which the teachers are good enough "
        "and enough of them"
    )
    made.append(Verdict(claim, "reproduces" if all(held) else "differs (above)", says))
    return made


def _control(p: dict[str, Any]) -> list[Verdict]:
    """Teachers of labels that are never wrong: the mean error of an answer against the closed form."""
    family = Family(1.0, 1.0, 1.0)
    seed = np.random.SeedSequence(p["seed"], spawn_key=(len(p["taus"]),))
    mechanism = _plan(p["eps"][-1], p["n"][-1], p)
    made = []
    for size, own in zip(p["control"], seed.spawn(len(p["control"])), strict=True):
        rng = np.random.default_rng(own)
        each = [
            error_of(family, thresholds.train(family, mechanism.n_teachers, size, rng), mechanism.vote_eps)[1]
            for _ in range(p["control_repeats"])
        ]
        exact = exact_error(size, mechanism.n_teachers, mechanism.vote_eps)
        gap = Interval.of(np.array(each) / exact - 1)
        claim = (
            f"control: error of an answer by {mechanism.n_teachers} teachers of {size} clean records is exact"
        )
        says = f"{gap.less(-1).text(4)} times {exact:.5g}"
        made.append(close(claim, gap, _SLACK, says, len(p["control"])))
    return made


def _notes(p: dict[str, Any]) -> list[str]:
    return [
        f"{Family(1.0, p['strength'], p['strength']).text}. Error of the answer to one fresh query, less "
        "that of h*: exact given the private set, the sample and the hypothesis that relabels it.",
        f"calibration = {p['calibration']}, alpha = {p['alpha']:g} of Lemma 4.1; eps is the loss of one "
        "query and delta is 0. Of relabelling: the excess error of the hypothesis that relabels, by itself.",
        f"Slopes to {_SLACK}; answers that differ from h* within {_SAME:.0%} as often as without privacy "
        "count as the same.",
    ]


def _draw(table: pd.DataFrame, p: dict[str, Any]) -> Figure:
    ylabel = "excess error of the answer to a fresh query"
    figure, axes = panels([f"tau = {tau:g}" for tau in p["taus"]], "private records n", ylabel)
    for axis, tau in zip(axes, p["taus"], strict=True):
        for style, eps in zip(STYLES, p["eps"], strict=False):
            some = table[(table["tau"] == tau) & (table["eps"] == eps)]
            curve(axis, some, "n", "excess", "ci95", f"eps = {eps:g}", style)
        axis.plot(some["n"], some["not private"], color="0.6", linewidth=2.5, zorder=0.9, label="not private")
    legend(axes)
    return figure
