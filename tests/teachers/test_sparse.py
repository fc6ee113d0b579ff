"""The block-diagonal solver against the library's, teacher by teacher."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli.teachers import ensemble, sparse
from pate_cli.types import PrivateRecords


def _parts(n_parts, size, n_features=60, density=0.15, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = sp.random(n_parts * size, n_features, density=density, format="csr", random_state=seed)
    X.data[:] = scale * rng.choice([1.0, 1.0, -2.0], size=X.nnz)
    y = ((X @ rng.normal(size=n_features) > 0) ^ (rng.random(X.shape[0]) < 0.1)).astype(np.int64)
    return X, y, size * np.arange(1, n_parts + 1)


def _theirs(X, y, ends, C=1.0, tol=1e-10):
    size = ends[0]
    models = []
    for end in ends.tolist():
        learner = LogisticRegression(solver="liblinear", C=C, tol=tol, max_iter=10_000)
        models.append(learner.fit(X[end - size : end], y[end - size : end]))
    return np.array([np.append(model.coef_[0], model.intercept_) for model in models])


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dense", [False, True])
def test_same_minimiser_as_liblinear(C, dense):
    X, y, ends = _parts(12, 50)
    found, converged = sparse.fit_logistic(X.toarray() if dense else X, y, ends, C, tolerance=1e-9)
    assert converged.all()
    np.testing.assert_allclose(found, _theirs(X, y, ends, C), rtol=1e-4, atol=1e-5 * C)


def test_what_no_record_of_a_part_has_stays_zero():
    X, y, ends = _parts(6, 10, n_features=500, density=0.01)
    found, _ = sparse.fit_logistic(X, y, ends, 1.0)
    for k, end in enumerate(ends.tolist()):
        there = np.asarray(abs(X[end - 10 : end]).sum(axis=0)).ravel() > 0
        np.testing.assert_array_equal(found[k, :-1] != 0, there)
    np.testing.assert_allclose(found, _theirs(X, y, ends), rtol=1e-3, atol=1e-3)


def test_a_part_has_no_say_in_the_fits_of_others():
    """To the last bit: that one record moves one vote is what every sensitivity rests on."""
    X, y, ends = _parts(40, 30, scale=3.0)
    before, _ = sparse.fit_logistic(X, y, ends, 1.0)
    hard, _, _ = _parts(1, 30, density=0.9, seed=5, scale=1000.0)  # takes many more steps than the others
    changed = X.tolil()
    changed[330:360] = hard
    after, _ = sparse.fit_logistic(changed.tocsr(), y, ends, 1.0)
    np.testing.assert_array_equal(np.flatnonzero((before != after).any(axis=1)), [11])


def test_blocks_make_no_difference(monkeypatch):
    X, y, ends = _parts(40, 30)
    whole = sparse.fit_logistic(X, y, ends, 1.0)
    monkeypatch.setattr(sparse, "_BLOCK", 1000)
    blocks = sparse.fit_logistic(X, y, ends, 1.0)
    np.testing.assert_array_equal(whole[0], blocks[0])
    assert blocks[1].all()


def test_what_does_not_converge_says_so(monkeypatch):
    X, y, ends = _parts(12, 50)
    monkeypatch.setattr(sparse, "_MOST_STEPS", 2)
    assert not sparse.fit_logistic(X, y, ends, 1.0)[1].any()
    X.data[:3] = 1e200  # overflows in the first part alone
    monkeypatch.undo()
    assert sparse.fit_logistic(X, y, ends, 1.0)[1].tolist() == [False] + [True] * 11


@pytest.mark.parametrize("fail", [0, 20])
def test_the_same_votes_as_the_solver_loop(fail, monkeypatch):
    """On at least 99.9% of teacher-query pairs; one-class parts, and those left to the solver, included."""
    X, y, _ = _parts(60, 50)
    y[:50] = 1
    queries, _, _ = _parts(10, 50, seed=3)
    fit = sparse.fit_logistic

    def some_fail(*args, **more):
        found, converged = fit(*args, **more)
        found[: fail + 1] = np.nan  # the first part has one class
        return found, converged & (np.arange(len(found)) > fail)

    monkeypatch.setattr(sparse, "fit_logistic", some_fail)
    monkeypatch.setattr(ensemble, "partition", lambda n, k, rng: np.array_split(np.arange(n), k))

    def trained():
        learner = LogisticRegression(solver="liblinear")
        private, rng = PrivateRecords(X, y), np.random.default_rng(2)
        return ensemble.train(private, n_teachers=60, learner=learner, rng=rng, n_classes=2)

    def predictions(made):
        return np.array([teacher.predict(queries) for teacher in made.teachers])

    together = trained()
    assert len(together.teachers.coefficients) == 59 - fail
    said = predictions(together)
    np.testing.assert_array_equal(together.votes(queries).counts[:, 1], said.sum(axis=0))
    assert (said[0] == 1).all()
    monkeypatch.setattr(sparse, "MOST_ENTRIES", 0)
    loop = trained()
    assert len(loop.teachers.coefficients) == 0
    assert np.mean(said == predictions(loop)) >= 0.999


def test_a_full_part_goes_to_the_solver_alone():
    """Which way a part goes is its own affair."""
    X, y, ends = _parts(20, 30, n_features=100, density=0.1)
    full = X.tolil()
    full[:30] = np.random.default_rng(1).normal(size=(30, 100))
    learner = LogisticRegression(solver="liblinear")
    numbers, _ = ensemble._fit_at_once(sparse, learner, full.tocsr(), y, None, ends - 30, ends, 30)
    assert numbers.tolist() == list(range(1, 20))


def test_weights_count_like_copies():
    X, y, ends = _parts(12, 30)
    weights = np.tile([1.0, 2.0, 3.0], 120)
    found, _ = sparse.fit_logistic(X, y, ends, 1.0, weights, tolerance=1e-9)
    copies = np.repeat(np.arange(360), weights.astype(int))
    copied, _ = sparse.fit_logistic(X[copies], y[copies], 2 * ends, 1.0, tolerance=1e-9)
    np.testing.assert_allclose(found, copied, atol=1e-7)


@pytest.mark.real_data
def test_the_same_votes_on_a9a(real_data, monkeypatch):
    from pate_cli import datasets, teachers
    from pate_cli.learners import make_learner

    monkeypatch.setenv("PATE_DATA", str(real_data))
    split = datasets.split(
        datasets.load("a9a"), private=0.8, public=0.02, budget=0.3, rng=np.random.default_rng(0)
    )
    learner = make_learner("logistic", {}, seed=None, n_classes=2)

    def trained():
        rng = np.random.default_rng(0)
        return teachers.train(split.private, n_teachers=390, learner=learner, rng=rng, n_classes=2)

    queries = split.public.X
    together = trained()
    monkeypatch.setattr(sparse, "MOST_ENTRIES", 0)
    loop = trained()
    agree = [
        np.mean(a.predict(queries) == b.predict(queries))
        for a, b in zip(together.teachers, loop.teachers, strict=True)
    ]
    assert np.mean(agree) >= 0.999
    assert np.abs(together.votes(queries).counts - loop.votes(queries).counts).max() <= 2
