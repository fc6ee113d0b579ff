"""Disagreement-based active queries (LZCW21 Algorithms 4 and 5).

A stream over the public points in random order; a label is asked for only where
two hypotheses that are both still plausible disagree. The version space is never
built: a point x is in the region of disagreement exactly if forcing another label
on it costs little empirical error,

    Err_Q(h_x) - Err_Q(h) <= U(t),    U(t) = c0 (sqrt(Err_Q(h) ln(t+1)/t) + ln(t+1)/t)

with h the current hypothesis and h_x the best one that labels x differently, each
found by one call of an ERM oracle, x weighted heavily for h_x. Most of these calls are
left out: see `screen`.

References
----------
.. [1] S. Yan, K. Chaudhuri, T. Javidi. Active learning with logged data. ICML 2018.
.. [2] A. Beygelzimer, D. Hsu, J. Langford, T. Zhang. Agnostic active learning
   without constraints. NIPS 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pate_cli.queries.passive import collect
from pate_cli.queries.screen import HEAVY, MOST_ASKED, LogisticScreen, Verdict
from pate_cli.types import Answer, Answers, Ask, IntArray, PublicPoints

__all__ = ["ActiveLearner", "ask_actively"]

_BLOCK, _LARGEST_BLOCK = 8, 64
"""Points screened at once: few after a new label, when the next one wanted is near."""


class ActiveLearner:
    """The learner's side: what it knows is public (points, and labels already released).

    Parameters
    ----------
    points : PublicPoints
        m points.
    n_classes : int
        C.
    mellowness : float
        c0 >= 0; larger asks more.
    make_oracle : callable
        Gives a fresh scikit-learn classifier whose `fit` takes `sample_weight` and
        which has `decision_function`: the surrogate ERM.
    screened : bool
        Whether refits are left out where `LogisticScreen` is sure of the outcome; it
        takes two classes and scikit-learn's logistic regression by liblinear, other
        oracles are refitted for each point whatever is said here.
    """

    def __init__(
        self,
        points: PublicPoints,
        n_classes: int,
        mellowness: float,
        make_oracle: Callable[[], Any],
        *,
        screened: bool = True,
    ) -> None:
        self._X = points.X
        self._c0 = mellowness
        self._make_oracle = make_oracle
        self._screen = LogisticScreen.of(points.X, n_classes, make_oracle()) if screened else None
        self._asked: list[int] = []
        self._labels: list[int] = []
        self._seen = 0
        self._current: Any = None
        self._mistakes = 0

    def next_wanted(self, stream: IntArray) -> int | None:
        """Go along the stream to the first point in the region of disagreement.

        Parameters
        ----------
        stream : ndarray of int64, shape (r,)
            The points that are left, in order.

        Returns
        -------
        int or None
            Its place in `stream`; None if there is none.
        """
        start, block = 0, _BLOCK
        while start < len(stream):
            part = stream[start : start + block]
            for index, verdict in zip(part.tolist(), self._screened(part).tolist(), strict=True):
                self._seen += 1
                if verdict == Verdict.YES or (verdict == Verdict.CLOSE and self._disagree(index)):
                    return start
                start += 1
            block = min(2 * block, _LARGEST_BLOCK)
        return None

    def learn(self, index: int, label: int) -> None:
        """Take in a label the service released."""
        self._asked.append(index)
        self._labels.append(label)
        self._current = None
        if len(self._asked) > MOST_ASKED:
            self._screen = None
        if self._screen is not None:
            self._screen.learn(index, label)

    def _screened(self, points: IntArray) -> IntArray:
        """What can be said of the next points of the stream without a refit."""
        if len(set(self._labels)) < 2:  # no hypothesis is ruled out yet
            return np.full(len(points), Verdict.YES)
        if self._screen is None:
            return np.full(len(points), Verdict.CLOSE)
        mistakes = self._screen.mistakes
        if mistakes is None:
            mistakes = self._fit_current()
        seen = self._seen + 1 + np.arange(len(points))
        return self._screen.decide(points, mistakes + self._slack(mistakes, seen))

    def _disagree(self, index: int) -> bool:
        """Whether a point lies in the region of disagreement, by refits: the test itself."""
        mistakes = self._fit_current()
        other = self._runner_up(index)
        weights = np.ones(len(self._asked) + 1)
        weights[-1] = HEAVY * len(weights)
        forced = self._fit([*self._asked, index], [*self._labels, other], weights)
        return bool(self._count_mistakes(forced) <= mistakes + self._slack(mistakes, self._seen))

    def _slack(self, mistakes: int, seen: Any) -> Any:
        """Mistakes that a forced hypothesis may make more: t U(t), after t points."""
        rate = np.log(seen + 1) / seen
        return self._c0 * seen * (np.sqrt(mistakes / seen * rate) + rate)

    def _fit_current(self) -> int:
        """Refit h if there are new labels; its mistakes."""
        if self._current is None:
            self._current = self._fit(self._asked, self._labels, None)
            self._mistakes = self._count_mistakes(self._current)
        return self._mistakes

    def _fit(self, indices: list[int], labels: list[int], weights: np.ndarray | None) -> Any:
        return self._make_oracle().fit(self._X[indices], labels, sample_weight=weights)

    def _count_mistakes(self, model: Any) -> int:
        # points never asked count as agreeing, so only the asked ones can err
        return int(np.count_nonzero(model.predict(self._X[self._asked]) != np.asarray(self._labels)))

    def _runner_up(self, index: int) -> int:
        """Label that h likes best after its own: the cheapest one to force."""
        scores = self._current.decision_function(self._X[[index]])
        classes = self._current.classes_
        if len(classes) == 2:
            return int(classes[0] if scores[0] > 0 else classes[1])
        return int(classes[np.argsort(scores[0])[-2]])


def ask_actively(
    learner: ActiveLearner, order: IntArray, ask: Ask, budget: int, spent: Callable[[], bool]
) -> Answers:
    """Run the stream until the budget, the points or the mechanism are spent.

    Parameters
    ----------
    learner : ActiveLearner
    order : ndarray of int64, shape (m,)
        The stream.
    ask : callable
        Asks the labelling service for one point.
    budget : int
        Most questions asked.
    spent : callable
        Whether the service takes no more.

    Returns
    -------
    Answers
        In the order asked.
    """
    asked: list[int] = []
    answers: list[Answer] = []
    stream = order
    while len(asked) < budget and not spent():
        place = learner.next_wanted(stream)
        if place is None:
            break
        index, stream = int(stream[place]), stream[place + 1 :]
        answer = ask(index)
        asked.append(index)
        answers.append(answer)
        if answer.answered:
            learner.learn(index, answer.label)
    return collect(asked, answers)
