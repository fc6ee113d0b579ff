"""A run that is checked: its data, public sizes and calibrated mechanism, before any training."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pate_cli import datasets, learners, mechanisms, students, teachers
from pate_cli.config import RunConfig
from pate_cli.errors import ConfigError, InfeasibleError, InputError
from pate_cli.plugins import calling
from pate_cli.runs.evaluation import Evaluation
from pate_cli.runs.guarantee import WholeMechanism, calibrate_whole
from pate_cli.runs.lost_in_noise import lost_in_noise
from pate_cli.runs.mapping import in_codes, sees_features
from pate_cli.types import Dataset, IntArray, Setting, Split

__all__ = ["NoClasses", "Prepared", "prepare"]

_ROUNDED = 1 + 1e-9
"""Factor by which a guarantee may exceed what is asked: shares of eps that add up are rounded."""


@dataclass(frozen=True)
class Prepared:
    """A checked run: its data, public sizes, and calibrated mechanism."""

    config: RunConfig
    dataset: Dataset
    sizes: datasets.SplitSizes
    n_teachers: int
    whole: WholeMechanism
    setting: Setting
    public_rows: IntArray | None = field(default=None, repr=False)  # of a release: kept in its ledger

    @property
    def mechanism(self) -> mechanisms.Mechanism:
        """The calibrated mechanism."""
        return self.whole.mechanism

    @property
    def delta(self) -> float:
        """Delta of the guarantee: 0 of a pure one, whatever the configuration allows."""
        return self.whole.guarantee.delta

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings before the start; of an experiment also those computed from its private records."""
        data = self.dataset
        warnings = data.public_warnings
        if not self.config.release:
            warnings = data.warnings + datasets.warnings_of(data, self.n_teachers, self.sizes.n_test)
        if self.n_teachers and datasets.becomes_sparse(data):
            sizes = self.counts | {"n_classes": self.setting.n_classes}
            warnings += learners.dense_warnings(self.config, sizes, self.n_teachers)
        t, s = self.config.teacher, self.config.student
        if self.n_teachers:
            warnings += learners.passed_on(t.estimator, t.params, "teacher.params")
        return warnings + learners.passed_on(s.estimator, s.params, "student.params") + self.public_warnings

    @property
    def public_warnings(self) -> tuple[str, ...]:
        """Warnings computed from public numbers alone."""
        unanswered = lost_in_noise(self.config, self.setting, self.mechanism) or self.mechanism.unanswered()
        return (f"{self.config.mechanism.label}: {unanswered}",) if unanswered else ()

    @property
    def counts(self) -> dict[str, int | None]:
        """Numbers of records, features and classes; with persons, a release does not count their records."""
        data, sizes = self.dataset, self.sizes
        return {
            "n_records": None if self.config.release and data.person_column is not None else data.n_records,
            "n_private": sizes.n_private,
            "n_public": sizes.n_public,
            "n_test": sizes.n_test,
            "n_features": data.n_features,
            "n_classes": data.n_classes or None,
            "budget": sizes.budget,
        }

    def after(self, split: Split) -> Prepared:
        """The run of the classes that its split bought, calibrated for their number; else itself."""
        if split.generated is None or split.generated.classes is None:
            return self
        dataset = replace(self.dataset, classes=split.generated.classes.names)
        if dataset.n_classes < 2:
            names = ", ".join(map(repr, dataset.classes)) or "none"
            accepted = f"the classes by hand, or a larger eps: {names} was bought, and two are needed"
            why = str(ConfigError("dataset.schema", "classes: private", accepted))
            raise NoClasses(why, replace(self, dataset=dataset), split)
        teacher = self.config.teacher
        if self.n_teachers:
            teacher = replace(teacher, count=self.n_teachers, size=None, auto_count=False)
        bought, config = self.whole.bought, replace(self.config, teacher=teacher)
        try:
            return _prepared(config, dataset, dataset.n_classes, exact=bought is not None and bought.exact)
        except InputError as error:
            raise NoClasses(str(error), replace(self, dataset=dataset), split) from None

    @property
    def protected(self) -> str:
        """What the guarantee is for: one record, its label alone, or all records of one person."""
        person = self.dataset.person_column
        return self.config.split.protected if person is None else f"all records of one {person}"

    @property
    def protects(self) -> str:
        """Difference between neighbouring data sets, in words.

        Where records without a label are left out, both have as many with one, and that number is public.
        """
        person, protects = self.dataset.person_column, self.config.split.protects
        if person is not None:
            protects = f"one {person}, all of its records; replaced by any others"
        if self.dataset.labelled is None:
            return protects
        return f"{protects}, among records that have a label (whether one has is not protected)"


class NoClasses(InputError):
    """A run cannot go on with the classes that it bought: its end, paid for. PUBLIC."""

    def __init__(self, why: str, *parts: Any) -> None:
        super().__init__(why)
        self.parts = parts  # the run and its split

    def __reduce__(self) -> Any:  # from a worker process: no data
        return type(self), (str(self),)


