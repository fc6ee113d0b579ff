"""The sparse vector technique over distance to instability (BTT18 and LZCW21, Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, Or, Whole
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.base import NumbersTable, Session, VoteMechanism
from pate_cli.mechanisms.votes import (
    VoteAttack,
    distance_to_instability,
    majority,
    max_distance,
    on_svt,
    teachers_for_svt,
)
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.types import UNANSWERED, IntArray, PrivacyLoss, ReleasedLabels, Votes

__all__ = ["CALIBRATION", "CUTOFF", "SparseVector", "SparseVectorSession"]
__all__ += ["auto_cutoff", "calibrated", "can_answer", "fewest_teachers", "stable_labels"]

CALIBRATION = OneOf(svt.CALIBRATIONS)
CUTOFF = Or("auto", Whole(1))
"""T, or `auto` to choose it from public numbers."""


@dataclass(frozen=True)
class SparseVector(VoteMechanism):
    """Release the majority where it is stable, "unstable" elsewhere; stop at T of those.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record
    (n, K and the part sizes are public), for up to `ell` adaptively chosen queries;
    the proof stands at the top of `pate_cli.privacy.svt`. Assumes that no two
    teachers share a record. Only labels are released: not an unstable query's
    majority, nor votes or distances.

    Attributes
    ----------
    calibration : SvtCalibration
    chosen : int or None
        T as asked for; None where `auto_cutoff` chose it.
    """

    calibration: svt.SvtCalibration
    chosen: int | None = None

    @property
    def name(self) -> str:
        """See `Mechanism`."""
        return "svt"

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        c = self.calibration
        how = f"sparse vector, {c.rule}: {c.cutoff} unstable answers"
        return PrivacyLoss(c.eps, c.delta, f"{how}, integer noise" if c.integers else how)

    def session(self, door: Door, runs: int = 1) -> Session:
        """Start a session; see `VoteMechanism`."""
        return SparseVectorSession(self.calibration, door, runs)

    def unanswered(self) -> str | None:
        """Bound on the queries left unanswered at the cutoff, and the lead at which a vote is answered.

        With unanimous votes throughout, a query is unstable with probability u = `p_unstable` of
        ``ceil(K/2) - 1`` on average over the threshold's noise. That holds of each query where the noise is
        kept; where it is drawn anew after an unstable answer, a threshold that has let queries pass is lower
        and they are unstable with probability u at most. So ``ell u`` bounds how many are expected.
        """
        c, K = self.calibration, self.n_teachers
        expected = c.ell * c.p_unstable(max_distance(K))
        unanimous = f"{expected:.2g} on average at most" if expected < c.cutoff else "perhaps all of these"
        lead = 2 * math.ceil(c.margin(0.5)) + 1
        return (
            f"at most {c.cutoff:,} of {c.ell:,} queries stay unanswered before the cutoff ends the run"
            f" ({unanimous}, were all votes unanimous); a vote is answered at least every other time from a"
            f" lead of {lead:,} of {K:,} on"
        )

    def attacks(self) -> list[VoteAttack]:
        """Worst-case votes for an audit."""
        return on_svt(self.calibration, self.n_teachers, self.n_classes)

    @property
    def teachers_to_attack(self) -> int:
        """Fewest teachers for all votes of `attacks`."""
        return teachers_for_svt(self.calibration)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        numbers = asdict(self.calibration)
        return numbers | {"integer_noise": True} if numbers.pop("integers") else numbers

    def table(self) -> NumbersTable:
        """The calibration, and the leads and numbers of teachers at which it answers."""
        c, K = self.calibration, self.n_teachers
        table = super().table()
        table.rows.extend(
            [
                ("half answered at", c.margin(0.5)),
                ("95% answered at", c.margin(0.05)),
                ("largest distance", max_distance(K)),
                ("fewest teachers", fewest_teachers(c)),
            ]
        )
        caption = "Distances, in votes, are half the lead of the majority, less one."
        return table._replace(caption=caption)

    def with_exact_noise(self) -> SparseVector:
        """Recalibrate for integer noise and an integer threshold; see `pate_cli.privacy.svt`.

        Raises
        ------
        InfeasibleError
            If the threshold, now an integer, is out of reach.
        """
        calibration = svt.discrete_calibration(self.calibration)
        if not can_answer(calibration, self.n_teachers):
            raise InfeasibleError(
                f"mechanism=svt cannot answer with {self.n_teachers} teachers: with release=true its"
                f" threshold is {calibration.threshold:g}, and a unanimous vote has distance"
                f" {max_distance(self.n_teachers)}; what would do: at least {fewest_teachers(calibration)}"
                " teachers (teacher.count, or less teacher.size)"
            )
        return replace(self, calibration=calibration)


class SparseVectorSession(Session):
    """Labels by the sparse vector technique; see `SparseVector`."""

    def __init__(self, calibration: svt.SvtCalibration, door: Door, runs: int = 1) -> None:
        self.runs = runs
        self._tests = door.above_threshold(calibration, runs)

    @property
    def exhausted(self) -> bool:
        """Whether every run has had T unstable answers, or `ell` queries."""
        return self._tests.exhausted

    def spent(self) -> PrivacyLoss:
        """Loss after the fact: a report."""
        return self._tests.spent()

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        return self.labels(votes, distance_to_instability(votes.counts))

    def labels(self, votes: Votes, distances: IntArray) -> ReleasedLabels:
        """Release the majorities that are stable (BTT18 Algorithm 2, LZCW21 Algorithm 2)."""
        stable, reached, majorities = self._tests.test(distances, majority(votes.counts))
        labels = np.where(stable, np.asarray(majorities)[:, None], UNANSWERED)
        return ReleasedLabels(labels, None, reached)


def calibrated(
    rule: svt.Calibration, eps: float, delta: float, ell: int, cutoff: int, *, quick: bool = False
) -> svt.SvtCalibration:
    """Calibrate, as `svt.calibrate`; ConfigError where the published constants do not hold at this eps."""
    try:
        return svt.calibrate(rule, eps, delta, ell, cutoff, quick=quick)
    except ValueError as error:
        accepted = f"tight or liu2021 at eps={eps:g}; {error}"
        raise ConfigError("mechanism.calibration", rule, accepted) from error


def stable_labels(
    eps: float,
    delta: float,
    ell: int,
    n_teachers: int,
    *,
    rule: svt.Calibration,
    cutoff: int | None,
    n_records: int | None = None,
    n_classes: int = 2,
) -> SparseVector:
    """Calibrate the sparse vector technique for `ell` queries, and refuse it where it cannot answer.

    A `cutoff` of None is chosen by `auto_cutoff`. `n_records` bounds the teachers in the message.

    Raises
    ------
    InfeasibleError
        If not even a unanimous vote is answered every other time; the message has the
        number of teachers, the eps or the T that would do.
    ConfigError
        If T is larger than the number of queries.
    """
    if cutoff is not None and cutoff > ell:
        raise ConfigError("mechanism.cutoff", cutoff, f"auto, or at most the number of queries, {ell}")
    used = auto_cutoff(eps, delta, ell, n_teachers, rule) if cutoff is None else cutoff
    calibration = calibrated(rule, eps, delta, ell, used)
    if not can_answer(calibration, n_teachers):
        raise InfeasibleError(_what_would_do(calibration, n_teachers, n_records))
    return SparseVector(calibration, cutoff, ell=ell, n_teachers=n_teachers, n_classes=n_classes)


def can_answer(c: svt.SvtCalibration, n_teachers: int) -> bool:
    """Whether a unanimous vote passes the threshold, and gets an answer at least every other time."""
    best = max_distance(n_teachers)
    return c.threshold < best and c.p_unstable(best) <= 0.5


def fewest_teachers(c: svt.SvtCalibration) -> int:
    """Fewest teachers at which the mechanism `can_answer`."""
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

    The T with the most expected answers if the votes' margins ``(n1 - n2)/K`` were uniform on [0, 1], or
    equally likely one of `margins`: a query is unstable with probability u(T), and the run expects
    ``min(ell, T/u(T)) * (1 - u(T))`` answers. Ties go to the smaller T.
    """
    best = max_distance(n_teachers)
    if margins is None:  # fine, as small margins decide where there are many teachers
        margins = [(i + 0.5) / 512 for i in range(512)]
    dists = [max(0.0, margin * n_teachers / 2 - 1) for margin in margins]

    def expected_answers(cutoff: int) -> float:
        c = calibrated(rule, eps, delta, ell, cutoff, quick=True)
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
    """One line: the reason for a refusal, and remedies."""
    teachers = fewest_teachers(c)
    if n_records is not None and teachers > n_records:
        ways = [f"at least {teachers} teachers (there are {n_records} private records)"]
    else:
        ways = [f"at least {teachers} teachers (teacher.count={teachers}, or a smaller teacher.size)"]
    rule: svt.Calibration = c.rule  # type: ignore[assignment]

    def works(eps: float, cutoff: int) -> bool:
        try:
            return can_answer(svt.calibrate(rule, eps, c.delta, c.ell, cutoff), n_teachers)
        except ValueError:
            return False

    smaller = next((t for t in range(c.cutoff - 1, 0, -max(1, c.cutoff // 50)) if works(c.eps, t)), None)
    if smaller is not None:
        ways.append(f"mechanism.cutoff={smaller}")
    eps = next((c.eps * 1.1**i for i in range(1, 80) if works(c.eps * 1.1**i, c.cutoff)), None)
    if eps is not None:
        ways.append(f"eps={math.ceil(eps * 100) / 100:g}")
    best = max_distance(n_teachers)
    return (
        f"mechanism=svt cannot answer with {n_teachers} teachers at eps={c.eps:g}, cutoff={c.cutoff}, "
        f"calibration={c.rule}: a unanimous vote has distance {best}, the threshold is {c.threshold:.1f} "
        f"and half of the answers need {c.margin(0.5):.1f}; what would do: {'; or '.join(ways)}"
    )
