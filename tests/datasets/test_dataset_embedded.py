"""Data sets without files: digits, thresholds, and the half-space with label noise."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pate_cli.datasets import load
from pate_cli.datasets.known_datasets import EMBEDDED
from pate_cli.errors import ConfigError


@pytest.mark.parametrize("name", EMBEDDED)
def test_sizes_are_those_that_are_listed(name):
    data, listed = load(name), EMBEDDED[name]
    sizes = (listed.n_records, listed.n_features, listed.n_classes)
    assert (data.n_records, data.n_features, data.n_classes) == sizes
    assert data.encoder is None


def test_digits():
    data = load("digits")
    assert (data.X.min(), data.X.max()) == (0.0, 1.0)
    assert np.bincount(data.y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.checksum == "f6d9e39f37dc45d327f6db33428ee58970ccceabb2535a5c179de35886b70443"


def test_thresholds_have_their_noise_on_both_sides():
    data = load("thresholds", n_records=200_000, noise=0.2, threshold=0.3)
    x, wrong = data.X[:, 0], data.y != (data.X[:, 0] >= 0.3)
    assert 0 <= x.min() < 1e-4 < 1 - 1e-4 < x.max() <= 1
    for side in (wrong[x < 0.3], wrong[x >= 0.3]):
        assert abs(side.mean() - 0.2) < 5.2 * 0.4 / np.sqrt(len(side))  # false alarm 2e-7
    clean = load("thresholds", n_records=1000, noise=0.0, threshold=0.3)
    np.testing.assert_array_equal(clean.y, clean.X[:, 0] >= 0.3)


def test_best_linear_classifier_of_the_half_space_reaches_one_minus_flip_and_no_more():
    data = load("synthetic", flip=0.05)
    assert abs(np.mean(data.y) - 0.5) < 0.01
    found = LogisticRegression(C=100, fit_intercept=False).fit(data.X, data.y)
    assert found.score(data.X, data.y) == pytest.approx(0.95, abs=0.004)


def test_points_are_standard_gaussian_but_for_the_gap():
    assert load("synthetic", gap=0.0).X.std(axis=0) == pytest.approx(np.ones(5), abs=0.02)
    # On a line the plane is the origin, and the distance the absolute value.
    clean = load("synthetic", flip=0.0, gap=0.5, n_features=1)
    assert 0.5 <= np.abs(clean.X).min() < 0.501
    assert abs(np.corrcoef(np.sign(clean.X[:, 0]), clean.y)[0, 1]) == pytest.approx(1)


CHANGES = {
    "thresholds": [{"seed": 2}, {"noise": 0.2}, {"threshold": 0.4}, {"n_records": 1001}],
    "synthetic": [{"seed": 2}, {"flip": 0.1}, {"gap": 0.4}, {"n_records": 1001}, {"n_features": 6}],
}


@pytest.mark.parametrize("name", CHANGES)
def test_seed_and_parameters_decide_records_and_checksum(name):
    one, same = (load(name, n_records=1000, seed=1) for _ in range(2))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    others = [load(name, **({"n_records": 1000, "seed": 1} | change)) for change in CHANGES[name]]
    assert len({data.checksum for data in (one, same, *others)}) == 1 + len(others)
    assert not np.array_equal(one.X, others[0].X)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("thresholds", "n_records", 9),
        ("thresholds", "noise", 0.5),
        ("thresholds", "threshold", 1.5),
        ("synthetic", "n_features", 0),
        ("synthetic", "gap", float("nan")),
        ("synthetic", "flip", -0.01),
        ("synthetic", "seed", 0.5),
    ],
)
def test_refuses_values_out_of_range(name, option, value):
    with pytest.raises(ConfigError, match=rf"^dataset\.{option}: got "):
        load(name, **{option: value})


def test_refuses_a_threshold_that_leaves_one_class():
    with pytest.raises(ConfigError, match=r"^dataset\.threshold: .*both classes"):
        load("thresholds", threshold=0, noise=0, n_records=100)