def prepare(config: RunConfig, dataset: Dataset, *, exact: bool = True) -> Prepared:
    """Check a run against its data and calibrate the mechanism, before any training.

    A release is calibrated for exact noise, unless `exact` is False because noise comes from a seed. Raises
    `InputError`, in one line, for sizes or learners that cannot work and for an infeasible mechanism.
    """
    if not dataset.labels:
        return _prepared(config, dataset, dataset.n_classes, exact=exact)
    run = _prepared(config, dataset, 2, exact=exact)
    try:  # more may be bought, and then it is too late to refuse
        _prepared(config, dataset, 3, exact=exact)
    except InputError as error:
        kind = InfeasibleError if isinstance(error, InfeasibleError) else InputError
        raise kind(f"{error}; or dataset.classes=[...], as more than two may be bought") from None
    return run


def _prepared(config: RunConfig, dataset: Dataset, C: int, *, exact: bool) -> Prepared:
    """Check a run of C classes."""
    t, s = (in_codes(getattr(config, key), key, dataset.classes) for key in ("teacher", "student"))
    config = replace(config, teacher=t, student=s)
    points: Any = dataset.public if hasattr(dataset.public, "made") else None
    if points is not None:
        points = points.of_size(config.generate.points, dataset.n_persons)
        dataset = replace(dataset, public=points)
    if config.split.public == "auto" and points is None:
        config = replace(config, split=replace(config.split, public=_best_points(config, dataset)))
    sizes = datasets.sizes_of(dataset, **config.split.shares, release=config.release)
    delta = config.delta or 1 / sizes.n_private
    evaluation = Evaluation.of(config, sizes.n_private, C, delta)
    sizes = replace(sizes, n_private=sizes.n_private - (evaluation.n if evaluation else 0))
    sparse, options = datasets.becomes_sparse(dataset), config.mechanism.options
    count = options.auto_count(sizes.n_private, C, config.eps, delta) if t.auto_count else t.count
    n_teachers = teachers.n_teachers(sizes.n_private, size=t.size, count=count)
    learners.check_learner(t.estimator, t.params, n_classes=C, sparse=sparse)
    students.check_student(s.estimator, s.params, n_classes=C, sparse=sparse)
    mapped = options.features(config.features.name)
    setting = Setting(
        eps=config.eps,
        delta=delta,
        n_private=sizes.n_private,
        n_public=sizes.n_public,
        budget=sizes.budget,
        n_features=dataset.n_features,
        n_classes=C,
        n_teachers=n_teachers,
        sparse=sparse,
        teacher=(t.estimator, t.params),
        student=(s.estimator, s.params),
        unanswered=s.unanswered,
        classes=dataset.classes,
        features=mapped,
        teacher_mapped=sees_features(t, mapped, C),
        student_mapped=sees_features(s, mapped, C),
    )
    calibrated = partial(mechanisms.calibrated, config.mechanism.name, options)
    exact = exact and config.release
    if exact and math.isinf(config.eps):
        raise ConfigError("eps", config.eps, "a finite number with exact noise")
    whole = calibrate_whole(calibrated, setting, points, config.generate.share, exact, evaluation)
    mechanism, guarantee = whole.mechanism, whole.guarantee
    if config.release and mechanism.n_teachers:  # with private records looked at, it is too late to refuse
        shape = (sizes.n_private // n_teachers, dataset.n_features)
        learners.check_learner(t.estimator, t.params, n_classes=C, sparse=sparse, shape=shape)
    shards = getattr(dataset.X, "shards", ())
    if shards and (not mechanism.asks_votes or config.release):
        raise ConfigError(
            "mechanism", mechanism.name, "of teachers' votes with dataset=shards, and release=false"
        )
    if len(shards) > mechanism.n_teachers:
        accepted = f"at least {len(shards)} with so many files (a file of records has a teacher of its own)"
        raise ConfigError("teacher.count", mechanism.n_teachers, accepted)
    most_eps, most_delta = config.eps * _ROUNDED, delta * _ROUNDED
    if guarantee.data_dependent or guarantee.eps > most_eps or guarantee.delta > most_delta:
        with calling(type(mechanism)):
            raise RuntimeError(
                f"{mechanism.name} promises {guarantee}; asked: eps={config.eps:g}, delta={delta:g}"
            )
    seen = replace(setting, student_mapped=setting.student_mapped and mechanism.sees_features)
    return Prepared(config, dataset, sizes, mechanism.n_teachers, whole, seen)


def _best_points(config: RunConfig, dataset: Dataset) -> int:
    """Public points where the mechanism's bound is least, at most those there are, or half of those left."""
    least = config.split.shares | {"public": 1, "budget": 1}
    parts = datasets.sizes_of(dataset, **least, release=config.release)
    best = config.mechanism.options.best_points(parts.n_private, dataset.n_features, config.eps)
    if best is None:
        every = {name: mechanisms.find(name).Options for name in mechanisms.names()}
        default = mechanisms.MechanismOptions.best_points
        having = " or ".join(name for name, options in every.items() if options.best_points is not default)
        accepted = f"a number, or null; auto with mechanism={having}"
        raise InfeasibleError(f"split.public: got 'auto'; accepted: {accepted}")
    left = parts.n_private if config.split.mode == "label_private" else parts.n_test
    most = (left + 1) // 2 if dataset.public is None else dataset.public.n_records
    return max(1, int(min(best, most)))
