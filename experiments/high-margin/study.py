"""PATE where teachers need not be right, only of one mind: LZCW21's Proposition 18 and Theorem 19, measured.

The points are x ~ N(0, 1). A teacher is a step, ``1(x > t)`` or ``1(x < t)``, drawn from a mixture of a few
steps that is blurred with a standard deviation of 1/sqrt(N), as a mean of N records is. So the probability
p(x) that a teacher says 1 has a closed form, and with it the expected margin ``|p(x) - 1/2|``, the vote in
the limit, ``1(p(x) > 1/2)``, and nu, the share of points with a margin of at most xi (Definition 17; printed
with > for what its use needs as <=). Two instances:

- *one step*: the vote in the limit is a hypothesis of the class;
- *three steps*: those of Example 1's kind, where it is none: every step is 0.16 of the points away from it.

T and K are those of Proposition 18. K as printed is for the margin n1 - n2; Algorithm 2 tests half of it,
rounded, and `pate_cli.privacy.svt.high_margin_sizes` has the K that the same proof gives for that. Each run
draws its teachers and points, asks Algorithm 2 (noise by LZCW21, or the tight one), and fits the student,
the step with the fewest errors on the labels, a fair coin for what is unanswered (Algorithm 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.report.figures import STYLES, band, new_figure
from pate_cli.report.interval import Interval, mean_ci
from pate_cli.report.verdict import Verdict, above, combined, compare
from pate_cli.reproduce.study import Progress, StudyResult
from pate_cli.types import UNANSWERED, FloatArray, IntArray, Votes

from ..common.statistics import AGREES, rarely

__all__ = ["STEPS", "Instance", "best_step", "run"]

CHECKS: dict[str, Check] = {
    "instances": Listed(OneOf(("one step", "three steps"))),
    "records": Whole(10),
    "xi": Listed(Real(0, 0.5)),
    "m": Listed(Whole(20), at_least=2, ascending=True),
    "eps": Real(0),
    "delta": Real(0, 1, open_above=True),
    "beta": Real(0, 1, open_above=True),
    "repeats": Whole(2),
    "searches": Whole(2),
    "seed": Whole(0),
}
STEPS: dict[str, tuple[tuple[float, int, float], ...]] = {
    "one step": ((1.0, 1, 0.0),),
    "three steps": ((0.3, 1, -1.0), (0.4, -1, 0.0), (0.3, 1, 1.0)),
}
"""Of each instance: weight, 1 for ``1(x > t)`` or -1 for ``1(x < t)``, and the mean of t."""

_GRID = 200_000
"""Points of equal probability on which shares of points are summed: to 1e-5."""
_STEP = 1.02
"""Numbers of teachers that are tried are 2% apart."""
_RULES: tuple[svt.Calibration, ...] = ("liu2021", "tight")

Row = dict[str, Any]


@dataclass(frozen=True)
class Instance:
    """A law of teachers.

    Attributes
    ----------
    name : str
        One of `STEPS`.
    records : int
        N, of a teacher.
    """

    name: str
    records: int

    def p(self, x: FloatArray) -> FloatArray:
        """Probability that a teacher says 1 at points, shape (m,)."""
        blur = math.sqrt(self.records)
        return np.asarray(sum(w * ndtr(sign * blur * (x - at)) for w, sign, at in STEPS[self.name]))

    def in_the_limit(self, x: FloatArray) -> IntArray:
        """Vote of infinitely many teachers, shape (m,)."""
        return (self.p(x) > 0.5).astype(np.int64)

    def counts(self, n_teachers: int, x: FloatArray, rng: np.random.Generator) -> IntArray:
        """Draw teachers; how many say 1 at each point, shape (m,)."""
        steps = STEPS[self.name]
        ones = np.zeros(len(x), np.int64)
        for (_, sign, at), n in zip(steps, rng.multinomial(n_teachers, [w for w, *_ in steps]), strict=True):
            below = np.searchsorted(np.sort(rng.normal(at, self.records**-0.5, n)), x)
            ones += below if sign > 0 else n - below
        return ones

    def unsure(self, xi: float) -> float:
        """Nu: the share of points whose expected margin is at most xi."""
        return float(np.mean(np.abs(self.p(_grid()) - 0.5) <= xi))

    @cached_property
    def _ones_below(self) -> IntArray:
        return np.concatenate([[0], np.cumsum(self.in_the_limit(_grid()))])

    def disagreement(self, sign: int, t: float) -> float:
        """Share of the points on which a step is not the vote in the limit."""
        ones = self._ones_below
        k = round(float(ndtr(t)) * _GRID)
        wrong = (ones[k] + (_GRID - k) - (ones[-1] - ones[k])) / _GRID
        return float(wrong if sign > 0 else 1 - wrong)

    @cached_property
    def least(self) -> float:
        """Disagreement of the best step: the minimum over the class, of Theorem 19."""
        k = np.arange(_GRID + 1)
        wrong = (2 * self._ones_below + _GRID - k - self._ones_below[-1]) / _GRID
        return float(min(wrong.min(), 1 - wrong.max()))


def _grid() -> FloatArray:
    return np.asarray(ndtri((np.arange(_GRID) + 0.5) / _GRID))


def best_step(x: FloatArray, labels: IntArray) -> tuple[int, float]:
    """Find the step with the fewest errors on labelled points: its direction (1 or -1) and where it is.

    Parameters
    ----------
    x : ndarray of shape (m,)
    labels : ndarray of {0, 1}, shape (m,)
    """
    order = np.argsort(x)
    points, below = x[order], np.concatenate([[0], np.cumsum(labels[order])])
    m = len(x)
    # of 1(x > t) with k points below t: ones below, and zeros above
    errors = below + (m - np.arange(m + 1)) - (below[-1] - below)
    up, down = int(errors.argmin()), int(errors.argmax())
    sign, k = (1, up) if errors[up] <= m - errors[down] else (-1, down)
    if k in (0, m):
        return sign, -math.inf if k == 0 else math.inf
    return sign, float(points[k - 1] + points[k]) / 2


@dataclass(frozen=True)
class _Case:
    """An instance at one m and xi, with the T and K of Proposition 18."""

    instance: Instance
    m: int
    xi: float
    nu: float
    cutoff: int
    printed: int
    needed: int

    @classmethod
    def of(cls, instance: Instance, m: int, xi: float, p: dict[str, Any]) -> _Case:
        nu = instance.unsure(xi)
        sizes = svt.high_margin_sizes(p["eps"], p["delta"], m, p["beta"], nu=nu, xi=xi)
        cutoff, printed, needed = map(math.ceil, sizes)
        return cls(instance, m, xi, nu, min(cutoff, m), printed, needed)


@dataclass(frozen=True)
class _Run:
    """What one run of Algorithms 2 and 3 came to."""

    held: bool
    wrong: int
    excess: float
    share_of_ones: float
    unsure: float


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Measure; see `pate_cli.reproduce.study`.

    Parameters
    ----------
    p : dict
        `instances` (names), `records` (of a teacher), `xi` (of each instance), `m`, `eps`, `delta`, `beta`
        (probability of failure), `repeats`, `searches` (repeats that look for the fewest teachers), `seed`.

    Raises
    ------
    ConfigError
    """
    cases = [
        _Case.of(Instance(name, p["records"]), m, xi, p)
        for name, xi in zip(p["instances"], p["xi"], strict=True)
        for m in p["m"]
    ]
    rows: list[Row] = []
    control: list[Interval] = []
    excesses: dict[int, FloatArray] = {}
    progress(0, len(cases))
    for done, (case, seed) in enumerate(
        zip(cases, np.random.SeedSequence(p["seed"]).spawn(len(cases)), strict=True)
    ):
        own = seed.spawn(p["repeats"])
        for rule in _RULES:
            plan = SparseVector(svt.calibrate(rule, p["eps"], p["delta"], case.m, case.cutoff), ell=case.m)
            fewest = [_fewest(case, plan, one) for one in own[: p["searches"]]]
            for which, teachers in (("printed", case.printed), ("for the distance", case.needed)):
                runs = [_once(case, plan, teachers, one) for one in own]
                rows.append(_row(case, rule, which, teachers, runs, fewest))
                if rule == _RULES[0] and which != "printed":
                    excesses[done] = np.array([one.excess for one in runs])
                    control += _against_exact(case, runs)
        progress(done + 1, len(cases))
    table = pd.DataFrame(rows)
    verdicts = [
        *(_labelled(table, which, p["beta"]) for which in ("printed", "for the distance")),
        *_excess(cases, excesses),
        _control(control),
    ]
    return StudyResult(table, {"teachers": lambda: _draw(table)}, verdicts, _notes(p))


