"""Students of labels and of noisy shares of the votes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli.cli import main
from pate_cli.errors import ConfigError
from pate_cli.learners import TWO_CLASSES
from pate_cli.learners.constant import ConstantClassifier
from pate_cli.learners.dense import DenseInput
from pate_cli.students import STUDENTS, check_student, fit_student
from pate_cli.students.voting import Voting
from pate_cli.types import UNANSWERED, Answers, PublicPoints

GENERAL = [name for name in STUDENTS if name not in TWO_CLASSES]
EVERY = [*GENERAL, "sklearn.neighbors.KNeighborsClassifier"]
PLAIN = "sklearn.linear_model.LogisticRegression"


def public(n_classes: int = 2, n: int = 200, d: int = 5, kind=np.asarray):
    X = np.random.default_rng(5).normal(size=(n, d))
    return PublicPoints(kind(X)), np.argmax(X[:, :n_classes], axis=1).astype(np.int64)


def fit(points, asked, labels, estimator="logistic", params=None, unanswered="drop", n_classes=2, seed=0):
    asked, labels = np.asarray(asked, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    how = {"unanswered": unanswered, "n_classes": n_classes, "seed": seed, "rng": np.random.default_rng(seed)}
    return fit_student(points, Answers(asked, labels), estimator=estimator, params=params or {}, **how)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", EVERY)
def test_every_student_learns_codes(estimator, n_classes, kind):
    check_student(estimator, {}, n_classes=n_classes, sparse=kind is sp.csr_matrix)
    points, y = public(n_classes, kind=kind)
    asked = np.random.default_rng(0).permutation(200)[:150]
    student = fit(points, asked, y[asked], estimator, n_classes=n_classes)
    predicted = student.predict(points.X)
    assert set(np.unique(predicted)) == set(range(n_classes))
    assert np.mean(predicted == y) > 0.75


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


def test_codes_of_the_classes_that_are_there_are_kept():
    points, y = public()
    for unanswered in ("drop", "random"):
        student = fit(points, [], [], unanswered=unanswered)
        assert isinstance(student, ConstantClassifier)
        assert student.predict(points.X).tolist() == [0] * 200
    student = fit(points, [7, 3, 9], [2, UNANSWERED, 2], "voting", n_classes=4)
    assert student.predict(points.X).tolist() == [2] * 200
    student = fit(points, np.arange(200), np.where(y == 0, 1, 3), "voting", n_classes=4)
    assert set(student.predict(points.X).tolist()) == {1, 3}


def test_voting_beats_its_base_where_one_line_cannot_do():
    points, _ = public(n=400, d=1)
    y = (np.abs(points.X[:, 0]) < 0.7).astype(np.int64)  # an interval: a vote of thresholds
    stump = {"max_depth": 1}
    alone = fit(points, np.arange(400), y, "tree", stump)
    few = {"base": "tree", "base_params": stump, "n_estimators": 20}
    vote = fit(points, np.arange(400), y, "voting", few)
    assert np.mean(vote.predict(points.X) == y) > 0.95 > np.mean(alone.predict(points.X) == y)
    assert len(vote.model_.estimators_) <= 20


def test_the_penalty_of_a_voting_base_means_what_it_means_alone():
    points, y = public()
    y[:30] = 1 - y[:30]
    vote = fit(points, np.arange(200), y, "voting", {"n_estimators": 1, "base_params": {"C": 0.5}})
    alone = fit(points, np.arange(200), y, "logistic", {"C": 0.5})
    np.testing.assert_allclose(vote.model_.estimators_[0].coef_, alone.coef_, rtol=1e-3)
    base = DenseInput(
        LogisticRegression(C=0.5, solver="liblinear")
    )  # as a learner that takes no sparse records
    given_dense = Voting(base, n_estimators=1).fit(points.X, y)
    np.testing.assert_allclose(given_dense.model_.estimators_[0].coef_, alone.coef_, rtol=1e-3)


def test_voting_without_an_edge_is_its_base_alone():
    X = np.zeros((4, 1))
    student = fit(PublicPoints(X), np.arange(4), [0, 1, 0, 1], "voting")
    assert isinstance(student, Voting)
    assert len(set(student.predict(X).tolist())) == 1
    assert not hasattr(student.model_, "estimators_")


# -- noisy shares of the votes of K teachers

K = 100


def votes(n_classes=2, m=200, sigma=0.0, seed=0):
    """Points, noisy counts and labels: shares of the votes are a softmax of the first C features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 6))
    scores = np.exp(2 * X[:, :n_classes])
    counts = K * scores / scores.sum(axis=1, keepdims=True)
    return X, counts + sigma * rng.normal(size=counts.shape), counts.argmax(axis=1)


