"""Fit a student on the labels the mechanism gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.learners import BUILT_IN, contained, limit_to, make_learner, try_out
from pate_cli.students.steepness import power_of
from pate_cli.types import UNANSWERED, Answers, FloatArray, IntArray, PublicPoints, Unanswered

__all__ = ["STUDENTS", "check_student", "fit_student", "make_student"]

STUDENTS = (*BUILT_IN, "kernel", "voting", "soft_targets")
"""Names of the built-in students."""

LINEAR = ("kernel", "voting", "soft_targets")
"""Students that are linear, or whose base is by default: they see features where there is a map."""

_PARAMS = {
    "voting": ("base", "base_params", "learning_rate", "n_estimators"),
    "soft_targets": ("base", "base_params"),
    "kernel": (),
}
_BASE = "logistic"
_KEYS = {"name_key": "student.estimator", "params_key": "student.params"}
_BASE_KEYS = {"name_key": "student.params.base", "params_key": "student.params.base_params"}


def fit_student(
    points: PublicPoints,
    answers: Answers,
    *,
    estimator: str,
    params: Mapping[str, Any],
    unanswered: Unanswered,
    rng: np.random.Generator,
    n_classes: int,
    seed: int | None,
    mapped: bool = False,
    weights: FloatArray | None = None,
) -> Any:
    """Fit a student on the points of `answers.asked` that are answered; it predicts class codes.

    `estimator` is a learner of `pate_cli.learners` with its `params`, or one of three students. `kernel` is a
    Gaussian process, which learns from noisy counts, and knows their noise, where the mechanism releases
    them (see `KernelStudent`). `voting` is a
    vote over one class of learners by AdaBoost (LZCW21 Theorem 20: the student is improper); its parameters
    are `base` (a learner, default logistic), `base_params`, `n_estimators` (default 50) and `learning_rate`
    (default 1). `soft_targets`, with `base` and `base_params`, learns from noisy shares of the votes where
    the mechanism releases noisy counts: each point once a class, weighted by that class's share.

    Unanswered points are dropped, or labelled by `rng` uniformly at random (LZCW21 Algorithm 3, line 4).
    `seed` is the learner's `random_state`; `weights`, shape (q,), are those of answers that are all answered.
    Labels of one class give a constant, no labels the constant 0. ConfigError if the learner cannot learn.
    With `mapped` it learns from the features of the points, and maps the records that it predicts.
    """
    from pate_cli.features.classifiers import MappedClassifier

    seen = points.seen(mapped)
    student = _fitted(seen.X, answers, estimator, params, unanswered, rng, n_classes, seed, weights)
    return student if seen is points else MappedClassifier(points.features, student)


def _fitted(
    X: Any,
    answers: Answers,
    estimator: str,
    params: Mapping[str, Any],
    unanswered: Unanswered,
    rng: np.random.Generator,
    n_classes: int,
    seed: int | None,
    weights: FloatArray | None,
) -> Any:
    """Fit a student on rows of X; see `fit_student`."""
    from pate_cli.learners.constant import ConstantClassifier

    counts, n_teachers = answers.noisy_counts, answers.n_teachers
    if estimator == "kernel" and counts is not None and n_teachers and min(counts.shape) > 1:
        student = make_student(estimator, params, seed=seed, n_classes=n_classes)
        student.part_size = answers.part_size
        P, shares, noise = X[answers.asked], counts / n_teachers, (answers.noise or 0.0) / n_teachers
        student.fit_shares(P, shares, noise=noise)
        if answers.part_size and isinstance(P, np.ndarray):
            student.power = power_of(student, P, shares, noise, n_teachers)
        return student
    if estimator == "soft_targets" and answers.noisy_counts is not None and answers.n_teachers is not None:
        rows, labels, weights = _soft_targets(answers.asked, answers.noisy_counts / answers.n_teachers)
    else:
        rows, labels = _hard_labels(answers, unanswered, rng, n_classes)
    classes = np.unique(labels)
    if len(classes) < 2:
        constant = int(classes[0]) if len(classes) else 0
        return ConstantClassifier(constant).fit(X[rows])
    student = make_student(estimator, params, seed=seed, n_classes=n_classes)
    if len(classes) < n_classes:
        student = limit_to(student, {code: code for code in classes.tolist()}, n_classes)
    if estimator == "kernel":
        student.part_size = answers.part_size
    X = X[rows]
    try:
        with contained():
            student.fit(X, labels, **({} if weights is None else {"sample_weight": weights}))
            student.predict(X[:1])  # some complain only here, as nearest neighbours with too few of them
    except Exception as error:  # what it learns from is paid for
        accepted = f"a classifier that learns from {len(labels)} labels of {len(classes)} classes ({error})"
        raise ConfigError("student.estimator", estimator, accepted) from error
    return student


def check_student(
    estimator: str, params: Mapping[str, Any], *, n_classes: int = 2, sparse: bool = False
) -> None:
    """Check a student before there is data, by fitting it on a few generated records; see `fit_student`."""
    student = make_student(estimator, params, seed=0, n_classes=n_classes)
    if estimator in ("voting", "soft_targets"):
        base = student.estimator if estimator == "voting" else student
        name, base_params = params.get("base", _BASE), params.get("base_params") or {}
        try_out(base, name, base_params, n_classes=n_classes, sparse=sparse, **_BASE_KEYS)
    if estimator != "soft_targets":
        try_out(student, estimator, params, n_classes=n_classes, sparse=sparse, **_KEYS)


def _soft_targets(asked: IntArray, shares: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Weighted records, a point once for each class with a positive share: indices, labels and weights."""
    shares = np.clip(shares, 0.0, 1.0)
    shares[~shares.any(axis=1)] = 1.0  # nothing is left of the votes: every class alike
    shares /= shares.sum(axis=1, keepdims=True)
    row, label = np.nonzero(shares)
    return asked[row], label, shares[row, label]


