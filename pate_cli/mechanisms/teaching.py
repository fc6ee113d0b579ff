"""Teachers and student, as configured, of a mechanism that trains them itself."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from pate_cli import learners, students, teachers
from pate_cli.types import Answers, FloatArray, PrivateRecords, PublicPoints, Setting, Unanswered

__all__ = ["fit_student", "make_teacher", "train_groups", "train_teachers"]


def make_teacher(setting: Setting) -> Any:
    """Unfitted teacher, as configured."""
    return learners.make_learner(*setting.teacher, seed=None, n_classes=setting.n_classes)


def train_teachers(setting: Setting, records: PrivateRecords, rng: np.random.Generator) -> teachers.Ensemble:
    """Train K teachers on disjoint parts of the records, as they see them. PRIVATE."""
    return teachers.train(
        records.seen(setting.teacher_mapped),
        n_teachers=setting.n_teachers,
        learner=make_teacher(setting),
        rng=rng,
        n_classes=setting.n_classes,
    )


def train_groups(
    records: PrivateRecords,
    *,
    n_teachers: int,
    learner: Any,
    rng: np.random.Generator,
    n_classes: int,
    only: range | None = None,
) -> Iterator[teachers.Ensemble]:
    """Train all teachers (or `only` some) in groups whose models fit in memory together. PRIVATE.

    Each is as it would be among all: `rng` is copied. A learner that fails on every part raises nothing.
    """
    common = {"n_teachers": n_teachers, "learner": learner, "n_classes": n_classes, "strict": False}
    for group in teachers.batches(learner, range(n_teachers) if only is None else only):
        yield teachers.train(records, **common, rng=deepcopy(rng), only=group)


def fit_student(
    setting: Setting,
    public: PublicPoints,
    answers: Answers,
    rng: np.random.Generator,
    *,
    unanswered: Unanswered | None = None,
    weights: FloatArray | None = None,
) -> Any:
    """Fit the student on released answers: post-processing; see `pate_cli.students.fit_student`."""
    estimator, params = setting.student
    size = setting.n_private // setting.n_teachers if setting.n_teachers else None
    return students.fit_student(
        public,
        replace(answers, part_size=answers.part_size or size),
        estimator=estimator,
        params=params,
        unanswered=unanswered or setting.unanswered,
        rng=rng,
        n_classes=setting.n_classes,
        seed=int(rng.integers(2**31)),
        mapped=setting.student_mapped,
        weights=weights,
    )
