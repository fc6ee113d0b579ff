"""Labels without privacy: the papers' "-NP" rows (eps = inf)."""

from __future__ import annotations

import math

from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms.votes import majority
from pate_cli.types import Answer, PrivacyLoss, Votes

__all__ = ["NoPrivacyService"]


class NoPrivacyService:
    """The exact majority of the votes. **Guarantee: none** (eps = inf).

    Parameters
    ----------
    ell : int
        Most queries taken.
    """

    def __init__(self, ell: int) -> None:
        self._ell = ell
        self._asked = 0

    @property
    def exhausted(self) -> bool:
        """Whether `ell` queries have been answered."""
        return self._asked >= self._ell

    def answer(self, votes: Votes) -> Answer:
        """Answer one query; see `LabellingService`."""
        if self.exhausted:
            raise BudgetSpent(f"all {self._ell} queries have been answered")
        return self.answer_all(votes)[0]

    def answer_all(self, votes: Votes) -> list[Answer]:
        """Answer queries in order until `ell` are answered; see `LabellingService`."""
        counts = votes.counts[: self._ell - self._asked]
        self._asked += len(counts)
        return [Answer(int(label)) for label in majority(counts)]

    def spent(self) -> PrivacyLoss:
        """Nothing is guaranteed."""
        return PrivacyLoss(math.inf, 0.0, "no noise")

    def odometer(self) -> PrivacyLoss:
        """Nothing is guaranteed."""
        return self.spent()
