"""Functions of the teachers' votes, their sensitivity, their noise, and worst-case votes for an audit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from pate_cli.privacy.above_threshold import SvtCalibration
from pate_cli.privacy.door import Door
from pate_cli.privacy.kinds import GaussianNoise
from pate_cli.types import FloatArray, IntArray

__all__ = ["ExpectedAnswers", "Step", "Steps", "VoteAttack", "attack", "distance_to_instability"]
__all__ += ["l2_sensitivity", "lead", "majority", "max_distance", "noisy_counts", "on_counts", "on_svt"]
__all__ += ["of_noisy_counts", "teachers_for_svt"]

_QUARTILE = 0.6744897501960817  # of the standard normal distribution


def majority(counts: IntArray | FloatArray) -> IntArray:
    """Class with the most votes in each row of `counts`, shape (m, C); a tie goes to the highest class code.

    For two classes this is ``1(votes for class 1 >= K/2)``, as LZCW21 Algorithms 1 and 2 say.
    """
    n_classes = counts.shape[1]
    if n_classes == 2:  # the same, without sorting out more than two
        return (counts[:, 1] >= counts[:, 0]).astype(np.int64)
    winners: IntArray = (n_classes - 1 - np.argmax(counts[:, ::-1], axis=1)).astype(np.int64)
    return winners


def distance_to_instability(counts: IntArray) -> IntArray:
    """``max(0, ceil((n1 - n2)/2) - 1)``, n1 and n2 the two largest counts of each row, in votes.

    If it is positive, no change of one vote changes the majority. Sensitivity 1: one moved vote changes
    ``n1 - n2`` by at most 2. BTT18's ``n1 - n2 - 1`` has sensitivity 2 and must not be used with these
    constants.
    """
    dist: IntArray = np.maximum(0, (lead(counts) + 1) // 2 - 1)
    return dist


def lead(counts: IntArray) -> IntArray:
    """Largest count less the second largest, shape (m,)."""
    top = np.partition(counts, -2, axis=1)[:, -2:]
    leads: IntArray = top[:, 1] - top[:, 0]
    return leads


def max_distance(n_teachers: int) -> int:
    """Distance to instability of a unanimous vote, in votes."""
    return max(0, -(-n_teachers // 2) - 1)


def l2_sensitivity(n_classes: int) -> float:
    """L2 sensitivity of one query, in votes.

    Two classes: the count of class 1, which one vote moves by 1. More: the histogram, in which one vote
    leaves one class and joins another, sqrt(2).
    """
    return 1.0 if n_classes == 2 else math.sqrt(2.0)


def noisy_counts(
    counts: IntArray,
    n_teachers: int,
    sigma: float,
    door: Door,
    grain: float | None = None,
    releases: int | None = None,
) -> FloatArray:
    """Release each row of votes, shape (m, C), with Gaussian noise, of integers where `grain` is 1.

    For two classes the count of class 1 is noised, and class 0 gets the rest of K. `releases` are the queries
    of one run, where the rows are those of several.
    """
    n_classes = counts.shape[1]
    kind = GaussianNoise(sensitivity=l2_sensitivity(n_classes), sigma=sigma, grain=grain)
    exact = counts[:, 1] if n_classes == 2 else counts
    noisy: FloatArray = door.release(exact, kind, len(counts) if releases is None else releases)
    return np.column_stack([n_teachers - noisy, noisy]) if n_classes == 2 else noisy


class ExpectedAnswers(NamedTuple):
    """What becomes of votes of two to one, from public numbers alone.

    `fewest_teachers` is the smallest K with which half of their labels are right, apart from those that are
    right by chance: of noisy counts, three quarters of two classes; of the sparse vector technique, half are
    answered.
    """

    noise: float  # scale of the noise on a query, in votes
    answered: float  # queries, on average, if all votes were so
    fewest_teachers: int


def of_noisy_counts(sigma: float, n_classes: int, answered: float) -> ExpectedAnswers:
    """Answers where the largest of noisy counts is the label; a third class is taken to have no votes.

    With two classes one count has noise, and K/6 more than half of the votes; else two have, and K/3 lie
    between them.
    """
    votes = 6 * sigma if n_classes == 2 else 3 * math.sqrt(2) * sigma
    return ExpectedAnswers(sigma, answered, max(1, math.ceil(_QUARTILE * votes)))


@dataclass(frozen=True, eq=False)
class VoteAttack:
    """Two sequences of votes, a query a row, that differ in at most one vote a query."""

    name: str
    counts: IntArray  # on D, shape (m, C)
    neighbour: IntArray  # on D'

    def __post_init__(self) -> None:
        moved = self.neighbour - self.counts
        one_vote = not moved.sum(axis=1).any() and np.abs(moved).sum(axis=1).max() <= 2
        if not one_vote or min(self.counts.min(), self.neighbour.min()) < 0:
            raise ValueError(f"{self.name}: not neighbours")


Step: TypeAlias = tuple[int, int]
"""One query: votes for class 1, of K, on D and on D'."""


