"""Teachers and student, as configured, of a mechanism that trains them itself; and how many teachers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from pate_cli import features, learners, students, teachers
from pate_cli.features.kernel import MOST_DIRECTIONS
from pate_cli.mechanisms.base import Mechanism
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Answers, FloatArray, PrivateRecords, PublicPoints, Setting, Split, Unanswered

__all__ = [
    "auto_count",
    "chosen_count",
    "fit_student",
    "in_codes",
    "make_teacher",
    "sees_features",
    "teaching_key",
    "train_groups",
    "train_teachers",
]

_RATIO = 0.8
_FEWEST = 10
_FEWEST_RECORDS = 10


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
    return students.fit_student(
        public,
        answers,
        estimator=estimator,
        params=params,
        unanswered=unanswered or setting.unanswered,
        rng=rng,
        n_classes=setting.n_classes,
        seed=int(rng.integers(2**31)),
        mapped=setting.student_mapped,
        weights=weights,
    )


def in_codes(learner: Any, key: str, classes: Sequence[str]) -> Any:
    """Teacher or student with codes in place of the labels that its parameters name."""
    estimator, params = learners.by_code(learner.estimator, learner.params, classes, f"{key}.params")
    return replace(learner, estimator=estimator, params=params)


_last: tuple[Split, Hashable, Split] | None = None


def with_features(
    split: Split,
    setting: Setting,
    plan: Mechanism,
    most: int | None,
    rng: np.random.Generator,
    *,
    cached: bool,
) -> Split:
    """Give a split the map that its public points make, where teachers or students see features.

    There are at most so many features; by default as many as a teacher has records, from which it cannot
    learn about more, or as the kernel has where teachers see their own columns or the mechanism takes all.
    With `cached` the last map is kept for the next who needs the same, in rows and parts of one repeat.
    """
    global _last
    s = setting
    if not ((s.teacher_mapped and plan.n_teachers) or s.student_mapped):
        return split
    limited = s.teacher_mapped and not plan.all_directions
    most = min(most or (s.n_private // s.n_teachers if limited else MOST_DIRECTIONS), MOST_DIRECTIONS)
    key = (s.features, most)
    if cached and _last is not None and _last[0] is split and _last[1] == key:
        return _last[2]
    _last = None  # not two of them in memory
    feature_map = features.fit(s.features, split.public.X, rng, most)
    parts = {name: getattr(split, name).with_features(feature_map) for name in ("private", "public", "test")}
    mapped = replace(split, **parts)
    if cached:
        _last = (split, key, mapped)
    return mapped


def sees_features(learner: Any, mapped: str, n_classes: int) -> bool:
    """Whether a teacher or student sees features: as its configuration says, else if it is linear."""
    if mapped == "none" or learner.features is not None:
        return mapped != "none" and bool(learner.features)
    if learner.estimator in students.LINEAR:
        return True
    estimator = learners.make_learner(learner.estimator, learner.params, seed=None, n_classes=n_classes)
    return learners.is_linear(estimator)


def teaching_key(config: Any) -> Hashable:
    """Key of all that votes depend on: runs with equal keys may share the teachers of the same repeat."""
    from pate_cli import mechanisms

    t, name = config.teacher, config.mechanism.name
    mapped = (mechanisms.features_of(name, config.features.name), config.features.directions)
    rule = getattr(mechanisms.find(name), "auto_count", auto_count).__module__
    chosen_from: tuple[Any, ...] = (config.eps, config.delta, rule) if t.auto_count else ()
    if config.dataset.options.get("public") == "marginals":  # whose noise depends on the mechanism's
        chosen_from = (config.eps, config.delta, rule, config.mechanism)
    data = (config.dataset, config.split, config.generate, config.evaluate)
    return repr((data, t, config.seed, mapped, chosen_from))


def chosen_count(module: Any, n_private: int, n_classes: int, eps: float, delta: float) -> int:
    """Number of teachers from public numbers, by the own rule of a mechanism's module if it has one."""
    return int(getattr(module, "auto_count", auto_count)(n_private, n_classes, eps, delta))


def auto_count(n_private: int, n_classes: int, eps: float, delta: float) -> int:
    """Number of teachers K in [1, n] from public numbers alone, so it costs no privacy: `teacher.count=auto`.

    With s = n/K records a teacher there are two errors to balance. *Weak teachers*: a fit of s records is off
    by about r/s, with r the directions that matter, and so is the mean vote. *Noise*: on the votes of m
    queries at mu-GDP it is ``2 sqrt(m) s/(mu n)`` of them, of which a student that knows the r directions
    keeps ``2 sqrt(r) s/(mu n)``. Their sum is least at ``s^2 = sqrt(r) mu n/2``, so s is in proportion to
    ``sqrt(mu n)``; the factor, .8, is measured: half or twice of it costs 0 to 6 points
    (`benchmarks/ablation.md`). At least 10 records a teacher, and one a class; and 10 teachers where there
    are records for them. Hard labels lose what a student that knows the noise gets back, but no more than a
    few points. The sparse vector technique may refuse so few teachers, with the number that would do.

    Examples
    --------
    >>> [auto_count(6_499, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2, math.inf)]
    [239, 176, 130, 10]
    """
    most = max(1, n_private // max(_FEWEST_RECORDS, n_classes))
    fewest = min(_FEWEST, most)
    if math.isinf(eps):
        return fewest
    size = _RATIO * math.sqrt(mu_of(eps, delta) * n_private)
    return min(most, max(fewest, int(n_private / size)))
