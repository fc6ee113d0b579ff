"""Confident-first queries: what the student is already sure of is asked first.

An experiment on LZCW21's open question of active queries for the sparse vector technique. There,
stable answers cost nothing more, and only unstable ones bring the end nearer: so the points
to ask first are not those where hypotheses disagree, but those where teachers are likely to agree.
Where the student of the labels released so far is confident, they more likely do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.learners import make_learner
from pate_cli.queries.passive import collect
from pate_cli.queries.strategy import Oracle
from pate_cli.types import UNANSWERED, Answer, Answers, Ask, FloatArray, IntArray, PublicPoints

__all__ = ["ConfidentFirst", "ask_confident_first"]


@dataclass(frozen=True)
class ConfidentFirst:
    """Ask about all points, those a logistic student is surest of first."""

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

        def student() -> Any:
            return make_learner("logistic", {}, seed=None, n_classes=n_classes)

        return ask_confident_first(points, order, oracle.answer, lambda: oracle.exhausted, student)


def ask_confident_first(
    points: PublicPoints,
    order: IntArray,
    ask: Ask,
    spent: Callable[[], bool],
    make_student: Callable[[], Any],
    *,
    rounds: int = 10,
) -> Answers:
    """Ask points in rounds, those the current student is surest of first.

    Post-processing of answers alone: the guarantee is the mechanism's, for adaptive queries.

    Parameters
    ----------
    points : PublicPoints
        m points.
    order : ndarray of int64, shape (m,)
        Random; it gives the first round, and breaks ties.
    ask : callable
        Asks the labelling service for one point.
    spent : callable
        Whether the service takes no more.
    make_student : callable
        Gives a fresh scikit-learn classifier with `decision_function`.
    rounds : int
        The student is fitted anew before each but the first; at least 1.

    Returns
    -------
    Answers
        In the order asked.
    """
    left, asked, answers = order.copy(), list[int](), list[Answer]()
    for now in np.array_split(np.arange(len(order)), rounds):
        labels = np.array([answer.label for answer in answers], dtype=np.int64)
        answered = labels != UNANSWERED
        if len(np.unique(labels[answered])) > 1:
            student = make_student().fit(points.X[np.array(asked)[answered]], labels[answered])
            surest = np.argsort(-_confidence(student, points.X[left]), kind="stable")
            left = left[surest]
        batch, left = left[: len(now)], left[len(now) :]
        for index in batch.tolist():
            if spent():
                return collect(asked, answers)
            answers.append(ask(index))
            asked.append(index)
    return collect(asked, answers)


def _confidence(student: Any, X: Any) -> FloatArray:
    """Distance to the nearest change of the student's mind, in its own scores; shape (m,)."""
    scores = np.asarray(student.decision_function(X), dtype=float)
    if scores.ndim == 1:
        margin: FloatArray = np.abs(scores)
        return margin
    top = np.partition(scores, -2, axis=1)
    gap: FloatArray = top[:, -1] - top[:, -2]
    return gap