def _once(case: _Case, plan: SparseVector, n_teachers: int, seed: np.random.SeedSequence) -> _Run:
    """Run Algorithms 2 and 3 once."""
    data, noise = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key).spawn(2)
    rng = np.random.default_rng(data)
    x = rng.standard_normal(case.m)
    truth = case.instance.in_the_limit(x)
    ones = case.instance.counts(n_teachers, x, rng)
    votes = Votes(np.column_stack([n_teachers - ones, ones]), n_teachers)
    released = plan.session(Door.seeded(noise)).ask(votes)
    labels = np.full(case.m, UNANSWERED)
    labels[: len(released.labels)] = np.where(released.reached, released.labels, UNANSWERED)[:, 0]
    finished = bool(released.reached.sum() == case.m)
    wrong = int(np.sum(labels != truth))
    coins = rng.integers(2, size=case.m)
    student = best_step(x, np.where(labels == UNANSWERED, coins, labels))
    return _Run(
        finished and wrong <= case.cutoff,
        wrong,
        case.instance.disagreement(*student) - case.instance.least,
        float(ones.mean() / n_teachers - case.instance.p(x).mean()),
        float(np.mean(np.abs(case.instance.p(x) - 0.5) <= case.xi) - case.nu),
    )


def _fewest(case: _Case, plan: SparseVector, seed: np.random.SeedSequence) -> float:
    """Fewest teachers with which this repeat's run holds, to within 2%."""
    low, high = 0.0, math.log(case.needed)
    while high - low > math.log(_STEP):
        middle = (low + high) / 2
        held = _once(case, plan, math.ceil(math.exp(middle)), seed).held
        low, high = (low, middle) if held else (middle, high)
    return high


