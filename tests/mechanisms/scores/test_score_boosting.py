"""Boosting by scores: one record moves what is released by no more than the noise is for, and it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli import mechanisms, teachers
from pate_cli.errors import ConfigError
from pate_cli.features.kernel import KernelFeatures
from pate_cli.learners import make_learner
from pate_cli.mechanisms.scores import directions, score_boosting, student
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Gdp
from pate_cli.privacy.gaussian import vector_mu
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.doors import Recorder
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

M = 64


class Moody(ClassifierMixin, BaseEstimator):
    """Says nothing but what its records' mean says, and fails on large ones."""

    def fit(self, X, y, sample_weight=None):
        X = X.toarray() if sp.issparse(X) else X
        if np.abs(X).max() > 1e6:
            raise ArithmeticError("too large")
        self.classes_ = np.unique(y)
        self.w_ = (X * (2 * (y == self.classes_[-1])[:, None] - 1)).sum(axis=0)
        return self

    def decision_function(self, X):
        return X @ self.w_ * 1e200 * 1e150 if self.w_[0] > 3 else X @ self.w_

    def predict(self, X):
        return (X @ self.w_ > 0).astype(int)


MOODY = f"{__name__}.Moody"


def setting(eps=2.0, n_classes=2, n_teachers=40, n=480, teacher="logistic", **params):
    return Setting(
        eps=eps,
        delta=1e-4,
        n_private=n,
        n_public=M,
        budget=20,
        n_features=4,
        n_classes=n_classes,
        n_teachers=n_teachers,
        sparse=False,
        teacher=(teacher, params),
        student=("logistic", {}),
        unanswered="drop",
    )


def plan(s, **options):
    return mechanisms.calibrate("score_boosting", options, s)


def data(n_classes=2, n=480, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, :n_classes] @ np.diag(np.arange(1, n_classes + 1))).argmax(axis=1).astype(np.int64)


def learn(s, noise=0, **options):
    source = Door.seeded(noise)
    private, public = PrivateRecords(*data(s.n_classes, s.n_private)), PublicPoints(data(n=M, seed=1)[0])
    return plan(s, **options).release(Private(private), public, source, np.random.default_rng(0))


# -- what one record moves, against the noise ------------------------------------------------


def spent_by(p, private, neighbour, public, steps=True):
    """The GDP parameter that telling these two apart takes: each release's shift over its noise, squared.

    Both have the same history, so that each round sees the same student on both. Without steps, only what
    teachers say: one teacher is a part of it, however many of its records differ.
    """
    side = p.look_at(public, np.random.default_rng(0))
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    p.fit(private, side, door, np.random.default_rng(3))
    replay = door.replay(SeededNoise(np.random.SeedSequence(1)))
    p.fit(neighbour, side, replay, np.random.default_rng(3))
    assert len(replay.moved) == p.rounds + p.rounds + 3
    counted = replay.moved if steps else replay.moved[: 2 * p.rounds : 2]
    return math.sqrt(sum((by * one.kind.sensitivity / one.kind.sigma) ** 2 for one, by in counted))


