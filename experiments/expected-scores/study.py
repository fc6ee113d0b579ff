"""Released scores are close to the expected score E h(x): BTT18, long version, section 5, measured.

Its formulas are lost in our copy of the paper; what is measured is what its proofs use. Bins have width w.

- *Corollary 5.10*: where ``Var h(x)`` is small, two thirds of K teachers' scores are within w/4 of E h(x).
  By Chebyshev's inequality one is not with probability ``16 Var h(x)/w^2`` at most; where that is at most
  1/6, two thirds fail to be with probability ``exp(-K/18)`` at most (Hoeffding).
- *Definition 5.11*, weak quality: E h(x) is within 3w/4 of 0 or of 1. Then those scores are in the
  outermost bin, and by *Lemma 5.13* it is what is released: strong quality (Definition 5.12), w/2 from 0 or
  1.
- *Theorem 5.14*: with T the queries that are not of weak quality, all m queries are answered, and each
  score is within w of E h(x). (The two thirds are in one bin, or in one shifted bin: what the first test
  lets pass is the middle of a bin that the interval of w/4 around E h(x) touches, so 3w/4 away at most.)

The example is the paper's: ``y = 1(x_1 + sigma g > 0)`` with g and x standard Gaussian. So P(y = 1 | x) is
``Phi(x_1/sigma)``, whose distance from 0 or 1 is at most a for a share ``2 Phi(-sigma z)`` of the points,
with ``z = Phi^-1(1 - a)``. Teachers are logistic regressions on N records; K is as `enough_teachers` gives
it for two thirds, with the noise of Algorithm 6 (`SoftSession`). E and Var of h(x) are those of teachers of
their own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from pate_cli import teachers
from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.learners import make_learner
from pate_cli.mechanisms.soft import SoftSession, score_bins
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.results.figures import STYLES
from pate_cli.results.findings import Progress, StudyResult
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, close
from pate_cli.types import FloatArray, PrivateRecords

from ..common.agnostic_methods import enough_teachers
from ..common.figures import panels
from ..common.tools import AGREES, BUDGET, SAMPLING, rarely, seeded

CHECKS: dict[str, Check] = {
    "records": Listed(Whole(10), at_least=2, ascending=True),  # of a teacher
    "m": Whole(10),
    "features": Whole(1),
    "sigma": Real(0),  # of the label's noise
    "bins": Whole(2),  # 1/w
    "expected": Whole(10),  # teachers that E and Var are measured with
    "C": Real(0),  # of the teachers
    **BUDGET,
    **SAMPLING,
}
_TWO_THIRDS = 2 / 3
_CHEBYSHEV = 1 / 6
"""At most so often may a score be off by w/4, for two thirds of many to be near."""


def unsure_share(sigma: float, distance: float) -> float:
    """Share of the points at which P(y = 1 | x) is further than `distance` from 0 and from 1."""
    return float(1 - 2 * ndtr(-sigma * -ndtri(distance)))


class _Run(NamedTuple):
    """One run at one number of records: arrays of shape (m,)."""

    probability: FloatArray
    expected: FloatArray
    variance: FloatArray
    near: FloatArray
    scores: FloatArray

    def steady(self, width: float) -> Any:
        """Queries with Chebyshev's premise."""
        return 16 * self.variance / width**2 <= _CHEBYSHEV

    def sure(self, width: float) -> Any:
        """Queries of weak quality."""
        return np.minimum(self.expected, 1 - self.expected) <= 3 * width / 4


def run(p: dict[str, Any], progress: Progress) -> StudyResult:
    """Release scores of teachers of few and of many records, and compare them with E h(x)."""
    width = 1 / p["bins"]
    unsure = unsure_share(p["sigma"], 3 * width / 4)
    T = max(1, int(binom.ppf(1 - p["beta"] / 2, p["m"], unsure)))
    c = svt.calibrate("tight", p["eps"], p["delta"], 2 * p["m"], 2 * T)
    K = enough_teachers(c, _TWO_THIRDS, p["beta"])
    found: dict[int, list[_Run]] = {N: [] for N in p["records"]}
    for _, seed in seeded(range(p["repeats"]), p["seed"], progress):
        for N, own in zip(p["records"], seed.spawn(len(p["records"])), strict=True):
            found[N].append(_once(N, K, c, p, own))
    table = pd.DataFrame([_row(N, K, T, runs, width) for N, runs in found.items()])
    verdicts = _verdicts(found, unsure, p)
    return StudyResult(table, {"scores": lambda: _draw(found, width)}, verdicts, _notes(K, T, unsure, p))


def _once(N: int, K: int, c: svt.SvtCalibration, p: dict[str, Any], seed: np.random.SeedSequence) -> _Run:
    """Train K teachers, release a score for each of m queries, and measure E and Var on other teachers."""
    data, noise = seed.spawn(2)
    rng = np.random.default_rng(data)
    X = rng.standard_normal((p["m"], p["features"]))
    expected = _scores(_teachers(p["expected"], N, p, rng), X)
    ensemble = _teachers(K, N, p, rng)
    mean = expected.mean(axis=0)
    near = np.abs(_scores(ensemble, X) - mean) <= 1 / (4 * p["bins"])
    released = SoftSession(c, Door.seeded(noise)).ask(score_bins(ensemble.teachers, X, p["bins"]))[0][:, 0]
    probability = ndtr(X[:, 0] / p["sigma"])
    return _Run(probability, mean, expected.var(axis=0, ddof=1), near.mean(axis=0), released)