def _row(case: _Case, rule: str, which: str, teachers: int, runs: list[_Run], fewest: list[float]) -> Row:
    held = sum(one.held for one in runs)
    failed = binomtest(len(runs) - held, len(runs)).proportion_ci(0.95, method="exact")
    excess, half = mean_ci(one.excess for one in runs)
    logs, logs_half = mean_ci(fewest)
    return {
        "instance": case.instance.name,
        "m": case.m,
        "xi": case.xi,
        "nu": case.nu,
        "T": case.cutoff,
        "noise by": rule,
        "K": which,
        "teachers": teachers,
        "runs": len(runs),
        "failed": len(runs) - held,
        "failed, at least": failed.low,
        "failed, at most": failed.high,
        "labels unlike the limit": float(np.mean([one.wrong for one in runs])),
        "excess disagreement": excess,
        "ci95": half,
        "2T/m": 2 * case.cutoff / case.m,
        "fewest teachers": math.exp(logs),
        "from": math.exp(logs - logs_half),
        "to": math.exp(logs + logs_half),
    }


def _labelled(table: pd.DataFrame, which: str, beta: float) -> Verdict:
    """Proposition 18: all m rounds, and all but T labels those of the limit, with probability 1 - beta."""
    some = table[(table["noise by"] == _RULES[0]) & (table["K"] == which)]
    words = [
        rarely(int(failed), int(n), beta, len(some))
        for failed, n in zip(some["failed"], some["runs"], strict=True)
    ]
    asked = some["teachers"] / some["fewest teachers"]
    return Verdict(
        f"LZCW21 Proposition 18, K {which}: all rounds, and all but T labels as the vote in the limit, in all"
        f" but a share {beta:g} of runs",
        combined(words),
        f"{int(some['failed'].sum())} of {int(some['runs'].sum())} runs failed, at most a share"
        f" {some['failed, at most'].max():.3f} in any case; K is {asked.min():.3g} to {asked.max():.3g} times"
        " the fewest that do",
    )


