"""The stacked solver against the library's, teacher by teacher."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pate_cli.teachers import batched, ensemble, sparse
from pate_cli.types import PrivateRecords


def _parts(n_parts, size, n_features, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n_parts * size + 3, n_features))
    y = ((X @ rng.normal(size=n_features) > 0) ^ (rng.random(len(X)) < 0.1)).astype(np.int64)
    ends = np.cumsum([size + (k < 3) for k in range(n_parts)])  # three parts are one longer
    return X, y, ends


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("size", "n_features", "scale"), [(20, 5, 1.0), (7, 12, 1.0), (40, 3, 50.0)])
def test_same_minimiser_as_liblinear(C, size, n_features, scale):
    X, y, ends = _parts(30, size, n_features, scale=scale)
    found, converged = batched.fit_logistic(X, y, ends, C)
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


def test_blocks_make_no_difference(monkeypatch):
    X, y, ends = _parts(30, 20, 4)
    whole, _ = batched.fit_logistic(X, y, ends, 1.0)
    monkeypatch.setattr(batched, "_BLOCK", 20 * 5 * 7)
    blocks, _ = batched.fit_logistic(X, y, ends, 1.0)
    np.testing.assert_allclose(blocks, whole, rtol=1e-9, atol=1e-12)


def test_the_same_votes_as_the_solver_loop(monkeypatch):
    """On at least 99.9% of teacher-query pairs, one-class parts included; and the path is really taken."""
    X, y, _ = _parts(400, 8, 5)
    queries = np.random.default_rng(1).normal(size=(300, 5))
    learner = LogisticRegression(solver="liblinear")
    taken = []
    fit = batched.fit_logistic
    monkeypatch.setattr(batched, "fit_logistic", lambda *args, **more: taken.append(1) or fit(*args, **more))

    def predictions():
        made = ensemble.train(
            PrivateRecords(X, y), n_teachers=400, learner=learner, rng=np.random.default_rng(2), n_classes=2
        )
        return np.array([teacher.predict(queries) for teacher in made.teachers]), made.votes(queries).counts

    together, counts = predictions()
    assert taken == [1]
    np.testing.assert_array_equal(counts[:, 1], together.sum(axis=0))
    monkeypatch.setattr(batched, "MOST_FEATURES", 0)
    monkeypatch.setattr(sparse, "MOST_ENTRIES", 0)
    one_by_one, _ = predictions()
    assert taken == [1]
    assert np.mean(together == one_by_one) >= 0.999


@pytest.mark.parametrize(
    "params", [{"class_weight": "balanced"}, {"fit_intercept": False}, {"solver": "lbfgs"}]
)
def test_other_settings_go_to_the_solver(params, monkeypatch):
    monkeypatch.setattr(batched, "fit_logistic", lambda *args, **more: pytest.fail("not the same minimiser"))
    X, y, _ = _parts(20, 20, 3)
    learner = LogisticRegression(**{"solver": "liblinear", **params})
    ensemble.train(
        PrivateRecords(X, y), n_teachers=20, learner=learner, rng=np.random.default_rng(0), n_classes=2
    )
