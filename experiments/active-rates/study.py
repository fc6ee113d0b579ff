"""PATE with active queries against passive ones under Tsybakov noise, with Algorithm 4 exactly (LZCW21).

Data from `common.thresholds`: tau is known, every risk exact, and the disagreement coefficient of
thresholds is 2. At each n three ways to learn from n private records:

- *active* (Theorem 22): ``ell = C (1 + ln(1/a)) theta (d ln theta + ln(ln(1/a)/(gamma/2)))`` labels with
  ``a = (K/n)^(tau/(2 - tau))``, the recipe's C for the paper's C2; K = 6 sigma sqrt(2 ln(2n)), sigma by
  line 1 of Algorithm 1 for ell queries; the stream is ``points/a`` public points, and Algorithm 4 runs on it
  with its version space enumerated (`pate_cli.queries.disagreement`). Err(h*), that of the labels given,
  which the algorithm is told, is computed exactly from the teachers: nothing of this leaves the study.
- *as many labels*: the same teachers, noise and number of labels, but of points as they come.
- *passive* (Theorem 28): m points, all labelled, K and m as in `common.tnc`.

The rates of Dis(student, h*) are ``(K/n)^(tau/(2 - tau))`` in all, the K of active queries growing with the
logarithm of n and that of passive ones with the square root of m. Slopes against n are judged by those that
this has over the same n, with the K in use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.mechanisms.gaussian import Gaussian
from pate_cli.privacy import gaussian
from pate_cli.privacy.door import Door
from pate_cli.queries.disagreement import Disagreement
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, above, close
from pate_cli.types import Answer, FloatArray, IntArray, PublicPoints

from ..common import thresholds, tnc
from ..common.thresholds import Family
from ..common.tnc import PARAMETERS, SLACK, Curve, Design, Privacy, design, exponent
from ..common.tools import crossed, one_for_each

CHECKS: dict[str, Check] = PARAMETERS | {
    "labels": Real(0),  # C
    "constant": Real(0),  # c' of Algorithm 4
    "points": Real(1),  # m of active queries, in units of 1/a
    "passive": Listed(Real(0)),  # m of passive ones, for each tau, as in common.tnc
    "control": Listed(Whole(2)),  # lengths of streams
    "control_repeats": Whole(2),
}
WAYS = ("active", "as many labels", "passive")
_THETA = 2.0
_CLOSE = 0.1
"""The control's mean may differ from the exact one by this part of it."""


@dataclass(frozen=True)
class ActiveDesign(Design):
    """K, ell (`labels`) and m (`points`, the length of the stream) of active queries at n."""

    mechanism: Gaussian
    labels: int