def worst():
    """One teacher of two records on a line; one, replaced, makes it say the opposite, from far away."""
    pair = [PrivateRecords(np.array([[-0.5], [x]]), np.array([0, 1])) for x in (1.0, -1e3)]
    return *pair, PublicPoints(np.tile([[-1.0], [1.0]], (M // 2, 1)))


def tiny():
    return plan(setting(1.0, n_teachers=1, n=2))


def test_the_worst_record_takes_all_of_the_budget_and_no_more():
    """The teacher is turned about: 2 in every sum. What a step takes depends on noise; its share is small."""
    p = tiny()
    mu = spent_by(p, *worst())
    assert 0.92 * p.mu < mu <= p.mu


@pytest.mark.parametrize(
    ("eps", "options", "message"),
    [
        (1e-5, {}, "eps: got 1e-05; accepted: more with release=true"),
        (1.0, {"calibration": 1e-12}, "mechanism.calibration: got 1e-12; accepted: more with release="),
    ],
)
def test_a_release_whose_noise_exceeds_exact_integers_is_refused(eps, options, message):
    with pytest.raises(ConfigError, match=message):
        plan(setting(eps), **options).with_exact_noise()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_release_adds_up_whole_numbers_and_counts_all_that_get_noise(n_classes):
    s = setting(1.0, n_classes)
    p, door = plan(s, rounds=4).with_exact_noise(), Recorder(SeededNoise(np.random.SeedSequence(1)))
    side = p.look_at(PublicPoints(POINTS), np.random.default_rng(0))
    p.fit(PrivateRecords(*data(n_classes)), side, door, np.random.default_rng(3))
    passed = [passing for passing, _ in door.released]
    for passing in passed:
        whole = passing.value / passing.kind.grain
        assert np.array_equal(whole, whole.round())
        assert np.abs(whole).max() < 2**52
    sizes = [passing.value.size for passing in passed]
    steps = [*sizes[1:8:2], *sizes[8:]]
    assert len(steps) == 4 + 3
    assert max(steps) == p.longest == 5
    assert Gdp.sum(door.spent).integers == sum(sizes)
    assert p.loss(door.spent).eps == pytest.approx(1.0, rel=1e-6)
    assert p.mu == vector_mu(1.0, 1e-4, 7 * (300 * p.width + 5)) <= vector_mu(1.0, 1e-4, sum(sizes))


def test_seeded_bug_sensitivity_1_instead_of_2(monkeypatch):
    """Noise for vectors that only leave, where one leaves and another comes."""
    p = tiny()
    monkeypatch.setattr("pate_cli.mechanisms.scores.score_boosting._SENSITIVITY", 1.0)
    assert spent_by(p, *worst()) > 1.5 * p.mu


def test_seeded_bug_norm_forgotten(monkeypatch):
    """Vectors whose largest number is 1: the norm is more with more directions, which little noise leaves."""
    p = plan(setting(1e4, 2, 1, 4, "logistic", C=1e6))
    X = np.eye(4) - 0.5
    y = np.array([0, 1, 0, 1])
    private, neighbour = PrivateRecords(X, y), PrivateRecords(-X, y)
    public = PublicPoints(np.exp(data(n=M, seed=1)[0]))  # along whose many directions teachers say something
    of_vectors = p.mu_sum * math.sqrt(p.rounds)
    spent = spent_by(p, private, neighbour, public, steps=False)
    assert 0.99 * of_vectors < spent <= of_vectors * (1 + 1e-9)

    def plain(ensemble, points, found):
        vectors = np.vstack(list(teachers.score_vectors(ensemble, points, found)))
        return (vectors / np.abs(vectors).max(axis=1, keepdims=True)).sum(axis=0)

    monkeypatch.setattr(teachers, "sum_of_unit_vectors", plain)
    assert spent_by(p, private, neighbour, public, steps=False) > 1.5 * of_vectors


def test_seeded_bug_calibration_gradient_not_clipped(monkeypatch):
    p = tiny()
    monkeypatch.setattr(student, "_CLIP", 0.02)  # far below most gradients, so that it matters
    assert spent_by(p, *worst()) <= p.mu
    monkeypatch.setattr(student, "clipped_sum", lambda rows, clip: rows.sum(axis=0))
    assert spent_by(p, *worst()) > 1.5 * p.mu


@pytest.mark.parametrize(("n_classes", "rounds", "share"), [(2, [8, 8, 8], 0.15), (3, [1, 2, 4], 0.1)])
def test_rounds_and_teachers_follow_from_public_numbers(n_classes, rounds, share):
    made = [plan(setting(eps, n_classes)) for eps in (0.1, 2.0, math.inf)]
    assert [p.rounds for p in made] == rounds
    assert {p.calibration for p in made} == {share}
    count = score_boosting.Options().auto_count
    assert count(1437, n_classes, 1.0, 1e-4) == 119  # 12 records each
    assert count(1437, 26, 1.0, 1e-4) == 55  # one a class
    assert [count(6499, n_classes, eps, 1e-4) for eps in (1.0, 4.0, math.inf)] == [411, 225, 94]
    assert count(5, n_classes, 1.0, 1e-4) == 1


# -- teachers' vectors -----------------------------------------------------------------------


class Says(ClassifierMixin, BaseEstimator):
    """Scores or shares of a size that the first record sets: they need not add up, be finite or positive."""

    def fit(self, X, y):
        self.classes_, self.size_ = np.unique(y), X[np.abs(X[:, 0]).argmax(), 0]
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X):
        return self.size_ * np.tile(np.arange(1.0, len(self.classes_) + 1), (len(X), 1))

    def decision_function(self, X):
        return self.size_ * X[:, 0] if self.size_ > 0 else np.full(len(X), -self.size_)


POINTS = data(n=M, seed=1)[0]
U = np.linalg.qr(np.column_stack([np.ones(M), np.random.default_rng(0).normal(size=(M, 5))]))[0][:, 1:]
PART = teachers.partition(240, 24, np.random.default_rng(1))[7]


def taught(X, y, name, n_classes):
    """24 teachers of 240 records."""
    learner, rng = make_learner(name, {}, seed=None, n_classes=n_classes), np.random.default_rng(1)
    options = {"n_teachers": 24, "learner": learner, "rng": rng, "n_classes": n_classes, "strict": False}
    return teachers.train(PrivateRecords(X, y), **options)


def total_of(ensemble, points=POINTS):
    if ensemble.n_classes == 2:
        return teachers.sum_of_unit_vectors(ensemble, points, U)
    return teachers.sum_of_unit_shares(ensemble, points)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("logistic", np.asarray),
        ("logistic", sp.csr_matrix),
        (MOODY, sp.csr_matrix),
    ],
)
def test_one_record_changes_one_teachers_vector_to_the_bit(name, form):
    X, y = data(n=240)
    X[:, 3] = X[:, 0]  # of low rank

    def vectors(X, y):
        ensemble = taught(form(X), y, name, 2)
        found = np.concatenate(list(teachers.score_vectors(ensemble, form(POINTS), U)))
        return found, total_of(ensemble, form(POINTS))

    before, total = vectors(X, y)
    assert np.isfinite(before).all()
    assert np.abs(before).max() > 0
    for row in (0.0, -1e29, 1.7e308, 5e-324):
        Z, labels = X.copy(), y.copy()
        Z[PART[0]], labels[PART] = row, np.r_[1 - y[PART[0]], y[PART[1:]]]
        after, other = vectors(Z, labels)
        assert set(np.flatnonzero((before != after).any(axis=1))) <= {7}
        assert np.linalg.norm(total - other) <= 2
        assert np.linalg.norm(total) <= 24


