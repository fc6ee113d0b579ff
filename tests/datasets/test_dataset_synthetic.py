"""The embedded half-space with label noise."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pate_cli.datasets import load
from pate_cli.errors import ConfigError


def test_default_has_the_documented_shape_and_balanced_classes():
    data = load("synthetic")
    assert data.X.shape == (75_000, 5)
    assert data.classes == ("-1", "1")
    assert data.encoder is None
    assert abs(np.mean(data.y) - 0.5) < 0.01


def test_best_linear_classifier_reaches_one_minus_flip_and_no_more():
    data = load("synthetic", flip=0.05)
    found = LogisticRegression(C=100, fit_intercept=False).fit(data.X, data.y)
    assert found.score(data.X, data.y) == pytest.approx(0.95, abs=0.004)


def test_no_point_is_nearer_to_the_plane_than_the_gap():
    # On a line the plane is the origin, and the distance the absolute value.
    clean = load("synthetic", flip=0.0, gap=0.5, n_features=1)
    assert np.abs(clean.X).min() == pytest.approx(0.5, abs=1e-3)
    assert np.abs(clean.X).min() >= 0.5
    assert abs(np.corrcoef(np.sign(clean.X[:, 0]), clean.y)[0, 1]) == pytest.approx(1)


def test_points_are_standard_gaussian_but_for_the_gap():
    assert load("synthetic", gap=0.0).X.std(axis=0) == pytest.approx(np.ones(5), abs=0.02)
    assert load("synthetic", gap=10.0, n_features=1).X.std() == pytest.approx(10.1, abs=0.02)


def test_seed_and_parameters_decide_records_and_checksum():
    one, same, other = load("synthetic", seed=1), load("synthetic", seed=1), load("synthetic", seed=2)
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    assert one.checksum == same.checksum
    assert not np.array_equal(one.X, other.X)
    assert len({one.checksum, other.checksum, load("synthetic", seed=1, flip=0.1).checksum}) == 3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_records", 9),
        ("n_records", 1e5),
        ("n_features", 0),
        ("n_features", True),
        ("gap", -0.1),
        ("gap", float("nan")),
        ("gap", "wide"),
        ("flip", 0.5),
        ("flip", -0.01),
        ("seed", -1),
        ("seed", 0.5),
    ],
)
def test_refuses_values_out_of_range(option, value):
    with pytest.raises(ConfigError, match=rf"^dataset\.{option}: got "):
        load("synthetic", **{option: value})
