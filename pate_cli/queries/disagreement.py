"""LZCW21 Algorithm 4 exactly, for thresholds on the line, whose version space can be enumerated.

The public points x_1, x_2, ... come in random order; V is all thresholds ``1(x >= t)``, one for each gap
between points. A label is asked of a point on which two thresholds of V disagree. After j points, j a power
of two, with Q the points asked so far,

    V <- {h in V : |Q| (Err_Q(h) - min_{g in V} Err_Q(g)) <= j U(j, gamma_j)},  gamma_j = gamma/log2(2j)^2,
    U(j, g) = c' (d ln theta + ln(1/g))/j + c' sqrt(Err* (d ln theta + ln(1/g))/j)

with d = 1; theta, the disagreement coefficient (2 for thresholds and an x without atoms: those that differ
from one on a mass of r lie within r of it on either side), and Err*, the error of the best threshold on the
labels given, are known. The constant c' is not given by the paper.

References
----------
LZCW21: C. Liu, Y. Zhu, K. Chaudhuri, Y.-X. Wang. JMLR 2021. S. Hanneke. Theory of disagreement-based active
learning. 2014, Algorithm RobustCAL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners.hypotheses import ThresholdClassifier
from pate_cli.learners.hypotheses.thresholds import ThresholdDichotomies, line
from pate_cli.queries.strategy import Oracle, Stream, collect
from pate_cli.types import UNANSWERED, Answer, Answers, IntArray, PublicPoints

__all__ = ["Disagreement", "VersionSpace"]


class VersionSpace:
    """Plausible thresholds, one for each way to cut k ascending distinct values.

    Cut number p, 0 .. k, labels the values from number p on 1, those before it 0.
    """

    def __init__(self, n_values: int) -> None:
        self.plausible: NDArray[np.bool_] = np.ones(n_values + 1, dtype=bool)
        self._mistakes = np.zeros(n_values + 1, dtype=np.int64)

    def disagree(self, places: IntArray) -> NDArray[np.bool_]:
        """Whether two plausible cuts disagree on values of these numbers; shape of `places`."""
        left = np.flatnonzero(self.plausible)
        inside: NDArray[np.bool_] = (left[0] <= places) & (places < left[-1])
        return inside

    def learn(self, places: IntArray, labels: IntArray) -> None:
        """Count the mistakes of every cut on further labels, 0 or 1, of values of these numbers."""
        gain = np.zeros(len(self._mistakes) + 1, dtype=np.int64)
        # a label 1 is missed by the cuts after it, a label 0 by those up to it
        np.add.at(gain, places + 1, np.where(labels == 1, 1, -1))
        self._mistakes += int(np.count_nonzero(labels == 0)) + np.cumsum(gain)[:-1]

    def prune(self, slack: float) -> None:
        """Keep the plausible cuts with at most `slack` mistakes more than the best of them."""
        least = self._mistakes[self.plausible].min()
        self.plausible &= self._mistakes <= least + slack

    @property
    def best(self) -> int:
        """Plausible cut with the fewest mistakes; of several the middle one."""
        left = np.flatnonzero(self.plausible)
        ties = left[self._mistakes[left] == self._mistakes[left].min()]
        return int(ties[len(ties) // 2])


@dataclass(frozen=True)
class Disagreement:
    """Ask where plausible thresholds disagree, at most `budget` times (LZCW21 Algorithms 4 and 5)."""

    constant: float  # c', positive
    theta: float  # disagreement coefficient, at least 1
    failure: float  # gamma, in (0, 1)
    best_error: float  # Err*, in [0, 1)
    sees_features = False  # its hypotheses are of one column, as it stands

    def ask(
        self, stream: Stream, oracle: Oracle, rng: np.random.Generator
    ) -> tuple[Answers, ThresholdClassifier]:
        """Ask; see `Strategy`."""
        return self.learn(stream.points, stream.order, oracle, stream.budget)

    def slack(self, seen: int) -> float:
        """Mistakes beyond the best that are forgiven after `seen` points, ``j U(j, gamma_j)``."""
        unlikely = math.log(self.theta) + math.log(math.log2(2 * seen) ** 2 / self.failure)
        return self.constant * (unlikely + math.sqrt(self.best_error * unlikely * seen))

    def learn(
        self, points: PublicPoints, order: IntArray, oracle: Oracle, budget: int
    ) -> tuple[Answers, ThresholdClassifier]:
        """Run the stream until the budget, the points or the mechanism are spent.

        Unanswered queries are not learnt from. The paper outputs any of V; this classifier has the fewest
        mistakes on all labels.
        """
        x = line(points.X)
        cuts = ThresholdDichotomies(points.X)
        places = np.searchsorted(cuts.values, x)
        space = VersionSpace(len(cuts.values))
        asked, answers = list[int](), list[Answer]()
        seen, until = 0, 1
        while seen < len(order) and len(asked) < budget and not oracle.exhausted:
            block = order[seen:until]
            disagreed = block[space.disagree(places[block])][: budget - len(asked)]
            block_answers = oracle.answer_all(disagreed)
            labels = np.array([answer.label for answer in block_answers], dtype=np.int64)
            answered = labels != UNANSWERED
            space.learn(places[disagreed[: len(block_answers)]][answered], labels[answered])
            asked += disagreed[: len(block_answers)].tolist()
            answers += block_answers
            stopped = len(asked) >= budget or oracle.exhausted
            seen += len(block)
            # the budget may be spent within a block, and Algorithm 4 stops there without an update
            if seen == until and not (
                stopped and (not len(block_answers) or disagreed[len(block_answers) - 1] != block[-1])
            ):
                space.prune(self.slack(seen))
            until *= 2
        return collect(asked, answers), cuts.hypothesis(space.best)
