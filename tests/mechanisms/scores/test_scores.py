"""Scores: what one record moves, by hostile replacements; the rounds by other code; and that it learns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import features, mechanisms, teachers
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.scores import scores
from pate_cli.mechanisms.scores.directions import PublicDirections, map_of, squares_elsewhere
from pate_cli.mechanisms.scores.residual_teachers import RidgeTeachers
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Gdp
from pate_cli.privacy.gaussian import mu_of, vector_mu
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.doors import Recorder
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

M, N, D = 64, 480, 4


def setting(eps=2.0, n_classes=2, n_teachers=40, n=N, teacher="logistic", mapped=True, **params):
    sizes = (eps, 1e-4, n, M, 20, D, n_classes, n_teachers, False)
    made = Setting(*sizes, (teacher, params), ("logistic", {}), "drop", "kernel")
    return replace(made, teacher_mapped=mapped)


def plan(s, **options):
    return mechanisms.calibrate("scores", options, s)


def data(n_classes=2, n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, (X[:, :n_classes] @ np.diag(np.arange(1, n_classes + 1))).argmax(axis=1).astype(np.int64)


POINTS = data(n=M, seed=1)[0]
MAP = features.fit("kernel", POINTS, np.random.default_rng(5), 20)
PUBLIC = PublicPoints(POINTS, features=MAP)


def records(X, y, persons=None):
    return PrivateRecords(X, y, persons, features=MAP)


def moved(p, private, neighbours):
    """How far counts and sums move, in units of the sensitivity stated, with one history for all."""
    side = p.look_at(PUBLIC, np.random.default_rng(0))
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    p.fit(private, side, door, np.random.default_rng(3))
    found = []
    for neighbour in neighbours:
        replay = door.replay(SeededNoise(np.random.SeedSequence(1)))
        p.fit(neighbour, side, replay, np.random.default_rng(3))
        found.append([by for _, by in replay.moved])
    return np.array(found)


# -- what one record moves --------------------------------------------------------------------

HOSTILE = (0.0, 1e6, -1e29, 1.7e308, 5e-324)


@pytest.mark.parametrize(
    ("teacher", "n_classes", "form"),
    [
        ("logistic", 2, np.asarray),
        ("logistic", 3, sp.csr_matrix),
        ("tree", 2, np.asarray),
        ("tree", 3, np.asarray),
    ],
)
def test_a_hostile_record_changes_one_teachers_vector_and_no_other_bit(teacher, n_classes, form, monkeypatch):
    X, y = data(n_classes)
    X[:, 3] = X[:, 0]  # of low rank
    seen = []
    add_up = teachers.sum_of_units

    def noted(vectors, n_teachers):
        rows = np.concatenate(list(vectors))
        seen.append(rows)
        return add_up([rows], n_teachers)

    monkeypatch.setattr(teachers, "sum_of_units", noted)
    p = plan(setting(n_classes=n_classes, teacher=teacher, mapped=teacher == "logistic"), rounds=2)
    neighbours = []
    for i, value in enumerate(HOSTILE):
        Z, labels = X.copy(), y.copy()
        Z[7 * i], labels[7 * i] = value, (y[7 * i] + 1) % n_classes
        neighbours.append(records(form(Z), labels))
    by = moved(p, records(form(X), y), neighbours)
    assert by.max() <= 1
    np.testing.assert_allclose(by[:, 0], 1.0)  # the counts: sqrt(2)
    assert by[:, 1:].max() > 0.3
    for i in range(len(HOSTILE)):
        for t in range(2):
            assert (seen[t] != seen[2 * (i + 1) + t]).any(axis=1).sum() <= 1


def test_a_person_with_many_records_changes_one_teacher_and_one_count():
    X, y = data(3)
    persons = np.arange(N)
    many, labels = (
        np.repeat(X, np.where(persons == 5, 40, 1), axis=0),
        np.repeat(y, np.where(persons == 5, 40, 1)),
    )
    person = np.repeat(persons, np.where(persons == 5, 40, 1))
    many[person == 5], labels[person == 5] = 1e9, (y[5] + 1) % 3
    for teacher in ("logistic", "tree"):
        p = plan(setting(n_classes=3, teacher=teacher, mapped=teacher == "logistic"), rounds=2)
        assert moved(p, records(X, y, persons), [records(many, labels, person)]).max() <= 1 + 1e-9


def test_the_attack_takes_all_of_the_budget_and_no_more():
    p = plan(setting(1.0))
    assert p.mu == mu_of(1.0, 1e-4)
    assert math.hypot(p.mu_counts, p.mu_sum * math.sqrt(3)) == pytest.approx(p.mu, rel=1e-12)
    tiny = replace(p, setting=setting(1.0, n_teachers=1, n=1))
    line = PublicPoints(np.tile([[-1.0], [1.0]], (M // 2, 1)))
    side = tiny.look_at(line, np.random.default_rng(0))
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    tiny.fit(PrivateRecords(np.array([[1.0]]), np.array([0])), side, door, np.random.default_rng(3))
    replay = door.replay(SeededNoise(np.random.SeedSequence(1)))
    tiny.fit(PrivateRecords(np.array([[1.0]]), np.array([1])), side, replay, np.random.default_rng(3))
    np.testing.assert_allclose([by for _, by in replay.moved], 1.0, rtol=1e-6)
    spent = math.sqrt(sum((by * one.kind.sensitivity / one.kind.sigma) ** 2 for one, by in replay.moved))
    assert spent == pytest.approx(p.mu, rel=1e-6)
    assert spent <= p.mu


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_release_adds_up_whole_numbers_and_counts_all_that_get_noise(n_classes):
    p = plan(setting(1.0, n_classes)).with_exact_noise()
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    p.fit(
        records(*data(n_classes)), p.look_at(PUBLIC, np.random.default_rng(0)), door, np.random.default_rng(3)
    )
    passed = [passing for passing, _ in door.released]
    for passing in passed:
        whole = passing.value / passing.kind.grain
        assert np.array_equal(whole, whole.round())
        assert np.abs(whole).max() < 2**52
    integers = sum(passing.value.size for passing in passed)
    assert Gdp.sum(door.spent).integers == integers
    assert p.loss(door.spent).eps == pytest.approx(1.0, rel=1e-6)
    assert p.mu == vector_mu(1.0, 1e-4, n_classes * 901) <= vector_mu(1.0, 1e-4, integers)
    with pytest.raises(ConfigError, match="eps: got 1e-05; accepted: more with release=true"):
        plan(setting(1e-5)).with_exact_noise()


# -- by other code ----------------------------------------------------------------------------


def test_the_rounds_by_other_code():
    """Record by record, with scikit-learn's ridge, a dense posterior and noise that the door let out."""
    from sklearn.linear_model import Ridge

    C, K = 3, 40
    p = plan(setting(4.0, C), rounds=2)
    X, y = data(C)
    side = p.look_at(PUBLIC, np.random.default_rng(0))
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    model = p.fit(records(X, y), side, door, np.random.default_rng(3))
    phi, at_points = MAP.values(X), MAP.values(POINTS)
    centre = at_points.mean(axis=0)
    _, S, V = np.linalg.svd(at_points - centre, full_matrices=False)
    lam = S**2 / M
    Q, of_points = (phi - centre) @ V.T / np.sqrt(lam), (at_points - centre) @ V.T / np.sqrt(lam)
    np.testing.assert_allclose(of_points.T @ of_points / M, np.eye(len(lam)), atol=1e-9)
    counts, *sums = [out for _, out in door.released]
    apart = counts - counts.mean()
    shrunk = N / C + apart * max(0, 1 - (C - 1) * p.count_sigma**2 / (apart**2).sum())
    b, theta = np.log(shrunk / shrunk.sum()), np.zeros((len(lam), C))
    rng, g = np.random.default_rng(3), side.gains
    signs = np.sign(np.diag(side.space.at(X).T @ Q))  # of singular vectors
    for t in range(2):
        P = np.exp(b + Q @ theta)
        R = np.eye(C)[y] - P / P.sum(axis=1, keepdims=True)
        total = np.zeros_like(theta)
        for part in np.array_split(rng.permutation(N), K):
            ridge = Ridge(alpha=lam.sum(), fit_intercept=False).fit(phi[part] - centre, R[part])
            scored = ridge.predict(at_points - centre)
            u = g.weights[:, None] * (of_points.T @ scored / M)
            total += u / np.sqrt((u**2).sum())
        passed = door.released[t + 1][0].value * signs[:, None]
        np.testing.assert_allclose(passed, total, atol=1e-5)
        Z = sums[t] * signs[:, None] / K
        Z = (Z - Z.mean(axis=1, keepdims=True)) / g.weights[:, None]
        v = ((2 / p.mu_sum / K) ** 2 + g.energy / K) * (1 - 1 / C) / g.weights**2
        G = g.response * side.squares / g.weights[:, None]
        best = (-np.inf, None)
        for a in np.exp(np.linspace(-16, 8, 73)):
            prior = a * np.diag(lam / lam.sum())
            law = G @ prior @ G.T + np.diag(v)
            evidence = -0.5 * (np.trace(Z.T @ np.linalg.inv(law) @ Z) + C * np.linalg.slogdet(law)[1])
            best = max(best, (evidence, a), key=lambda each: each[0])
        prior = best[1] * np.diag(lam / lam.sum())
        drawn = np.exp(b + of_points @ theta)
        drawn /= drawn.sum(axis=1, keepdims=True)
        variance = (drawn * (1 - drawn)).sum(axis=1).mean() / (1 - 1 / C)
        step = prior @ G.T @ np.linalg.inv(G @ prior @ G.T + np.diag(v)) @ Z
        theta = theta + C * np.sqrt(variance) * step
    P = np.exp(b + Q @ theta)
    np.testing.assert_allclose(model.predict_proba(X), P / P.sum(axis=1, keepdims=True), atol=1e-3)


