"""A candidate of `mechanism=tune`: how its points are labelled, and the student that learns from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pate_cli import learners, mechanisms, students, teachers
from pate_cli.checks import known
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.teaching import fit_student, make_teacher, train_groups
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Released, Setting, Votes

__all__ = ["CandidateStudent", "Labelling", "fitted", "n_right", "read_candidate"]


class CandidateStudent(NamedTuple):
    """A candidate's student: its label in tables, its learner, and its treatment of unanswered points."""

    label: str
    estimator: str
    params: Mapping[str, Any]
    unanswered: Any


@dataclass(frozen=True)
class Labelling:
    """A mechanism, and the students that learn from its one run."""

    mechanism: str  # with its options as `mechanisms.calibrate` takes them
    options: dict[str, Any]
    setting: Setting  # its share of the budget, the records not held out, and its teachers
    students: tuple[CandidateStudent, ...] = ()
    calibrated: Any = None  # a Mechanism, once its share is known
    gdp: bool = False  # whether its proof is by Gaussian noise alone: then mu^2 adds up

    def at(self, eps: float, delta: float, exact: bool = False) -> Labelling:
        """Calibrate for a share of the budget; raises InputError."""
        setting = replace(self.setting, eps=eps, delta=delta)
        mechanism = mechanisms.calibrate(self.mechanism, self.options, setting)
        gdp = mechanism.guarantee.mu is not None
        return replace(
            self, setting=setting, calibrated=mechanism.with_exact_noise() if exact else mechanism, gdp=gdp
        )

    @property
    def learns_alone(self) -> bool:
        """Whether it learns from the records themselves: its model needs neither teacher nor student."""
        try:
            return bool(self.at(self.setting.eps, self.setting.delta).calibrated.n_teachers == 0)
        except InfeasibleError:
            return False

    @property
    def labels(self) -> str:
        """Its candidates."""
        return ", ".join(student.label for student in self.students)


def read_candidate(candidate: Mapping[str, Any], setting: Setting) -> tuple[Labelling, CandidateStudent]:
    """Read a candidate: how its points are labelled, and its student; raises InputError."""
    known("mechanism.candidates.", candidate, ("label", "mechanism", "teacher", "student"))
    options = {"name": "gaussian", **candidate.get("mechanism", {})}
    name = options.pop("name")
    if name == "tune":
        raise ConfigError("mechanism.candidates", name, "a mechanism that labels or learns, not tune itself")
    mechanisms.read(name, options)
    C, sparse = setting.n_classes, setting.sparse
    if teacher := candidate.get("teacher"):
        known("teacher.", teacher, ("estimator", "params", "size", "count", "features"))
        size, count, K = teacher.get("size"), teacher.get("count"), setting.n_teachers
        if size is not None or count is not None:
            K = teachers.n_teachers(setting.n_private, size=size, count=count)
        setting = replace(setting, teacher=_learner(teacher, "teacher", setting), n_teachers=K)
        learners.check_learner(*setting.teacher, n_classes=C, sparse=sparse)
    learner, unanswered = setting.student, setting.unanswered
    if student := candidate.get("student"):
        known("student.", student, ("estimator", "params", "unanswered", "features"))
        learner = _learner(student, "student", setting)
        unanswered = student.get("unanswered", unanswered)
        students.check_student(*learner, n_classes=C, sparse=sparse)
    setting = replace(setting, features="auto" if setting.features == "none" else setting.features)
    return Labelling(name, options, setting), CandidateStudent(str(candidate["label"]), *learner, unanswered)


def _learner(keys: Mapping[str, Any], key: str, setting: Setting) -> tuple[Any, dict[str, Any]]:
    """Learner and parameters of a candidate, classes by their codes."""
    classes = setting.classes or tuple(map(str, range(setting.n_classes)))
    return learners.by_code(keys["estimator"], keys.get("params") or {}, classes, f"{key}.params")


def fitted(
    labelling: Labelling, kept: PrivateRecords, public: PublicPoints, door: Door, rng: np.random.Generator
) -> Iterator[tuple[str, Any, Released]]:
    """Run a labelling once, and fit its students: label, student (None if it cannot be fitted), release."""
    s, mechanism = labelling.setting, labelling.calibrated
    records = kept.one_each(rng) if mechanism.persons == "one record" else kept
    released = mechanism.release(Private(records, lambda: _votes(s, kept, public, rng)), public, door, rng)
    for label, estimator, params, unanswered in labelling.students:
        student, setting = released.model, replace(s, student=(estimator, params), unanswered=unanswered)
        if student is None:
            with suppress(ConfigError):
                student = fit_student(setting, public, released.answers, rng)
        yield label, student, released


def _votes(s: Setting, kept: PrivateRecords, public: PublicPoints, rng: np.random.Generator) -> Votes:
    """Train the teachers of a labelling on the records not held out, and let them vote.

    They are constant where they fail, all of them too: an error would tell of records, and lose what is paid.
    """
    groups = train_groups(
        kept.seen(s.teacher_mapped),
        n_teachers=s.n_teachers,
        learner=make_teacher(s),
        rng=np.random.default_rng(int(rng.integers(2**63))),
        n_classes=s.n_classes,
    )
    points = public.seen(s.teacher_mapped).X
    counts = [group.votes_and_failures(points)[0].counts for group in groups]
    return Votes(np.sum(counts, axis=0), s.n_teachers)


def n_right(student: Any, held: PrivateRecords) -> float:
    """Held-out records that a student has right, each judged by itself; 0 if it could not be fitted."""
    return (
        0.0 if student is None else float(np.count_nonzero(teachers.predict_each(student, held.X) == held.y))
    )
