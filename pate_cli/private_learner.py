"""Private learners: from private records to a model, where no votes on single queries are in between.

The rooms `agnostic`, `references` and `aggregation` are full of them. Each room offers
`OPTIONS` (a mechanism's name, its options and their defaults) and
``plan(name, options, setting)``, which checks the options and calibrates. For `pate audit` a plan has
`attacks`, a list of `SampledAttack` (the room `references` has a function of that name instead).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from pate_cli.privacy.noise import Noise
from pate_cli.types import Answers, FloatArray, Holdout, Learnt, PrivacyLoss, PrivateRecords, PublicPoints

__all__ = ["LearnerPlan", "Sample", "SampledAttack", "no_answers"]

Sample: TypeAlias = Callable[[bool, np.random.Generator, int], FloatArray]
"""``sample(neighbour, rng, runs)``: outputs of independent runs on D, or on its neighbour D'."""


class SampledAttack(NamedTuple):
    """Two private sets that differ in one record, and what a learner releases on them.

    Attributes
    ----------
    name : str
    sample : callable
        ``sample(neighbour: bool, rng, runs)`` gives what `runs` independent runs release on D, or on
        D' if `neighbour`, coded as numbers: an array of shape (runs, k). k may depend on the plan alone.
    runs : int
        As many on each of the two as take some seconds.
    """

    name: str
    sample: Sample
    runs: int = 200_000


@runtime_checkable
class LearnerPlan(Protocol):
    """A private learner, calibrated: private records in, a model out.

    For learners that are not a mechanism on the votes of teachers. Every
    implementation states its guarantee on the class.
    """

    @property
    def guarantee(self) -> PrivacyLoss:
        """What the whole run is promised to cost."""

    @property
    def n_teachers(self) -> int:
        """Teachers it trains, 0 for none."""

    def describe(self) -> dict[str, Any]:
        """Its public numbers, for people and for `result.json`."""

    def learn(
        self, private: PrivateRecords, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Learnt:
        """Learn; all randomness that privacy rests on comes from `noise`, the rest from `rng`."""

    def measure(self, model: Any, test: Holdout) -> dict[str, float]:
        """Figures of its own for `diagnostics`: NOT differentially private. May be empty."""


def no_answers() -> Answers:
    """Answers of a learner that asked nothing."""
    empty = np.array([], dtype=np.int64)
    return Answers(empty, empty)