class Steps:
    """Queries to K teachers by their distance to instability."""

    def __init__(self, n_teachers: int) -> None:
        self._half = n_teachers // 2
        self._most = max_distance(n_teachers) - 1
        self.unanimous = (n_teachers, n_teachers - 1)
        self.critical = ((n_teachers + 1) // 2, (n_teachers + 1) // 2 - 1)  # the majority differs
        self.half_way = self.up(max_distance(n_teachers) / 2)

    def up(self, distance: float) -> Step:
        """At `distance` on D', and one vote further from instability on D."""
        d = min(max(0, math.floor(distance)), self._most)
        return self._half + d + 2, self._half + d + 1

    def down(self, distance: float) -> Step:
        """At `distance` on D, and one vote further from instability on D'."""
        d, further = self.up(distance)[::-1]
        return d, further

    def in_turn(self, distance: float, m: int) -> list[Step]:
        """`up` and `down` on every other of m queries."""
        return [(self.up, self.down)[j % 2](distance) for j in range(m)]


def attack(name: str, steps: Sequence[Step], n_teachers: int, n_classes: int) -> VoteAttack:
    """Votes of all teachers on a sequence of queries; on the first two of the classes."""
    sides = np.zeros((2, len(steps), n_classes), dtype=np.int64)
    sides[:, :, 1] = np.array(steps).T
    sides[:, :, 0] = n_teachers - sides[:, :, 1]
    return VoteAttack(name, sides[0], sides[1])


def on_counts(m: int, n_teachers: int, n_classes: int) -> list[VoteAttack]:
    """Worst-case votes for noisy counts that are calibrated for m queries."""
    steps = Steps(n_teachers)
    kinds = {
        "one vote more on every query": [steps.up(0)] * m,
        "one vote more, one less, in turn": steps.in_turn(0, m),
        "unanimous but for one vote": [steps.unanimous] * m,
        "every query critical": [steps.critical] * m,
        "twice the queries it was made for": [steps.up(0)] * (2 * m),
    }
    return [attack(name, each, n_teachers, n_classes) for name, each in kinds.items()]


def on_svt(c: SvtCalibration, n_teachers: int, n_classes: int) -> list[VoteAttack]:
    """Worst-case votes for the sparse vector technique; see `on_counts`."""
    m, w = c.ell, c.threshold
    steps, last = Steps(n_teachers), min(c.cutoff, m - 1)
    up, down, critical = steps.up, steps.down, steps.critical
    kinds = {
        "every query critical": [critical] * m,
        "low thresholds survive, then critical": [up(0.7 * w)] * (m - last) + [critical] * last,
    }
    for share, where in ((0.5, "half the threshold"), (1.0, "the threshold")):
        kinds[f"all at {where}, a vote more"] = [up(share * w)] * m
        kinds[f"at {where}, more and less in turn"] = steps.in_turn(share * w, m)
    for share in (1.0, 4.0):
        d = c.margin(min(0.5, share * c.cutoff / m))
        kinds[f"{share:g} T expected unstable, a vote more"] = [up(d)] * m
    # all of the first queries answered means that the threshold is low; then a vote less
    for below, which in ((0.0, "the"), (2.0, "a lower")):
        first = max(w, _pinning(c) - below * c.query_scale)
        pinned = [up(first)] * (m - last) + [down(w)] * last
        kinds[f"answers pin {which} threshold, then a vote less"] = pinned
    kinds["of everything"] = [(up(w), critical, down(w), up(_pinning(c)))[j % 4] for j in range(m)]
    return [attack(name, each, n_teachers, n_classes) for name, each in kinds.items()]


def teachers_for_svt(c: SvtCalibration) -> int:
    """Fewest teachers whose votes reach every distance of `on_svt`."""
    return 2 * (math.ceil(max(_pinning(c), c.margin(min(0.5, c.cutoff / c.ell)))) + 3)


def _pinning(c: SvtCalibration) -> float:
    """Distance at which about one of `ell` queries in `cutoff` falls below a threshold without noise."""
    return c.threshold + c.query_scale * math.log(max(c.ell / c.cutoff, 1.0))
