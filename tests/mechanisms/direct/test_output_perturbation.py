"""`output_perturbation`: noise against numbers worked out by hand, the minimiser, the claim, seeded bugs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from pate_cli.audit import audit
from pate_cli.mechanisms import calibrate
from pate_cli.mechanisms.direct import output_perturbation
from pate_cli.mechanisms.direct.linear import Scaling, clip_rows, linear_model
from pate_cli.mechanisms.direct.output_perturbation import TOLERANCE, minimise
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Pure
from pate_cli.privacy.kinds import GammaNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

N = 6499


def made(eps=0.5, *, delta=1 / N, n=N, n_classes=2, n_features=112, **options):
    learner = ("logistic", {})
    setting = Setting(eps, delta, n, 163, 49, n_features, n_classes, 10, False, learner, learner, "drop")
    return calibrate("output_perturbation", options, setting)


def released(p, X, y, public=None, seed=0):
    public = PublicPoints(X if public is None else public)
    return p.release(Private(PrivateRecords(X, y)), public, Door.seeded(seed), np.random.default_rng(0))


def records(rows=40, d=4, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, d)), rng.integers(n_classes, size=rows)


def test_scales_of_the_noise():
    """Sigma of 49 queries of sensitivity 1 at eps = 0.5, delta = 1/6499 is 39.6604."""
    p = made(regularisation=0.01)
    assert 2 / 64.99 <= p.sensitivity == pytest.approx(2 / 64.99, rel=1e-5)  # the tolerance is counted in
    assert p.scale == pytest.approx(2 / 64.99 * 39.6604 / 7, rel=1e-5)
    # three classes are three minimisers, all of which one record may move
    assert made(regularisation=0.01, n_classes=3).scale == pytest.approx(math.sqrt(3) * p.scale)
    pure = made(regularisation=0.01, noise="laplace")
    assert pure.scale == pytest.approx(2 / 64.99 / 0.5, rel=1e-5)
    assert (pure.guarantee.eps, pure.guarantee.delta) == (0.5, 0.0)
    assert made(regularisation=0.01, noise="laplace", n_classes=3).scale == pytest.approx(3 * pure.scale)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_record_moves_each_minimiser_by_the_sensitivity_at_most(n_classes):
    p = replace(made(n=40, n_classes=n_classes, regularisation=0.05), scale=0.0)
    most, door = 0.0, Door.seeded(0)
    for seed in range(10):
        X, y = records(n_classes=n_classes, seed=seed)
        other, label = X.copy(), y.copy()
        other[0], label[0] = -1e3 * X[0], (y[0] + seed) % n_classes
        moved = p.weights(X, y, door)[0] - p.weights(other, label, door)[0]
        most = max(most, float(np.linalg.norm(moved, axis=1).max()))
    assert 0.2 * p.sensitivity < most <= p.sensitivity


@pytest.mark.parametrize(("weight", "kind"), [(0.3, np.asarray), (1e-6, sp.csr_matrix)])
def test_the_gradient_is_0_at_the_minimiser(weight, kind):
    """On records of one class, too, which most solvers refuse."""
    X, y = records(rows=200, d=5)
    for signs in (np.where(y == 1, 1.0, -1.0), np.ones(200)):
        w = minimise(kind(clip_rows(X)), signs, 200, weight)
        miss = 1 / (1 + np.exp(signs * (clip_rows(X) @ w)))
        gradient = clip_rows(X).T @ (-signs * miss) / 200 + weight * w
        assert np.linalg.norm(gradient) <= 2 * TOLERANCE


def test_a_point_that_is_not_the_minimiser_is_not_released(monkeypatch):
    monkeypatch.setattr(output_perturbation, "_ITERATIONS", 1)
    with pytest.raises(FloatingPointError, match="no minimiser"):
        made(n=40).weights(*records(), Door.seeded(0))


def test_gamma_noise_has_the_law_of_the_paper():
    """Norm Gamma(d, scale), direction uniform: three tests at 1e-7 each, so a false alarm in 3e-7."""
    door = Door.seeded(0)
    drawn = door.release(np.zeros((20000, 3)), GammaNoise(sensitivity=1.0, scale=2.0))
    assert door.spent == {Pure(0.5): 20000}
    norms = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(norms, stats.gamma(3, scale=2.0).cdf).pvalue > 1e-7
    # a coordinate of a uniform direction in three dimensions is uniform
    for axis in (0, 2):
        assert stats.kstest(drawn[:, axis] / norms, stats.uniform(-1, 2).cdf).pvalue > 1e-7


def test_scale_comes_from_public_points_and_rows_end_in_the_ball():
    scaling = Scaling.of(np.diag([1.0, 2.0, 3.0]))
    assert scaling.bound == pytest.approx(np.quantile([1, 2, 3], 0.95))
    Z = scaling.apply(sp.csr_matrix([[scaling.bound, 0, 0], [50.0, 0, 0], [0, 0, 0]]))
    norms = np.linalg.norm(clip_rows(Z).toarray(), axis=1)
    assert norms == pytest.approx([1, 1, 0.5 / math.hypot(1, 0.5)])
    assert Scaling.of(np.zeros((3, 2))).bound == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_classifies_as_the_weights_do_clipped_or_not(n_classes):
    X, _ = records(rows=200, d=4)
    X[:50] *= 100
    weights, scaling = np.random.default_rng(1).normal(size=(n_classes, 5)), Scaling.of(X[:100])
    expected = np.argmax(clip_rows(scaling.apply(X)) @ weights.T, axis=1)
    assert np.array_equal(linear_model(weights, scaling).predict(X), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_learns_separated_classes(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=3000)
    X = np.eye(3)[y] + 0.1 * rng.normal(size=(3000, 3))
    p = made(8.0, n=3000, n_classes=n_classes, n_features=3)
    learnt = released(p, X, y, X[:100])
    assert np.mean(learnt.model.predict(X) == y) > 0.97
    assert learnt.answers.n_asked == p.n_teachers == 0


# -- audit, at 99.9999% confidence: a false alarm has probability at most 1e-6

EPS = 3.0
CLAIM = {"eps": EPS, "delta": 1e-3, "n": 1000, "n_features": 20}


def shown(attacked, claimed):
    attacks = attacked.attacks()
    return max(each.bound for each in audit(claimed, attacks, runs=50_000, confidence=1 - 1e-6, seed=0))


@pytest.mark.parametrize(("noise", "least"), [("gaussian", 1.0), ("laplace", 1.5)])
def test_the_claim_stands_and_a_bug_is_caught(noise, least, monkeypatch):
    p = made(**CLAIM, noise=noise)
    assert least < shown(p, p) <= EPS
    assert shown(replace(p, scale=p.scale / 2), p) > EPS
    monkeypatch.setattr(output_perturbation, "clip_rows", lambda Z: Z)
    assert shown(p, p) > EPS


def test_an_attack_reaches_nearly_all_of_the_sensitivity():
    p = replace(made(**CLAIM), scale=0.0)
    steep = {name: sample for name, sample, _ in p.attacks()}["steep losses, across the pull of the rest"]
    rng = np.random.default_rng(0)
    moved = np.linalg.norm(steep(False, rng, 1) - steep(True, rng, 1))
    assert 0.7 * p.sensitivity < moved <= p.sensitivity


# -- any finite record: its norm may exceed the largest float, or its square the smallest

LARGEST, LEAST = np.finfo(float).max, 5e-324
EXTREMES = [
    [LARGEST, -LARGEST, LARGEST],
    [0.0, -LARGEST, 0.0],
    [1.4e154, 0.0, 0.0],  # the square just too large
    [1.4e-162, 1e-163, 0.0],  # the square just too small
    [LEAST, 1.0, LARGEST],
    [1e-160, 1e160, -1e-320],
    [0.0, 0.0, 0.0],
]


@pytest.mark.parametrize(
    ("n_classes", "scale", "form"), [(2, LARGEST, np.asarray), (3, LEAST, sp.csr_matrix)]
)
@pytest.mark.parametrize("name", ["noisy_gd", "output_perturbation"])
def test_extreme_records_and_public_points_give_a_finite_model(name, n_classes, scale, form):
    usual, student = np.random.default_rng(0).normal(size=(30, 3)), ("logistic", {})
    X = np.vstack([EXTREMES, usual])
    setting = Setting(1.0, 1e-5, len(X), 10, 5, 3, n_classes, 1, False, student, student, "drop")
    p = calibrate(name, {}, setting)
    for public in (usual[:10] / 4 * scale, X):
        model = released(p, form(X), np.arange(len(X)) % n_classes, form(public)).model
        weights = model.weights if name == "noisy_gd" else np.append(model.coef_, model.intercept_)
        assert np.isfinite(weights).all()
        assert weights.any() or public is X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("record", EXTREMES)
def test_a_clipped_row_is_within_the_unit_ball_and_keeps_its_direction(record, form):
    def square(row):
        return sum(Fraction(float(entry)) ** 2 for entry in np.ravel(row))

    row = np.array([record])
    clipped = sp.csr_matrix(clip_rows(form(row))).toarray()
    if square(row) <= 1:
        assert np.array_equal(clipped, row)  # to the bit
    else:
        assert Fraction(1 - 8 * 2.0**-53) ** 2 <= square(clipped) <= Fraction(1 + 8 * 2.0**-53) ** 2
        assert clipped == pytest.approx(row / np.abs(row).max() * np.abs(clipped).max(), rel=1e-15)
