"""Worst-case neighbours of the references, for an audit: two private sets that differ in one record.

The sets hold few records; the others are records of zeros, which have no gradient, so the plan's n and
with it its noise stay as they are. Records are given as the learner sees them, scaled; what is run is
the learner's own code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from pate_cli.mechanisms.baselines.noisy_gd import NoisyGradientPlan, descend
from pate_cli.mechanisms.baselines.perturbation import ObjectivePlan, OutputPlan
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import FloatArray, IntArray

__all__ = ["Sample", "attacks"]

Sample: TypeAlias = Callable[[bool, np.random.Generator, int], FloatArray]
"""``sample(neighbour, rng, runs)``: outputs of independent runs, shape (runs, k), on D or its neighbour."""

_Sets: TypeAlias = tuple[FloatArray, FloatArray, IntArray]
"""Records of D and of D', shape (rows, d), and their labels."""


def attacks(plan: Any) -> list[tuple[str, Sample]]:
    """Worst-case pairs for a plan of this room.

    Parameters
    ----------
    plan : NoisyGradientPlan, OutputPlan or ObjectivePlan

    Returns
    -------
    list of (name, sample)
    """
    ones = np.ones(1, dtype=np.int64)
    mirrored = np.array([[4.0]]), np.array([[-4.0]]), ones
    far = np.array([[1e6]]), np.array([[-1e6]]), ones
    pairs: dict[str, _Sets] = {
        "a record and its mirror image": mirrored,
        "the same, far out of bounds": far,
        "a record against nothing": (np.array([[4.0]]), np.array([[0.0]]), ones),
    }
    if isinstance(plan, OutputPlan):
        pairs["steep losses, across the pull of the rest"] = _against_many(plan, (-0.4, 0.9), (-0.4, -0.9))
        pairs["far out of bounds, against the pull of the rest"] = _against_many(
            plan, (-1e6, 0.0), (0.0, 0.0)
        )
    return [(name, _sample(plan, sets)) for name, sets in pairs.items()]


def _sample(plan: NoisyGradientPlan | OutputPlan | ObjectivePlan, sets: _Sets) -> Sample:
    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
        Z, y = sets[int(neighbour)], sets[2]
        if isinstance(plan, NoisyGradientPlan):
            return descend(plan, Z, y, noise, runs).reshape(runs, -1)
        return plan.weights(Z, y, noise, runs).reshape(runs, -1)

    return sample


def _against_many(plan: OutputPlan, record: tuple[float, float], other: tuple[float, float]) -> _Sets:
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
