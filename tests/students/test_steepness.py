"""Probabilities of a student of votes: as sure as they should be, the order of classes as it was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from pate_cli import students
from pate_cli.learners import make_learner
from pate_cli.students.kernel import KernelStudent
from pate_cli.students.steepness import _Simulation, power_of
from pate_cli.teachers import train
from pate_cli.types import Answers, PrivateRecords, PublicPoints


def world(n_classes, seed, n=3000, m=150, d=8):
    """Records whose class probabilities are known, and votes of teachers of 20 records on public points."""
    rng = np.random.default_rng(seed)
    slopes = 1.5 * rng.normal(size=(d, n_classes))

    def shares(X):
        scores = np.exp(X @ slopes)
        return scores / scores.sum(axis=1, keepdims=True)

    X, points, new = (rng.normal(size=(size, d)) for size in (n, m, 2000))
    y = (shares(X).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    options = {
        "learner": make_learner("logistic", {}, seed=None, n_classes=n_classes),
        "n_classes": n_classes,
    }
    votes = train(PrivateRecords(X, y), n_teachers=n // 20, rng=rng, **options).votes(points)
    noise = 20.0
    noisy = votes.counts + noise * rng.normal(size=votes.counts.shape)
    if n_classes == 2:
        noisy[:, 0] = n // 20 - noisy[:, 1]
    answers = Answers(np.arange(m), noisy.argmax(axis=1), noisy, n // 20, noise, part_size=20)
    return PublicPoints(points), answers, new, shares(new)


def student_of(points, answers, n_classes):
    common = {"estimator": "kernel", "params": {}, "unanswered": "drop", "rng": None, "seed": 0}
    return students.fit_student(points, answers, n_classes=n_classes, **common)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_power_brings_shares_nearer_to_the_true_probabilities(n_classes):
    gained = []
    for seed in range(3):
        points, answers, new, true = world(n_classes, seed)
        student = student_of(points, answers, n_classes)
        after = student.predict_proba(new)
        np.testing.assert_allclose(after.sum(axis=1), 1)
        plain = KernelStudent(20)
        vars(plain).update(vars(student) | {"power": 1.0})
        before = plain.predict_proba(new)
        assert (before.argmax(axis=1) == after.argmax(axis=1)).all()
        gained.append(float((true * np.log(after / before)).sum(axis=1).mean()))
        assert student.power > 1
    assert min(gained) > 0.01


def test_the_power_is_a_function_of_what_was_released_and_public():
    points, answers, _, _ = world(2, 0)
    powers = {student_of(points, answers, 2).power for _ in range(2)}
    student = KernelStudent(20).fit_shares(points.X, answers.noisy_counts / 150, noise=20 / 150)
    powers.add(power_of(student, points.X, answers.noisy_counts / 150, 20 / 150, 150))
    assert len(powers) == 1


@pytest.mark.parametrize(("n_classes", "size"), [(2, 12), (2, 60), (3, 12)])
def test_simulated_teachers_vote_as_logistic_regressions(n_classes, size):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(80, 20))
    simulation = _Simulation(points, np.zeros(n_classes), size, 0.0)
    p = softmax(2 * points @ rng.normal(size=(20, n_classes)), axis=1)
    counts = simulation.votes(p[None], np.random.default_rng(1))[0]
    draws = np.random.default_rng(1).random((*simulation.rows.shape, 1))
    labels = (p[simulation.rows].cumsum(axis=2) > draws).argmax(axis=2)
    expected, X = np.zeros_like(counts), np.column_stack([points, np.ones(80)])
    for rows, drawn in zip(simulation.rows, labels, strict=True):
        scores = np.column_stack([_against_the_rest(X[rows], drawn == code, X) for code in range(n_classes)])
        expected[np.arange(80), scores.argmax(axis=1)] += 1
    assert np.abs(counts - expected).sum() / 2 <= 0.01 * expected.sum()


def _against_the_rest(X, y, points):
    """Scores of a logistic regression with a ridge of 1, by scikit-learn."""
    if len(set(y)) == 1:
        return np.full(len(points), 9.0 if y[0] else -9.0)
    return LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8).fit(X, y).decision_function(points)


def test_a_saved_student_keeps_its_power(tmp_path):
    points, answers, new, _ = world(2, 0)
    student = student_of(points, answers, 2)
    path = tmp_path / "student.skops"
    students.save_student(path, student, classes=("a", "b"), n_features=8, encoder=None, meta={})
    again = students.load_student(path)
    assert again.student.power == student.power != 1.0
    np.testing.assert_array_equal(again.student.predict_proba(new), student.predict_proba(new))
