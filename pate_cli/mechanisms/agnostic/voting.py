"""Teachers on relabelled records, and the sparse vector technique over their votes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import queries
from pate_cli.learners.hypotheses import CLASSES, HypothesisClass
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.teaching import fit_student, make_teacher
from pate_cli.privacy.door import Door
from pate_cli.teachers import Ensemble, Teachers, fit_part
from pate_cli.types import Answers, IntArray, PublicPoints, Setting, Votes

__all__ = ["Classroom", "answer"]


@dataclass(frozen=True)
class Classroom:
    """Trains teachers: empirical risk minimisers of the class, or the learner of `teacher.estimator`."""

    hypotheses: HypothesisClass = field(repr=False)
    setting: Setting = field(repr=False)
    own: bool = False  # whether teachers are the learner of `teacher.estimator`

    @property
    def of_thresholds(self) -> Classroom:
        """Classroom of thresholds on a line, for the tiny private sets of attacks."""
        return replace(self, hypotheses=CLASSES["thresholds"], own=False)

    def votes(
        self, X: Any, y: IntArray, counts: IntArray, n_teachers: int, points: PublicPoints, seed: int
    ) -> Votes:
        """Votes of teachers on disjoint parts of the records. PRIVATE.

        One changed record changes at most one teacher: parts depend on `counts` alone, how often each record
        was drawn, and all copies of one go to one teacher. Records are in random order. Teachers are fewer
        than `n_teachers` if some would get no record.
        """
        drawn = np.flatnonzero(counts)
        before = np.cumsum(counts[drawn]) - counts[drawn]
        part = before * n_teachers // int(counts.sum())
        starts = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        return self._votes(X, y, [(rows, counts[rows]) for rows in np.split(drawn, starts[1:])], points, seed)

    def student(self, public: PublicPoints, answers: Answers, rng: np.random.Generator) -> Any:
        """Fit the student of the configuration on the answers: post-processing."""
        return fit_student(self.setting, public, answers, rng)

    def votes_as_drawn(
        self, X: Any, y: IntArray, drawn: IntArray, n_teachers: int, points: PublicPoints, seed: int
    ) -> Votes:
        """Votes of teachers on equal parts of a sample drawn with replacement, in its order. PRIVATE.

        `drawn` has numbers of records, at least `n_teachers`. One changed record changes as many teachers as
        have a copy of it, so the privacy proof needs group privacy.
        """
        parts = [np.unique(rows, return_counts=True) for rows in np.array_split(drawn, n_teachers)]
        return self._votes(X, y, parts, points, seed)

    def _votes(
        self, X: Any, y: IntArray, parts: list[tuple[IntArray, IntArray]], points: PublicPoints, seed: int
    ) -> Votes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # computed from private records
            if self.own:
                learner = make_teacher(self.setting)
                made = [
                    fit_part(learner, X[rows], y[rows], seed=seed + k, n_classes=2)
                    for k, rows in enumerate(np.repeat(*part) for part in parts)
                ]
                problems = [problem for _, problem in made if problem is not None]
                teachers = Teachers({k: teacher for k, (teacher, _) in enumerate(made)})
                return Ensemble(teachers, 2, problems).votes(points.X)
            ones = np.zeros(points.n_points, dtype=np.int64)
            for rows, counts in parts:
                ones += self.hypotheses.erm(X[rows], y[rows], counts.astype(float)).predict(points.X)
            return Votes(np.column_stack([len(parts) - ones, ones]), len(parts))


def answer(mechanism: VoteMechanism, votes: Votes, order: IntArray, door: Door) -> Answers:
    """Answer public points in `order` by the mechanism: released."""
    answers = queries.collect(order, mechanism.session(door).answer_all(votes.at(order)))
    return replace(answers, n_teachers=votes.n_teachers)
