"""Calibrated mechanisms: what a run will do, fixed by public numbers before any training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms import attacks
from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.gaussian import GaussianService, l2_sensitivity
from pate_cli.mechanisms.plain import NoPrivacyService
from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.svt import SvtService
from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy import gaussian, svt
from pate_cli.privacy.noise import Noise
from pate_cli.types import PrivacyLoss

__all__ = [
    "GaussianPlan",
    "LabellingPlan",
    "NoPrivacyPlan",
    "SvtPlan",
    "auto_cutoff",
    "plan_gaussian",
    "plan_svt",
]


class LabellingPlan(Protocol):
    """A calibrated mechanism, not yet at work."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """What the whole run is promised to cost."""

    @property
    def ell(self) -> int:
        """Most queries that may be asked."""

    def service(self, noise: Noise, runs: int = 1) -> VoteService:
        """Put it to work with a source of noise, in one run or in several side by side."""

    def describe(self) -> dict[str, Any]:
        """Its public numbers, for people and for `result.json`."""


@dataclass(frozen=True)
class NoPrivacyPlan:
    """No noise at all; eps = inf."""

    ell: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """None."""
        return PrivacyLoss(math.inf, 0.0, "no noise")

    def service(self, noise: Noise, runs: int = 1) -> VoteService:
        """Give exact majorities; the noise is not used, and all runs are the same."""
        return NoPrivacyService(self.ell)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"ell": self.ell, "sigma": 0.0}


@dataclass(frozen=True)
class GaussianPlan:
    """The Gaussian mechanism calibrated for `ell` queries; see `GaussianService`.

    Attributes
    ----------
    eps, delta : float
    ell : int
    sigma : float
        Standard deviation of the noise on a count, in votes.
    sensitivity : float
        L2 sensitivity of one query, in votes.
    """

    eps: float
    delta: float
    ell: int
    sigma: float
    sensitivity: float

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all `ell` queries."""
        mu = gaussian.mu_of(self.eps, self.delta)
        return PrivacyLoss(self.eps, self.delta, f"exact Gaussian profile of {self.ell} queries", mu=mu)

    def service(self, noise: Noise, runs: int = 1) -> VoteService:
        """Put it to work, in one run or in several side by side."""
        return GaussianService(self.sigma, self.ell, self.delta, self.sensitivity, noise, runs)

    def attacks(self, n_teachers: int, n_classes: int) -> list[VoteAttack]:
        """Worst-case votes for an audit."""
        return attacks.on_gaussian(self.ell, n_teachers, n_classes)

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers whose votes reach all that the attacks want."""
        return attacks.FEWEST_TEACHERS

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return asdict(self)


@dataclass(frozen=True)
class SvtPlan:
    """The sparse vector technique, calibrated; see `SvtService`."""

    calibration: svt.SvtCalibration

    @property
    def ell(self) -> int:
        """Most queries that may be asked."""
        return self.calibration.ell

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        c = self.calibration
        return PrivacyLoss(c.eps, c.delta, f"sparse vector, {c.rule}: {c.cutoff} unstable answers")

    def service(self, noise: Noise, runs: int = 1) -> VoteService:
        """Put it to work, in one run or in several side by side."""
        return SvtService(self.calibration, noise, runs)

    def attacks(self, n_teachers: int, n_classes: int) -> list[VoteAttack]:
        """Worst-case votes for an audit."""
        return attacks.on_svt(self.calibration, n_teachers, n_classes)

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers whose votes reach every distance the attacks want."""
        return attacks.teachers_for_svt(self.calibration)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return asdict(self.calibration)


def plan_gaussian(eps: float, delta: float, ell: int, n_classes: int) -> LabellingPlan:
    """Calibrate the Gaussian mechanism; eps = inf gives no noise."""
    if math.isinf(eps):
        return NoPrivacyPlan(ell)
    sensitivity = l2_sensitivity(n_classes)
    sigma = gaussian.calibrate_sigma(eps, delta, ell, sensitivity)
    return GaussianPlan(eps, delta, ell, sigma, sensitivity)


