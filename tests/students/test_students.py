from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.errors import ConfigError
from pate_cli.learners import TWO_CLASSES
from pate_cli.learners.constant import ConstantClassifier
from pate_cli.students import STUDENTS, check_student, fit_student
from pate_cli.students.voting import Voting
from pate_cli.types import UNANSWERED, Answers, PublicPoints

GENERAL = [name for name in STUDENTS if name not in TWO_CLASSES]
EVERY = [*GENERAL, "sklearn.neighbors.KNeighborsClassifier"]


def public(n_classes: int = 2, n: int = 200, d: int = 5, kind=np.asarray):
    X = np.random.default_rng(5).normal(size=(n, d))
    return PublicPoints(kind(X)), np.argmax(X[:, :n_classes], axis=1).astype(np.int64)


def fit(points, asked, labels, estimator="logistic", params=None, unanswered="drop", n_classes=2, seed=0):
    return fit_student(
        points,
        Answers(np.asarray(asked, dtype=np.int64), np.asarray(labels, dtype=np.int64)),
        estimator=estimator,
        params=params or {},
        unanswered=unanswered,
        rng=np.random.default_rng(seed),
        n_classes=n_classes,
        seed=seed,
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", EVERY)
def test_every_student_learns_codes(estimator, n_classes, kind):
    points, y = public(n_classes, kind=kind)
    asked = np.random.default_rng(0).permutation(200)[:150]
    student = fit(points, asked, y[asked], estimator, n_classes=n_classes)
    predicted = student.predict(points.X)
    assert set(np.unique(predicted)) == set(range(n_classes))
    assert np.mean(predicted == y) > 0.75


def test_labels_belong_to_the_points_asked():
    points, y = public()
    asked = np.arange(199, 99, -1)
    student = fit(points, asked, y[asked], "tree")
    np.testing.assert_array_equal(student.predict(points.X[asked]), y[asked])


def test_unanswered_points_are_dropped():
    points, y = public()
    labels = y[:100].copy()
    labels[::2] = UNANSWERED
    dropped = fit(points, np.arange(100), labels)
    alone = fit(points, np.arange(1, 100, 2), y[1:100:2])
    np.testing.assert_array_equal(dropped.coef_, alone.coef_)


def test_unanswered_points_are_labelled_at_random():
    points, _ = public(n=4000)
    labels = np.full(4000, 2)
    labels[:3000] = UNANSWERED
    # a tree without limits gives back the labels it was given
    given = fit(points, np.arange(4000), labels, "tree", unanswered="random", n_classes=3).predict(points.X)
    assert (given[3000:] == 2).all()
    shares = np.bincount(given[:3000], minlength=3) / 3000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.04)
    other = fit(points, np.arange(4000), labels, "tree", unanswered="random", n_classes=3, seed=1)
    assert (other.predict(points.X)[:3000] != given[:3000]).any()


def test_nothing_learnt_is_the_first_class():
    points, _ = public()
    for unanswered in ("drop", "random"):
        student = fit(points, [], [], unanswered=unanswered)
        assert isinstance(student, ConstantClassifier)
        assert student.predict(points.X).tolist() == [0] * 200
    assert fit(points, [3, 4], [UNANSWERED] * 2).predict(points.X).tolist() == [0] * 200


def test_a_student_that_saw_some_of_the_classes_keeps_their_codes():
    points, y = public()
    student = fit(points, [7, 3, 9], [2, UNANSWERED, 2], "voting", n_classes=4)
    assert student.predict(points.X).tolist() == [2] * 200
    student = fit(points, np.arange(200), np.where(y == 0, 1, 3), "voting", n_classes=4)
    assert set(student.predict(points.X).tolist()) == {1, 3}


def test_voting_beats_its_base_where_one_line_cannot_do():
    points, _ = public(n=400, d=1)
    y = (np.abs(points.X[:, 0]) < 0.7).astype(np.int64)  # an interval: a vote of thresholds
    stump = {"max_depth": 1}
    alone = fit(points, np.arange(400), y, "tree", stump)
    vote = fit(
        points, np.arange(400), y, "voting", {"base": "tree", "base_params": stump, "n_estimators": 20}
    )
    assert np.mean(vote.predict(points.X) == y) > 0.95 > np.mean(alone.predict(points.X) == y)
    assert len(vote.model_.estimators_) <= 20


def test_the_penalty_of_a_voting_base_means_what_it_means_alone():
    points, y = public()
    y[:30] = 1 - y[:30]
    vote = fit(points, np.arange(200), y, "voting", {"n_estimators": 1, "base_params": {"C": 0.5}})
    alone = fit(points, np.arange(200), y, "logistic", {"C": 0.5})
    np.testing.assert_allclose(vote.model_.estimators_[0].coef_, alone.coef_, rtol=1e-3)


def test_voting_without_an_edge_is_its_base_alone():
    X = np.array([[0.0], [0.0], [0.0], [0.0]])
    student = fit(PublicPoints(X), np.arange(4), [0, 1, 0, 1], "voting")
    assert isinstance(student, Voting)
    assert len(set(student.predict(X).tolist())) == 1
    assert not hasattr(student.model_, "estimators_")


@pytest.mark.parametrize(
    ("estimator", "params", "message"),
    [
        (
            "vote",
            {},
            r"student\.estimator: got 'vote'; accepted: logistic, linear_svm, libsvm, .*voting, soft_targets",
        ),
        ("logistic", {"c": 1}, r"student\.params\.c: got 1; accepted: parameters C, "),
        ("logistic", {"C": 0}, r"student\.params\.C: got 0; accepted: a float in the range"),
        (
            "voting",
            {"C": 1},
            r"student\.params\.C: got 1; accepted: parameters base, base_params, learning_rate, ",
        ),
        ("soft_targets", {"C": 1}, r"student\.params\.C: got 1; accepted: parameters base, base_params"),
        ("voting", {"base": "linear"}, r"student\.params\.base: got 'linear'; accepted: logistic, "),
        ("voting", {"base": "libsvm"}, r"student\.params\.base: got 'libsvm'; accepted: .*sample weights"),
        ("voting", {"base_params": 3}, r"student\.params\.base_params: got 3; "),
        ("voting", {"base_params": {"C": -1}}, r"student\.params\.base_params\.C: got -1; "),
        (
            "voting",
            {"n_estimators": 0},
            r"student\.params\.n_estimators: got 0; accepted: an int in the range \[",
        ),
    ],
)
def test_bad_students_are_said_in_one_line(estimator, params, message):
    with pytest.raises(ConfigError, match=f"^{message}"):
        check_student(estimator, params)


@pytest.mark.parametrize("estimator", GENERAL)
def test_good_students_pass(estimator):
    check_student(estimator, {}, n_classes=5, sparse=True)


def test_a_student_that_cannot_learn_from_few_labels_is_the_users_to_change():
    points, y = public()
    asked = np.flatnonzero(y == 0)[:1].tolist() + np.flatnonzero(y == 1)[:1].tolist()
    name = "sklearn.neighbors.KNeighborsClassifier"
    with pytest.raises(ConfigError, match=r"^student\.estimator: .*2 labels of 2 classes"):
        fit(points, asked, [0, 1], name)


def test_bad_choice_for_unanswered():
    points, _ = public()
    with pytest.raises(ConfigError, match=r"^student\.unanswered: got 'keep'; accepted: drop, random"):
        fit(points, [0], [UNANSWERED], unanswered="keep")
