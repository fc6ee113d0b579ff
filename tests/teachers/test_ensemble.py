from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli.errors import ConfigError
from pate_cli.learners import BUILT_IN, TWO_CLASSES, make_learner
from pate_cli.teachers import Ensemble, partition, parts, train, training
from pate_cli.types import PrivateRecords, Votes

GENERAL = [name for name in BUILT_IN if name not in TWO_CLASSES]
LEARNERS = [*GENERAL, "sklearn.ensemble.RandomForestClassifier"]
SMALL = {"sklearn.ensemble.RandomForestClassifier": {"n_estimators": 3}}


def records(n_classes: int, kind=np.asarray, n: int = 120, d: int = 5):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    # some classes are rare, so that parts without them, or with one class only, occur
    y = np.minimum(np.abs(X[:, 0] + X[:, 1]) * 1.5, n_classes - 1).astype(np.int64)
    return kind(X), y, kind(rng.normal(size=(60, d)))


def trained(name: str, X, y, n_classes: int, n_teachers: int = 20, seed: int = 0) -> Ensemble:
    learner = make_learner(name, SMALL.get(name, {}), seed=None, n_classes=n_classes)
    private = PrivateRecords(X, y)
    rng = np.random.default_rng(seed)
    return train(private, n_teachers=n_teachers, learner=learner, rng=rng, n_classes=n_classes)


def one_by_one(teachers: Ensemble, X) -> np.ndarray:
    return np.array([teacher.predict(X) for teacher in teachers.teachers])


@pytest.mark.parametrize(("n_classes", "kind"), [(2, np.asarray), (3, sp.csr_matrix)])
@pytest.mark.parametrize("name", LEARNERS)
def test_votes_are_the_teachers_predictions_counted(name, n_classes, kind):
    X, y, queries = records(n_classes, kind)
    teachers = trained(name, X, y, n_classes)
    votes = teachers.votes(queries)
    said = one_by_one(teachers, queries).T
    expected = np.array([np.bincount(labels, minlength=n_classes) for labels in said])
    assert isinstance(votes, Votes)
    assert votes.counts.dtype == np.int64
    assert votes.n_teachers == 20
    np.testing.assert_array_equal(votes.counts, expected)
    assert (votes.counts.sum(axis=1) == 20).all()
    assert len(np.unique(votes.counts[:, 0])) > 1