def _hard_labels(
    answers: Answers, unanswered: Unanswered, rng: np.random.Generator, n_classes: int
) -> tuple[IntArray, IntArray]:
    """Indices of the points to learn from, and their labels."""
    missing = answers.labels == UNANSWERED
    if unanswered == "drop":
        return answers.asked[~missing], answers.labels[~missing]
    labels = answers.labels.copy()
    labels[missing] = rng.integers(n_classes, size=int(missing.sum()))
    return answers.asked, labels


def make_student(estimator: str, params: Mapping[str, Any], *, seed: int | None, n_classes: int) -> Any:
    """Make an unfitted student."""
    if estimator not in _PARAMS:
        return make_learner(estimator, params, seed=seed, n_classes=n_classes, names=STUDENTS, **_KEYS)
    from sklearn.utils.validation import has_fit_parameter

    from pate_cli.students.kernel import KernelStudent
    from pate_cli.students.voting import Voting

    for name in params:
        if name not in _PARAMS[estimator]:
            accepted = f"parameters {', '.join(_PARAMS[estimator])}" if _PARAMS[estimator] else "none"
            raise ConfigError(f"student.params.{name}", params[name], accepted)
    if estimator == "kernel":
        return KernelStudent()
    base, base_params = params.get("base", _BASE), params.get("base_params") or {}
    if not isinstance(base_params, Mapping):
        raise ConfigError("student.params.base_params", base_params, "parameters of the base, as {C: 10}")
    learner = make_learner(base, base_params, seed=seed, n_classes=n_classes, **_BASE_KEYS)
    if not has_fit_parameter(learner, "sample_weight"):
        raise ConfigError("student.params.base", base, "a learner with sample weights, as logistic")
    if estimator == "soft_targets":
        return learner
    voting_params = {name: value for name, value in params.items() if not name.startswith("base")}
    return Voting(learner, random_state=seed, **voting_params)
