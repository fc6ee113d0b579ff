"""PATE where teachers need not be right, only of one mind: LZCW21's Proposition 18 and Theorem 19, measured.

The points are x ~ N(0, 1). A teacher is a step, ``1(x > t)`` or ``1(x < t)``, drawn from a mixture of a few
steps that is blurred with a standard deviation of 1/sqrt(N), as a mean of N records is. So the probability
p(x) that a teacher says 1 has a closed form, and with it the expected margin ``|p(x) - 1/2|``, the vote in
the limit, ``1(p(x) > 1/2)``, and nu, the share of points with a margin of at most xi (Definition 17; printed
with > for what its use needs as <=). Two instances:

- *one step*: the vote in the limit is a hypothesis of the class;
- *three steps*: those of Example 1's kind, where it is none: every step is 0.16 of the points away from it.

T and K are those of Proposition 18. K as printed is for the margin n1 - n2; Algorithm 2 tests half of it,
rounded, and `experiments/statements/rates.py` has the K that the same proof gives for that. Each run
draws its teachers and points, asks Algorithm 2 (noise by LZCW21, or the tight one), and fits the student,
the step with the fewest errors on the labels, a fair coin for what is unanswered (Algorithm 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from pate_cli.checks import Check, Listed, OneOf, Real, Whole
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval, mean_ci
from pate_cli.results.verdicts import Verdict, above, combined
from pate_cli.types import UNANSWERED, FloatArray, IntArray

from ..common.figures import curve, legend, panels
from ..common.tools import BUDGET, SAMPLING, control, fewest, labels_of, rarely, seeded, streams, with_ci
from ..statements.rates import high_margin_sizes

CHECKS: dict[str, Check] = {
    "instances": Listed(OneOf(("one step", "three steps"))),
    "records": Whole(10),  # of a teacher
    "xi": Listed(Real(0, 0.5)),  # of each instance
    "m": Listed(Whole(20), at_least=2, ascending=True),
    "searches": Whole(2),  # repeats that look for the fewest teachers
    **BUDGET,
    **SAMPLING,
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
_KS = ("printed", "for the distance")

Row = dict[str, Any]


@dataclass(frozen=True)
class Instance:
    """A law of teachers: one of `STEPS`, blurred as the mean of `records` records is."""

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
    """Step with the fewest errors on labelled points: its direction (1 or -1) and where it is."""
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
    """An instance at one m and xi, with the T and K of Proposition 18, K as printed and as needed."""

    instance: Instance
    m: int
    xi: float
    nu: float
    cutoff: int
    teachers: dict[str, int]

    @classmethod
    def of(cls, instance: Instance, m: int, xi: float, p: dict[str, Any]) -> _Case:
        nu = instance.unsure(xi)
        sizes = high_margin_sizes(p["eps"], p["delta"], m, p["beta"], nu=nu, xi=xi)
        cutoff, *teachers = map(math.ceil, sizes)
        return cls(instance, m, xi, nu, min(cutoff, m), dict(zip(_KS, teachers, strict=True)))


class _Run(NamedTuple):
    """Measures of one run of Algorithms 2 and 3."""

    held: bool
    wrong: int
    excess: float
    share_of_ones: float
    unsure: float


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Run Algorithms 2 and 3 with K as printed, as needed, and the fewest that do."""
    if len(p["xi"]) != len(p["instances"]):
        accepted = f"a number for each of instances, of which there are {len(p['instances'])}"
        raise ConfigError("params.xi", p["xi"], accepted)
    cases = [
        _Case.of(Instance(name, p["records"]), m, xi, p)
        for name, xi in zip(p["instances"], p["xi"], strict=True)
        for m in p["m"]
    ]
    rows: list[Row] = []
    gaps: list[Interval] = []
    verdicts: list[Verdict] = []
    for case, seed in seeded(cases, p["seed"], progress):
        own = seed.spawn(p["repeats"])
        for rule in _RULES:
            mechanism = SparseVector(
                svt.calibrate(rule, p["eps"], p["delta"], case.m, case.cutoff), ell=case.m
            )
            logs = [_fewest(case, mechanism, one) for one in own[: p["searches"]]]
            for which, teachers in case.teachers.items():
                runs = [_once(case, mechanism, teachers, one) for one in own]
                rows.append(_row(case, rule, which, teachers, runs, logs))
                if (rule, which) == (_RULES[0], _KS[1]):
                    verdicts.append(_excess(case, np.array([one.excess for one in runs]), len(cases)))
                    gaps += [Interval.of(one.share_of_ones for one in runs)]
                    gaps += [Interval.of(one.unsure for one in runs)]
    table = pd.DataFrame(rows)
    exact = control(
        "votes for 1, and the share of unsure points, are as their closed forms",
        gaps,
        lambda worst: f"furthest {worst.text(5, sign=True)}, of {len(gaps)}",
    )
    notes = [
        f"Teachers of {p['records']} records; eps = {p['eps']:g}, delta = {p['delta']:g}, failure"
        f" {p['beta']:g}. T and K are Proposition 18's, K also as its proof gives it for what is tested.",
    ]
    verdicts = [*(_labelled(table, which, p["beta"]) for which in _KS), *verdicts, exact]
    return StudyResult(table, {"teachers": lambda: _draw(table)}, verdicts, notes)


