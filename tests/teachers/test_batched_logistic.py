"""Fits of many parts at once against the library's, teacher by teacher."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli import teachers
from pate_cli.teachers import batched_logistic
from pate_cli.types import PrivateRecords


def _dense_parts(n_parts, size, n_features, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n_parts * size + 3, n_features))
    y = ((X @ rng.normal(size=n_features) > 0) ^ (rng.random(len(X)) < 0.1)).astype(np.int64)
    ends = np.cumsum([size + (k < 3) for k in range(n_parts)])  # three parts are one longer
    return X, y, ends


def _dense(X, y, ends, C=1.0):
    sizes = np.diff(ends, prepend=0)
    weights, wanted = np.full(len(y), C)[: ends[-1]], np.ones(len(ends), dtype=bool)
    return batched_logistic.fit_dense(X[: ends[-1]], y[: ends[-1]], ends, weights, wanted, sizes.max())


def _sparse(X, y, ends, weights=1.0, **more):
    weights, wanted = np.broadcast_to(weights, len(y)), np.ones(len(ends), dtype=bool)
    return batched_logistic.fit_sparse(X, y, ends, weights, wanted, **more)


@pytest.mark.parametrize(
    ("C", "size", "n_features", "scale"), [(0.01, 20, 5, 1.0), (1.0, 7, 12, 1.0), (100.0, 40, 3, 50.0)]
)
def test_stacked_parts_have_the_minimiser_of_liblinear(C, size, n_features, scale):
    X, y, ends = _dense_parts(30, size, n_features, scale=scale)
    found, converged = _dense(X, y, ends, C)
    start = 0
    for k, end in enumerate(ends.tolist()):
        part, start = slice(start, end), end
        if len(set(y[part].tolist())) < 2:
            continue
        theirs = LogisticRegression(solver="liblinear", C=C, tol=1e-10, max_iter=10_000).fit(X[part], y[part])
        assert converged[k]
        np.testing.assert_allclose(
            found[k], np.append(theirs.coef_[0], theirs.intercept_), rtol=2e-4, atol=2e-5
        )


@pytest.mark.parametrize("params", [{"class_weight": "balanced"}, {"solver": "lbfgs"}])
def test_other_settings_go_to_the_solver(params, monkeypatch):
    monkeypatch.setattr(
        batched_logistic, "fit_dense", lambda *args, **more: pytest.fail("not the same minimiser")
    )
    X, y, _ = _dense_parts(20, 20, 3)
    learner = LogisticRegression(**{"solver": "liblinear", **params})
    teachers.train(
        PrivateRecords(X, y), n_teachers=20, learner=learner, rng=np.random.default_rng(0), n_classes=2
    )


def _sparse_parts(n_parts, size, n_features=60, density=0.15, seed=0, scale=1.0):
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


@pytest.mark.parametrize(("C", "dense"), [(0.01, False), (1.0, True), (30.0, False)])
def test_sparse_parts_have_the_minimiser_of_liblinear(C, dense):
    X, y, ends = _sparse_parts(12, 50)
    found, converged = _sparse(X.toarray() if dense else X, y, ends, C, tolerance=1e-9)
    assert converged.all()
    np.testing.assert_allclose(found, _theirs(X, y, ends, C), rtol=1e-4, atol=1e-5 * C)


def test_what_does_not_converge_says_so(monkeypatch):
    X, y, ends = _sparse_parts(12, 50)
    monkeypatch.setattr(batched_logistic, "_MOST_STEPS", 2)
    assert not _sparse(X, y, ends, 1.0)[1].any()
    X.data[:3] = 1e200  # overflows in the first part alone
    monkeypatch.undo()
    assert _sparse(X, y, ends, 1.0)[1].tolist() == [False] + [True] * 11


def test_a_full_part_goes_to_the_solver_alone():
    """Which way a part goes is its own affair."""
    X, y, ends = _sparse_parts(20, 30, n_features=100, density=0.1)
    full = X.tolil()
    full[:30] = np.random.default_rng(1).normal(size=(30, 100))
    learner = LogisticRegression(solver="liblinear")
    wanted = np.ones(20, dtype=bool)
    numbers, _ = batched_logistic.fit_parts(learner, full.tocsr(), y, ends, None, wanted, 30)
    assert numbers.tolist() == list(range(1, 20))


def test_weights_count_like_copies():
    X, y, ends = _sparse_parts(12, 30)
    weights = np.tile([1.0, 2.0, 3.0], 120)
    found, _ = _sparse(X, y, ends, weights, tolerance=1e-9)
    copies = np.repeat(np.arange(360), weights.astype(int))
    copied, _ = _sparse(X[copies], y[copies], 2 * ends, 1.0, tolerance=1e-9)
    np.testing.assert_allclose(found, copied, atol=1e-7)


@pytest.mark.parametrize(("C", "size", "scale"), [(0.01, 90, 1.0), (1.0, 60, 1.0), (30.0, 200, 3.0)])
def test_wide_dense_parts_have_the_minimiser_of_liblinear(C, size, scale):
    """Three parts have a record more; weights count, and a part that is not wanted is left out."""
    X, y, ends = _dense_parts(25, size, 80, scale=scale)
    wanted, weights = np.arange(25) != 4, np.where(np.arange(ends[-1]) % 3, C, 2 * C)
    rows = slice(int(ends[-1]))
    found, converged = batched_logistic.fit_wide(
        X[rows], y[rows], ends, weights, wanted, size + 1, tolerance=1e-9
    )
    np.testing.assert_array_equal(converged, wanted)
    for k in np.flatnonzero(wanted).tolist():
        part = slice(int(ends[k - 1]) if k else 0, int(ends[k]))
        theirs = LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10_000)
        theirs.fit(X[part], y[part], sample_weight=weights[part])
        np.testing.assert_allclose(
            found[k], np.append(theirs.coef_[0], theirs.intercept_), rtol=1e-4, atol=1e-5 * C
        )


def test_one_record_of_a_wide_part_moves_no_other_part_a_bit():
    X, y, ends = _dense_parts(40, 60, 80)
    X, y = X[: ends[-1]], y[: ends[-1]]
    learner, wanted = LogisticRegression(solver="liblinear"), np.ones(40, dtype=bool)

    def fitted(X, y):
        numbers, coefficients = batched_logistic.fit_parts(learner, X, y, ends, None, wanted, 61)
        return dict(zip(numbers.tolist(), coefficients, strict=True))

    before = fitted(X, y)
    assert len(before) == 40
    for row in (np.full(80, 1e29), np.zeros(80), np.full(80, 1e-90), -X[100]):
        near, labels = X.copy(), y.copy()
        near[100], labels[100] = row, 1 - y[100]  # of the second part
        after = fitted(near, labels)
        same = [k for k in before if k in after and np.array_equal(before[k], after[k])]
        assert same == [k for k in range(40) if k != 1]


@pytest.mark.parametrize(
    ("fit", "size", "n_features"),
    [
        (batched_logistic.fit_dense, 20, 5),
        (batched_logistic.fit_dense, 12, 60),
        (batched_logistic.fit_wide, 60, 80),
    ],
)
def test_what_is_fitted_beside_a_part_moves_no_bit_of_it(fit, size, n_features):
    """Other workers fit other ranges of teachers."""
    X, y, ends = _dense_parts(300, size, n_features)  # of more than one stack
    starts, weights = ends - np.diff(ends, prepend=0), np.ones(len(y))

    def fitted(first, last):
        rows, wanted = slice(starts[first], ends[last - 1]), np.ones(last - first, dtype=bool)
        within = ends[first:last] - starts[first]
        return fit(X[rows], y[rows], within, weights[rows], wanted, size + 1)[0]

    whole = fitted(0, 300)
    assert np.abs(whole).max() > 0.1
    for first, last in ((0, 1), (0, 2), (1, 8), (250, 300), (299, 300)):
        np.testing.assert_array_equal(fitted(first, last), whole[first:last])
