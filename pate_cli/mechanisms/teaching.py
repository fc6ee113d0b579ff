"""Teachers and student, as configured, of a mechanism that trains them itself; and how many teachers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from pate_cli import learners, students, teachers
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Answers, FloatArray, PrivateRecords, PublicPoints, Setting, Unanswered

__all__ = ["auto_count", "fit_student", "make_teacher", "train_groups", "train_teachers"]

_RATIO = 0.45
_FEWEST = 10
_FEWEST_RECORDS_A_CLASS = 5


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
    given = {"n_teachers": n_teachers, "learner": learner, "n_classes": n_classes, "strict": False}
    for group in teachers.batches(learner, range(n_teachers) if only is None else only):
        yield teachers.train(records, **given, rng=deepcopy(rng), only=group)


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


def auto_count(
    n_private: int, n_queries: int, n_features: int, n_classes: int, eps: float, delta: float
) -> int:
    """Number of teachers K in [1, n] from public numbers alone, so it costs no privacy: `teacher.count=auto`.

    With s = n/K records a teacher there are two errors to balance. *Weak teachers*: the mean vote is off by
    about ``d C/(2 s)``, as a fit of d coefficients (columns before encoding) on s records is. *Noise*: sigma
    is ``sqrt(m)/mu`` at mu-GDP for m queries, so a share of the votes has noise ``sqrt(m) s/(mu n)``. A
    student that smooths over ``r = min(d, m)`` directions keeps ``sqrt(r) s/(mu n)`` of it. Their sum is
    smallest where ``s^2`` is in proportion to ``sqrt(r) (C/2) mu n``; the factor, 0.45^2, is measured, and
    the curve is flat there. At least 5 records a class and teacher, and 10 teachers where there are records
    for them. The rule is for noisy counts; the sparse vector technique may refuse it, with the number that
    would do.
    """
    most = max(1, min(n_private // (_FEWEST_RECORDS_A_CLASS * n_classes), n_private))
    fewest = min(_FEWEST, most)
    if math.isinf(eps):
        return fewest
    mu = mu_of(eps, delta)
    directions = max(1, min(n_features, n_queries))
    size = _RATIO * math.sqrt(math.sqrt(directions) * n_classes / 2 * mu * n_private)
    return min(most, max(fewest, int(n_private / size)))