@pytest.mark.parametrize("name", ["tree", MOODY])
def test_one_record_moves_shares_by_sqrt_2_at_most_and_by_nearly_as_much_at_worst(name):
    X, y = data(3, n=240)
    y[PART] = 1  # a constant teacher
    before = total_of(taught(X, y, name, 3))
    assert before.min() >= 0
    for row, label in ((0.0, 0), (-1e29, 2), (1.7e308, 2), (5e-324, 0)):
        Z, labels = X.copy(), y.copy()
        Z[PART[0]], labels[PART[0]] = row, label
        assert np.linalg.norm(total_of(taught(Z, labels, name, 3)) - before) <= math.sqrt(2)
    labels[PART] = 2  # as many records as it takes
    assert 1.41 < np.linalg.norm(total_of(taught(X, labels, name, 3)) - before) <= math.sqrt(2)


@pytest.mark.parametrize(("n_classes", "most"), [(3, math.sqrt(2)), (2, 2.0)])
def test_scores_of_a_users_learner_have_norm_1_whatever_their_size(n_classes, most, monkeypatch):
    """Squares of tiny numbers are 0, and sums of large ones overflow."""
    ensemble = taught(*data(n_classes, n=240), f"{__name__}.Says", n_classes)
    before, model = total_of(ensemble), ensemble.teachers[7].estimator
    assert np.isfinite(before).all()
    for size in (1e-320, 1e-170, 1e-160, 1e-9, 3.0, 1e200, 1e308, -1.0, 0.0, math.inf, -math.inf, math.nan):
        monkeypatch.setattr(model, "size_", size)
        assert np.linalg.norm(total_of(ensemble) - before) <= most, size


