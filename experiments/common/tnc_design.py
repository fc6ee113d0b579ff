"""K, m and T as the theorems of LZCW21 set them, for the family of `thresholds`, and one run at them.

With ``e = tau/(2 - tau)`` both theorems bound ``Dis(student, h*)`` by ``1/m + (K/n)^e`` up to
constants (d = 1), and Table 1 takes the m that balances the two, so here::

    m = points * (n/K)^e       (K depends on m too: a fixed point)

- Theorem 28 (Gaussian): ``K = 6 sigma sqrt(2 log(2n))``, sigma by line 1 of Algorithm 1. That
  is the printed K, to the constant. K grows as sqrt(m), hence the exponent ``2 tau/(4 - tau)``.
- Theorem 10 (SVT): ``T = 3 B``, B the mistakes of a teacher on m points, ``mistakes (K/n)^e m`` by
  Lemma 13, whose constant the recipe gives; at this m, T does not depend on n. K is such that a
  query on which two thirds of the teachers agree is answered, but for probability failure/m
  (what Lemma 3 wants of K), with the constants of the calibration in use rather than Lemma 3's
  136. K is constant up to logarithms, hence the exponent ``tau/(2 - tau)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pate_cli.checks import Check, Listed, Real, Whole
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.gaussian import Gaussian
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import gaussian, svt
from pate_cli.privacy.door import Door
from pate_cli.types import UNANSWERED, FloatArray

from . import thresholds
from .thresholds import Family
from .tools import PROBABILITY, SAMPLING

PARAMETERS: dict[str, Check] = {
    "taus": Listed(Real(0, 1)),
    "left": Real(0, 1),  # this and the next: strengths of the `Family`
    "right": Real(0, 1),
    "eps": Real(0),
    "delta": PROBABILITY,
    "failure": PROBABILITY,  # beta
    "n": Listed(Whole(2), at_least=2, ascending=True),
    **SAMPLING,
}
"""Of a study of rates at each tau."""

QUANTITIES = ("teacher Dis", "vote Dis", "student Dis", "student excess")
"""Measures of `run_once`, in order; Dis is the disagreement with h*."""


@dataclass(frozen=True)
class Privacy:
    """Budget, beta (the probability of failure) and the calibration of the sparse vector technique."""

    eps: float
    delta: float
    failure: float
    calibration: svt.Calibration


@dataclass(frozen=True)
class Design:
    """One point of a curve: n, K, records a teacher (floor(n/K)), public points m, and the mechanism."""

    n: int
    n_teachers: int
    size: int
    points: int
    plan: VoteMechanism

    @property
    def facts(self) -> dict[str, int]:
        """Sizes, for the table of a study."""
        sizes = {"teachers": self.n_teachers, "records a teacher": self.size}
        return sizes | {"public points": self.points}


def exponent(mechanism: str, tau: float) -> float:
    """Exponent of 1/n in Table 1."""
    return 2 * tau / (4 - tau) if mechanism == "gaussian" else tau / (2 - tau)


def design(mechanism: str, tau: float, n: int, privacy: Privacy, points: float, mistakes: float) -> Design:
    """Choose K and m (and T) at n, as the module says.

    `points` is m in units of (n/K)^e, and `mistakes`, for T, a teacher's Dis in units of (K/n)^e.
    A ConfigError where K would be above n.
    """
    power = tau / (2 - tau)
    cutoff = max(1, math.ceil(3 * mistakes * points))

    def plan_at(m: int) -> tuple[VoteMechanism, int]:
        if mechanism == "gaussian":
            sigma = gaussian.calibrate_sigma_zcdp(privacy.eps, privacy.delta, m)
            plan: VoteMechanism = Gaussian(privacy.eps, privacy.delta, sigma, 1.0, ell=m)
            return plan, math.ceil(6 * sigma * math.sqrt(2 * math.log(2 * n)))
        c = svt.calibrate(privacy.calibration, privacy.eps, privacy.delta, m, min(cutoff, m))
        # two thirds agree: n1 - n2 >= K/3, so dist >= K/6 - 1
        return SparseVector(c, ell=c.ell), math.ceil(6 * (c.margin(privacy.failure / m) + 1))

    m = 2.0
    for _ in range(60):
        _, teachers = plan_at(max(2, round(m)))
        wanted = max(2.0, points * (n / teachers) ** power)
        if abs(math.log(wanted / m)) < 1e-3:
            break
        m = math.sqrt(m * wanted)  # damped: K grows with m
    m_used = max(2, round(m))
    plan, teachers = plan_at(m_used)
    if teachers > n:
        raise ConfigError("params.n", n, f"at least {teachers} records, one for each teacher of {mechanism}")
    return Design(n, teachers, n // teachers, m_used, plan)


def run_once(family: Family, at: Design, seed: np.random.SeedSequence) -> tuple[FloatArray, float]:
    """LZCW21 Algorithm 3, once: the `QUANTITIES`, exact, and the share of the m queries that got a label.

    The first quantity is the mean over teachers; other queries are labelled at random (line 4).
    """
    data, noise = seed.spawn(2)
    rng = np.random.default_rng(data)
    trained = thresholds.train(family, at.n_teachers, at.size, rng)
    x = rng.uniform(-1.0, 1.0, at.points)
    given = at.plan.session(Door.seeded(noise)).answer_all(thresholds.votes(trained, x))
    labels = np.full(at.points, UNANSWERED)
    labels[: len(given)] = [answer.label for answer in given]
    missing = labels == UNANSWERED
    labels[missing] = rng.integers(0, 2, int(missing.sum()))
    student = thresholds.learn(x, labels)
    measured = np.array(
        [
            family.disagreement(trained).mean(),
            family.disagreement(thresholds.vote_threshold(trained)),
            family.disagreement(student),
            family.excess(student),
        ]
    )
    return measured, float(1 - missing.mean())