def fit_shares(X, counts, *, noisy=True, asked=None, **params):
    asked = np.arange(len(counts)) if asked is None else asked
    answers = Answers(asked, counts.argmax(axis=1), counts if noisy else None, n_teachers=K)
    how = {"unanswered": "drop", "rng": np.random.default_rng(0), "n_classes": counts.shape[1], "seed": 0}
    return fit_student(PublicPoints(X), answers, estimator="soft_targets", params=params, **how)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_class_weighs_its_clipped_share(kind):
    X = np.random.default_rng(0).normal(size=(5, 3))
    counts = np.array([[-20.0, 60.0, 60.0], [150.0, -1.0, -1.0], [-5.0, -1.0, -2.0], [70.0, 20.0, 10.0]])
    rows = [4, 4, 0, 1, 1, 1, 2, 2, 2]
    labels = [1, 2, 0, 0, 1, 2, 0, 1, 2]
    weights = [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3, 0.7, 0.2, 0.1]
    expected = LogisticRegression().fit(X[rows], labels, sample_weight=weights)
    student = fit_shares(kind(X), counts, asked=np.array([4, 0, 1, 2]), base=PLAIN)
    np.testing.assert_allclose(student.coef_, expected.coef_, atol=1e-4)
    constant = fit_shares(X, np.full((5, 2), [0.0, K]))  # one class has all votes
    assert (type(constant), constant.constant) == (ConstantClassifier, 1)


@pytest.mark.parametrize("base", ["logistic", "tree"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_learns_from_noisy_counts(n_classes, base):
    X, counts, _ = votes(n_classes, m=400, sigma=10.0)
    fresh, _, truth = votes(n_classes, seed=1)
    student = fit_shares(X, counts, base=base)
    assert np.mean(student.predict(fresh) == truth) > (0.85 if base == "logistic" else 0.6)


def test_without_noisy_counts_the_learner_has_the_labels():
    X, counts, _ = votes(sigma=10.0)
    alone = LogisticRegression().fit(X, counts.argmax(axis=1))
    np.testing.assert_array_equal(fit_shares(X, counts, noisy=False, base=PLAIN).coef_, alone.coef_)


@pytest.mark.parametrize(
    ("estimator", "params", "message"),
    [
        ("vote", {}, r"estimator: got 'vote'; accepted: logistic, linear_svm, .*voting, soft_targets"),
        ("logistic", {"c": 1}, r"params\.c: got 1; accepted: parameters C, "),
        ("logistic", {"C": 0}, r"params\.C: got 0; accepted: a float in the range"),
        ("soft_targets", {"C": 1}, r"params\.C: got 1; accepted: parameters base, base_params"),
        ("voting", {"base": "linear"}, r"params\.base: got 'linear'; accepted: logistic, "),
        ("voting", {"base": "libsvm"}, r"params\.base: got 'libsvm'; accepted: .*sample weights"),
        ("voting", {"base_params": 3}, r"params\.base_params: got 3; "),
        ("voting", {"base_params": {"C": -1}}, r"params\.base_params\.C: got -1; "),
        ("voting", {"n_estimators": 0}, r"params\.n_estimators: got 0; accepted: an int in the range \["),
    ],
)
def test_bad_students_are_said_in_one_line(estimator, params, message):
    with pytest.raises(ConfigError, match=rf"^student\.{message}"):
        check_student(estimator, params)


def test_a_student_that_cannot_learn_from_few_labels_is_the_users_to_change():
    points, y = public()
    asked = [np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]
    with pytest.raises(ConfigError, match=r"^student\.estimator: .*2 labels of 2 classes"):
        fit(points, asked, [0, 1], "sklearn.neighbors.KNeighborsClassifier")


def test_warnings_of_a_learner_are_counted_and_it_may_be_verbose(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    data = ["dataset=synthetic", "dataset.n_records=600", "split.public=60", "repeats=3"]
    learner = [
        "student=logistic",
        "student.params.solver=lbfgs",
        "student.params.max_iter=1",
        "teacher.params.verbose=1",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["run", *data, *learner, "student.params.verbose=1", "hydra.run.dir=out"]) == 0
    said = [line for line in capfd.readouterr().err.splitlines() if "Warning" in line]
    text = "ConvergenceWarning: lbfgs failed to converge after 1 iteration"
    assert len(said) == 1
    assert said[0].startswith(f"pate: warned in 3 of 3 repeats: {text}")


def test_a_student_that_fails_in_any_way_is_told_by_its_key(monkeypatch):
    """What a mechanism released is paid for, and not lost with a traceback."""

    def fail(self, X, y, sample_weight=None):
        raise KeyError("labels")

    monkeypatch.setattr(LogisticRegression, "fit", fail)
    points, y = public()
    with pytest.raises(ConfigError, match=r"^student\.estimator: got 'logistic'; .*'labels'"):
        fit(points, np.arange(200), y)