def test_the_budget_by_another_accountant():
    """dp_accounting's composition of the Gaussian events that passed the door."""
    accounting = pytest.importorskip("dp_accounting")
    p = plan(setting(1.0, 3))
    door = Recorder(SeededNoise(np.random.SeedSequence(1)))
    p.fit(records(*data(3)), p.look_at(PUBLIC, np.random.default_rng(0)), door, np.random.default_rng(3))
    accountant = accounting.pld.PLDAccountant()
    for passing, _ in door.released:
        accountant.compose(accounting.GaussianDpEvent(passing.kind.sigma / passing.kind.sensitivity))
    assert [passing.kind.sensitivity for passing, _ in door.released] == [math.sqrt(2), 2, 2, 2]
    assert accountant.get_epsilon(1e-4) == pytest.approx(1.0, rel=1e-3)


# -- it learns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_classes", "teacher", "least"),
    [(2, "logistic", 0.93), (2, "tree", 0.8), (3, "logistic", 0.85), (3, "tree", 0.7)],
)
def test_it_learns(n_classes, teacher, least):
    p = plan(setting(8.0, n_classes, 100, 1200, teacher, teacher == "logistic"))
    private = Private(records(*data(n_classes, 1200)))
    model = p.release(private, PUBLIC, Door.seeded(0), np.random.default_rng(0)).model
    X, y = data(n_classes, 1000, 2)
    assert np.mean(model.predict(X) == y) > least
    assert np.abs(model.predict_proba(X).sum(axis=1) - 1).max() < 1e-9