def active_design(tau: float, n: int, privacy: Privacy, labels: float, points: float) -> ActiveDesign:
    """Solve for K and ell, each of which depends on the other; `labels` is C, `points` m in units of 1/a."""
    power = tau / (2 - tau)
    ell, teachers, goal = 50, 1, 0.5
    for _ in range(100):
        sigma = gaussian.calibrate_sigma_zcdp(privacy.eps, privacy.delta, ell)
        teachers = math.ceil(6 * sigma * math.sqrt(2 * math.log(2 * n)))
        goal = min(0.5, (teachers / n) ** power)
        spread = math.log(1 / goal)
        unlikely = math.log(_THETA) + math.log(max(math.e, spread) / (privacy.failure / 2))
        wanted = max(2, math.ceil(labels * _THETA * (1 + spread) * unlikely))
        if wanted == ell:
            break
        ell = wanted
    mechanism = Gaussian(privacy.eps, privacy.delta, sigma, 1.0, ell=ell, rule="liu2021")
    return ActiveDesign(n, teachers, max(1, n // teachers), max(2, math.ceil(points / goal)), mechanism, ell)


def best_error(trained: FloatArray, sigma: float) -> float:
    """Err(h*) of the labels given with noise `sigma` on the counts: how often they differ from h*, exactly.

    `trained` are the thresholds of the teachers, in [-1, 1]: PRIVATE.
    """
    margin = np.arange(len(trained) + 1) - len(trained) / 2
    return thresholds.differing(trained, ndtr(margin / sigma) if sigma else (margin >= 0).astype(float))


@dataclass
class _Labels:
    """The labelling session put to a stream of points, as an oracle of `Disagreement`."""

    session: Any
    trained: FloatArray
    x: FloatArray

    @property
    def exhausted(self) -> bool:
        return bool(self.session.exhausted)

    def answer(self, index: int) -> Answer:
        return self.answer_all(np.array([index]))[0]

    def answer_all(self, order: IntArray) -> list[Answer]:
        given: list[Answer] = self.session.answer_all(thresholds.votes(self.trained, self.x[order]))
        return given


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Learn in the three ways at each tau and n."""
    one_for_each("taus", p, CHECKS, "passive")
    privacy = Privacy(p["eps"], p["delta"], p["failure"], "liu2021")
    curves: list[Curve] = []
    better: list[tuple[str, Interval, str]] = []
    asked = []
    for (tau, passive), sizes in crossed(
        list(zip(p["taus"], p["passive"], strict=False)), p["n"], p["seed"], progress
    ):
        family = Family(tau, p["left"], p["right"])
        designs, found = [], []
        for n, seed in sizes:
            at = active_design(tau, n, privacy, p["labels"], p["points"])
            other = design("gaussian", tau, n, privacy, passive, 1.0)
            rule = Disagreement(p["constant"], _THETA, p["failure"], 0.0)
            designs.append((at, other))
            found.append(np.array([_once(family, at, other, rule, one) for one in seed.spawn(p["repeats"])]))
        curves += [_curve(way, tau, found, designs, p) for way in (WAYS[0], WAYS[2])]
        last = found[-1]
        asked.append(f"{last[:, 3].mean():.0f} of ell = {at.labels} at tau = {tau:g}")
        for j, way in enumerate(WAYS[1:], start=1):
            gap = Interval.of(np.log(last[:, j]) - np.log(last[:, 0]))
            means = f"{last[:, 0].mean():.5f} active, {last[:, j].mean():.5f} {way}"
            better.append((f"tau = {tau:g}: active queries do better than {way}", gap, means))
    table = pd.DataFrame([tnc.row(curve) for curve in curves])
    verdicts = [tnc.verdict(c, len(curves)) for c in curves]
    verdicts += [
        above(
            f"Remark 23 and section 4.3: {name}",
            gap,
            f"Dis at n = {p['n'][-1]:,}: {means}; {math.exp(gap.mean):.3g} times",
            rows=len(better),
        )
        for name, gap, means in better
    ]
    verdicts += _control(p)

    def label(curve: Curve) -> str:
        slope = curve.slope
        return f"{curve.learner}: {slope.text(2)} ({curve.in_range:.2f})"

    def draw() -> Figure:
        title = "slope (predicted in range)"
        return tnc.draw(curves, "Dis(student, h*)", title, label, predicted=False)

    return StudyResult(table, {"disagreement": draw}, verdicts, _notes(p, asked))


def _once(
    family: Family, at: ActiveDesign, other: Any, rule: Disagreement, seed: np.random.SeedSequence
) -> list[float]:
    """Dis of the three students, and how many labels the active one asked for."""
    data, noise, more, last = seed.spawn(4)
    rng = np.random.default_rng(data)
    trained = thresholds.train(family, at.n_teachers, at.size, rng)
    x = rng.uniform(-1.0, 1.0, at.points)
    told = Disagreement(rule.constant, rule.theta, rule.failure, best_error(trained, at.mechanism.sigma))
    oracle = _Labels(at.mechanism.session(Door.seeded(noise)), trained, x)
    answers, learnt = told.learn(PublicPoints(x[:, None]), np.arange(len(x)), oracle, at.labels)
    active = float(np.clip(learnt.threshold_, -1.0, 1.0))
    some = rng.uniform(-1.0, 1.0, at.labels)
    given = _Labels(at.mechanism.session(Door.seeded(more)), trained, some).answer_all(np.arange(at.labels))
    as_many = thresholds.learn(some, [answer.label for answer in given])
    rng = np.random.default_rng(last.spawn(1)[0])
    trained = thresholds.train(family, other.n_teachers, other.size, rng)
    x = rng.uniform(-1.0, 1.0, other.points)
    given = _Labels(other.mechanism.session(Door.seeded(last)), trained, x).answer_all(np.arange(len(x)))
    passive = thresholds.learn(x, [answer.label for answer in given])
    students = [float(family.disagreement(t)) for t in (active, as_many, passive)]
    return [*students, float(answers.n_asked)]


def _curve(
    way: str,
    tau: float,
    found: list[FloatArray],
    designs: list[tuple[ActiveDesign, Design]],
    p: dict[str, Any],
) -> Curve:
    """Dis of the active or of the passive student against n."""
    active = way == "active"
    theorem, rate = ("Theorem 22", tau / (2 - tau)) if active else ("Theorem 28", exponent("gaussian", tau))
    used = [at if active else other for at, other in designs]
    values = [each[:, WAYS.index(way)] for each in found]
    n = np.array(p["n"], dtype=float)
    bound = np.array([(at.n_teachers / at.n) ** (tau / (2 - tau)) for at in used])
    labels = designs[-1][0].labels if active else used[-1].points
    facts = used[-1].facts | {"labels": labels, "repeats": p["repeats"]}
    return Curve(way, tau, "student Dis", theorem, n, values, bound, -rate, facts, sharp=math.nan)


def _control(p: dict[str, Any]) -> list[Verdict]:
    """Algorithm 4 where every label is right: its threshold is the middle of the gap around 0.

    The gap of m uniform points on [-1, 1] has ends at -a and b, ``P(a > u, b > v) = (1 - (u + v)/2)^m``, so
    ``P(|b - a| > v) = (1 - v/2)^m`` and Dis, a quarter of that, has the mean ``1/(2 (m + 1))``.
    """
    rng = np.random.default_rng(np.random.SeedSequence(p["seed"], spawn_key=(len(p["taus"]),)))
    rule = Disagreement(p["constant"], _THETA, p["failure"], 0.0)
    made = []
    for m in p["control"]:
        found, asked = [], []
        for _ in range(p["control_repeats"]):
            x = rng.uniform(-1.0, 1.0, m)
            oracle = _Right(x)
            answers, learnt = rule.learn(PublicPoints(x[:, None]), np.arange(m), oracle, m)
            t = float(np.clip(learnt.threshold_, -1.0, 1.0))
            found.append(abs(t) / 2 * 2 * (m + 1) - 1)
            asked.append(answers.n_asked)
        gap = Interval.of(found)
        claim = f"control: without noise Dis is 1/(2 (m + 1)) in the mean, m = {m:,}"
        says = f"{gap.less(-1).text(4)} times that; labels asked: {np.mean(asked):.1f}"
        made.append(close(claim, gap, _CLOSE, says, len(p["control"])))
    return made


@dataclass
class _Right:
    """A session that is never wrong."""

    x: FloatArray
    exhausted: bool = False

    def answer(self, index: int) -> Answer:
        return Answer(int(self.x[index] >= 0))

    def answer_all(self, order: IntArray) -> list[Answer]:
        return [self.answer(int(index)) for index in order]


def _notes(p: dict[str, Any], asked: list[str]) -> list[str]:
    return [
        f"{Family(1.0, p['left'], p['right']).text}; all risks exact. "
        f"eps = {p['eps']:g}, delta = {p['delta']:g}; theta = 2 is known and Err(h*) computed.",
        f"Theorem 22 leaves C1, C2 and c' open: C2 = {p['labels']:g}, c' = {p['constant']:g}, a stream of "
        f"{p['points']:g}/a points. Asked at the largest n: " + "; ".join(asked) + ".",
        f"A slope is judged by that of (K/n)^(tau/(2 - tau)) over these n, with the K in use, to {SLACK}.",
    ]
