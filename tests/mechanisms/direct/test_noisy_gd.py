"""`noisy_gd`, and `best`, the same on kernel features: the claim, seeded bugs, and what it learns."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import features, mechanisms
from pate_cli.audit import audit
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.features.classifiers import probabilities
from pate_cli.features.kernel import KernelFeatures, OwnColumns
from pate_cli.mechanisms.direct.clipped_gradients import ClippedGradients
from pate_cli.mechanisms.direct.noisy_gd import NoisyGradientDescent
from pate_cli.privacy.door import Door
from pate_cli.students import load_student, save_student
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

EPS, DELTA, SURE = 3.0, 1e-3, 1 - 1e-6  # of all bounds of a test: it fails by chance once in a million


def made(n=1000, n_classes=2, eps=EPS, m=100, name="best", features="auto", **options):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, n, m, 30, 2, n_classes, 10, False, learner, learner, "drop", features)
    return mechanisms.calibrate(name, options, setting)


def rings(rng, n, n_classes=2):
    y = rng.integers(0, n_classes, n)
    angle, radius = rng.uniform(0, 2 * math.pi, n), 1 + 2 * y + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def learn(p, X, y, P):
    private, rng = Private(PrivateRecords(X, y)), np.random.default_rng(0)
    return p.release(private, PublicPoints(P), Door.seeded(0), rng).model


def shown(attacked, claimed, *, persons=False, runs=4_000):
    attacks = attacked.attacks_on_persons() if persons else attacked.attacks()
    return max(each.bound for each in audit(claimed, attacks, runs=runs, confidence=SURE, seed=0))


@pytest.mark.parametrize("name", ["best", "noisy_gd"])
@pytest.mark.parametrize(("exact", "persons"), [(False, True), (True, False)])
def test_the_claim_stands_and_half_of_it_is_shown(name, persons, exact):
    p = made(name=name, steps=20)
    assert EPS / 2 < shown(p.with_exact_noise() if exact else p, p, persons=persons) <= EPS


def without_clipping(patch):
    patch.setattr(ClippedGradients, "_shrink", lambda self, sizes: np.ones_like(sizes))


def noise_of_half_the_sensitivity(patch):
    right = NoisyGradientDescent.sigma_for
    patch.setattr(NoisyGradientDescent, "sigma_for", lambda self, dimension: right(self, dimension) / 2)


def private_width(patch):
    """The kernel's width from the private records."""
    right, fit = KernelFeatures.of.__func__, NoisyGradientDescent.fit

    def wrong(self, private, public, door, rng, runs=1):
        def of(cls, points, rng, **options):
            made = right(cls, points, rng, **options)
            x = made.columns.apply(private.X)[:, 0]
            apart = ((x[:, None] - x) ** 2)[np.triu_indices(len(x), 1)]
            return replace(made, spread=float(np.median(apart))) if len(x) > 1 else made

        patch.setattr(KernelFeatures, "of", classmethod(of))
        return fit(self, private, public, door, rng, runs)

    patch.setattr(NoisyGradientDescent, "fit", wrong)


@pytest.mark.parametrize(
    ("bug", "persons"),
    [(without_clipping, True), (noise_of_half_the_sensitivity, False), (private_width, False)],
)
def test_a_seeded_bug_is_caught(bug, persons, monkeypatch):
    p = made(steps=20)
    bug(monkeypatch)
    assert shown(p, p, persons=persons, runs=1500) > EPS


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


def test_best_is_noisy_gd_on_kernel_features():
    assert made() == made(name="noisy_gd", features="kernel")
    assert made(name="noisy_gd").features == "none"
    with pytest.raises(
        InfeasibleError, match="features: got 'none'; accepted: auto or kernel with mechanism=best"
    ):
        made(features="none")


def many_columns(rng, n):
    """Linear in 80 columns: seen in few records, functions that 40 public points span know less."""
    X = rng.normal(size=(n, 80))
    return X, (X @ np.random.default_rng(5).normal(size=80) > 0).astype(np.int64)


def test_own_columns_are_better_where_classes_are_linear_in_many_and_seen_in_few_records():
    rng = np.random.default_rng(1)
    (X, y), (P, _), (T, truth) = many_columns(rng, 1500), many_columns(rng, 40), many_columns(rng, 4000)
    own, mapped = (
        learn(made(n=1500, m=40, eps=4.0, name=name), X, y, P).predict(T) == truth
        for name in ("noisy_gd", "best")
    )
    assert own.mean() > 0.75
    assert own.mean() > mapped.mean()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": 0}, "mechanism.steps: got 0; accepted: auto, or a whole number >= 1"),
        ({"clip": 5e-324}, "mechanism.clip: got 5e-324; accepted: a number in (1e-100, 1e+100]"),
    ],
)
def test_options_are_refused_by_name(options, said):
    with pytest.raises(ConfigError) as refused:
        made(name="noisy_gd", **options)
    assert str(refused.value).startswith(said)


class Doubled:
    """A map of another package."""

    @classmethod
    def of(cls, public, rng, directions):
        return cls()

    def values(self, X):
        return 2.0 * np.asarray(X)


def test_a_map_of_another_package_is_descended_on(monkeypatch):
    monkeypatch.setattr(features, "_imported", lambda path: Doubled)
    (X, y), P = rings(np.random.default_rng(0), 2000), rings(np.random.default_rng(1), 100)[0]
    model = learn(made(n=2000, name="noisy_gd", features="my.Doubled"), X, y, P)
    plain = learn(made(n=2000, name="noisy_gd"), X, y, P)
    assert np.allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.01)  # scaled by public norms


@pytest.mark.parametrize(("clip", "n_classes"), [(0.5, 2), (0.25, 2), (0.5, 4)])
def test_probabilities_of_clipped_descent_are_those_of_the_classes(clip, n_classes):
    """At its stationary point, found by descent on one place with a rare class, clipping is undone."""
    rare, records = 0.04, 4_000
    p = made(n=records, n_classes=n_classes, eps=math.inf, clip=clip, steps=400, name="noisy_gd")
    y = np.zeros(records, dtype=np.int64)
    for code in range(1, n_classes):
        y[(code - 1) * int(rare * records) : code * int(rare * records)] = code
    X = np.ones((records, 1))
    model = learn(p, X, y, np.ones((30, 1)))
    found = model.predict_proba(X[:1])[0]
    assert found[1:] == pytest.approx(rare, rel=0.5)
    assert (model.clip, probabilities(model._scores(X[:1]))[0].min() < 0.7 * rare) == (clip, True)