def test_nothing_learned_has_the_probabilities_of_the_class_shares():
    """At an eps of .05 noise is all there is; without noise, labels that no feature tells."""
    X, y = data(3)[0], np.repeat([0, 1, 2], [240, 160, 80])
    for eps, least in ((0.05, 0.25), (math.inf, 0.15)):
        p = plan(setting(eps, 3))
        model = p.release(Private(records(X, y)), PUBLIC, Door.seeded(0), np.random.default_rng(0)).model
        assert model.predict_proba(X).max() < 0.75
        assert model.predict_proba(X).mean(axis=0).min() > least - 0.1


def test_points_that_are_all_alike_leave_the_intercept():
    X, y = data()[0], (np.arange(N) % 4 > 0).astype(np.int64)
    public = PublicPoints(np.zeros((M, D)))
    released = plan(setting(8.0)).release(
        Private(PrivateRecords(X, y)), public, Door.seeded(0), np.random.default_rng(0)
    )
    assert released.model.predict(X).tolist() == [1] * N
    assert released.model.predict_proba(X)[0, 1] == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("own", [False, True])
def test_squares_of_directions_at_other_points_are_those_of_many_others(own):
    """100 points that span 50 directions: the last ones are two or three times larger anywhere else."""
    rng = np.random.default_rng(4)
    points, others = rng.normal(size=(100, D)), rng.normal(size=(4000, D))
    public = PublicPoints(points, features=None if own else features.fit("kernel", points, rng, 50))
    space = PublicDirections.of(points, map_of(public, rng, 50))
    true = (space.at(others) ** 2).mean(axis=0)
    found = squares_elsewhere(public, len(true), rng)
    assert [found[0] < 1.2, found[-1] > 1.8, true[-1] > 1.8] == [True] * 3
    assert (np.diff(found) >= 0).all()
    halves = [np.array_split(each, 2) for each in (found, np.maximum(true, 1))]
    for one, other in zip(*halves, strict=True):
        assert 0.5 < np.exp(np.log(one).mean() - np.log(other).mean()) < 2


