"""Privacy arithmetic against numbers worked out by hand, and what the learners compute."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from pate_cli.errors import ConfigError
from pate_cli.mechanisms import calibrate
from pate_cli.mechanisms.direct import output_perturbation
from pate_cli.mechanisms.direct.linear import Scaling, clip_rows, linear_model
from pate_cli.mechanisms.direct.output_perturbation import TOLERANCE, minimise
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

NAMES = ("output_perturbation",)
N = 6499


def setting(eps=0.5, *, delta=1 / N, n=N, n_classes=2, n_features=112):
    student = ("logistic", {})
    return Setting(eps, delta, n, 163, 49, n_features, n_classes, 10, False, student, student, "drop")


def noise(seed=0):
    return Door.seeded(seed)


def records(rows=40, d=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, d)), rng.integers(n_classes, size=rows)


# -- noise scales; sigma of 49 queries of sensitivity 1 at eps = 0.5, delta = 1/6499 is 39.6604


def test_output_perturbation_scales():
    options = {"regularisation": 0.01}
    p = calibrate("output_perturbation", options, setting())
    assert p.sensitivity == pytest.approx(2 / 64.99, rel=1e-5)
    assert p.sensitivity >= 2 / 64.99  # what the minimiser may be off is counted in
    assert p.scale == pytest.approx(2 / 64.99 * 39.6604 / 7, rel=1e-5)
    # three classes are three minimisers, all of which one record may move
    more = calibrate("output_perturbation", options, setting(n_classes=3))
    assert more.scale == pytest.approx(math.sqrt(3) * p.scale)
    pure = calibrate("output_perturbation", {**options, "noise": "laplace"}, setting())
    assert pure.scale == pytest.approx(2 / 64.99 / 0.5, rel=1e-5)
    assert (pure.guarantee.eps, pure.guarantee.delta) == (0.5, 0.0)
    split = calibrate("output_perturbation", {**options, "noise": "laplace"}, setting(n_classes=3))
    assert split.scale == pytest.approx(3 * pure.scale)


@pytest.mark.parametrize("name", NAMES)
def test_without_privacy_there_is_no_noise(name):
    p = calibrate(name, {}, setting(math.inf))
    assert p.guarantee.eps == math.inf
    X, y = records()
    fits = [
        p.release(
            Private(PrivateRecords(X, y)), PublicPoints(X), noise(seed), np.random.default_rng(0)
        ).model.decision_function(X)
        for seed in (0, 1)
    ]
    assert np.array_equal(*fits)


@pytest.mark.parametrize("name", NAMES)
def test_rules_use_sizes_and_budget_only_and_move_the_right_way(name):
    """More records or more budget: longer descent, weaker regularisation."""
    low, high, many = (calibrate(name, {}, s) for s in (setting(0.1), setting(1.0), setting(0.1, n=10 * N)))
    assert low.regularisation > high.regularisation >= 1 / N
    assert low.regularisation > many.regularisation


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "output_perturbation",
            {"noise": "uniform"},
            "mechanism.noise: got 'uniform'; accepted: gaussian, lap",
        ),
        (
            "output_perturbation",
            {"regularisation": -1},
            "mechanism.regularisation: got -1; accepted: auto, or",
        ),
    ],
)
def test_options_are_refused_by_name(name, options, said):
    with pytest.raises(ConfigError) as refused:
        calibrate(name, options, setting())
    assert str(refused.value).startswith(said)


# -- sensitivity, on neighbours at random


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_record_moves_each_minimiser_by_the_sensitivity_at_most(n_classes):
    p = calibrate("output_perturbation", {"regularisation": 0.05}, setting(n=40, n_classes=n_classes))
    p = replace(p, scale=0.0)
    most = 0.0
    for seed in range(10):
        X, y = records(n_classes=n_classes, seed=seed)
        other, label = X.copy(), y.copy()
        other[0], label[0] = -1e3 * X[0], (y[0] + seed) % n_classes
        moved = p.weights(X, y, noise())[0] - p.weights(other, label, noise())[0]
        most = max(most, float(np.linalg.norm(moved, axis=1).max()))
    assert 0.2 * p.sensitivity < most <= p.sensitivity


# -- what they compute


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("weight", [0.3, 1e-3, 1e-6])
def test_what_is_found_is_the_minimiser(weight, kind):
    """Checked here with a gradient of its own, and on records of one class, which most solvers refuse."""
    X, y = records(rows=200, d=5)
    for signs in (np.where(y == 1, 1.0, -1.0), np.ones(200)):
        w = minimise(kind(clip_rows(X)), signs, 200, weight)
        miss = 1 / (1 + np.exp(signs * (clip_rows(X) @ w)))
        gradient = clip_rows(X).T @ (-signs * miss) / 200 + weight * w
        assert np.linalg.norm(gradient) <= 2 * TOLERANCE


def test_a_point_that_is_not_the_minimiser_is_not_released(monkeypatch):
    monkeypatch.setattr(output_perturbation, "_ITERATIONS", 1)
    X, y = records()
    with pytest.raises(FloatingPointError, match="no minimiser"):
        calibrate("output_perturbation", {}, setting(n=40)).weights(X, y, noise())


def test_records_are_clipped_before_they_are_fitted():
    X, y = records()
    p = calibrate("output_perturbation", {}, setting(n=40))
    far = p.weights(X * 1e3, y, noise())
    assert far == pytest.approx(p.weights(X * 1e5, y, noise()), abs=1e-6)
    assert not np.allclose(far, p.weights(X * 1e-3, y, noise()))


def test_gamma_noise_has_the_law_of_the_paper():
    """Norm Gamma(d, scale), direction uniform: three tests at 1e-7 each, so a false alarm in 3e-7."""
    door = noise()
    drawn = door.gamma(np.zeros((20000, 3)), sensitivity=1.0, scale=2.0)
    assert door.spent.pure == {0.5: 1}
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(3, scale=2.0).cdf).pvalue > 1e-7
    # a coordinate of a uniform direction in three dimensions is uniform
    for axis in (0, 2):
        assert stats.kstest(drawn[:, axis] / norms, stats.uniform(-1, 2).cdf).pvalue > 1e-7


# -- features


def test_scale_comes_from_public_points_and_rows_end_in_the_ball():
    public = np.diag([1.0, 2.0, 3.0])
    scaling = Scaling.of(public)
    assert scaling.bound == pytest.approx(np.quantile([1, 2, 3], 0.95))
    Z = scaling.apply(sp.csr_matrix([[scaling.bound, 0, 0], [50.0, 0, 0], [0, 0, 0]]))
    norms = np.linalg.norm(clip_rows(Z).toarray(), axis=1)
    assert norms[:2] == pytest.approx([1, 1])
    assert norms[2] == pytest.approx(0.5 / math.hypot(1, 0.5))
    assert Scaling.of(np.zeros((3, 2))).bound == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_classifies_as_the_weights_do_clipped_or_not(n_classes):
    X, _ = records(rows=200, d=4)
    X[:50] *= 100
    weights = np.random.default_rng(1).normal(size=(n_classes, 5))
    scaling = Scaling.of(X[:100])
    expected = np.argmax(clip_rows(scaling.apply(X)) @ weights.T, axis=1)
    assert np.array_equal(linear_model(weights, scaling).predict(X), expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_learns_separated_classes(name, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=3000)
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(3000, 3))
    p = calibrate(name, {}, setting(8.0, n=3000, n_classes=n_classes, n_features=3))
    learnt = p.release(Private(PrivateRecords(X, y)), PublicPoints(X[:100]), noise(), rng)
    assert np.mean(learnt.model.predict(X) == y) > 0.97
    assert learnt.spent == p.guarantee
    assert not p.guarantee.data_dependent
    assert learnt.answers.n_asked == p.n_teachers == 0
