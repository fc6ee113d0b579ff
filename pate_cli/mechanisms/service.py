"""What all mechanisms on votes share: many runs side by side, of which a pipeline's service is one."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from pate_cli.errors import BudgetSpent
from pate_cli.types import Answer, PrivacyLoss, ReleasedLabels, Votes

__all__ = ["VoteService"]


class VoteService(ABC):
    """A mechanism on votes at work, in one run or in several that are independent and asked the same.

    A subclass draws noise, checks and decides in `ask` alone, for all runs. A pipeline's service is the case
    of one run: `answer` and `answer_all` read its answers off `ask`, so an audit, which asks many runs at
    once, attacks the code that runs. In one run, blocks of queries of any length give the same numbers at
    equal noise.
    """

    runs: int

    @abstractmethod
    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries to every run, in order.

        Parameters
        ----------
        votes : Votes
            Of m queries. PRIVATE.

        Returns
        -------
        ReleasedLabels
            Of the m queries, or of the first of them where no run takes the others.
        """

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether no run takes a further query."""

    @property
    @abstractmethod
    def state(self) -> str:
        """What was asked and answered so far, in a few words. PUBLIC."""

    @abstractmethod
    def spent(self) -> PrivacyLoss:
        """Loss after the fact, of the first run: a report."""

    def not_private(self) -> dict[str, float]:
        """Figures for experiments, computed from votes: NOT differentially private."""
        return {}

    def answer(self, votes: Votes) -> Answer:
        """Answer one query, in one run (`votes.n_queries == 1`); raises BudgetSpent if none is taken."""
        if self.exhausted:
            raise BudgetSpent(self.state)
        return self.answer_all(votes)[0]

    def answer_all(self, votes: Votes) -> list[Answer]:
        """Answer queries in order until done or exhausted, in one run; may be fewer than asked."""
        if self.runs != 1:
            raise ValueError(f"answers are of one run, and there are {self.runs}")
        released = self.ask(votes)
        taken = int(np.count_nonzero(released.reached[:, 0]))
        labels = released.labels[:taken, 0].tolist()
        if released.noisy_counts is None:
            return [Answer(label) for label in labels]
        noisy = released.noisy_counts[:taken, 0]
        return [Answer(label, row) for label, row in zip(labels, noisy, strict=True)]