def plan_svt(
    eps: float,
    delta: float,
    ell: int,
    n_teachers: int,
    *,
    rule: svt.Calibration,
    cutoff: int | None,
    n_records: int | None = None,
) -> LabellingPlan:
    """Calibrate the sparse vector technique and refuse it where it cannot answer.

    Parameters
    ----------
    eps, delta : float
    ell : int
        Most queries that may be asked.
    n_teachers : int
        K; a distance never exceeds ``ceil(K/2) - 1``.
    rule : {"tight", "liu2021", "bassily2018"}
    cutoff : int or None
        T; None chooses it by `auto_cutoff`.
    n_records : int, optional
        Private records, the most teachers there can be; for the message only.

    Raises
    ------
    InfeasibleError
        If even a unanimous vote would go unanswered at least half of the time; says
        how many teachers, which eps or which T would do.
    ConfigError
        If T is larger than the number of queries.
    """
    if math.isinf(eps):
        return NoPrivacyPlan(ell)
    if cutoff is not None and cutoff > ell:
        raise ConfigError("mechanism.cutoff", cutoff, f"auto, or at most the number of queries, {ell}")
    best = max_distance(n_teachers)
    try:
        used = auto_cutoff(eps, delta, ell, n_teachers, rule) if cutoff is None else cutoff
        calibration = svt.calibrate(rule, eps, delta, ell, used)
    except ValueError as error:
        raise ConfigError(
            "mechanism.calibration", rule, f"tight or liu2021 at eps={eps:g}; {error}"
        ) from error
    if calibration.threshold >= best or calibration.p_unstable(best) > 0.5:
        raise InfeasibleError(_what_would_do(calibration, n_teachers, n_records))
    return SvtPlan(calibration)


def fewest_teachers(c: svt.SvtCalibration) -> int:
    """Fewest teachers whose unanimous vote passes the threshold, at least every other time."""
    return 2 * max(math.floor(c.threshold) + 1, math.ceil(c.margin(0.5))) + 1


def auto_cutoff(
    eps: float,
    delta: float,
    ell: int,
    n_teachers: int,
    rule: svt.Calibration,
    *,
    margins: Sequence[float] | None = None,
) -> int:
    """Choose T from public numbers alone.

    The T with the most expected answers if the votes' margins ``(n1 - n2)/K`` were
    uniform on [0, 1], as if nothing were known of the data (so it costs nothing): a
    query is unstable with probability u(T), and the run expects
    ``min(ell, T/u(T)) * (1 - u(T))`` answers. Ties go to the smaller T. `margins`, in [0, 1], may be given
    instead, from what is known publicly.
    """
    best = max_distance(n_teachers)
    if margins is None:  # fine enough for the small ones, which decide where there are many teachers
        margins = [(i + 0.5) / 512 for i in range(512)]
    dists = [max(0.0, margin * n_teachers / 2 - 1) for margin in margins]

    def expected_answers(cutoff: int) -> float:
        c = svt.calibrate(rule, eps, delta, ell, cutoff, quick=True)
        if c.threshold >= best:
            return 0.0
        unstable = sum(c.p_unstable(dist) for dist in dists) / len(dists)
        return min(float(ell), cutoff / max(unstable, 1e-300)) * (1 - unstable)

    grid = [
        t for t in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000) if t <= ell
    ]
    chosen, most = 1, -1.0
    for cutoff in grid:
        expected = expected_answers(cutoff)
        if expected > most * (1 + 1e-3):
            chosen, most = cutoff, expected
        elif expected < 0.7 * most:  # past the peak
            break
    return chosen


def _what_would_do(c: svt.SvtCalibration, n_teachers: int, n_records: int | None) -> str:
    """One line: why this cannot work, and what would."""
    teachers = fewest_teachers(c)
    if n_records is not None and teachers > n_records:
        ways = [f"at least {teachers} teachers (there are {n_records} private records)"]
    else:
        ways = [f"at least {teachers} teachers (teacher.count={teachers}, or a smaller teacher.size)"]
    rule: svt.Calibration = c.rule  # type: ignore[assignment]
    best = max_distance(n_teachers)

    def works(eps: float, cutoff: int) -> bool:
        try:
            other = svt.calibrate(rule, eps, c.delta, c.ell, cutoff)
        except ValueError:
            return False
        return other.threshold < best and other.p_unstable(best) <= 0.5

    smaller = next((t for t in range(c.cutoff - 1, 0, -max(1, c.cutoff // 50)) if works(c.eps, t)), None)
    if smaller is not None:
        ways.append(f"mechanism.cutoff={smaller}")
    eps = next((c.eps * 1.1**i for i in range(1, 80) if works(c.eps * 1.1**i, c.cutoff)), None)
    if eps is not None:
        ways.append(f"eps={math.ceil(eps * 100) / 100:g}")
    return (
        f"mechanism=svt cannot answer with {n_teachers} teachers at eps={c.eps:g}, cutoff={c.cutoff}, "
        f"calibration={c.rule}: a unanimous vote has distance {best}, the threshold is {c.threshold:.1f} "
        f"and half of the answers need {c.margin(0.5):.1f}; what would do: {'; or '.join(ways)}"
    )
