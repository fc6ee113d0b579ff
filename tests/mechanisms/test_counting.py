"""teacher.count=auto: from public numbers alone, and on the right side of what was measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pate_cli.mechanisms.counting import auto_count
from pate_cli.teachers import n_teachers, train
from pate_cli.teachers.batched_logistic import fit_dense
from pate_cli.types import PrivateRecords


def test_more_privacy_means_more_and_smaller_teachers():
    counts = [auto_count(39_073, 977, 123, 2, eps, 1 / 39_073) for eps in (0.1, 0.5, 1, 2, 8)]
    assert counts == sorted(counts, reverse=True)
    assert counts[1] == pytest.approx(338, abs=2)


def test_mushroom_is_near_its_measured_best():
    # measured best sizes about 50, 70 and 90 records a teacher at eps 0.5, 1 and 2
    sizes = [6_499 / auto_count(6_499, 163, 112, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2)]
    np.testing.assert_allclose(sizes, [49, 67, 91], rtol=0.03)


@pytest.mark.parametrize("n", [1, 2, 9, 50, 1_000, 10**7])
@pytest.mark.parametrize("eps", [1e-3, 1.0, 100.0, math.inf])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_always_a_number_that_parts_can_be_made_of(n, eps, n_classes):
    count = auto_count(n, 50, 20, n_classes, eps, 1e-6)
    assert n_teachers(n, size=None, count=count) == count


def test_weights_reach_each_teacher():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(np.int64)
    wrong = rng.random(400) < 0.5
    labels = np.where(wrong, 1 - y, y)
    weights = np.where(wrong, 1e-6, 1.0)
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    for learner in (
        LogisticRegression(solver="liblinear"),  # all at once
        LogisticRegression(solver="lbfgs"),  # one by one
        KNeighborsClassifier(1),  # takes no weights: resampled
    ):
        ensemble = train(
            PrivateRecords(X, labels),
            n_teachers=10,
            learner=learner,
            rng=np.random.default_rng(1),
            n_classes=2,
            sample_weight=weights,
        )
        assert ensemble.accuracy(X, y) > 0.8
    coefficients, _ = fit_dense(X, labels, np.array([400]), weights, np.ones(1, dtype=bool), 400)
    direct = LogisticRegression(solver="liblinear", tol=1e-10).fit(X, labels, sample_weight=weights)
    np.testing.assert_allclose(coefficients[0, :3], direct.coef_[0], atol=1e-4)
