"""Query strategies: they see public points and released answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pate_cli.types import Answer, Answers, IntArray, PublicPoints

__all__ = ["Learner", "Oracle", "Passive", "Strategy", "Stream", "ask_actively", "collect", "passive_order"]


class Oracle(Protocol):
    """The mechanism, as a strategy sees it."""

    @property
    def exhausted(self) -> bool:
        """Whether no further question is taken."""

    def answer(self, index: int) -> Answer:
        """Answer about one public point, by its number."""

    def answer_all(self, order: IntArray) -> list[Answer]:
        """Answer about points in order until exhausted; may give fewer answers than asked."""


@dataclass(frozen=True)
class Stream:
    """Public points in random order, to query."""

    points: PublicPoints
    order: IntArray  # indices of all m points
    n_classes: int
    budget: int  # most queries of a strategy that picks points (`split.budget`)


class Strategy(Protocol):
    """Choice and order of the public points that are queried."""

    def ask(self, stream: Stream, oracle: Oracle, rng: np.random.Generator) -> tuple[Answers, Any]:
        """Query points of the stream; `rng` is for any further draws.

        The second value is a model, where the strategy itself learns one in place of the student.
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

    def ask(self, stream: Stream, oracle: Oracle, rng: np.random.Generator) -> tuple[Answers, Any]:
        """Ask; see `Strategy`."""
        return collect(stream.order, oracle.answer_all(stream.order)), None


def ask_actively(
    learner: Learner, order: IntArray, oracle: Oracle, budget: int, fill: np.random.Generator | None = None
) -> Answers:
    """Run the stream until the budget, the points or the mechanism are spent (LZCW21 Algorithm 5).

    `budget` is the number of queries the mechanism was calibrated for. Those that the learner does not use
    are spent on random points, drawn by `fill` if given: the guarantee holds for `budget` adaptive queries
    anyway. `n_chosen` of the answers is where the learner stopped, if it did.
    """
    asked, answers = list[int](), list[Answer]()
    stream, n_chosen = order, None
    while len(asked) < budget and not oracle.exhausted:
        place = learner.next_wanted(stream)
        if place is None:
            n_chosen = len(asked)
            break
        asked.append(int(stream[place]))
        answers.append(oracle.answer(asked[-1]))
        stream = stream[place + 1 :]
        if answers[-1].answered:
            learner.learn(asked[-1], answers[-1].label)
    if fill is not None and n_chosen is not None:
        passed_over = order[~np.isin(order, asked)]
        for index in fill.permutation(passed_over)[: budget - len(asked)].tolist():
            if oracle.exhausted:
                break
            asked.append(index)
            answers.append(oracle.answer(index))
    return replace(collect(asked, answers), n_chosen=n_chosen)
