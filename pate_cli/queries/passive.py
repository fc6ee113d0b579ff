"""Passive queries: every public point once, in a random order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pate_cli.queries.strategy import Oracle
from pate_cli.types import Answer, Answers, IntArray, PublicPoints

__all__ = ["Passive", "collect", "passive_order"]


def passive_order(n_points: int, rng: np.random.Generator) -> IntArray:
    """Order in which all public points are asked.

    Parameters
    ----------
    n_points : int
        m.
    rng : numpy.random.Generator
        Stream of the query order; it never touches the votes.

    Returns
    -------
    ndarray of int64, shape (m,)
    """
    return rng.permutation(n_points)


def collect(asked: Sequence[int] | IntArray, answers: Sequence[Answer]) -> Answers:
    """Put single answers together; `asked` may run on past the last answer given."""
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
    ) -> Answers:
        """Ask; see `Strategy`."""
        return collect(order, oracle.answer_all(order))
