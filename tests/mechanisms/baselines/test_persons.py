"""Persons with several records: what all records of one can move, to the bit, and what the audit shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import beta, multivariate_normal, norm

from pate_cli import mechanisms
from pate_cli.mechanisms.baselines import gradients, noisy_gd
from pate_cli.mechanisms.baselines.gradients import PersonGradients, Persons
from pate_cli.mechanisms.baselines.public_features import PublicFeatures
from pate_cli.mechanisms.baselines.public_lines import PublicLines
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import eps_of_mu
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

EPS, DELTA, SURE, N = 3.0, 1e-3, 1 - 1e-6, 90


def made(n=N, n_classes=2, eps=EPS, **options):
    learner = ("logistic", {})
    setting = Setting(eps, DELTA, n, 80, 30, 6, n_classes, 10, False, learner, learner, "drop")
    return mechanisms.plan("public_kernel", options, setting)


def people(n_classes, seed=0):
    """Records of each of N persons: between one and nine, one with 700."""
    rng = np.random.default_rng(seed)
    found = []
    for person in range(N):
        X = rng.normal(size=(700 if person == 3 else rng.integers(1, 10), 6))
        found.append((X, rng.integers(0, n_classes, len(X))))
    return found


def records_of(persons, form=np.asarray):
    X, y = (np.concatenate([person[part] for person in persons]) for part in (0, 1))
    return PrivateRecords(form(X), y, np.repeat(np.arange(len(persons)), [len(y) for _, y in persons]))


def changes(n_classes):
    rng = np.random.default_rng(1)
    yield "one record", rng.normal(size=(1, 6)), [0]
    yield "out of bounds", np.full((5, 6), 1e300), [0, 1, 0, 0, 1]
    yield "very many records", rng.normal(size=(600, 6)), rng.integers(0, n_classes, 600)


@pytest.mark.parametrize(("n_classes", "form"), [(2, np.asarray), (4, np.asarray), (2, sp.csr_matrix)])
def test_all_records_of_one_person_move_that_persons_term_alone_to_the_bit(n_classes, form):
    rng = np.random.default_rng(2)
    p, before = made(n_classes=n_classes), people(n_classes)
    features = PublicFeatures.of(form(rng.normal(size=(80, 6))), np.random.default_rng(0))
    theta = rng.normal(0, 3, (2, features.dimension, p.columns))

    def step(persons):
        return p._seen(features, records_of(persons, form)).gradient(theta)

    terms = np.array([step([person]) for person in before])
    largest = np.linalg.norm(terms.reshape(N, 2, -1), axis=2).max() * p.grain
    assert 0.99 * p.clip < largest <= p.clip  # of persons it is that are shortened
    assert np.array_equal(terms, terms.round())
    # the sum is that of the terms of each person by itself, whoever the others are and in whatever order
    assert np.array_equal(step(before), terms.sum(axis=0))
    assert np.array_equal(step([before[i] for i in rng.permutation(N)]), terms.sum(axis=0))
    for number in (0, 3):
        for name, X, y in changes(n_classes):
            theirs = X, np.asarray(y)
            after = step([*before[:number], theirs, *before[number + 1 :]])
            own = step([theirs])
            assert np.array_equal(after - step(before), own - terms[number]), name
            assert np.linalg.norm(own.reshape(2, -1), axis=1).max() * p.grain <= p.clip, name


@pytest.mark.parametrize("n_classes", [2, 4])
def test_features_and_scores_are_the_same_to_the_bit_before_they_are_rounded(n_classes, monkeypatch):
    """Rounding hides what a product of matrices does to a row by where it stands: all but always."""
    rng, seen = np.random.default_rng(2), []

    def listen(place, name):
        right = getattr(place, name)

        def heard(*given):
            seen.append(given[0].copy() if name == "probabilities" else right(*given))
            return right(*given)

        monkeypatch.setattr(place, name, heard)

    p, before = made(n_classes=n_classes), people(n_classes)[4:40]
    features = PublicFeatures.of(rng.normal(size=(80, 6)), np.random.default_rng(0))
    theta = rng.normal(0, 3, (1, features.dimension, p.columns))
    listen(PublicFeatures, "directions_of")
    listen(PublicFeatures, "_directions_anywhere")
    listen(gradients, "probabilities")

    def rows(persons):
        seen.clear()
        p._seen(features, records_of(persons)).gradient(theta)
        width = {features.dimension - 1: [], p.columns: []}
        for each in seen:
            width[each.shape[-1]] += each.reshape(-1, each.shape[-1]).tolist()
        return [set(map(tuple, found)) for found in width.values()]

    together, alone = rows(before), [rows([person]) for person in before]
    assert all(together)
    assert together == [set().union(*each) for each in zip(*alone, strict=True)]


@pytest.mark.parametrize(("n_classes", "form"), [(2, np.asarray), (3, sp.csr_matrix)])
def test_noisy_gradient_descent_clips_a_persons_sum_to_the_bit(n_classes, form, monkeypatch):
    monkeypatch.setattr(gradients, "_TOGETHER", 300)  # numbers in a block: some persons, and one alone
    rng = np.random.default_rng(2)
    learner = ("logistic", {})
    setting = Setting(EPS, DELTA, N, 80, 30, 5, n_classes, 10, False, learner, learner, "drop")
    p, before = mechanisms.plan("noisy_gd", {"steps": 5}, setting), people(n_classes)[:40]
    before = [(X / 3, y) for X, y in before]
    weights = rng.normal(0, 2, (2, n_classes, 6))

    def step(persons):
        records = records_of(persons, form)
        return noisy_gd._of_persons(p, records.X, records.y, records.units)(weights)

    terms = np.array([step([person]) for person in before])
    largest = np.linalg.norm(terms.reshape(len(terms), 2, -1), axis=2).max()
    assert 0.99 * p.clip < largest <= p.clip
    assert np.array_equal(terms / p.grain, (terms / p.grain).round())
    together = step(before)
    assert np.array_equal(together, terms.sum(axis=0))
    assert np.array_equal(step([before[i] for i in rng.permutation(len(before))]), together)
    for number in (0, 3):
        for name, X, y in changes(n_classes):
            theirs = X, np.asarray(y)
            own = step([theirs])
            after = step([*before[:number], theirs, *before[number + 1 :]])
            assert np.array_equal(after - together, own - terms[number]), name
            assert np.linalg.norm(own.reshape(2, -1), axis=1).max() <= p.clip, name
    # and it is the sum of the gradients, where that is short
    X, y = 1e-3 * rng.normal(size=(7, 6)), rng.integers(0, n_classes, 7)
    shares = np.exp(X @ weights[0].T)
    plain = (shares / shares.sum(axis=1, keepdims=True) - np.eye(n_classes)[y]).T @ X
    assert step([(X, y)])[0] == pytest.approx(plain, abs=7 * 2.0**-16)


def test_noisy_gradient_descent_is_the_same_of_one_record_each():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 6)), rng.integers(0, 3, N)
    learner = ("logistic", {})
    p = mechanisms.plan(
        "noisy_gd", {}, Setting(math.inf, DELTA, N, 80, 30, 5, 3, 10, False, learner, learner, "drop")
    )
    none = Door.seeded(0)
    one, other = (noisy_gd.descend(p, X / 3, y, none, units=units) for units in (None, np.arange(N)))
    assert np.abs(one - other).max() < 1e-4 * np.abs(one).max()


def test_one_record_each_is_what_records_by_themselves_are(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, P = rng.normal(size=(N, 6)), rng.integers(0, 2, N), PublicPoints(rng.normal(size=(80, 6)))
    right, found = PublicFeatures.apply, []

    def same(self, X, *, anywhere=False):
        found.append([right(self, X, anywhere=flag) for flag in (False, True)])
        return found[-1][1]

    monkeypatch.setattr(PublicFeatures, "apply", same)
    learned = [
        made(eps=math.inf).fit(PrivateRecords(X, y, units), P, None, np.random.default_rng(0))
        for units in (None, np.arange(N))
    ]
    assert learned[0].chosen == learned[1].chosen
    for one, other in zip(learned[0].weights, learned[1].weights, strict=True):  # of lines alone too
        assert np.abs(one - other).max() < 1e-4 * np.abs(one).max()
    for plain, anywhere in found:
        # 2^-26 of a row of the kernel, times as much as whitening makes of it
        assert np.abs(plain - anywhere).max() < 16
        assert np.abs(plain - anywhere).mean() < 0.5


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_person_moves_the_choice_by_twice_the_clip_whatever_the_records_are(n_classes, form):
    rng, p, before = np.random.default_rng(2), made(n_classes=n_classes), people(n_classes)
    P = form(rng.normal(size=(80, 6)))
    both = [PublicFeatures.of(P, np.random.default_rng(0)), PublicLines.of(P)]
    theta = [rng.normal(0, 3, (2, features.dimension, p.columns)) for features in both]

    def lead(persons):
        bent, lines = (p._seen(features, records_of(persons, form)) for features in both)
        right = [records.right(each) for records, each in zip((bent, lines), theta, strict=True)]
        return bent.total(right[1].astype(np.int64) - right[0])

    terms = np.array([lead([person]) for person in before])
    assert np.array_equal(terms, terms.round())
    assert 0.99 * p.clip < np.abs(terms).max() * p.grain <= p.clip
    assert np.array_equal(lead(before), terms.sum(axis=0))
    assert np.array_equal(lead([before[i] for i in rng.permutation(N)]), terms.sum(axis=0))
    for name, X, y in changes(n_classes):
        theirs = X, np.asarray(y)
        assert np.array_equal(lead([theirs, *before[1:]]) - lead(before), lead([theirs]) - terms[0]), name


def test_more_records_of_each_person_teach_more():
    rng = np.random.default_rng(3)
    each, n = 8, 600
    centre, units = rng.normal(size=(n, 6)), np.repeat(np.arange(n), each)
    X = centre[units] + rng.normal(size=(n * each, 6))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(np.int64)
    T = rng.normal(size=(2000, 6)) * math.sqrt(2)
    truth = (T[:, 0] + T[:, 1] ** 2 > 1).astype(np.int64)
    public, p = PublicPoints(rng.normal(size=(80, 6)) * math.sqrt(2)), made(n=n, eps=1.0)

    def accuracy(records):
        noise = Door.seeded(0)
        model = p.release(Private(records), public, noise, np.random.default_rng(0)).model
        return float(np.mean(model.predict(T) == truth))

    all_of_them = accuracy(PrivateRecords(X, y, units))
    assert all_of_them > 0.8
    assert all_of_them > accuracy(PrivateRecords(X[::each], y[::each], units[::each])) + 0.02


def _gaussian(outputs):
    covariance = np.cov(outputs.T)
    covariance += 1e-9 * np.trace(covariance) * np.eye(len(covariance))
    return multivariate_normal(outputs.mean(axis=0), covariance).logpdf


def shown(p, runs=6000):
    """Largest lower bound on eps of all attacks on persons, at SURE; as in test_public_kernel."""
    best, half, attacks = 0.0, runs // 2, p.attacks_on_persons()
    each = (1 - SURE) / len(attacks) / 2
    for _, sample, _ in attacks:
        rng = np.random.default_rng(1)
        on_d, on_other = sample(False, rng, runs), sample(True, rng, runs)
        law, other_law = (_gaussian(side[:half]) for side in (on_d, on_other))
        d, other = (law(side[half:]) - other_law(side[half:]) for side in (on_d, on_other))
        misses, alarms = int((d < 0).sum()), int((other >= 0).sum())
        fnr, fpr = (beta.ppf(1 - each, k + 1, half - k) if k < half else 1.0 for k in (misses, alarms))
        best = max(best, float(-norm.ppf(fpr) - norm.ppf(fnr)))
    return eps_of_mu(best, DELTA)


def test_the_claim_stands_for_persons_and_half_of_it_is_shown():
    assert EPS / 2 < shown(made(n=1000, steps=20)) <= EPS


def records_not_persons(patch):
    """A learner that does not look whose the records are."""
    right = gradients.RecordGradients
    patch.setattr(
        "pate_cli.mechanisms.baselines.public_kernel.PersonGradients",
        lambda features, y, persons, **given: right(features, y, **given),
    )


def not_clipped(patch):
    right = PersonGradients.__init__

    def wrong(self, features, y, persons, *, clip, grain):
        right(self, features, y, persons, clip=1e6 * clip, grain=grain)

    patch.setattr(PersonGradients, "__init__", wrong)


@pytest.mark.parametrize("bug", [records_not_persons, not_clipped], ids=lambda f: f.__name__)
def test_a_seeded_bug_is_caught_by_persons(bug, monkeypatch):
    bug(monkeypatch)
    assert shown(made(n=1000, steps=20), runs=1000) > EPS


def test_blocks_hold_whole_persons_of_as_many_records():
    counts = np.random.default_rng(0).integers(1, 6, 40)
    units = np.repeat(np.arange(40), counts)
    persons = Persons(units)
    seen = []
    for size in (1, 2**16):
        rows_seen = []
        for rows, count in persons.blocks(size, 1):
            block = units[persons.order[rows]].reshape(-1, count)
            assert (block == block[:, :1]).all()
            assert (counts[block[:, 0]] == count).all()
            rows_seen += persons.order[rows].tolist()
        seen.append(rows_seen)
        assert sorted(rows_seen) == list(range(len(units)))
    assert seen[0] == seen[1]
    assert len(list(persons.blocks(2**16, 1))) > 5
    assert len(list(persons.blocks(1, 2**14))) > 5
