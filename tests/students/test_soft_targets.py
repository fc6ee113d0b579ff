"""Students on noisy shares of the votes: the records they are given, and their accuracy beside labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from pate_cli.learners.constant import ConstantClassifier
from pate_cli.students import fit_student
from pate_cli.types import Answers, PublicPoints

K = 100


def votes(n_classes=2, m=200, d=6, sigma=0.0, seed=0):
    """Points, noisy counts and labels: shares of the votes are a softmax of the first C features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    scores = np.exp(2 * X[:, :n_classes])
    counts = K * scores / scores.sum(axis=1, keepdims=True)
    truth = counts.argmax(axis=1)
    if n_classes == 2:
        ones = counts[:, 1] + sigma * rng.normal(size=m)
        return X, np.column_stack([K - ones, ones]), truth
    return X, counts + sigma * rng.normal(size=counts.shape), truth


def fit(X, counts, *, noisy=True, asked=None, n_teachers=K, **params):
    """Fit the student on noisy counts, or on their labels alone."""
    asked = np.arange(len(counts)) if asked is None else asked
    return fit_student(
        PublicPoints(X),
        Answers(asked, counts.argmax(axis=1), counts if noisy else None, n_teachers=n_teachers),
        estimator="soft_targets",
        params=params,
        unanswered="drop",
        rng=np.random.default_rng(0),
        n_classes=counts.shape[1],
        seed=0,
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_class_weighs_its_clipped_share(kind):
    X = np.random.default_rng(0).normal(size=(5, 3))
    counts = np.array([[-20.0, 60.0, 60.0], [150.0, -1.0, -1.0], [-5.0, -1.0, -2.0], [70.0, 20.0, 10.0]])
    asked = np.array([4, 0, 1, 2])
    rows = [4, 4, 0, 1, 1, 1, 2, 2, 2]
    labels = [1, 2, 0, 0, 1, 2, 0, 1, 2]
    weights = [1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3, 0.7, 0.2, 0.1]
    expected = LogisticRegression().fit(X[rows], labels, sample_weight=weights)
    student = fit(kind(X), counts, asked=asked, base="sklearn.linear_model.LogisticRegression")
    np.testing.assert_allclose(student.coef_, expected.coef_, atol=1e-4)


def test_one_class_with_all_votes_is_a_constant():
    X, counts, _ = votes()
    student = fit(X, np.full_like(counts, [0.0, K]))
    assert isinstance(student, ConstantClassifier)
    assert student.constant == 1


@pytest.mark.parametrize("base", ["logistic", "tree"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("sigma", [0.0, 10.0])
def test_learns_from_noisy_counts(n_classes, sigma, base):
    X, counts, _ = votes(n_classes, m=400, sigma=sigma)
    fresh, _, truth = votes(n_classes, seed=1)
    student = fit(X, counts, base=base)
    assert np.mean(student.predict(fresh) == truth) > (0.85 if base == "logistic" else 0.6)


def test_labels_alone_are_the_learner_alone():
    X, counts, _ = votes(sigma=10.0)
    alone = LogisticRegression().fit(X, counts.argmax(axis=1))
    student = fit(X, counts, noisy=False, base="sklearn.linear_model.LogisticRegression")
    np.testing.assert_array_equal(student.coef_, alone.coef_)