def _teachers(n: int, N: int, p: dict[str, Any], rng: np.random.Generator) -> teachers.Ensemble:
    X = rng.standard_normal((n * N, p["features"]))
    y = (X[:, 0] + p["sigma"] * rng.standard_normal(n * N) > 0).astype(np.int64)
    learner = make_learner("logistic", {"C": p["C"]}, seed=None, n_classes=2)
    return teachers.train(PrivateRecords(X, y), n_teachers=n, learner=learner, rng=rng, n_classes=2)


def _scores(ensemble: teachers.Ensemble, X: FloatArray) -> FloatArray:
    """Scores of class 1, shape (K, m)."""
    return np.array([one.scores(X) for one in ensemble.teachers])


def _failures(runs: list[_Run], width: float) -> tuple[int, int, int]:
    """Runs that fail Corollary 5.10, Lemma 5.13, Theorem 5.14."""
    corollary = lemma = theorem = 0
    for one in runs:
        corollary += bool(np.any(one.near[one.steady(width)] < _TWO_THIRDS))
        outermost = np.minimum(one.scores, 1 - one.scores) <= width / 2 + 1e-9  # nan, unanswered: not
        lemma += bool(np.any(~outermost[one.sure(width)]))
        theorem += bool(np.any(~(np.abs(one.scores - one.expected) <= width)))
    return corollary, lemma, theorem


def _row(N: int, K: int, T: int, runs: list[_Run], width: float) -> dict[str, Any]:
    off = np.abs(np.stack([one.scores - one.expected for one in runs]))
    answered = ~np.isnan(off)
    row: dict[str, Any] = {"records a teacher": N, "teachers": K, "T": T, "runs": len(runs)}
    row["largest standard deviation of h"] = math.sqrt(max(one.variance.max() for one in runs))
    row["steady queries"] = float(np.mean([one.steady(width) for one in runs]))
    row["fewest near"] = min(float(one.near.min()) for one in runs)
    row["weak quality"] = float(np.mean([one.sure(width) for one in runs]))
    row["answered"] = float(answered.mean())
    row["furthest from E h"] = float(off[answered].max()) if answered.any() else math.nan
    names = [f"runs that fail {claim.split()[-1]}" for claim in _CLAIMS]
    return row | dict(zip(names, _failures(runs, width), strict=True))


def _verdicts(found: dict[int, list[_Run]], unsure: float, p: dict[str, Any]) -> list[Verdict]:
    """Judge the three statements with the most records a teacher, where their premise holds."""
    N, runs = list(found.items())[-1]
    width, beta = 1 / p["bins"], p["beta"]
    steady = min(float(np.mean(one.steady(width))) for one in runs)
    premise = f"{N:,} records a teacher: Chebyshev's premise holds at {steady:.0%} of the queries or more"
    made = []
    for (name, claim), failed in zip(_CLAIMS.items(), _failures(runs, width), strict=True):
        word = rarely(failed, len(runs), beta, len(_CLAIMS))
        statement = f"BTT18 long {name}: {claim}, in all but a share {beta:g} of runs"
        made.append(Verdict(statement, word, f"{failed} of {len(runs)} runs fail; {premise}"))
    shares = [
        float(np.mean(np.minimum(one.probability, 1 - one.probability) > 3 * width / 4))
        for several in found.values()
        for one in several
    ]
    gap = Interval.of(shares).less(unsure)
    claim = f"control: points further than 3w/4 from certain are the share of the closed form, to {AGREES:g}"
    says = f"measured less exact {gap.text(4, sign=True)}, exact {unsure:.4f}"
    made.append(close(claim, gap, AGREES, says))
    return made


_CLAIMS = {
    "Corollary 5.10": "where h varies little, two thirds of the teachers are within w/4 of E h(x)",
    "Lemma 5.13": "every query of weak quality is answered from an outermost bin",
    "Theorem 5.14": "all m queries are answered, and within w of E h(x)",
}


def _notes(K: int, T: int, unsure: float, p: dict[str, Any]) -> list[str]:
    return [
        f"y = 1(x_1 + {p['sigma']:g} g > 0), {p['features']} features; bins of w = {1 / p['bins']:g}; eps ="
        f" {p['eps']:g}, delta = {p['delta']:g}, failure {p['beta']:g}. K = {K:,} logistic teachers, T = {T}"
        f" of {p['m']} queries: those further than 3w/4 from certain, a share {unsure:.3f} of the points, and"
        " what chance may add.",
        f"E h(x) and Var h(x) are measured with {p['expected']:,} teachers on their own records, each run.",
    ]


def _draw(found: dict[int, list[_Run]], width: float) -> Figure:
    titles = [f"{N:,} records a teacher" for N in found]
    ylabel = "released score; lines: E h(x), and w off"
    figure, axes = panels(titles, "expected score E h(x)", ylabel, log="", sharey=True)
    ends = np.array([0.0, 1.0])
    for axis, runs in zip(axes, found.values(), strict=True):
        expected = np.concatenate([one.expected for one in runs])
        scores = np.concatenate([one.scores for one in runs])
        axis.plot(expected, scores, linestyle="", marker=".", markersize=3, color=STYLES[0]["color"])
        for shift in (-width, 0.0, width):
            axis.plot(ends, ends + shift, color="0.6", linewidth=0.8)
    return figure