def test_few_points_say_nothing_of_others():
    assert squares_elsewhere(PublicPoints(np.eye(3)), 2, np.random.default_rng(0)).tolist() == [1, 1]
    assert squares_elsewhere(PublicPoints(np.zeros((40, 2))), 0, np.random.default_rng(0)).tolist() == []


def test_squares_of_sparse_points_are_those_of_dense_ones():
    X = (np.random.default_rng(0).random((90, 30)) < 0.2).astype(np.float64)
    dense, sparse = (
        squares_elsewhere(PublicPoints(each), 40, np.random.default_rng(1)) for each in (X, sp.csr_matrix(X))
    )
    np.testing.assert_allclose(dense, sparse, rtol=0.2)
    assert dense[-1] > 1.1


def test_more_budget_is_not_worse_where_directions_are_as_many_as_points():
    rng = np.random.default_rng(0)
    X, points, new = rng.normal(size=(3000, 30)), rng.normal(size=(60, 30)), rng.normal(size=(2000, 30))
    y, true = ((Z[:, :4].sum(axis=1) > 0).astype(np.int64) for Z in (X, new))
    found = {}
    for eps in (4.0, math.inf):
        p = plan(replace(setting(eps, n_teachers=250, n=3000), n_public=60, n_features=30))
        private = Private(PrivateRecords(X, y))
        model = p.release(private, PublicPoints(points), Door.seeded(0), np.random.default_rng(0)).model
        found[eps] = np.mean(model.predict(new) == true)
    assert found[math.inf] > found[4.0] - 0.01


def test_sizes_follow_from_public_numbers():
    assert [scores.Options().auto_count(n, 2, 1.0, 1e-4) for n in (6499, 26, 5)] == [541, 2, 1]
    assert [plan(setting(eps, 2, 541, 6499)).directions for eps in (0.5, 2.0, math.inf)] == [64, 100, 100]
    assert plan(setting(0.5, 26, 541, 6499)).directions == 20
    p = plan(replace(setting(0.5, 2, 541, 6499), delta=1 / 6499))
    assert [round(p.count_sigma, 2), round(p.sigma, 2)] == [46.26, 19.93]  # by hand, from mu = .1765


def test_a_learner_that_learns_nothing_of_public_points_is_weighed_alike():
    side = plan(setting(teacher="tree", mapped=False, max_depth=1, min_samples_leaf=10**6)).look_at(
        PUBLIC, np.random.default_rng(0)
    )
    assert (side.gains.weights == 1).all()
    assert not isinstance(side.learners, RidgeTeachers)


def test_linear_teachers_in_their_own_columns_have_a_response_that_mixes_directions():
    """What they say of a bent function lies along lines: divided by that, a diagonal response misleads."""
    rng = np.random.default_rng(2)
    X, new, points = rng.normal(size=(3000, D)), rng.normal(size=(2000, D)), rng.normal(size=(200, D))
    y, true = ((Z[:, 0] + Z[:, 1] > 0).astype(np.int64) for Z in (X, new))
    map_of = features.fit("kernel", points, np.random.default_rng(5), 40)
    public = PublicPoints(points, features=map_of)
    p = plan(replace(setting(4.0, n_teachers=250, n=3000, mapped=False), n_public=200))
    side = p.look_at(public, np.random.default_rng(0))
    assert np.abs(side.gains.response - np.diag(np.diag(side.gains.response))).max() > 0
    private = Private(PrivateRecords(X, y, features=map_of))
    model = p.release(private, public, Door.seeded(0), np.random.default_rng(0)).model
    assert np.mean(model.predict(new) == true) > 0.9


@pytest.mark.parametrize("records", [3, 40])
def test_ridge_teachers_are_the_minimisers_whether_records_or_directions_are_more(records):
    rng = np.random.default_rng(0)
    values, residuals = rng.normal(size=(2, records, 8)), rng.normal(size=(2, records, 3))
    spreads = rng.uniform(0.1, 1.0, 8)
    for x, R, found in zip(
        values * spreads, residuals, RidgeTeachers(spreads).coefficients(values, residuals), strict=True
    ):
        stacked = np.vstack([x, np.eye(8)])  # a ridge of 1 is a record more for each direction
        exact = np.linalg.lstsq(stacked, np.vstack([R, np.zeros((8, 3))]), rcond=None)[0]
        np.testing.assert_allclose(found, exact * spreads[:, None], atol=1e-12)
