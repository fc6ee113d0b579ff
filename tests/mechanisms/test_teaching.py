"""teacher.count=auto: from public numbers alone, and on the right side of what was measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from pate_cli import mechanisms
from pate_cli.config import compose, parse
from pate_cli.mechanisms.options import auto_count
from pate_cli.teachers import n_teachers, train
from pate_cli.types import PrivateRecords


def test_more_privacy_means_more_and_smaller_teachers_near_the_measured_best():
    # on features of public points the measured best sizes are about 25 records a teacher at eps 0.5, 50 at 2
    counts = [auto_count(6_499, 2, eps, 1 / 6_499) for eps in (0.5, 1, 2)]
    np.testing.assert_allclose(6_499 / np.array(counts), [26, 37, 50], rtol=0.05)


@pytest.mark.parametrize("n", [1, 9, 50, 10**7])
@pytest.mark.parametrize("eps", [1e-3, 100.0, math.inf])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_always_a_number_that_parts_can_be_made_of(n, eps, n_classes):
    count = auto_count(n, n_classes, eps, 1e-6)
    assert n_teachers(n, size=None, count=count) == count


@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(solver="liblinear"),  # all at once
        LogisticRegression(solver="lbfgs"),  # one by one
        KNeighborsClassifier(1),  # takes no weights: resampled
    ],
)
def test_weights_reach_each_teacher(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(np.int64)
    wrong = rng.random(400) < 0.5
    given = {"n_teachers": 10, "learner": learner, "rng": np.random.default_rng(1), "n_classes": 2}
    ensemble = train(
        PrivateRecords(X, np.where(wrong, 1 - y, y)), sample_weight=np.where(wrong, 1e-6, 1.0), **given
    )
    assert ensemble.accuracy(X[:100], y[:100]) > 0.8


@pytest.mark.parametrize("mechanism", mechanisms.names())
def test_a_size_that_is_typed_is_the_size_that_is_used(mechanism):
    """Whatever the mechanism's preset and the data set's bring along."""
    typed = parse(compose([f"mechanism={mechanism}", "teacher.size=25"])).teacher
    assert (typed.size, typed.count, typed.auto_count) == (25, None, False)
    own = parse(compose([f"mechanism={mechanism}"])).teacher
    assert own.auto_count == (mechanism in ("scores", "score_boosting"))
    assert own.size == (None if own.auto_count else 20)  # of dataset=synthetic
