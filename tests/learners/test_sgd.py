from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.learners import make_learner
from pate_cli.learners.sgd import SgdLogistic, change_of_prediction, largest_step


def records(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.lognormal(size=(n, 1))
    return X, (X[:, 0] > 0).astype(np.int64)


def by_hand(X, y, step, clip, order):
    """SGD on the log-loss as the theory writes it."""
    Z = X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True) / clip)
    w, b = np.zeros(X.shape[1]), 0.0
    for i in order:
        s = 2 * y[i] - 1
        pull = s / (1 + math.exp(s * (Z[i] @ w + b)))
        w, b = w + step * pull * Z[i], b + step * pull
    return w, b


def test_one_pass_is_the_descent_of_the_theory():
    X, y = records()
    found = SgdLogistic(passes=2, step=0.7, clip=0.9).fit(X, y).descent_
    w, b = by_hand(X, y, 0.7, 0.9, [*range(40)] * 2)
    np.testing.assert_allclose(found.coef_[0], w, rtol=1e-9)
    assert found.intercept_[0] == pytest.approx(b, rel=1e-9)


def test_orders_come_from_the_seed_and_change_the_result():
    X, y = records()
    runs = [
        SgdLogistic(passes=3, permute=True, random_state=seed).fit(X, y).decision_function(X)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.allclose(runs[0], runs[2])


def test_rows_are_clipped_when_predicting_too():
    X, y = records()
    model = SgdLogistic(clip=0.1).fit(X, y)
    scale = np.linspace(1, 50, len(X))[:, None]
    long = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(long * scale), model.predict_proba(long))
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(X)), model.decision_function(X))


@pytest.mark.parametrize("passes", [1, 4])
def test_one_record_never_changes_a_prediction_by_more_than_the_bound(passes):
    """On the worst pair for the bound: records that all push one way, one turned around."""
    points = np.random.default_rng(5).normal(size=(200, 2))
    points = np.vstack([points, 10 * np.eye(2), -10 * np.eye(2)])
    for step in (0.05, 0.5, largest_step(1.0)):
        X = np.tile([1.0, 0.0], (6, 1))
        y = np.array([1, 0, 1, 0, 1, 0])
        neighbour = y.copy()
        neighbour[-1] = 1
        learner = SgdLogistic(passes=passes, step=step)
        p, q = (learner.fit(X, labels).predict_proba(points)[:, 1] for labels in (y, neighbour))
        bound = change_of_prediction(passes, step, 1.0)
        assert np.abs(p - q).max() <= bound
        if step == 0.05:
            assert np.abs(p - q).max() > 0.3 * bound  # not idle: the factor 2 is what the pair comes near


def test_the_bound_in_numbers():
    assert largest_step(1.0) == 4.0
    assert change_of_prediction(1, 0.05, 1.0) == pytest.approx(0.05)  # 2 step L = 0.1 sqrt 2, times L / 4
    assert change_of_prediction(3, 0.05, 2.0) == pytest.approx(0.375)
    assert change_of_prediction(1, 4.01, 1.0) == 1.0
    assert change_of_prediction(100, 0.5, 1.0) == 1.0


def test_names_and_defaults():
    one, many = (make_learner(name, {}, seed=4, n_classes=2) for name in ("sgd", "permuted_sgd"))
    assert (one.passes, one.permute, one.random_state) == (1, False, 4)
    assert (many.passes, many.permute) == (10, True)
