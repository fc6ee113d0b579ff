"""Teachers and student, as configured, of a mechanism that trains them itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli import learners, students, teachers
from pate_cli.types import Answers, FloatArray, PrivateRecords, PublicPoints, Setting, Unanswered

__all__ = ["fit_student", "make_teacher", "train_teachers"]


def make_teacher(setting: Setting) -> Any:
    """Unfitted teacher, as configured."""
    return learners.make_learner(*setting.teacher, seed=None, n_classes=setting.n_classes)


def train_teachers(setting: Setting, records: PrivateRecords, rng: np.random.Generator) -> teachers.Ensemble:
    """Train K teachers on disjoint parts of the records. PRIVATE."""
    return teachers.train(
        records,
        n_teachers=setting.n_teachers,
        learner=make_teacher(setting),
        rng=rng,
        n_classes=setting.n_classes,
    )


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
    return students.fit_student(
        public,
        answers,
        estimator=estimator,
        params=params,
        unanswered=unanswered or setting.unanswered,
        rng=rng,
        n_classes=setting.n_classes,
        seed=int(rng.integers(2**31)),
        weights=weights,
    )
