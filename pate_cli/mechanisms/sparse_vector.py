"""The sparse vector technique over distance to instability (BTT18 and LZCW21, Algorithm 2)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, Or, Whole
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.base import NumbersTable, Session, VoteMechanism
from pate_cli.mechanisms.votes import (
    ExpectedAnswers,
    VoteAttack,
    distance_to_instability,
    majority,
    max_distance,
    on_svt,
    teachers_for_svt,
)
from pate_cli.privacy import svt
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account
from pate_cli.types import UNANSWERED, IntArray, PrivacyLoss, ReleasedLabels, Setting, Votes

__all__ = ["CALIBRATION", "CUTOFF", "SparseVector", "SparseVectorSession", "auto_cutoff", "calibrated"]
__all__ += ["can_answer", "cannot_answer", "cutoff_for_error", "fewest_teachers", "printed_sizes"]
__all__ += ["stable_labels"]

CALIBRATION = OneOf(svt.CALIBRATIONS)
CUTOFF = Or("auto", Whole(1))
"""T, or `auto` to choose it from public numbers."""

_BETA = 0.05
"""Failure probability in BTT18's rule for T."""


@dataclass(frozen=True)
class SparseVector(VoteMechanism):
    """Release the majority where it is stable, "unstable" elsewhere; stop at T of those.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record (n, K and the part sizes
    are public), for up to `ell` adaptively chosen queries; the proof stands at the top of
    `pate_cli.privacy.above_threshold`. Assumes that no two teachers share a record. Only labels are released:
    not an unstable query's majority, nor votes or distances.
    """

    noise_in_words = "a label is given only where they agree by a wide, noisy margin"
    calibration: svt.SvtCalibration

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

    @property
    def spends_all(self) -> bool:
        """See `Mechanism`."""
        return self.calibration.rule == "tight"

    def after(self, spent: Account) -> PrivacyLoss:
        """See `Mechanism`: the pathwise loss."""
        return AboveThreshold.after(spent)

    def session(self, door: Door, runs: int = 1) -> Session:
        """Start a session; see `VoteMechanism`."""
        return SparseVectorSession(self.calibration, door, runs)

    def unanswered(self) -> str | None:
        """Say when no more is answered, and the lead at which a vote is, every other time."""
        c, K = self.calibration, self.n_teachers
        lead = 2 * math.ceil(c.margin(0.5)) + 1
        return (
            f"labels a point only where the teachers agree by a wide margin: with a lead of {lead:,} of "
            f"{K:,} votes it does so at least every second time. It stops after {c.cutoff:,} point"
            f"{'s that are' if c.cutoff > 1 else ' that is'} too close"
        )

    def expected_answers(self) -> ExpectedAnswers:
        """See `Mechanism`; it stops at T unstable votes, before which T (1 - u)/u are stable on average."""
        c = self.calibration
        unstable = c.p_unstable(max(0, -(-self.n_teachers // 6) - 1))
        answered = c.ell * (1 - unstable)
        if unstable * c.ell > c.cutoff:
            answered = c.cutoff * (1 - unstable) / unstable
        return ExpectedAnswers(
            c.query_scale, answered, max(6 * math.ceil(c.margin(0.5)) + 1, fewest_teachers(c))
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
        c, table = self.calibration, super().table()
        table.rows.extend(
            [
                ("distance answered half of the time", c.margin(0.5)),
                ("distance answered 95% of the time", c.margin(0.05)),
                ("distance of a unanimous vote", max_distance(self.n_teachers)),
                ("fewest teachers, if unanimous", fewest_teachers(c)),
            ]
        )
        caption = "Distances, in votes, are half the lead of the majority, less one."
        return table._replace(caption=caption)

    def with_exact_noise(self) -> SparseVector:
        """Recalibrate for integer noise and an integer threshold; see `svt.discrete_calibration`."""
        calibration = svt.discrete_calibration(self.calibration)
        if not can_answer(calibration, self.n_teachers):
            raise cannot_answer(calibration, self.n_teachers, f"cutoff={calibration.cutoff}, release=true")
        return replace(self, calibration=calibration)


class SparseVectorSession(Session):
    """Labels by the sparse vector technique (BTT18 Algorithm 2, LZCW21 Algorithm 2); see `SparseVector`.

    ::

        1: w' = w + threshold noise
        2: for each query:
        3:     if distance + query noise > w' then release the majority
        4:     else release "unstable", stop if it is the T-th, and draw w' anew (where `redraw`)

    All but the distance and the majority is `pate_cli.privacy.above_threshold.AboveThreshold`.
    """

    def __init__(self, calibration: svt.SvtCalibration, door: Door, runs: int = 1) -> None:
        self.runs = runs
        self._tests = AboveThreshold(calibration, door, runs)

    @property
    def exhausted(self) -> bool:
        """Whether every run has had T unstable answers, or `ell` queries."""
        return self._tests.exhausted

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run; see `Session`."""
        return self.labels(votes, distance_to_instability(votes.counts))

    def labels(self, votes: Votes, distances: IntArray) -> ReleasedLabels:
        """Release the majorities whose distances are above the threshold."""
        stable, reached, majorities = self._tests.test(distances, majority(votes.counts))
        labels = np.where(stable, np.asarray(majorities)[:, None], UNANSWERED)
        return ReleasedLabels(labels, None, reached)


def calibrated(
    rule: str, eps: float, delta: float, ell: int, cutoff: int, *, quick: bool = False
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
    rule: str,
    cutoff: int | None,
    n_records: int | None = None,
    n_classes: int = 2,
) -> SparseVector:
    """Calibrate the sparse vector technique for `ell` queries, and refuse it where it cannot answer.

    A `cutoff` of None is chosen by `auto_cutoff`. InfeasibleError, with what would do, if not even a
    unanimous vote is answered every other time; `n_records` bounds the teachers in it.
    """
    if cutoff is not None and cutoff > ell:
        raise ConfigError("mechanism.cutoff", cutoff, f"auto, or at most the number of queries, {ell}")
    used = auto_cutoff(eps, delta, ell, n_teachers, rule) if cutoff is None else cutoff
    c = calibrated(rule, eps, delta, ell, used)
    if not can_answer(c, n_teachers):
        raise cannot_answer(c, n_teachers, f"cutoff={used}", _other_ways(c, n_teachers, rule), n_records)
    return SparseVector(c, ell=ell, n_teachers=n_teachers, n_classes=n_classes)


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
    rule: str,
    *,
    margins: Sequence[float] | None = None,
) -> int:
    """T from public numbers alone: the one with the most expected answers.

    The votes' margins ``(n1 - n2)/K`` are taken as uniform on [0, 1], or equally likely one of `margins`: a
    query is unstable with probability u(T), and the run expects ``min(ell, T/u(T)) * (1 - u(T))`` answers.
    Ties go to the smaller T.
    """
    if margins is None:  # fine, as small margins decide where there are many teachers
        margins = [(i + 0.5) / 512 for i in range(512)]
    dists = [max(0.0, margin * n_teachers / 2 - 1) for margin in margins]

    def expected_answers(cutoff: int) -> float:
        c = calibrated(rule, eps, delta, ell, cutoff, quick=True)
        if c.threshold >= max_distance(n_teachers):
            return 0.0
        unstable = sum(c.p_unstable(dist) for dist in dists) / len(dists)
        return min(float(ell), cutoff / max(unstable, 1e-300)) * (1 - unstable)

    chosen, most = 1, -1.0
    for cutoff in (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000):
        if cutoff > ell:
            break
        expected = expected_answers(cutoff)
        if expected > most * (1 + 1e-3):
            chosen, most = cutoff, expected
        elif expected < 0.7 * most:  # past the peak
            break
    return chosen


def cutoff_for_error(error: float, eps: float, delta: float, ell: int, n_teachers: int, rule: str) -> int:
    """T for teachers of a given error: the one chosen, or the largest below it that leaves answers.

    Published calibrations: BTT18 Theorem 3.2 (`pate_cli.privacy.svt.printed_cutoff`). `tight`: `auto_cutoff`
    where the share of wrong votes on a query has the law Beta(1, 1/e - 1), of mean e. T = 1 is assumed to
    leave answers; e is clipped to [1/1000, 1/2].
    """
    error = min(max(error, 1e-3), 0.5)
    if rule == "tight":
        wrong = 1 - (1 - (np.arange(32) + 0.5) / 32) ** (error / (1 - error))  # quantiles of that Beta
        margins = np.maximum(0.0, 1 - 2 * wrong).tolist()
        T = auto_cutoff(eps, delta, ell, n_teachers, rule, margins=margins)
    else:
        T = math.ceil(svt.printed_cutoff(error, ell, _BETA))

    def fails(cutoff: int) -> bool:
        return not can_answer(calibrated(rule, eps, delta, ell, cutoff), n_teachers)

    return max(1, bisect_left(range(1, min(T, ell) + 1), True, key=fails))


def printed_sizes(error: float, beta: float, setting: Setting) -> tuple[int, int]:
    """T and the number of teachers of BTT18, Theorem 3.2 and line 1 of Algorithm 2.

    T is rounded up, and at most m, with which no run stops early. Privacy rests on neither number.
    """
    s = setting
    T = min(s.n_public, math.ceil(svt.printed_cutoff(error, s.n_public, beta)))
    teachers = math.ceil(svt.printed_teachers(s.eps, s.delta, s.n_public, T, beta))
    if teachers > s.n_private:
        eps = math.ceil(100 * s.eps * teachers / s.n_private) / 100
        raise InfeasibleError(
            f"mechanism.cutoff=paper: BTT18 asks for {teachers:,} teachers at eps={s.eps:g}, T = {T},"
            f" and there are {s.n_private:,} private records; what would do: as many records,"
            f" eps={eps:g}, fewer public points, or mechanism.cutoff=auto"
        )
    return T, teachers


def cannot_answer(
    c: svt.SvtCalibration,
    n_teachers: int,
    options: str,
    ways: Sequence[str] = (),
    n_records: int | None = None,
    mechanism: str = "svt",
) -> InfeasibleError:
    """One line: the reason for a refusal, and what would do: more teachers, or one of `ways`."""
    teachers = fewest_teachers(c)
    advice = f"(teacher.count={teachers}, or a smaller teacher.size)"
    if n_records is not None and teachers > n_records:
        advice = f"(there are {n_records} private records)"
    distance, half = max_distance(n_teachers), c.margin(0.5)
    survives = math.ceil(max(c.threshold, half))
    return InfeasibleError(
        f"mechanism={mechanism} cannot answer with {n_teachers} teachers at eps={c.eps:g}, {options}, "
        f"calibration={c.rule}: it labels a point only if the outcome would survive about {survives:,} "
        f"changed votes, and even if all {n_teachers:,} agree it survives {distance:,}; what would do: "
        + "; or ".join([f"at least {teachers} teachers {advice}", *ways])
    )


def _other_ways(c: svt.SvtCalibration, n_teachers: int, rule: str) -> list[str]:
    """A smaller T and a larger eps that would do, if there are such."""

    def works(eps: float, cutoff: int) -> bool:
        try:
            return can_answer(svt.calibrate(rule, eps, c.delta, c.ell, cutoff), n_teachers)
        except ValueError:
            return False

    def ways() -> Iterator[str]:
        for cutoff in range(c.cutoff - 1, 0, -max(1, c.cutoff // 50)):
            if works(c.eps, cutoff):
                yield f"mechanism.cutoff={cutoff}"
                break
        for eps in (c.eps * 1.1**i for i in range(1, 80)):
            if works(eps, c.cutoff):
                yield f"eps={math.ceil(eps * 100) / 100:g}"
                break

    return list(ways())
