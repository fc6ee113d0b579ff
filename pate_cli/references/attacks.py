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

from pate_cli.privacy.noise import SeededNoise
from pate_cli.references.noisy_gd import NoisyGradientPlan, descend
from pate_cli.references.perturbation import ObjectivePlan, OutputPlan
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
        pairs["steep losses, at right angles to the rest"] = _steep(plan)
    return [(name, _sample(plan, sets)) for name, sets in pairs.items()]


def _sample(plan: NoisyGradientPlan | OutputPlan | ObjectivePlan, sets: _Sets) -> Sample:
    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
        Z, y = sets[int(neighbour)], sets[2]
        if isinstance(plan, NoisyGradientPlan):
            return descend(plan, Z, y, noise, runs).reshape(runs, -1)
        return plan.weights(Z, y, noise, runs).reshape(runs, -1)

    return sample


def _steep(plan: OutputPlan) -> _Sets:
    """Many short records pull the weights along one axis, where one record's loss is steep.

    The two it may be have gradients that nearly point away from each other, across that axis, where
    nothing but the regularisation holds the weights: the minimiser moves by almost all of the sensitivity.
    """
    reach, short = 8.0, 0.3
    pull = short / (1 + math.exp(short * reach))
    others = min(plan.n - 1, math.ceil(plan.n * plan.regularisation * reach / pull))
    along, across = -0.4, math.sqrt(1 - 0.4**2)
    rest = np.tile([short, 0.0], (others, 1))
    sides = [np.vstack([[along, sign * across], rest]) for sign in (1, -1)]
    return sides[0], sides[1], np.ones(others + 1, dtype=np.int64)
