"""Records needed to answer m queries: sparse vector, composition, NB20's relabelling (BTT18, section 3).

The class is that of single points, ``1(x = z)``, of VC dimension 1. The target is a point of mass 2 alpha,
all others have none, and labels are wrong with probability gamma. A learner of s records knows the target or
errs on all of its mass, and so does the vote: an instance on which s must be about 1/alpha, as the theorems
take it, and on which the votes of K teachers have an exact law. (Where the errors of teachers cancel, as
those of thresholds do, a vote of very many teachers of two records is nearly always right: no bound is met.)

A query fails that is unanswered, or answered otherwise than by the target. For a target alpha K is chosen so
that a query on which two thirds of the teachers agree is answered right, but for beta in all m:

- *sparse vector* (Theorems 3.2, 3.4 and 3.5): T is the number of failures that are allowed, ``alpha m``, with
  the ``3 gamma m`` that the counting of Theorem 3.2 gives to wrong labels; K grows as ``sqrt(T)/eps``;
- *composition*: the Gaussian mechanism, each of m queries paid for; K grows as ``sqrt(m)/eps``;
- *AgPrivCl* (NB20 Theorem 7): the sparse vector on a sample relabelled by one hypothesis, so T is ``alpha m``
  whatever gamma is, but only a share of about eps/10 of the records is used.

Each repeat then looks for the fewest records a teacher, s, with which its run fails on at most a share alpha.
Records are n = K s, and alpha s is about constant: the sparse vector saves a factor ``sqrt(m/T)`` of records.
As n grows like sqrt(m), the same n answers ``(n_composition/n_sparse)^2``, or m/T, times the queries: this is
the 1/alpha of the paper's abstract. Both are measured, and with the first rule's noise judged against the
slopes that the K in use have over the same m and alpha, logarithms and all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from pate_cli import mechanisms
from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.gaussian import Gaussian
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import sigma_by
from pate_cli.results.figures import STYLES, band
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, mean_ci
from pate_cli.results.verdicts import Verdict, above, close
from pate_cli.types import FloatArray

from ..common.agnostic_methods import Sizes, enough_teachers
from ..common.figures import curve, legend, panels
from ..common.tools import BUDGET, SAMPLING, control, fewest, labels_of, seeded, streams

CHECKS: dict[str, Check] = {
    "gammas": Listed(Real(0, 0.3, closed_below=True)),  # label noise
    "alphas": Listed(Real(0, 0.5), at_least=2, ascending=True),  # failures allowed
    "m": Listed(Whole(10), at_least=2, ascending=True),
    "rules": Listed(OneOf(svt.CALIBRATIONS)),  # of the noise of all three methods
    **BUDGET,
    **SAMPLING,
}
METHODS = ("sparse vector", "composition", "AgPrivCl")
SLACK = 0.05
"""A measured slope this near to the predicted one counts as the same, as in `common.tnc`."""

_AGREEMENT = 2 / 3
_STEP = 1.01
"""Sizes of parts that are tried are 1% apart."""
_LARGEST = 100.0
"""Alpha times the records of a teacher: so many always know the target."""
_RUNS = 200
"""Runs that the control simulates a case."""
_PLENTY = 10**9
"""Records at which the share that AgPrivCl samples, and what it leaves of eps, are those of any large n."""


class Case(NamedTuple):
    """Rule of the noise, label noise, failures allowed, and queries."""

    rule: svt.Calibration
    gamma: float
    alpha: float
    m: int


@dataclass(frozen=True, eq=False)
class Method:
    """A method calibrated for a case, and the fewest records a teacher of each repeat."""

    name: str
    case: Case
    mechanism: VoteMechanism
    teachers: int
    share: float = 1.0  # of the private records that its teachers get
    sizes: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def logs(self) -> FloatArray:
        """Logarithms of the records needed in all."""
        return np.log(self.sizes * self.teachers / self.share)

    def failures(self, size: int, seed: np.random.SeedSequence) -> float:
        """Run once: the share of m queries that are unanswered, or answered otherwise than by the target."""
        _, gamma, alpha, m = self.case
        data, noise = streams(seed, 2)
        rng = np.random.default_rng(data)
        target = rng.random(m) < 2 * alpha
        # relabelled by a hypothesis that knows the target, as one chosen on the whole sample does
        known = knows_target(size, 2 * alpha, 0.0 if self.name == "AgPrivCl" else gamma)
        ones = np.where(target, int(rng.binomial(self.teachers, known)), 0)
        labels, _ = labels_of(self.mechanism, ones, self.teachers, Door.seeded(noise))
        return float(np.mean(labels != target))

    def fewest(self, seed: np.random.SeedSequence) -> int:
        """Fewest records a teacher with which this repeat fails on at most a share alpha, to within 1%."""
        alpha = self.case.alpha
        log = fewest(lambda size: self.failures(size, seed) <= alpha, _LARGEST / alpha, _STEP)
        return math.ceil(math.exp(log))


Results: TypeAlias = dict[tuple[str, Case], Method]


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Find the fewest records in each repeat of each case, for each method."""
    cases = [Case(*one) for one in product(p["rules"], p["gammas"], p["alphas"], p["m"])]
    found: Results = {}
    gaps: dict[Interval, tuple[int, float]] = {}
    for case, seed in seeded(cases, p["seed"], progress):
        own = seed.spawn(p["repeats"])
        for name in METHODS:
            method = _calibrated(name, case, p)
            sizes = np.array([method.fewest(one) for one in own])
            found[name, case] = replace(method, sizes=sizes)
        gap, exact = _gap(found["composition", case], seed.spawn(_RUNS))
        gaps[gap] = case.m, exact
    table = pd.DataFrame([_row(one) for one in found.values()])
    figures = {"records": lambda: _draw_records(table, p), "saving": lambda: _draw_saving(found, p)}
    exactly = control(
        "failures of composition have the exact probability",
        list(gaps),
        lambda worst: (
            f"furthest at m = {gaps[worst][0]:,}: simulated less exact "
            f"{worst.text(5, sign=True)}, exact {gaps[worst][1]:.5f}; {len(gaps)} cases"
        ),
    )
    return StudyResult(table, figures, [*_slopes(found, p), *_savings(found, p), exactly], _notes(p))


