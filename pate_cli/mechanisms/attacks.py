"""Worst-case votes for an audit: sequences of queries on which one vote shows most."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy.svt import SvtCalibration
from pate_cli.types import IntArray

__all__ = ["FEWEST_TEACHERS", "VoteAttack", "on_gaussian", "on_svt", "teachers_for_svt"]


@dataclass(frozen=True, eq=False)
class VoteAttack:
    """Two sequences of votes that differ in at most one vote a query.

    Attributes
    ----------
    name : str
    counts, neighbour : ndarray of int64, shape (m, C)
        Votes on D and on D', a query a row.
    """

    name: str
    counts: IntArray
    neighbour: IntArray

    def __post_init__(self) -> None:
        moved = self.neighbour - self.counts
        one_vote = not moved.sum(axis=1).any() and np.abs(moved).sum(axis=1).max() <= 2
        if not one_vote or min(self.counts.min(), self.neighbour.min()) < 0:
            raise ValueError(f"{self.name}: not neighbours")


FEWEST_TEACHERS = 4
"""So many can vote all that an attack on noisy counts wants."""


def on_gaussian(ell: int, n_teachers: int, n_classes: int, threshold: int | None = None) -> list[VoteAttack]:
    """Worst-case sequences of votes for noisy counts.

    Parameters
    ----------
    ell : int
        Queries the noise is calibrated for.
    n_teachers : int
        K, at least 4.
    n_classes : int
        C, at least 2; the votes are on the first two.
    threshold : int, optional
        Of a check of the largest count: the fewest votes that pass it without noise.
    """
    made = _gaussian(ell, _Builder(n_teachers))
    if threshold is not None:
        made = itertools.chain(made, _checks(ell, threshold, n_teachers))
    return _made(made, n_teachers, n_classes)


def on_svt(calibration: SvtCalibration, n_teachers: int, n_classes: int) -> list[VoteAttack]:
    """Worst-case sequences of votes for the sparse vector technique; see `on_gaussian`."""
    return _made(_svt(calibration, _Builder(n_teachers)), n_teachers, n_classes)


def teachers_for_svt(c: SvtCalibration) -> int:
    """Fewest teachers whose votes reach every distance the attacks want."""
    return 2 * (math.ceil(max(_pinning(c), c.margin(min(0.5, c.cutoff / c.ell)))) + 3)


def _made(steps: Iterable[tuple[str, list[Step]]], n_teachers: int, n_classes: int) -> list[VoteAttack]:
    return [VoteAttack(name, *_votes(each, n_teachers, n_classes)) for name, each in steps]


Step: TypeAlias = tuple[int, int]
"""One query: votes for class 1, of K, on D and on D'."""


class _Builder:
    """Queries by their distance to instability, of K teachers."""

    def __init__(self, n_teachers: int) -> None:
        self._half = n_teachers // 2
        self._most = max_distance(n_teachers) - 1
        self.unanimous = (n_teachers, n_teachers - 1)
        self.critical = ((n_teachers + 1) // 2, (n_teachers + 1) // 2 - 1)  # the majority differs

    def up(self, distance: float) -> Step:
        """At `distance` on D', and one vote further from instability on D."""
        d = min(max(0, math.floor(distance)), self._most)
        return self._half + d + 2, self._half + d + 1

    def down(self, distance: float) -> Step:
        """At `distance` on D, and one vote further from instability on D'."""
        d, further = self.up(distance)[::-1]
        return d, further


def _votes(steps: Sequence[Step], n_teachers: int, n_classes: int) -> tuple[IntArray, IntArray]:
    sides = np.zeros((2, len(steps), n_classes), dtype=np.int64)
    sides[:, :, 1] = np.array(steps).T
    sides[:, :, 0] = n_teachers - sides[:, :, 1]
    return sides[0], sides[1]


def _gaussian(m: int, build: _Builder) -> Iterator[tuple[str, list[Step]]]:
    up, down = build.up(0), build.down(0)
    yield "one vote more on every query", [up] * m
    yield "one vote more, one less, in turn", [(up, down)[j % 2] for j in range(m)]
    yield "unanimous but for one vote", [build.unanimous] * m
    yield "every query critical", [build.critical] * m
    yield "twice the queries it was made for", [up] * (2 * m)


def _checks(m: int, threshold: int, n_teachers: int) -> Iterator[tuple[str, list[Step]]]:
    """The largest count on either side of the threshold of a check, so that without noise one vote tells."""
    at = min(max(threshold, n_teachers // 2 + 2), n_teachers)
    yield "at the threshold of the check, a vote more", [(at, at - 1)] * m


def _svt(c: SvtCalibration, build: _Builder) -> Iterator[tuple[str, list[Step]]]:
    m, cutoff, w = c.ell, c.cutoff, c.threshold
    up, down, critical = build.up, build.down, build.critical
    last = min(cutoff, m - 1)
    yield "every query critical", [critical] * m
    yield "low thresholds survive, then critical", [up(0.7 * w)] * (m - last) + [critical] * last
    for share, where in ((0.5, "half the threshold"), (1.0, "the threshold")):
        yield f"all at {where}, a vote more", [up(share * w)] * m
        yield f"at {where}, more and less in turn", [(up, down)[j % 2](share * w) for j in range(m)]
    for share in (1.0, 4.0):
        d = c.margin(min(0.5, share * cutoff / m))
        yield f"{share:g} T expected unstable, a vote more", [up(d)] * m
    # all of the first queries answered means that the threshold is low; then a vote less
    for below, which in ((0.0, "the"), (2.0, "a lower")):
        first = max(w, _pinning(c) - below * c.query_scale)
        yield f"answers pin {which} threshold, then a vote less", [up(first)] * (m - last) + [down(w)] * last
    yield "of everything", [(up(w), critical, down(w), up(_pinning(c)))[j % 4] for j in range(m)]


def _pinning(c: SvtCalibration) -> float:
    """Distance at which about one of `ell` queries in `cutoff` falls below a threshold without noise."""
    return c.threshold + c.query_scale * math.log(max(c.ell / c.cutoff, 1.0))
