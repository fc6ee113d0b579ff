"""The best model without privacy: what is chosen follows the data, and odd data are no end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

from pate_cli.engine import limits
from pate_cli.engine.limits import FAMILIES, best_model, fitted_model


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(limits, "_TUNED_ON", 300)


def data(n=900, d=4):
    X = np.random.default_rng(0).normal(size=(n, d))
    return X, (X[:, 0] * X[:, 1] > 0).astype(np.int64)


def test_it_is_no_linear_model_where_classes_are_not_linear():
    X, y = data()
    best = best_model(X[:600], y[:600], 2, 1)
    model, family = fitted_model(best, X[:600], y[:600], 2, 1)
    assert family in FAMILIES[:2]
    assert np.mean(model.predict(X[600:]) == y[600:]) > 0.85  # a linear one: 0.5
    assert model.predict_proba(X[600:]).shape == (300, 2)
    again, _ = fitted_model(best, X[:600], y[:600], 2, 1)
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("n_of_one", [0, 1, 4])
def test_a_class_with_hardly_a_record(n_of_one):
    X, _ = data(200)
    y = np.zeros(200, dtype=np.int64)
    y[:n_of_one] = 1
    best = best_model(sp.csr_matrix(X), y, 3, 1)
    model, family = fitted_model(best, sp.csr_matrix(X), y, 3, 1)
    assert np.mean(model.predict(sp.csr_matrix(X)) == 0) > 0.95
    if n_of_one < 3:
        assert (family, type(model)) == ("constant", DummyClassifier)


@pytest.mark.parametrize("kind", ["flags", "few values", "numbers"])
def test_fewer_bins_give_the_same_trees(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = {
        "flags": sp.csr_matrix(rng.random((900, 6)) < 0.3, dtype=np.float64),
        "few values": np.where(rng.random((900, 3)) < 0.1, np.nan, rng.integers(-3, 4, (900, 3))),
        "numbers": rng.normal(size=(900, 3)),
    }[kind]
    dense = X.toarray() if sp.issparse(X) else np.nan_to_num(X)
    y = (dense.sum(axis=1) + rng.normal(size=900) > dense.sum(axis=1).mean()).astype(np.int64)
    trees, _ = fitted_model(0, X, y, 2, 1)
    assert trees[-1].max_bins == {"flags": 2, "few values": 8, "numbers": 255}[kind]
    monkeypatch.setattr(limits, "_set_bins", lambda *_: None)
    usual, _ = fitted_model(0, X, y, 2, 1)
    assert np.array_equal(trees.predict_proba(X), usual.predict_proba(X))
