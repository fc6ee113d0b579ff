"""Worst-case neighbours of `PublicKernelPlan`, for an audit of the very code that learns.

The public set is three points on a line, so the model is a few numbers, and few runs tell what they say. The
private sets hold few records, of any size; the plan's n and with it its steps stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from pate_cli.mechanisms.baselines.public_kernel import PublicKernelPlan
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import FloatArray, PrivateRecords, PublicPoints

__all__ = ["PUBLIC", "Sample", "attacks", "attacks_on_persons"]

Sample: TypeAlias = Callable[[bool, np.random.Generator, int], FloatArray]
"""``sample(neighbour, rng, runs)``: outputs of independent runs, shape (runs, k), on D or its neighbour."""

_Side: TypeAlias = list[tuple[float, int]]
"""Records of one side that the other has not: where on the line, and of which class."""

PUBLIC = PublicPoints(np.array([[-1.0], [0.0], [1.0]]))
"""The public set of all pairs."""

_FAR = 1e300
_CROWD = 8  # records that pull theta to where the residual of another class is saturated
_MANY = 30  # records of a person that has many


def attacks(plan: PublicKernelPlan) -> list[tuple[str, Sample]]:
    """Worst-case pairs: a label changed, and records in and out of bounds, alone and against a crowd.

    Returns
    -------
    list of (name, sample)
        ``sample(neighbour, rng, runs)`` gives theta of `runs` independent runs, shape (runs, p q).
    """
    pairs: dict[str, tuple[_Side, _Side]] = {
        "one label against another": ([(1.0, 1)], [(1.0, 0)]),
        "the same, far out of bounds": ([(_FAR, 1)], [(_FAR, 0)]),
        "a record and its mirror image, far out of bounds": ([(_FAR, 1)], [(-_FAR, 1)]),
        "a record far out of bounds against one in the middle": ([(_FAR, 1)], [(0.0, 1)]),
    }
    found = {name: _sample(plan, *pair, crowd=np.zeros(0)) for name, pair in pairs.items()}
    crowd = np.linspace(-1.0, 1.0, min(_CROWD, plan.n - 1))
    for name in list(pairs)[1:4:2]:
        found[f"{name}, among records of one class"] = _sample(plan, *pairs[name], crowd=crowd)
    # 3 records at one end and 6 at the other: most pairs are close, or far, by where one more is
    balance = np.concatenate([-1 + 1e-3 * np.arange(3), 1 - 1e-3 * np.arange(6)])[: plan.n - 1]
    found["a record that moves the median distance"] = _sample(plan, [(-1.01, 1)], [(1.01, 1)], crowd=balance)
    return list(found.items())


def attacks_on_persons(plan: PublicKernelPlan) -> list[tuple[str, Sample]]:
    """Worst-case pairs in which all records of one person are others, as many or not; see `attacks`."""
    spread = np.linspace(-2.0, 2.0, _MANY).tolist()
    pairs: dict[str, tuple[_Side, _Side]] = {
        "all labels of a person against others": ([(x, 1) for x in spread], [(x, 0) for x in spread]),
        "the same, at one place": ([(1.0, 1)] * _MANY, [(1.0, 0)] * _MANY),
        "many records far out of bounds, and their mirror images": (
            [(_FAR, 1)] * _MANY,
            [(-_FAR, 1)] * _MANY,
        ),
        "many records against one": ([(1.0, 1)] * _MANY, [(1.0, 0)]),
        "records that cancel against ones that add up": ([(1.0, 1), (1.0, 0)] * 3, [(1.0, 1)] * 6),
    }
    found = {name: _sample(plan, *pair, crowd=np.zeros(0), persons=True) for name, pair in pairs.items()}
    crowd = np.linspace(-1.0, 1.0, min(_CROWD, plan.n - 1))
    name = next(iter(pairs))
    found[f"{name}, among others"] = _sample(plan, *pairs[name], crowd=crowd, persons=True)
    return list(found.items())


def _sample(
    plan: PublicKernelPlan, records: _Side, others: _Side, *, crowd: FloatArray, persons: bool = False
) -> Sample:
    def sample(neighbour: bool, rng: np.random.Generator, runs: int) -> FloatArray:
        noise = SeededNoise(np.random.SeedSequence(int(rng.integers(2**63))))
        side = others if neighbour else records
        X = np.concatenate([[x for x, _ in side], crowd])[:, None]
        labels = np.concatenate([[y for _, y in side], np.ones(len(crowd))]).astype(np.int64)
        units = np.concatenate([np.zeros(len(side)), 1 + np.arange(len(crowd))]).astype(np.int64)
        private = PrivateRecords(X, labels, units if persons else None)
        # what is public is the same in every run, and on D and D'
        learned = plan.fit(private, PUBLIC, noise, np.random.default_rng(0), runs)
        if len(learned.features) == 1:
            return learned.weights[0].reshape(runs, -1)
        # more than a release tells: which was chosen, and all that either was told
        parts = [part.reshape(runs, -1) for part in (*learned.weights, *learned.sums)]
        return np.hstack([*parts, learned.chosen[:, None]])

    return sample
