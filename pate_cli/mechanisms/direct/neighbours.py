"""Worst-case neighbours of the references, for an audit: two private sets that differ in one record.

The sets hold few records; the others are records of zeros, which have no gradient, so n and with it
the noise stay as they are. Records are given as the learner sees them, scaled; what is run is
the learner's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np

from pate_cli.mechanisms.base import Sample, SampledAttack
from pate_cli.privacy.door import Door
from pate_cli.types import FloatArray, IntArray

__all__ = ["against_many", "attacks_on"]

Learn: TypeAlias = Callable[[FloatArray, IntArray, Door, int], FloatArray]
"""``learn(Z, y, noise, runs)``: weights of independent runs on scaled records, shape (runs, ...)."""

_Sets: TypeAlias = tuple[FloatArray, FloatArray, IntArray]
"""Records of D and of D', shape (rows, d), and their labels."""


def attacks_on(learn: Learn, runs: int, further: Mapping[str, _Sets] | None = None) -> list[SampledAttack]:
    """Make the worst-case pairs for a learner of linear models.

    Parameters
    ----------
    learn : callable
    runs : int
        Of each side, as many as take some seconds.
    further : mapping of str to pair, optional
        Pairs of this learner's own.
    """
    ones = np.ones(1, dtype=np.int64)
    pairs: dict[str, _Sets] = {
        "a record and its mirror image": (np.array([[4.0]]), np.array([[-4.0]]), ones),
        "the same, far out of bounds": (np.array([[1e6]]), np.array([[-1e6]]), ones),
        "a record against nothing": (np.array([[4.0]]), np.array([[0.0]]), ones),
        **(further or {}),
    }
    return [SampledAttack(name, _sample(learn, sets), runs) for name, sets in pairs.items()]


def _sample(learn: Learn, sets: _Sets) -> Sample:
    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        door = Door.seeded(int(rng.integers(2**63)))
        records = sets[1] if neighbour else sets[0]
        return learn(records, sets[2], door, runs).reshape(runs, -1)

    return sample


class _Regularised(Protocol):
    """A plan with as many records and as much regularisation."""

    @property
    def n(self) -> int:
        """Private records."""

    @property
    def regularisation(self) -> float:
        """Weight of half the squared norm."""


def against_many(plan: _Regularised, record: tuple[float, float], other: tuple[float, float]) -> _Sets:
    """A record, or another in its place, among many short ones that pull the weights along one axis.

    Far along it a record's loss is steep if its margin is negative. Two such records that nearly point away
    from each other across that axis, where nothing but the regularisation holds the weights, make the
    minimiser move by almost all of the sensitivity.
    """
    reach, short = 8.0, 0.3
    pull = short / (1 + math.exp(short * reach))
    many = min(plan.n - 1, math.ceil(plan.n * plan.regularisation * reach / pull))
    rest = np.tile([short, 0.0], (many, 1))
    sides = [np.vstack([[one], rest]) for one in (record, other)]
    return sides[0], sides[1], np.ones(many + 1, dtype=np.int64)
