"""Weights of columns: what they are made of, who may say, and what they are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import mechanisms
from pate_cli.mechanisms.baselines import public_kernel
from pate_cli.mechanisms.baselines.gradients import PersonGradients, RecordGradients
from pate_cli.mechanisms.baselines.public_distances import WeighedDistances
from pate_cli.mechanisms.baselines.public_features import LONGEST, UNIT, PublicFeatures
from pate_cli.mechanisms.baselines.public_relevance import carried, column_weights, slopes, weighs_columns
from pate_cli.privacy.noise import SeededNoise
from pate_cli.students.store import load_student, save_student
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting


def product(n, rng, d=12, n_classes=2):
    """The sign of the product of two of d columns, and of a third by itself; classes 2 and 3 by a fourth."""
    X = rng.normal(size=(n, d))
    y = (X[:, 2] * X[:, 5] > 0).astype(np.int64)
    return X, y if n_classes == 2 else y + 2 * (np.abs(X[:, 7]) > 0.67)


def plan(n, m=200, eps=2.0, n_classes=2):
    learner = ("logistic", {})
    setting = Setting(eps, 1 / n, n, m, 30, 12, n_classes, 10, False, learner, learner, "drop")
    return mechanisms.plan("public_kernel", {}, setting)


def learn(p, X, y, P, units=None):
    private = Private(PrivateRecords(X, y, units))
    return p.release(private, PublicPoints(P), SeededNoise(3), np.random.default_rng(3)).model


@pytest.fixture
def weighed():
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.normal(size=(150, 3)), rng.exponential(size=150), rng.integers(0, 2, 150)])
    features = PublicFeatures.of(P, np.random.default_rng(0), directions=60)
    return (
        P,
        features,
        features.spanned_by(WeighedDistances.of(features.landmarks, np.array([3, 1, 0, 1, 0.0]))),
    )


def test_weighed_features_of_a_record_are_its_own_to_the_bit_and_bounded(weighed):
    P, plain, features = weighed
    X = np.vstack([P[:60], [[1e300, -1e300, 0, 5, 1], [0, 0, 0, 1e-300, 0]]])
    found = features.apply(X, anywhere=True)
    assert np.abs(found.astype(float) - plain.apply(X, anywhere=True)).max() > 0.1 / UNIT
    alone = np.vstack([features.apply(X[i : i + 1], anywhere=True) for i in range(len(X))])
    assert np.array_equal(found, alone)
    mapped = features.columns.apply(X)
    exactly = features._directions_anywhere(mapped)  # before they are rounded
    for i in range(len(X)):
        assert np.array_equal(exactly[[i]], features._directions_anywhere(mapped[[i]]))
    assert np.abs(found.astype(float) - features.apply(sp.csr_matrix(X))).max() < 16  # rounding, whitened
    assert np.linalg.norm(found.astype(float), axis=1).max() * UNIT < LONGEST + 1


def test_distances_count_columns_by_their_weights():
    Z = np.random.default_rng(0).normal(size=(40, 3))
    only = WeighedDistances.of(Z, np.array([2.0, 0.0, 0.0]))
    apart = (Z[:, None, 0] - Z[:, 0]) ** 2
    expected = np.exp(-apart / (2 * np.median(apart[np.triu_indices(40, 1)])))
    assert np.abs(only.kernel(Z) - expected).max() < 1e-12
    assert np.abs(only.kernel_anywhere(Z) - expected).max() < 1e-6  # `exact.dot` rounds
    distances = WeighedDistances.of(Z, np.array([1.2, 0.7, 1.1]))
    exactly = distances.kernel_anywhere(Z)
    assert all(np.array_equal(exactly[[i]], distances.kernel_anywhere(Z[[i]])) for i in range(40))
    assert np.array_equal(WeighedDistances.of(Z, np.zeros(3)).kernel(Z), np.ones((40, 40)))


def test_slopes_are_those_of_the_model(weighed):
    _, features, _ = weighed
    model = np.random.default_rng(1).normal(size=(features.dimension, 2))
    whole, of_distances = slopes(features, model)
    straight = replace(features, smooth=0.0, turns=None)
    for found, of in ((whole, features), (of_distances, replace(features, turns=None))):
        for j in range(5):
            ahead = features.landmarks.copy()
            ahead[:, j] += 1e-7
            by_differences = sum(
                sign * (each.directions_of(ahead) - each.directions_of(features.landmarks)) @ model[:-1]
                for sign, each in ((1e7, of), (-1e7, straight))
            )
            assert np.abs(found[:, j] - by_differences).max() < 1e-4 * np.abs(by_differences).max() + 1e-5
    assert np.abs(whole - of_distances).max() > 0.1


def test_columns_that_a_model_bends_along_weigh_more_and_noise_weighs_none():
    rng = np.random.default_rng(0)
    features = PublicFeatures.of(rng.normal(size=(200, 6)), np.random.default_rng(0))
    Z = features.directions_of(features.landmarks)
    z = features.landmarks
    noise = rng.normal(size=(9, features.dimension, 1))
    for bends in (z[:, 1] * z[:, 4], np.abs(z[:, 1]) + np.abs(z[:, 4])):
        along = np.linalg.lstsq(Z, bends[:, None] + 5 * z[:, [0]], rcond=None)[0]  # and a steep line
        model = np.vstack([along, np.zeros((1, 1))])
        weights = column_weights(features, model, 1e-3 * np.abs(model).max() * noise[:8])
        assert weights.mean() == pytest.approx(1)
        assert sorted(np.argsort(weights)[-2:].tolist()) == [1, 4]
        assert np.sort(weights)[3] < 0.5 < 2 < np.sort(weights)[4]
        chance = np.linalg.lstsq(Z, 3 * z[:, [0]] ** 2, rcond=None)[0]  # bends that noise explains
        chance = np.vstack([chance, np.zeros((1, 1))])
        weights = column_weights(features, model + chance, np.stack([chance, -chance]))
        assert sorted(np.argsort(weights)[-2:].tolist()) == [1, 4]
    by_chance = column_weights(features, noise[8], noise[:8])
    assert np.abs(by_chance - 1).max() < 0.5
    assert np.array_equal(column_weights(features, 0 * noise[8], noise[:8]), np.ones(6))


def test_a_function_is_carried_over(weighed):
    P, old, new = weighed
    rng = np.random.default_rng(2)
    model = rng.normal(size=(1, old.dimension, 3)) / np.arange(1, old.dimension + 1)[:, None]
    X = rng.permutation(P)[:100]
    at_landmarks = (each.directions_of(old.landmarks) for each in (old, new))
    found = carried(*at_landmarks, model)
    before, after = (each.apply(X).astype(float) @ of[0] for each, of in ((old, model), (new, found)))
    left = (before - after) - (before - after).mean(axis=0)  # a mean may change: the kernels are centred
    assert left.std() < 0.3 * before.std()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_what_two_of_many_columns_say_together_is_learned(n_classes, monkeypatch, tmp_path):
    n, gains = 4000 * n_classes, []
    p = plan(n, eps=4.0, n_classes=n_classes)
    assert "weights of columns" in p.describe()["choices"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        (X, y), (T, truth) = (product(size, rng, d=16, n_classes=n_classes) for size in (n, 3000))
        P = product(200, rng, d=16)[0]
        model = learn(p, X, y, P)
        weights = model.features.weighed.weights
        matter = {2, 5} if n_classes == 2 else {2, 5, 7}
        assert set(np.argsort(weights)[-len(matter) :].tolist()) == matter
        with monkeypatch.context() as patch:
            patch.setattr(public_kernel, "weighs_columns", lambda features: False)
            without = learn(p, X, y, P)
        gains.append(np.mean(model.predict(T) == truth) - np.mean(without.predict(T) == truth))
    assert np.mean(gains) > 0.05, gains
    save_student(
        tmp_path / "m.skops", model, classes="abcd"[:n_classes], n_features=16, encoder=None, meta={}
    )
    again = load_student(tmp_path / "m.skops").student
    assert np.array_equal(again.predict_proba(T), model.predict_proba(T))


def test_what_two_of_many_flags_say_together_is_learned():
    def records(n):
        X = rng.integers(0, 2, (n, 30)).astype(float)
        return X, (X[:, 3] != X[:, 11]).astype(np.int64)

    rng = np.random.default_rng(0)
    (X, y), (P, _), (T, truth) = records(12_000), records(240), records(3000)
    model = learn(plan(12_000, 240), X, y, P)
    assert set(np.argsort(model.features.weighed.weights)[-2:].tolist()) == {3, 11}
    assert np.mean(model.predict(T) == truth) > 0.95  # without weights a half


def test_columns_are_weighed_where_a_trial_says_more_than_noise():
    rng = np.random.default_rng(0)
    P = rng.normal(size=(100, 60))
    dense, many, one = (PublicFeatures.of(P[:, :d], rng) for d in (12, 60, 1))
    assert weighs_columns(dense)
    assert not weighs_columns(one)
    assert not weighs_columns(PublicFeatures.of(rng.normal(size=(80, 100)), rng))
    assert weighs_columns(many)
    X, y = product(300, rng)
    assert not plan(300).chooses
    as_before = learn(plan(300), X, y, P[:, :12]).features
    assert np.array_equal(as_before.weighed.weights, 1 / as_before.columns.factors)  # as public points say


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("by_person", [False, True])
@pytest.mark.parametrize("for_release", [False, True])
def test_all_that_is_chosen_follows_from_what_noise_was_put_on(form, by_person, for_release, monkeypatch):
    """Noisy sums of one table are put in place of those of another: the model is the same to the bit."""
    rng = np.random.default_rng(1)
    n = 2000
    (X, y), P = product(n, rng), product(200, rng)[0]
    p = plan(n)
    p = p.for_release(None) if for_release else p
    of = PersonGradients if by_person else RecordGradients
    units = np.repeat(np.arange(n), 2)[:n] if by_person else None
    noise, told = SeededNoise(np.random.SeedSequence(5)), []

    class Telling:
        def gaussian(self, scale, size):
            drawn = noise.gaussian(scale, size)
            told[-1] = (told[-1].ravel() + drawn.reshape(-1, told[-1].size)).ravel()
            return drawn

    class Repeating:
        def gaussian(self, scale, size):
            return told.pop(0)

    def listening(name):
        right = getattr(of, name)

        def heard(self, given):
            told.append(found := right(self, given))
            return found

        return heard

    def fit(X, y, noise):
        return p.fit(
            PrivateRecords(form(X), y, units), PublicPoints(form(P)), noise, np.random.default_rng(2)
        )

    with monkeypatch.context() as patch:
        for name in ("gradient", "total"):
            patch.setattr(of, name, listening(name))
        learned = fit(X, y, Telling())
    assert told
    other = X[::-1] * 3 + 1, 1 - y
    monkeypatch.setattr(of, "gradient", lambda self, theta: np.zeros_like(theta))
    monkeypatch.setattr(of, "total", lambda self, shares: np.zeros(shares.shape[1]))
    again = fit(*other, Repeating())
    assert not told
    assert np.array_equal(learned.chosen, again.chosen)
    assert len(learned.features) == len(again.features) == 3
    for one, twin in zip(learned.weights, again.weights, strict=True):
        assert np.array_equal(one, twin)
    for one, twin in zip(learned.features, again.features, strict=True):
        assert np.array_equal(one.apply(P), twin.apply(P))