# -- it learns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "teacher", "least"),
    [(2, "logistic", 0.9), (2, "tree", 0.85), (3, "logistic", 0.75)],
)
def test_it_learns(n_classes, teacher, least):
    learnt = learn(setting(8.0, n_classes, 60, 1200, teacher), rounds=2)
    X, y = data(n_classes, 1000, 2)
    assert np.mean(learnt.model.predict(X) == y) > least


def test_each_of_several_classes_has_an_intercept():
    """Linear classes of flags, of unequal sizes: without, rounds end at .84, as they even the sizes out."""
    rows = (np.random.default_rng(seed).random((n, 12)) < 0.3 for seed, n in ((0, 2400), (1, 100), (2, 4000)))
    X, public, test = (each.astype(float) for each in rows)
    weights = np.random.default_rng(9).normal(size=(12, 6))
    learner = ("logistic", {})
    s = Setting(20.0, 1e-4, 2400, 100, 100, 12, 6, 60, False, learner, learner, "drop")
    private = Private(PrivateRecords(X, (X @ weights).argmax(axis=1)))
    noise = Door.seeded(0)
    model = plan(s, rounds=4).release(private, PublicPoints(public), noise, np.random.default_rng(0)).model
    assert np.mean(model.predict(test) == (test @ weights).argmax(axis=1)) > 0.89


def test_without_noise_it_is_exact_and_streams_are_apart():
    same, again, other = (learn(setting(), noise=k, rounds=2) for k in (0, 0, 1))
    X = data()[0]
    np.testing.assert_array_equal(same.model.decision_function(X), again.model.decision_function(X))
    assert not np.allclose(same.model.decision_function(X), other.model.decision_function(X))
    plain = [learn(setting(math.inf), noise=k, rounds=2).model.decision_function(X) for k in (0, 1)]
    np.testing.assert_array_equal(*plain)


def test_directions_are_orthonormal_and_the_model_is_what_the_rounds_had():
    features = KernelFeatures.of(POINTS, np.random.default_rng(0))
    space = directions.PublicDirections.of(POINTS, features)
    U = space.values
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-8)
    np.testing.assert_allclose(U.sum(axis=0), 0, atol=1e-8)
    assert space.variances.sum() == pytest.approx(M)
    rng = np.random.default_rng(1)
    c, b = rng.normal(size=(U.shape[1], 1)), rng.normal(size=1)
    model = space.model(np.vstack([c, b]))
    np.testing.assert_allclose(model.decision_function(POINTS), (U @ c)[:, 0] + b, atol=1e-6)


def test_points_that_are_all_alike_leave_the_intercept():
    X, y = data(n=480)[0], (np.arange(480) % 4 > 0).astype(np.int64)
    private, public = Private(PrivateRecords(X, y)), PublicPoints(np.zeros((M, 4)))
    p, rng = plan(setting(8.0), rounds=4), np.random.default_rng(0)
    model = p.release(private, public, Door.seeded(0), rng).model
    assert model.predict(X).tolist() == [1] * 480


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_attack_gives_as_many_numbers_whatever_a_round_finds(n_classes, monkeypatch):
    """A round whose function is 0 has a shorter gradient; the teacher turned about moves the first number."""
    (attack,) = plan(setting(1e3, n_classes), rounds=2).attacks()
    sides = [attack.sample(side, np.random.default_rng(0), 3) for side in (False, True)]
    assert (sides[0][:, 0] > sides[1][:, 0]).all()
    monkeypatch.setattr(directions, "_shrunk", lambda means, *rest: 0 * means)
    assert attack.sample(True, np.random.default_rng(0), 3).shape == sides[0].shape