def _excess(cases: list[_Case], excesses: dict[int, FloatArray]) -> list[Verdict]:
    """Theorem 19 without its sqrt(d/m), which is up to a constant."""
    made = []
    for number, case in enumerate(cases):
        bound = 2 * case.cutoff / case.m
        gap = Interval(*mean_ci(bound - excesses[number]), len(excesses[number]))
        made.append(
            above(
                f"LZCW21 Theorem 19: excess at most 2T/m, {case.instance.name}, m = {case.m:,}",
                gap,
                f"the student is {excesses[number].mean():.4f} further from the vote in the limit than the"
                f" best step ({case.instance.least:.4f}); 2T/m = {bound:.4f}, 2 nu = {2 * case.nu:.4f}",
                rows=len(cases),
            )
        )
    return made


def _against_exact(case: _Case, runs: list[_Run]) -> list[Interval]:
    return [Interval.of(one.share_of_ones for one in runs), Interval.of(one.unsure for one in runs)]


def _control(gaps: list[Interval]) -> Verdict:
    worst = max(gaps, key=lambda one: abs(one.mean))
    return Verdict(
        f"control: votes for 1, and the share of unsure points, are as their closed forms, to {AGREES:g}",
        combined([compare(one, AGREES, len(gaps)) for one in gaps]),
        f"furthest {worst.mean:+.5f} ± {worst.half_width:.5f}, of {len(gaps)}",
        margin=AGREES,
    )


def _notes(p: dict[str, Any]) -> list[str]:
    return [
        f"Teachers of {p['records']} records; eps = {p['eps']:g}, delta = {p['delta']:g}, failure"
        f" {p['beta']:g}. T and K are Proposition 18's, K also as its proof gives it for what is tested.",
        "A run fails that does not finish its m rounds, or in which more than T labels are not the vote in"
        " the limit, unanswered ones included. Shares of failed runs have Clopper-Pearson intervals.",
        "Excess disagreement: of the student with the vote in the limit, less that of the best step, exact"
        " given the student. Theorem 19 bounds the excess risk by it, and it by 2T/m and a multiple of"
        " sqrt(d/m), which is left out here: so the claim judged is the stronger one.",
        "Fewest teachers: of each repeat those with which its run holds, to within 2%, and their geometric"
        " mean.",
    ]


def _draw(table: pd.DataFrame) -> Figure:
    names = table["instance"].unique().tolist()
    figure, axes = new_figure(columns=len(names), sharey=True)
    for axis, name in zip(axes, names, strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        some = table[(table["instance"] == name) & (table["K"] == "printed")]
        for style, (rule, part) in zip(STYLES, some.groupby("noise by", sort=False), strict=False):
            half = (part["to"] - part["from"]) / 2
            band(axis, part["m"], part["fewest teachers"], half, label=f"fewest, {rule}", style=style)
        for which, line in (("printed", "--"), ("for the distance", ":")):
            part = table[
                (table["instance"] == name) & (table["K"] == which) & (table["noise by"] == _RULES[0])
            ]
            axis.plot(part["m"], part["teachers"], color="0.3", linestyle=line, label=f"K {which}")
        axis.set_title(f"{name}, xi = {some['xi'].iloc[0]:g}", fontsize=10)
        axis.set_xlabel("queries m")
        axis.legend(fontsize=8)
    axes[0].set_ylabel("teachers K")
    return figure