def test_teachers_are_the_learner_fitted_on_each_part():
    X, y, queries = records(2)
    teachers = trained("logistic", X, y, 2)
    fitted = 0
    for teacher, part in zip(teachers.teachers, partition(len(y), 20, np.random.default_rng(0)), strict=True):
        if len(set(y[part])) == 1:
            assert teacher.classes.tolist() == [y[part][0]]
            continue
        # to a tolerance at which liblinear and the stacked solver find the same minimiser
        alone = make_learner("logistic", {"tol": 1e-12}, seed=0, n_classes=2).fit(X[part], y[part])
        np.testing.assert_allclose(teacher.estimator.coef_, alone.coef_, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(teacher.predict(queries), alone.predict(queries))
        fitted += 1
    assert fitted > 10


def test_parts_with_one_class_vote_that_class():
    X, _, queries = records(2)
    y = np.full(len(X), 2, dtype=np.int64)
    counts = trained("logistic", X, y, 4).votes(queries).counts
    np.testing.assert_array_equal(counts, np.tile([0, 0, 20, 0], (60, 1)))
    # a teacher for each record: constants only, the class shares at every point
    y = np.arange(len(X)) % 3
    counts = trained("tree", X, y, 3, n_teachers=len(X)).votes(queries).counts
    np.testing.assert_array_equal(counts, np.full((60, 3), len(X) // 3))


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_of_a_part_with_a_gap_are_its_own(name):
    X, y, queries = records(2)
    counts = trained(name, X, np.where(y == 0, 1, 3), 4).votes(queries).counts
    assert (counts[:, [0, 2]] == 0).all()
    assert (counts[:, [1, 3]].max(axis=0) > 0).all()


def test_points_on_a_teachers_border_get_its_own_vote():
    # sums that cancel exactly in one order and not in another: the matrix product may round otherwise
    rng = np.random.default_rng(3)
    half = rng.normal(size=(200, 40))
    X, y = np.hstack([half, half]), (half[:, 0] > 0).astype(np.int64)
    learner = LogisticRegression(solver="liblinear", fit_intercept=False)
    teachers = train(PrivateRecords(X, y), n_teachers=8, learner=learner, rng=rng, n_classes=2)
    queries = np.hstack([half, -half])
    assert np.abs(queries @ teachers.teachers[0].estimator.coef_.T).max() < 1e-12
    expected = one_by_one(teachers, queries).sum(axis=0)
    np.testing.assert_array_equal(teachers.votes(queries).counts[:, 1], expected)


@pytest.mark.parametrize("name", GENERAL)
def test_sparse_stays_sparse(name, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random(200, 20_000, density=0.002, format="csr", random_state=rng)
    y = rng.integers(2, size=200)

    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, refuse)
    counts = trained(name, X, y, 2, n_teachers=4).votes(X[:50]).counts
    assert (counts.sum(axis=1) == 4).all()


def test_same_seed_same_teachers_and_learner_left_alone():
    X, y, queries = records(2)
    name = LEARNERS[-1]
    first, again, other = (one_by_one(trained(name, X, y, 2, seed=s), queries) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    learner = make_learner("logistic", {}, seed=None, n_classes=2)
    train(PrivateRecords(X, y), n_teachers=4, learner=learner, rng=np.random.default_rng(0), n_classes=2)
    assert not hasattr(learner, "coef_")
    assert learner.random_state is None


def test_a_partition_that_shares_records_stops_the_run(monkeypatch):
    X, y, _ = records(2)

    def shared(n, k, rng):
        return [rng.choice(n, n // k) for _ in range(k)]

    monkeypatch.setattr(parts, "partition", shared)
    with pytest.raises(RuntimeError, match="every epsilon would be void"):
        trained("logistic", X, y, 2)


@pytest.mark.parametrize("name", ["logistic", "tree"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_teachers_do_not_depend_on_which_others_are_trained_with_them(name, kind, monkeypatch):
    X, y, queries = records(2, kind)
    every = one_by_one(trained(name, X, y, 2), queries)
    learner = make_learner(name, {}, seed=None, n_classes=2)
    rng, private = np.random.default_rng(0), PrivateRecords(X, y)
    some = train(private, n_teachers=20, learner=learner, rng=rng, n_classes=2, only=range(5, 9))
    assert some.n_teachers == 4
    np.testing.assert_array_equal(one_by_one(some, queries), every[5:9])
    monkeypatch.setattr(training, "_RECORDS", 5 * 6 * 9)  # records of nine teachers of six copied at once
    np.testing.assert_array_equal(one_by_one(trained(name, X, y, 2), queries), every)


def test_private_and_says_so():
    X, y, _ = records(2)
    teachers = trained("tree", X, y, 2)
    assert repr(teachers) == "<Ensemble: private>"
    assert repr(teachers.teachers[0]) == "<Teacher: private>"
    for leak in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="Ensemble is private"):
            leak(teachers)
        with pytest.raises(TypeError, match="Teacher is private"):
            leak(teachers.teachers[0])


def test_fits_keep_quiet_about_private_records():
    X, y, _ = records(2)
    learner = make_learner("logistic", {"solver": "lbfgs", "max_iter": 1}, seed=None, n_classes=2)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        train(PrivateRecords(X, y), n_teachers=4, learner=learner, rng=np.random.default_rng(0), n_classes=2)
    assert heard == []


def test_bad_input_is_said_in_one_line():
    X, y, _ = records(2)
    with pytest.raises(ConfigError, match=r"teacher\.count: got 121; accepted: 1 to 120 "):
        trained("tree", X, y, 2, n_teachers=121)
    with pytest.raises(ConfigError, match=r"teacher\.estimator: got 'MultinomialNB'; .*records.*Negative"):
        trained("sklearn.naive_bayes.MultinomialNB", sp.csr_matrix(X), y, 2)
    with pytest.raises(ConfigError, match=r"teacher\.estimator: got 'KNeighborsClassifier'; .*n_neighbors"):
        trained("sklearn.neighbors.KNeighborsClassifier", X, y, 2, n_teachers=40).votes(X)