def _saving(found: Results, case: Case) -> FloatArray:
    """Log of the times as many queries that the sparse vector answers with the records of composition."""
    return 2 * (found["composition", case].logs - found["sparse vector", case].logs)


def _notes(p: dict[str, Any]) -> list[str]:
    return [
        f"eps = {p['eps']:g}, delta = {p['delta']:g}, beta = {p['beta']:g}. Records needed: of each repeat "
        "the fewest, to within 1%, and their geometric mean. Noise of all three methods by the rule named; "
        "what AgPrivCl samples, and what relabelling costs it, by its tight calibration.",
        "Slopes are on log axes, each repeat's own, and judged against those of the K in use (so with the "
        f"logarithms that Theorems 3.4 and 3.5 leave out) at 1/alpha records a teacher, to {SLACK}, with "
        f"noise by {p['rules'][0]}.",
    ]


def _calibrated(name: str, case: Case, p: dict[str, Any]) -> Method:
    """Calibrate, with K as the module says."""
    rule, gamma, alpha, m = case
    if name == "composition":
        made: Any = rule  # each is a rule of the Gaussian mechanism, too
        sigma = sigma_by(made, p["eps"], p["delta"], m, 1.0)
        # two thirds agree: the count is K/6 off the middle
        teachers = math.ceil(sigma * float(-ndtri(p["beta"] / m)) / (_AGREEMENT - 0.5))
        return Method(name, case, Gaussian(p["eps"], p["delta"], sigma, 1.0, ell=m, rule=made), teachers)
    eps, delta, share, allowed = p["eps"], p["delta"], 1.0, 3 * gamma + alpha
    if name == "AgPrivCl":
        eps, delta, share = _left_by_relabelling(eps, delta)
        allowed = alpha
    c = svt.calibrate(rule, eps, delta, m, min(m, max(1, math.floor(allowed * m))))
    teachers = enough_teachers(c, _AGREEMENT, p["beta"])
    return Method(name, case, SparseVector(c, ell=c.ell), teachers, share)


