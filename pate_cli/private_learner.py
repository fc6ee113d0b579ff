"""Private learners: from private records to a model, where no votes on single queries are in between.

The rooms `agnostic`, `references` and `aggregation` are full of them. Each room offers
`OPTIONS` (a mechanism's name, its options and their defaults) and
``plan(name, options, setting)``, which checks the options and calibrates.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from pate_cli.privacy.noise import Noise
from pate_cli.types import Answers, Holdout, Learnt, PrivacyLoss, PrivateRecords, PublicPoints

__all__ = ["LearnerPlan", "no_answers"]


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
