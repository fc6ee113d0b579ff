"""One run of a mechanism on votes, or several side by side: a session, and the oracle that asks it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from pate_cli.errors import BudgetSpent
from pate_cli.types import Answer, ReleasedLabels, Votes

__all__ = ["Session", "VoteOracle"]


class Session(ABC):
    """State of a mechanism on votes, in independent runs side by side that are asked the same.

    A subclass draws noise and decides in `ask` alone, for all runs. A pipeline has one run, whose answers
    `answer` and `answer_all` read off `ask`; an audit has many, and so attacks the code that runs. Blocks of
    queries of any length have the same answers at equal noise.
    """

    runs: int

    @abstractmethod
    def ask(self, votes: Votes) -> ReleasedLabels:
        """Put queries (PRIVATE) to every run, in order; the last are left out where no run takes them."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether no run takes a further query."""

    def not_private(self) -> dict[str, float]:
        """Figures for experiments, computed from votes: NOT differentially private."""
        return {}

    def answer(self, votes: Votes) -> Answer:
        """Answer one query, in one run (`votes.n_queries == 1`); raises BudgetSpent if none is taken."""
        if self.exhausted:
            raise BudgetSpent("no further query is taken")
        return self.answer_all(votes)[0]

    def answer_all(self, votes: Votes) -> list[Answer]:
        """Answer queries in order until done or exhausted, in one run; may be fewer than asked."""
        if self.runs != 1:
            raise ValueError(f"answers are of one run, and there are {self.runs}")
        released = self.ask(votes)
        taken = int(np.count_nonzero(released.reached[:, 0]))
        labels = released.labels[:taken, 0].tolist()
        noisy = [None] * taken if released.noisy_counts is None else released.noisy_counts[:taken, 0]
        return [Answer(label, row) for label, row in zip(labels, noisy, strict=True)]


class VoteOracle:
    """A session on the votes of the public points, asked by number."""

    def __init__(self, session: Session, votes: Votes) -> None:
        self._session = session
        self._votes = votes

    @property
    def exhausted(self) -> bool:
        """Whether no further question is taken."""
        return self._session.exhausted

    def answer(self, index: int) -> Answer:
        """Answer about one point."""
        return self._session.answer(self._votes.at(index))

    def answer_all(self, order: Any) -> list[Answer]:
        """Answer about points in order until exhausted."""
        return self._session.answer_all(self._votes.at(order))
