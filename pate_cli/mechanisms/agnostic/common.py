"""What the agnostic learners share: options, refusals, teachers of a class, and private sets for attacks."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pate_cli import queries, teachers
from pate_cli.checks import OneOf, Real
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES, HypothesisClass
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.teaching import fit_student, make_teacher
from pate_cli.privacy.door import Door
from pate_cli.students import asked
from pate_cli.teachers import Teachers, ensemble_of
from pate_cli.types import Answers, Holdout, IntArray, PrivateRecords, PublicPoints, Setting, Votes

__all__ = [
    "CALIBRATION",
    "EXTENDING",
    "FRACTION",
    "HYPOTHESES",
    "Classroom",
    "HypothesisOptions",
    "answer",
    "at_most",
    "best_hypothesis",
]
__all__ += ["chosen_class", "labels_of", "listable", "listable_encoded", "lone_record", "tied_labels"]

HYPOTHESES = OneOf(tuple(CLASSES))
EXTENDING = OneOf(tuple(name for name, each in CLASSES.items() if each.extends))
CALIBRATION = OneOf(("tight", "paper"))
FRACTION = Real(0, 1, open_above=True)


class HypothesisOptions(MechanismOptions):
    """Options of a mechanism whose `hypotheses` are of the records' own columns."""

    features_default = "none"
    hypotheses: str

    def audited_columns(self) -> int | None:
        """See `MechanismOptions`."""
        return 1 if self.hypotheses == "thresholds" else None


def chosen_class(hypotheses: str, setting: Setting, name: str, *, infinite: bool = False) -> HypothesisClass:
    """Hypothesis class by name; refuses more than two classes of labels, and eps = inf unless `infinite`."""
    if setting.n_classes != 2:
        accepted = f"a dataset of two classes for mechanism={name}, not {setting.n_classes}"
        raise ConfigError("dataset", f"{setting.n_classes} classes", accepted)
    if math.isinf(setting.eps) and not infinite:
        raise ConfigError("eps", setting.eps, f"a finite number with mechanism={name}")
    return CLASSES[hypotheses]


def at_most(key: str, value: int | None, most: int, otherwise: str = "") -> None:
    """Refuse a number of queries larger than there are public points."""
    if value is not None and value > most:
        raise ConfigError(f"mechanism.{key}", value, f"{otherwise}a whole number >= 1, <= {most}")


def listable(hypotheses: HypothesisClass, n_points: int, setting: Setting, advice: str) -> None:
    """Refuse where the dichotomies of `n_points` points cannot be listed."""
    refusal = hypotheses.refusal(n_points, setting.n_features)
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}: {refusal}; {advice}")


def listable_encoded(hypotheses: HypothesisClass, X: Any) -> None:
    """Refuse where encoding has made more columns than the class takes; public, as the encoder is."""
    refusal = hypotheses.refusal(1, X.shape[1])
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}, after encoding: {refusal}")


def best_hypothesis(hypotheses: HypothesisClass, test: Holdout) -> dict[str, float]:
    """Accuracy of the class's best hypothesis on the test split itself, where it can be found. NOT DP."""
    if hypotheses.refusal(*test.X.shape) is not None:
        return {}
    best = hypotheses.erm(test.X, test.y)
    return {"best_hypothesis": float(np.mean(best.predict(test.X) == test.y))}


def labels_of(model: Any, public: PublicPoints) -> Answers:
    """Labels of all public points by a released model: post-processing."""
    return Answers(np.arange(public.n_points), np.asarray(asked(model, "predict", public.X), dtype=np.int64))


@dataclass(frozen=True)
class Classroom:
    """Trains teachers: empirical risk minimisers of the class, or the learner of `teacher.estimator`."""

    hypotheses: HypothesisClass = field(repr=False)
    setting: Setting = field(repr=False)
    uses_estimator: bool = False  # whether teachers are the learner of `teacher.estimator`

    @property
    def of_thresholds(self) -> Classroom:
        """Classroom of thresholds on a line, for the tiny private sets of attacks."""
        return replace(self, hypotheses=CLASSES["thresholds"], uses_estimator=False)

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
            if self.uses_estimator:
                learner = make_teacher(self.setting)
                sampled = [
                    teachers.fit_part(learner, X[rows], y[rows], seed=seed + k, n_classes=2)
                    for k, rows in enumerate(np.repeat(*part) for part in parts)
                ]
                problems = [problem for _, problem in sampled if problem is not None]
                fitted = Teachers({k: teacher for k, (teacher, _) in enumerate(sampled)})
                return ensemble_of(fitted, 2, problems).votes(points.X)
            ones = np.zeros(points.n_points, dtype=np.int64)
            for rows, counts in parts:
                ones += self.hypotheses.erm(X[rows], y[rows], counts.astype(float)).predict(points.X)
            return Votes(np.column_stack([len(parts) - ones, ones]), len(parts))


def answer(mechanism: VoteMechanism, votes: Votes, order: IntArray, door: Door) -> Answers:
    """Answer public points in `order` by the mechanism: released."""
    answers = queries.collect(order, mechanism.session(door).answer_all(votes.at(order)))
    return replace(answers, n_teachers=votes.n_teachers)


Neighbours = tuple[PrivateRecords, PrivateRecords]


def lone_record(n: int) -> Neighbours:
    """All records at 0 with label 1; and one of them far below instead, where either label fits."""
    x = np.zeros((2, n, 1))
    x[1, 0] = -9.0
    y = np.ones(n, dtype=np.int64)
    return PrivateRecords(x[0], y), PrivateRecords(x[1], y)


def tied_labels(n: int, ones: int) -> Neighbours:
    """All records at 0, `ones` of them labelled 1, about half; and one label changed to 0."""
    x, y = np.zeros((n, 1)), (np.arange(n) < ones).astype(np.int64)
    changed = y.copy()
    changed[0] = 0
    return PrivateRecords(x, y), PrivateRecords(x, changed)
