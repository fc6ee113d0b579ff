"""Query strategies: they see public points and released answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pate_cli.types import Answer, Answers, Ask, IntArray, PublicPoints

__all__ = ["Learner", "Oracle", "Passive", "Strategy", "ask_actively", "collect", "passive_order"]


class Oracle(Protocol):
    """The mechanism, as a strategy sees it."""

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
    ) -> tuple[Answers, Any]:
        """Ask until done; with a model, where the strategy learns one of its own and not the student.

        Parameters
        ----------
        points : PublicPoints
            m points.
        order : ndarray of int64, shape (m,)
            Random: the stream of the points.
        oracle : Oracle
        rng : Generator
            Whatever else is drawn.
        n_classes : int
        budget : int
            Most questions of a strategy that picks (`split.budget`).
        """


class Learner(Protocol):
    """Active learner: holds public points, and labels already released."""

    def next_wanted(self, stream: IntArray) -> int | None:
        """Place in `stream`, the points that are left, of the next one to ask; None for none."""

    def learn(self, index: int, label: int) -> None:
        """Take in a label that was released."""


def passive_order(n_points: int, rng: np.random.Generator) -> IntArray:
    """Random order in which all public points are asked, shape (m,)."""
    return rng.permutation(n_points)


def collect(asked: Sequence[int] | IntArray, answers: Sequence[Answer]) -> Answers:
    """Put answers together; `asked` may run on past the last of them."""
    labels = np.array([answer.label for answer in answers], dtype=np.int64)
    rows = [answer.noisy_counts for answer in answers if answer.noisy_counts is not None]
    noisy = np.vstack(rows) if rows and len(rows) == len(answers) else None
    return Answers(np.asarray(asked[: len(answers)], dtype=np.int64), labels, noisy)


@dataclass(frozen=True)
class Passive:
    """Ask about every point, in the order given (LZCW21's PSQ)."""

    def ask(
        self,
        points: PublicPoints,
        order: IntArray,
        oracle: Oracle,
        rng: np.random.Generator,
        *,
        n_classes: int,
        budget: int,
    ) -> tuple[Answers, Any]:
        """Ask; see `Strategy`."""
        return collect(order, oracle.answer_all(order)), None


def ask_actively(
    learner: Learner,
    order: IntArray,
    ask: Ask,
    budget: int,
    spent: Callable[[], bool],
    fill: np.random.Generator | None = None,
) -> Answers:
    """Run the stream until the budget, the points or the mechanism are spent (LZCW21 Algorithm 5).

    `budget` is what the mechanism was calibrated for, and `spent` says whether it takes no more. What the
    learner leaves of the budget is asked of random points that `fill` draws, if given: it costs nothing of
    the guarantee, which holds for `budget` adaptive queries. `n_chosen` of the answers says where the learner
    stopped, if it did.
    """
    asked, answers = list[int](), list[Answer]()
    stream, n_chosen = order, None

    def put(index: int) -> Answer:
        asked.append(index)
        answers.append(ask(index))
        return answers[-1]

    while len(asked) < budget and not spent():
        place = learner.next_wanted(stream)
        if place is None:
            n_chosen = len(asked)
            break
        index, stream = int(stream[place]), stream[place + 1 :]
        answer = put(index)
        if answer.answered:
            learner.learn(index, answer.label)
    if fill is not None and n_chosen is not None:
        passed_over = order[~np.isin(order, asked)]
        for index in fill.permutation(passed_over)[: budget - len(asked)].tolist():
            if spent():
                break
            put(index)
    return replace(collect(asked, answers), n_chosen=n_chosen)
