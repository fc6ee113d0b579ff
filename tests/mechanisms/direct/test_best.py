"""`best`: the claim stands, seeded bugs are caught, each step is paid for, and what it learns."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import cli, mechanisms
from pate_cli.audit import audit
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.direct import best
from pate_cli.mechanisms.direct.best import BestPlan
from pate_cli.mechanisms.direct.clipped_gradients import ClippedGradients
from pate_cli.mechanisms.direct.public_features import OwnColumns, PublicFeatures
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import calibrate_sigma, eps_of_mu
from pate_cli.students import load_student, save_student
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

EPS, DELTA, SURE = 3.0, 1e-3, 1 - 1e-6  # of all bounds of a test: it fails by chance once in a million


def made(n=1000, n_classes=2, eps=EPS, m=100, **options):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, n, m, 30, 2, n_classes, 10, False, learner, learner, "drop")
    return mechanisms.calibrate("best", options, setting)


def rings(n, rng, n_classes=2):
    y = rng.integers(0, n_classes, n)
    angle, radius = rng.uniform(0, 2 * math.pi, n), 1 + 2 * y + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def learn(p, X, y, P, units=None):
    private, rng = Private(PrivateRecords(X, y, units)), np.random.default_rng(0)
    return p.release(private, PublicPoints(P), Door.seeded(0), rng).model


def shown(attacked, claimed, *, persons=False, runs=12_000):
    attacks = attacked.attacks_on_persons() if persons else attacked.attacks()
    return max(each.bound for each in audit(claimed, attacks, runs=runs, confidence=SURE, seed=0))


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_the_claim_stands_and_half_of_it_is_shown(persons, exact):
    p = made(steps=20)
    assert EPS / 2 < shown(p.with_exact_noise() if exact else p, p, persons=persons) <= EPS


def without_clipping(patch):
    patch.setattr(ClippedGradients, "_shrink", lambda self, sizes: np.ones_like(sizes))


def noise_of_half_the_sensitivity(patch):
    right = BestPlan.sigma_for
    patch.setattr(BestPlan, "sigma_for", lambda self, dimension: right(self, dimension) / 2)


def noise_of_one_step(patch):
    right = BestPlan.sigma_for
    patch.setattr(
        BestPlan, "sigma_for", lambda self, dimension: right(self, dimension) / math.sqrt(self.steps)
    )


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


def records_for_persons(patch):
    """A learner that does not look whose the records are."""
    right = best.ClippedGradients
    patch.setattr(
        best, "ClippedGradients", lambda features, y, units, **given: right(features, y, None, **given)
    )


@pytest.mark.parametrize(
    ("bug", "persons"),
    [
        (without_clipping, False),
        (without_clipping, True),
        (noise_of_half_the_sensitivity, False),
        (noise_of_one_step, False),
        (private_width, False),
        (records_for_persons, True),
    ],
)
def test_a_seeded_bug_is_caught(bug, persons, monkeypatch):
    p = made(steps=20)
    bug(monkeypatch)
    assert shown(p, p, persons=persons, runs=4000) > EPS


class Listening:
    """No noise; keeps what is asked for."""

    def __init__(self):
        self.scales = []

    def gaussian(self, scale, size):
        self.scales.append(scale)
        return np.zeros(size)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("exact", [False, True])
def test_each_step_is_paid_for(n_classes, exact):
    rng, listening = np.random.default_rng(0), Listening()
    (X, y), P = rings(400, rng, n_classes), rings(80, rng)[0]
    p = made(n=400, n_classes=n_classes, eps=1.0, steps=45)
    p = p.with_exact_noise() if exact else p
    p.fit(PrivateRecords(X, y), PublicPoints(P), Door(listening), rng)
    assert len(listening.scales) == 45
    (scale,) = set(listening.scales)
    moves = 2 * p.clip / p.grain  # in the unit of the sums, which are whole numbers
    assert eps_of_mu(math.sqrt(45) * moves / math.sqrt(scale**2 - 4 * exact), DELTA) == pytest.approx(
        1.0, rel=1e-6
    )
    assert scale >= calibrate_sigma(1.0, DELTA, 45, moves) * (1 - 1e-12)
    assert max(p.n * p.clip / p.grain, 64 * scale) < 2**53
    assert scale > 2**20  # rounding is nothing beside the noise


def test_without_noise_for_eps_inf():
    p = made(eps=math.inf)
    assert p.sigma_for(7) == 0
    assert p.guarantee.eps == math.inf


@pytest.mark.parametrize("eps", [1.0, math.inf])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_learns_what_a_linear_model_cannot(n_classes, eps):
    rng = np.random.default_rng(1)
    X, y = rings(8000, rng, n_classes)
    P, (T, truth) = rings(160, rng, n_classes)[0], rings(1000, rng, n_classes)
    model = learn(made(n=8000, n_classes=n_classes, eps=eps), X, y, P)
    assert np.mean(model.predict(T) == truth) > (0.97 if n_classes == 2 else 0.85)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_one_record_of_1e300_changes_hardly_anything(form):
    rng = np.random.default_rng(0)
    X, y = rings(3000, rng)
    P, (T, truth) = rings(100, rng)[0], rings(500, rng)
    other = X.copy()
    other[0] = [1e300, -1e300]
    models = [learn(made(n=3000), form(records), y, form(P)) for records in (X, other)]
    scores = [model.decision_function(form(T)) for model in models]
    assert np.isfinite(scores).all()
    assert np.abs(scores[0] - scores[1]).max() < 0.5
    assert np.mean(models[1].predict(form(T)) == truth) > 0.95  # a linear model: a half


def test_more_records_of_each_person_teach_more():
    rng, each, n = np.random.default_rng(3), 8, 600
    units = np.repeat(np.arange(n), each)
    X = rng.normal(size=(n, 6))[units] + rng.normal(size=(n * each, 6))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(np.int64)
    P, T = (rng.normal(size=(rows, 6)) * math.sqrt(2) for rows in (80, 2000))
    truth = (T[:, 0] + T[:, 1] ** 2 > 1).astype(np.int64)
    all_of_them, one_each = (
        np.mean(learn(made(n=n, eps=1.0), X[rows], y[rows], P, units[rows]).predict(T) == truth)
        for rows in (slice(None), slice(None, None, each))
    )
    assert all_of_them > 0.8
    assert all_of_them > one_each + 0.02


def test_words_that_no_public_point_has_are_learned():
    """Each of 600 words says a class; none is frequent, and of 100 public points no two share many."""
    rng = np.random.default_rng(1)

    def texts(n):
        y = rng.integers(0, 2, n)
        words = 2 * rng.integers(0, 300, (n, 12)) + (y[:, None] ^ (rng.random((n, 12)) < 0.3))
        X = sp.csr_matrix((np.ones(12 * n), words.ravel(), 12 * np.arange(n + 1)), (n, 600))
        X.sum_duplicates()
        return X, y

    (X, y), (P, _), (T, truth) = texts(8000), texts(100), texts(2000)
    model = learn(made(n=8000), X, y, P)
    assert isinstance(model.features, OwnColumns)
    assert np.mean(model.predict(T) == truth) > 0.85  # in the functions that public points span .78
    X.data[:12] = [1e300, -1e300] * 6
    scores = learn(made(n=8000), X, y, P).decision_function(T)
    assert np.corrcoef(scores, model.decision_function(T))[0, 1] > 0.99


def test_a_number_among_many_flags_bends_by_itself():
    rng = np.random.default_rng(0)

    def records(n):
        X = np.column_stack([rng.normal(size=n), rng.integers(0, 2, (n, 60))])
        return X, (np.abs(X[:, 0]) > 0.67).astype(np.int64)

    (X, y), (P, _), (T, truth) = records(8000), records(160), records(2000)
    assert np.mean(learn(made(n=8000), X, y, P).predict(T) == truth) > 0.95  # without splines .78 to .86


def test_what_varies_more_among_columns_of_one_unit_says_more():
    rng = np.random.default_rng(0)

    def records(n):  # two factors in 60 channels, each seen in five of them, and noise in all
        h = rng.normal(size=(n, 2))
        X = np.hstack([np.repeat(4 * h, 5, axis=1), np.zeros((n, 50))]) + rng.normal(size=(n, 60))
        return X, (h[:, 0] * h[:, 1] > 0).astype(np.int64)

    (X, y), (P, _), (T, truth) = records(4000), records(80), records(2000)
    assert np.mean(learn(made(n=4000), X, y, P).predict(T) == truth) > 0.8  # with ranks alone .57


def test_what_a_rare_value_says_is_learned_though_it_is_smooth_in_nothing():
    """A column that is 0 for 80% tells the class by being odd or not: without bins half of these is wrong."""
    rng = np.random.default_rng(3)

    def records(n):
        X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(1, 13, n) * (rng.random(n) < 0.2)])
        return X, np.where(X[:, 2] > 0, X[:, 2] % 2, X[:, 0] > 0).astype(np.int64)

    (X, y), (P, _), (T, truth) = records(8000), records(400), records(4000)
    model = learn(made(n=8000, m=400, eps=1.0), X, y, P)
    assert model.features.bins.dimension == 12
    assert np.mean(model.predict(T) == truth) > 0.97
    assert learn(made(n=8000, m=400, eps=0.02), X, y, P).features.bins.dimension == 0  # noise hides them


def test_few_public_points_do_not_hide_the_direction_that_matters():
    """Twenty points span 19 of 100 directions, in which alone it is .66."""
    rng = np.random.default_rng(0)
    P, X, w = rng.normal(size=(20, 100)), rng.normal(size=(3000, 100)), rng.normal(size=100)
    y = (X @ w > 0).astype(np.int64)
    model = learn(made(n=1000, eps=2.0, m=20), X[:1000], y[:1000], P)
    assert np.mean(model.predict(X[1000:]) == y[1000:]) > 0.75


def test_seldom_flags_are_learned_where_there_are_more_than_public_points():
    """30 of 200 count, 120 public points: .80 in what these span."""
    rng = np.random.default_rng(5)
    X = (rng.random((12_000, 200)) < 0.06).astype(float)
    y = (X[:, :30].sum(axis=1) + 0.4 * rng.normal(size=len(X)) > 2.2).astype(np.int64)
    model = learn(made(n=5000, eps=2.0, m=120), X[120:5120], y[120:5120], X[:120])
    assert np.mean(model.predict(X[5120:]) == y[5120:]) > 0.84


@pytest.mark.parametrize(
    "P", [np.ones((30, 2)), np.zeros((1, 2)), np.array([[0.0, 1.0], [1e300, -1e300], [0.5, 0.0]])]
)
def test_public_points_that_span_little_still_give_a_model(P):
    X, y = rings(400, np.random.default_rng(0))
    assert np.isfinite(learn(made(n=400), X, y, P).predict_proba(X)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "mechanism.steps: got 0; accepted: auto, or a whole number >= 1"),
        ({"clip": 0}, "mechanism.clip: got 0; accepted: a number in"),
        ({"clip": 1e308}, "mechanism.clip: got 1e.308; accepted: a number in"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=message):
        made(**options)


@pytest.mark.parametrize("form", [np.asarray, lambda X: sp.csr_matrix(np.tile(X, 300))])
def test_a_model_comes_back_from_its_file(form, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rings(500, rng, 3)
    model = learn(made(n=500, n_classes=3), form(X), y, form(X[:70]))
    features = form(X).shape[1]
    save_student(tmp_path / "m.skops", model, classes="abc", n_features=features, encoder=None, meta={})
    again = load_student(tmp_path / "m.skops").student
    assert np.array_equal(again.predict_proba(form(X)), model.predict_proba(form(X)))


def test_pate_run_learns_by_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    argv = ["run", "dataset=digits", "mechanism=best", "eps=2", "hydra.run.dir=out"]
    assert cli.main(argv) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["accuracy"]["mean"] > 0.8  # noisy_gd: 0.6
    assert cli.main([*argv[:3], "mechanism.step=3"]) == 2
