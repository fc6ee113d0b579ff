"""Fit a student on the labels the mechanism gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.learners import limit_to
from pate_cli.plugins import contained, reason_of
from pate_cli.students.registry import learns_counts, learns_shares, make_student
from pate_cli.students.steepness import power_of
from pate_cli.types import UNANSWERED, Answers, FloatArray, IntArray, PublicPoints, Unanswered

__all__ = ["fit_student"]


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
    probabilities: bool = True,
) -> Any:
    """Fit a student on the points of `answers.asked` that are answered; it predicts class codes.

    `estimator` is a student's name (`pate_cli.students.registry`), or a learner of `pate_cli.learners` with
    its `params`, by import path too. Where the mechanism releases noisy counts, a student that learns
    from them (`LearnsCounts`) is given them, with their noise.

    Unanswered points are dropped, or labelled by `rng` uniformly at random (LZCW21 Algorithm 3, line 4).
    `seed` is the learner's `random_state`; `weights`, shape (q,), are those of answers that are all answered.
    Labels of one class give a constant, no labels the constant 0. ConfigError if the learner cannot learn.
    With `mapped` it learns from the features of the points, and maps the records that it predicts. Without
    `probabilities`, or noise, those of a kernel student are not made as steep as they should be: its classes
    are wanted.
    """
    from pate_cli.features.classifiers import MappedClassifier

    seen = points.seen(mapped)
    student = _fitted(
        seen.X, answers, estimator, params, unanswered, rng, n_classes, seed, weights, probabilities
    )
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
    probabilities: bool,
) -> Any:
    """Fit a student on rows of X; see `fit_student`."""
    from pate_cli.learners.constant import ConstantClassifier
    from pate_cli.students.kernel import KernelStudent

    counts, n_teachers = answers.noisy_counts, answers.n_teachers
    student = make_student(estimator, params, seed=seed, n_classes=n_classes)
    if learns_counts(student) and "part_size" in student.get_params(deep=False):
        student.set_params(part_size=answers.part_size)
    if learns_counts(student) and counts is not None and n_teachers and min(counts.shape) > 1:
        P, shares, noise = X[answers.asked], counts / n_teachers, (answers.noise or 0.0) / n_teachers
        with _learning(estimator, f"the counts of {len(counts)} points"):
            student.fit_shares(P, shares, noise=noise)
            student.predict(P[:1])
        steep = probabilities and noise > 0 and answers.part_size and isinstance(P, np.ndarray)
        if isinstance(student, KernelStudent) and steep:
            student.power = power_of(student, P, shares, noise, n_teachers)
        return student
    if learns_shares(estimator) and counts is not None and n_teachers is not None:
        rows, labels, weights = _soft_targets(answers.asked, counts / n_teachers)
    else:
        rows, labels = _hard_labels(answers, unanswered, rng, n_classes)
    classes = np.unique(labels)
    if len(classes) < 2:
        constant = int(classes[0]) if len(classes) else 0
        return ConstantClassifier(constant).fit(X[rows])
    if len(classes) < n_classes:
        student = limit_to(student, {code: code for code in classes.tolist()}, n_classes)
    X = X[rows]
    with _learning(estimator, f"{len(labels)} labels of {len(classes)} classes"):
        student.fit(X, labels, **({} if weights is None else {"sample_weight": weights}))
        student.predict(X[:1])  # some complain only here, as nearest neighbours with too few of them
    return student


@contextmanager
def _learning(estimator: str, given: str) -> Iterator[None]:
    """Contain what a learner does; what it learns from is paid for."""
    try:
        with contained():
            yield
    except Exception as error:
        accepted = f"a classifier that learns from {given} ({reason_of(error)})"
        raise ConfigError("student.estimator", estimator, accepted) from error


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
