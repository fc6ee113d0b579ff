"""Labels without privacy: the papers' "-NP" rows (eps = inf)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.protocol import LabellingPlan, NumbersTable
from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.votes import majority
from pate_cli.privacy.door import Door
from pate_cli.types import PrivacyLoss, ReleasedLabels, Votes

__all__ = ["NoPrivacyPlan", "NoPrivacyService"]


class NoPrivacyService(VoteService):
    """The exact majority of the votes. **Guarantee: none** (eps = inf).

    Parameters
    ----------
    ell : int
        Most queries taken.
    """

    def __init__(self, ell: int) -> None:
        self._ell = ell
        self._asked = 0
        self.runs = 1

    @property
    def exhausted(self) -> bool:
        """Whether `ell` queries have been answered."""
        return self._asked >= self._ell

    @property
    def state(self) -> str:
        """How many queries have been answered."""
        return f"{self._asked} of {self._ell} queries have been answered"

    def ask(self, votes: Votes) -> ReleasedLabels:
        """Answer with exact majorities, the same in every run; see `VoteService`."""
        counts = votes.counts[: self._ell - self._asked]
        self._asked += len(counts)
        labels = majority(counts)[:, None]
        return ReleasedLabels(labels, None, np.ones(labels.shape, dtype=bool))

    def spent(self) -> PrivacyLoss:
        """Nothing is guaranteed."""
        return PrivacyLoss(math.inf, 0.0, "no noise")


@dataclass(frozen=True)
class NoPrivacyPlan:
    """No noise at all; eps = inf."""

    ell: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """None."""
        return PrivacyLoss(math.inf, 0.0, "no noise")

    def service(self, door: Door, runs: int = 1) -> VoteService:
        """Give exact majorities; the noise is not used, and all runs are the same."""
        return NoPrivacyService(self.ell)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {"ell": self.ell, "sigma": 0.0}

    def numbers_table(self, n_teachers: int, n_classes: int) -> NumbersTable:
        """Say that there is no noise."""
        return NumbersTable(
            "No noise", ("", "value", "unit"), [("queries, at most (ell)", self.ell, "queries")]
        )

    def unanswered(self, n_teachers: int) -> None:
        """Say nothing: all queries are answered."""

    def attacks(self, n_teachers: int, n_classes: int) -> list[VoteAttack]:
        """Make none: without noise nothing is claimed."""
        return []

    @property
    def teachers_to_attack(self) -> int:
        """None."""
        return 0

    def with_integer_noise(self, *, n_classes: int, n_teachers: int) -> LabellingPlan:
        """Refuse: without noise there is no release."""
        raise ConfigError("eps", math.inf, "a finite number with release=true")
