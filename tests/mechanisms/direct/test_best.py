"""`best`: the claim stands, seeded bugs are caught, each step is paid for, and what it learns."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import mechanisms
from pate_cli.audit import audit
from pate_cli.mechanisms.direct.best import BestPlan
from pate_cli.mechanisms.direct.clipped_gradients import ClippedGradients
from pate_cli.mechanisms.direct.public_features import OwnColumns, PublicFeatures
from pate_cli.privacy.door import Door
from pate_cli.students import load_student, save_student
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

EPS, DELTA, SURE = 3.0, 1e-3, 1 - 1e-6  # of all bounds of a test: it fails by chance once in a million


def made(n=1000, n_classes=2, eps=EPS, m=100, **options):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, n, m, 30, 2, n_classes, 10, False, learner, learner, "drop")
    return mechanisms.calibrate("best", options, setting)


def rings(rng, n, n_classes=2):
    y = rng.integers(0, n_classes, n)
    angle, radius = rng.uniform(0, 2 * math.pi, n), 1 + 2 * y + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def learn(p, X, y, P):
    private, rng = Private(PrivateRecords(X, y)), np.random.default_rng(0)
    return p.release(private, PublicPoints(P), Door.seeded(0), rng).model


def shown(attacked, claimed, *, persons=False, runs=6_000):
    attacks = attacked.attacks_on_persons() if persons else attacked.attacks()
    return max(each.bound for each in audit(claimed, attacks, runs=runs, confidence=SURE, seed=0))


@pytest.mark.parametrize(("exact", "persons"), [(False, True), (True, False)])
def test_the_claim_stands_and_half_of_it_is_shown(persons, exact):
    p = made(steps=20)
    assert EPS / 2 < shown(p.with_exact_noise() if exact else p, p, persons=persons) <= EPS


def without_clipping(patch):
    patch.setattr(ClippedGradients, "_shrink", lambda self, sizes: np.ones_like(sizes))


def noise_of_half_the_sensitivity(patch):
    right = BestPlan.sigma_for
    patch.setattr(BestPlan, "sigma_for", lambda self, dimension: right(self, dimension) / 2)


def private_width(patch):
    """The kernel's width from the private records."""
    right, fit = PublicFeatures.of.__func__, BestPlan.fit

    def wrong(self, private, public, door, rng, runs=1):
        def of(cls, points, rng, **options):
            made = right(cls, points, rng, **options)
            x = made.columns.apply(private.X)[:, 0]
            apart = ((x[:, None] - x) ** 2)[np.triu_indices(len(x), 1)]
            return replace(made, spread=float(np.median(apart))) if len(x) > 1 else made

        patch.setattr(PublicFeatures, "of", classmethod(of))
        return fit(self, private, public, door, rng, runs)

    patch.setattr(BestPlan, "fit", wrong)


@pytest.mark.parametrize(
    ("bug", "persons"),
    [(without_clipping, True), (noise_of_half_the_sensitivity, False), (private_width, False)],
)
def test_a_seeded_bug_is_caught(bug, persons, monkeypatch):
    p = made(steps=20)
    bug(monkeypatch)
    assert shown(p, p, persons=persons, runs=4000) > EPS


@pytest.mark.parametrize("eps", [0.01, 1.0, 100.0])
def test_sums_and_their_noise_are_whole_numbers_of_floating_point(eps):
    p = made(eps=eps, steps=45).with_exact_noise()
    assert max(p.n * p.clip / p.grain, 64 * p.sigma_for(300)) < 2**53
    assert p.sigma_for(300) > 2**10  # rounding is nothing beside the noise


def number_among_flags(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 2, (n, 60))])
    return X, (np.abs(X[:, 0]) > 0.67).astype(np.int64)


def rare_values(rng, n):
    """A column that is 0 for 80% tells the class by being odd or not."""
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(1, 13, n) * (rng.random(n) < 0.2)])
    return X, np.where(X[:, 2] > 0, X[:, 2] % 2, X[:, 0] > 0).astype(np.int64)


def texts(rng, n):
    """Each of 600 words says a class; none is frequent, and of 100 public points no two share many."""
    y = rng.integers(0, 2, n)
    words = 2 * rng.integers(0, 300, (n, 12)) + (y[:, None] ^ (rng.random((n, 12)) < 0.3))
    X = sp.csr_matrix((np.ones(12 * n), words.ravel(), 12 * np.arange(n + 1)), (n, 600))
    X.sum_duplicates()
    return X, y


@pytest.mark.parametrize(
    ("law", "n", "m", "options", "least"),
    [
        (rings, 8000, 160, {"eps": 1.0}, 0.97),  # a linear model: a half
        (functools.partial(rings, n_classes=4), 8000, 160, {"eps": math.inf, "n_classes": 4}, 0.85),
        (number_among_flags, 8000, 160, {}, 0.95),  # without splines .78 to .86
        (rare_values, 8000, 400, {"eps": 1.0}, 0.97),  # without bins half of them is wrong
        (texts, 8000, 100, {}, 0.85),  # in what public points span .78
    ],
)
def test_it_learns(law, n, m, options, least):
    rng = np.random.default_rng(1)
    (X, y), (P, _), (T, truth) = law(rng, n), law(rng, m), law(rng, 2000)
    model = learn(made(n=n, m=m, **options), X, y, P)
    assert np.mean(model.predict(T) == truth) > least
    if law is texts:
        assert isinstance(model.features, OwnColumns)
    if law is rare_values:
        assert model.features.bins.dimension == 12
        noisy = learn(made(n=n, m=m, eps=0.02), X, y, P)
        assert noisy.features.bins.dimension == 0  # noise hides them


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: sp.csr_matrix(np.tile(X, 300))])
def test_one_record_of_1e300_changes_hardly_anything(form):
    rng = np.random.default_rng(0)
    (X, y), P, (T, truth) = rings(rng, 3000), rings(rng, 100)[0], rings(rng, 500)
    other = X.copy()
    other[0] = [1e300, -1e300]
    models = [learn(made(n=3000), form(records), y, form(P)) for records in (X, other)]
    scores = [model.decision_function(form(T)) for model in models]
    assert np.isfinite(scores).all()
    assert np.abs(scores[0] - scores[1]).max() < 0.5
    if form(X).shape[1] == 2:  # in columns of its own, as of text, it is a linear model: a half
        assert np.mean(models[1].predict(form(T)) == truth) > 0.95


@pytest.mark.parametrize(
    "P", [np.ones((30, 2)), np.zeros((1, 2)), np.array([[0.0, 1.0], [1e300, -1e300], [0.5, 0.0]])]
)
def test_public_points_that_span_little_still_give_a_model(P):
    X, y = rings(np.random.default_rng(0), 400)
    assert np.isfinite(learn(made(n=400), X, y, P).predict_proba(X)).all()


@pytest.mark.parametrize("form", [np.asarray, lambda X: sp.csr_matrix(np.tile(X, 300))])
def test_a_model_comes_back_from_its_file(form, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rings(rng, 500, 3)
    model = learn(made(n=500, n_classes=3), form(X), y, form(X[:70]))
    features = form(X).shape[1]
    save_student(tmp_path / "m.skops", model, classes="abc", n_features=features, encoder=None, meta={})
    again = load_student(tmp_path / "m.skops").student
    assert np.array_equal(again.predict_proba(form(X)), model.predict_proba(form(X)))