def _once(case: _Case, mechanism: SparseVector, n_teachers: int, seed: np.random.SeedSequence) -> _Run:
    """Run Algorithms 2 and 3 once."""
    data, noise = streams(seed, 2)
    rng = np.random.default_rng(data)
    x = rng.standard_normal(case.m)
    truth = case.instance.in_the_limit(x)
    ones = case.instance.counts(n_teachers, x, rng)
    labels, finished = labels_of(mechanism, ones, n_teachers, Door.seeded(noise))
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


def _fewest(case: _Case, mechanism: SparseVector, seed: np.random.SeedSequence) -> float:
    """Logarithm of the fewest teachers with which this repeat's run holds, to within 2%."""
    return fewest(lambda teachers: _once(case, mechanism, teachers, seed).held, case.teachers[_KS[1]], _STEP)


def _row(
    case: _Case, rule: str, which: str, teachers: int, runs: Sequence[_Run], logs: Sequence[float]
) -> Row:
    failures = len(runs) - sum(one.held for one in runs)
    failed = binomtest(failures, len(runs)).proportion_ci(0.95, method="exact")
    mean, half = mean_ci(logs)
    row: Row = {"instance": case.instance.name, "m": case.m, "xi": case.xi, "nu": case.nu, "T": case.cutoff}
    row |= {"noise by": rule, "K": which, "teachers": teachers, "runs": len(runs)}
    row |= {"failed": failures, "failed, at least": failed.low, "failed, at most": failed.high}
    row["labels unlike the limit"] = float(np.mean([one.wrong for one in runs]))
    row |= with_ci("excess disagreement", "ci95", [one.excess for one in runs])
    row |= {"2T/m": 2 * case.cutoff / case.m, "fewest teachers": math.exp(mean)}
    return row | {"from": math.exp(mean - half), "to": math.exp(mean + half)}


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


def _excess(case: _Case, excess: FloatArray, cases: int) -> Verdict:
    """Theorem 19 without its sqrt(d/m), which is up to a constant."""
    bound = 2 * case.cutoff / case.m
    return above(
        f"LZCW21 Theorem 19: excess at most 2T/m, {case.instance.name}, m = {case.m:,}",
        Interval.of(bound - excess),
        f"the student is {excess.mean():.4f} further from the vote in the limit than the best step"
        f" ({case.instance.least:.4f}); 2T/m = {bound:.4f}, 2 nu = {2 * case.nu:.4f}",
        rows=cases,
    )


def _draw(table: pd.DataFrame) -> Figure:
    table = table.assign(half=(table["to"] - table["from"]) / 2)
    groups = list(table.groupby("instance", sort=False))
    titles = [f"{name}, xi = {rows['xi'].iloc[0]:g}" for name, rows in groups]
    figure, axes = panels(titles, "queries m", "teachers K", sharey=True)
    for axis, (_, rows) in zip(axes, groups, strict=True):
        some = rows[rows["K"] == "printed"]
        for style, (rule, part) in zip(STYLES, some.groupby("noise by", sort=False), strict=False):
            curve(axis, part, "m", "fewest teachers", "half", f"fewest, {rule}", style)
        for which, line in zip(_KS, ("--", ":"), strict=True):
            part = rows[(rows["K"] == which) & (rows["noise by"] == _RULES[0])]
            axis.plot(part["m"], part["teachers"], color="0.3", linestyle=line, label=f"K {which}")
    legend(axes)
    return figure
