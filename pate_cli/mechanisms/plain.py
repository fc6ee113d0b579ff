"""Labels without privacy: the papers' "-NP" rows (eps = inf)."""

from __future__ import annotations

import math

import numpy as np

from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.votes import majority
from pate_cli.types import PrivacyLoss, Released, Votes

__all__ = ["NoPrivacyService"]


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

    def ask(self, votes: Votes) -> Released:
        """Answer with exact majorities, the same in every run; see `VoteService`."""
        counts = votes.counts[: self._ell - self._asked]
        self._asked += len(counts)
        labels = majority(counts)[:, None]
        return Released(labels, None, np.ones(labels.shape, dtype=bool))

    def spent(self) -> PrivacyLoss:
        """Nothing is guaranteed."""
        return PrivacyLoss(math.inf, 0.0, "no noise")

    def odometer(self) -> PrivacyLoss:
        """Nothing is guaranteed."""
        return self.spent()