@cache
def _left_by_relabelling(eps: float, delta: float) -> tuple[float, float, float]:
    """Eps and delta of AgPrivCl's sparse vector, and the share of the records that it samples."""
    sizes = Sizes(eps, delta, _PLENTY, 1, "thresholds")
    options = {"hypotheses": "thresholds", "cutoff": 1}
    mechanism: Any = mechanisms.calibrate("agprivcl", options, sizes.setting(_PLENTY))
    inner = mechanism.mechanism.calibration
    return inner.eps, inner.delta, mechanism.n_sampled / _PLENTY


def knows_target(size: int, mass: float, gamma: float) -> float:
    """Probability that the learner of `size` records finds the point of mass `mass`.

    It is the point with the most labels 1 less labels 0. Where no label is wrong, one record of it will do;
    otherwise other points have one label 1, and two more of 1 than of 0 are asked for.
    """
    if gamma == 0:
        return -math.expm1(size * math.log1p(-mass))
    seen = np.arange(size + 1)
    law = binom.pmf(seen, size, mass)
    return float(law @ binom.sf((seen + 2 + 1) // 2 - 1, seen, 1 - gamma))


def exact_failures(mechanism: Gaussian, n_teachers: int, mass: float, known: float) -> float:
    """Exact probability that a query fails under composition, where votes are binomial and noise is Gaussian.

    The target has mass `mass`, and a teacher knows it with probability `known`; all are right elsewhere.
    """
    counts = np.arange(n_teachers + 1)
    missed = binom.pmf(counts, n_teachers, known) @ ndtr((n_teachers / 2 - counts) / mechanism.sigma)
    return float(mass * missed + (1 - mass) * ndtr(-n_teachers / (2 * mechanism.sigma)))


def _gap(composition: Method, seeds: Sequence[np.random.SeedSequence]) -> tuple[Interval, float]:
    """Simulated failures of composition less the exact probability, and that probability."""
    mechanism: Any = composition.mechanism
    _, gamma, alpha, _ = composition.case
    size = int(np.median(composition.sizes))
    exact = exact_failures(mechanism, composition.teachers, 2 * alpha, knows_target(size, 2 * alpha, gamma))
    return Interval.of(composition.failures(size, one) - exact for one in seeds), exact


def _row(one: Method) -> dict[str, Any]:
    calibration, case = getattr(one.mechanism, "calibration", None), one.case
    mean, half = mean_ci(one.logs)
    return {
        "method": one.name,
        "noise by": case.rule,
        "gamma": case.gamma,
        "alpha": case.alpha,
        "m": case.m,
        "T": calibration.cutoff if calibration else None,
        "teachers": one.teachers,
        "records a teacher": float(np.exp(np.log(one.sizes).mean())),
        "share of records": one.share,
        "records needed": math.exp(mean),
        "from": math.exp(mean - half),
        "to": math.exp(mean + half),
        "repeats": len(one.sizes),
    }


def _slope(x: Any, logs: Any) -> Any:
    """Least squares slope against log x of rows of logarithms, shape (..., P)."""
    centred = np.log(np.asarray(x, dtype=float))
    centred = centred - centred.mean()
    return np.asarray(logs) @ centred / (centred @ centred)


def _slopes(found: Results, p: dict[str, Any]) -> list[Verdict]:
    """Records against m, at the largest alpha: their square root, for every method."""
    made, rule = [], p["rules"][0]
    each = [(gamma, name) for gamma in p["gammas"] for name in METHODS]
    for gamma, name in each:
        cases = [Case(rule, gamma, p["alphas"][-1], m) for m in p["m"]]
        known = float(_slope(p["m"], [math.log(found[name, case].teachers) for case in cases]))
        slope = Interval.of(_slope(p["m"], np.column_stack([found[name, case].logs for case in cases])))
        theorem = "BTT18 Theorem 3.4" if gamma == 0 else "BTT18 Theorem 3.5"
        theorem = {"AgPrivCl": "NB20 Theorem 7", "composition": "BTT18 section 3"}.get(name, theorem)
        claim = f"{theorem}: records against m, {name}, gamma = {gamma:g}"
        says = (
            f"slope {slope.text(3)}, predicted {known:.3f} in range,"
            f" 0.5 without logarithms, at alpha = {p['alphas'][-1]:g}"
        )
        made.append(close(claim, slope.less(known), SLACK, says, len(each)))
    return made


def _savings(found: Results, p: dict[str, Any]) -> list[Verdict]:
    """Queries at the same records, sparse vector over composition, at the largest m; and NB20's records."""
    made, at_alpha = [], f"at alpha = {p['alphas'][0]:g}"
    each = list(product(p["rules"], p["gammas"]))
    for rule, gamma in each:
        cases = [Case(rule, gamma, alpha, p["m"][-1]) for alpha in p["alphas"]]
        savings = np.column_stack([_saving(found, case) for case in cases])
        factors = ", ".join(
            f"{math.exp(value):.2g} at alpha = {alpha:g}"
            for alpha, value in zip(p["alphas"], savings.mean(axis=0), strict=True)
        )
        at = f"gamma = {gamma:g}, noise by {rule}"
        inverse = [1 / (3 * gamma + alpha) for alpha in p["alphas"]]
        if rule == p["rules"][0] and inverse[0] >= 2 * inverse[-1]:  # else there is no slope to speak of
            K, other = ([found[name, case].teachers for case in cases] for name in METHODS[:2])
            known = float(_slope(inverse, 2 * np.log(np.array(other) / np.array(K))))
            slope = Interval.of(_slope(inverse, savings))
            what = "1/alpha" if gamma == 0 else "1/(3 gamma + alpha)"
            claim = f"BTT18 section 1: times as many queries as composition, against {what}, {at}"
            says = f"slope {slope.text(3)}, predicted {known:.3f} in range, 1 without logarithms"
            made.append(close(claim, slope.less(known), 2 * SLACK, says, len(p["gammas"])))
        if gamma == 0:
            claim = f"BTT18 section 1: more queries than composition {at_alpha}, {at}"
            gap, says = savings[:, 0], f"times as many at m = {p['m'][-1]:,}: {factors}"
        else:
            claim = f"NB20 Theorem 7: fewer records than the sparse vector {at_alpha}, {at}"
            gap = found["sparse vector", cases[0]].logs - found["AgPrivCl", cases[0]].logs
            says = f"the sparse vector needs {math.exp(gap.mean()):.3g} times as many at m = {p['m'][-1]:,}"
            says += f"; it answers this many times the queries of composition: {factors}"
        made.append(above(claim, Interval.of(gap), says, rows=len(each)))
    return made


def _draw_records(table: pd.DataFrame, p: dict[str, Any]) -> Figure:
    rule, alpha = p["rules"][0], p["alphas"][-1]
    titles = [f"gamma = {gamma:g}, alpha = {alpha:g}, noise by {rule}" for gamma in p["gammas"]]
    figure, axes = panels(titles, "queries m", "private records needed", sharey=True)
    table = table[(table["noise by"] == rule) & (table["alpha"] == alpha)]
    table = table.assign(half=(table["to"] - table["from"]) / 2)
    for axis, gamma in zip(axes, p["gammas"], strict=True):
        for style, name in zip(STYLES, METHODS, strict=False):
            some = table[(table["method"] == name) & (table["gamma"] == gamma)]
            curve(axis, some, "m", "records needed", "half", name, style)
    legend(axes)
    return figure


def _draw_saving(found: Results, p: dict[str, Any]) -> Figure:
    figure, axes = panels([""], "1/alpha", "times as many queries as composition")
    inverse = 1 / np.array(p["alphas"])
    for style, (rule, gamma) in zip(STYLES, product(p["rules"], p["gammas"]), strict=False):
        each = np.array(
            [mean_ci(_saving(found, Case(rule, gamma, alpha, p["m"][-1]))) for alpha in p["alphas"]]
        )
        factor = np.exp(each[:, 0])
        band(axes[0], inverse, factor, factor * each[:, 1], label=f"gamma = {gamma:g}, {rule}", style=style)
    axes[0].plot(inverse, inverse, color="0.6", linewidth=0.8, label="1/alpha")
    legend(axes)
    return figure
