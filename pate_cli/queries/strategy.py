"""What every query strategy is: it picks public points to ask, seeing public points and answers only."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pate_cli.types import Answer, Answers, IntArray, PublicPoints

__all__ = ["Oracle", "Strategy"]


class Oracle(Protocol):
    """Who answers: all a strategy ever sees of the private side."""

    @property
    def exhausted(self) -> bool:
        """Whether no further question is taken."""

    def answer(self, index: int) -> Answer:
        """Answer about one public point, by its number."""

    def answer_all(self, order: IntArray) -> list[Answer]:
        """Answer about points in order until exhausted; may give fewer answers than asked."""


class Strategy(Protocol):
    """Which public points are asked, and in which order."""

    def ask(
        self,
        points: PublicPoints,
        order: IntArray,
        oracle: Oracle,
        rng: np.random.Generator,
        *,
        n_classes: int,
        budget: int,
    ) -> Answers:
        """Ask until done.

        Parameters
        ----------
        points : PublicPoints
            m points.
        order : ndarray of int64, shape (m,)
            Random: the stream of the points.
        oracle : Oracle
        rng : numpy.random.Generator
            The stream that `order` is from, for what else is drawn.
        n_classes : int
        budget : int
            Most questions of a strategy that picks (`split.budget`).
        """
