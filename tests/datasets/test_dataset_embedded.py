"""Digits and thresholds: no files."""

from __future__ import annotations

import numpy as np
import pytest

from pate_cli.datasets import load
from pate_cli.datasets.files import EMBEDDED
from pate_cli.errors import ConfigError


@pytest.mark.parametrize("name", EMBEDDED)
def test_sizes_are_those_that_are_listed(name):
    data, listed = load(name), EMBEDDED[name]
    assert (data.n_records, data.n_features, data.n_classes) == (
        listed.n_records,
        listed.n_features,
        listed.n_classes,
    )


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


def test_seed_and_parameters_decide_records_and_checksum():
    one, same = (load("thresholds", n_records=1000, seed=1) for _ in range(2))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.y, same.y)
    others = [load("thresholds", **({"n_records": 1000, "seed": 1} | change)) for change in CHANGES]
    assert len({data.checksum for data in (one, *others)}) == 1 + len(CHANGES)
    assert not np.array_equal(one.X, others[0].X)


CHANGES = [{"seed": 2}, {"noise": 0.2}, {"threshold": 0.4}, {"n_records": 1001}]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("n_records", 9),
        ("n_records", 1e5),
        ("noise", 0.5),
        ("noise", -0.1),
        ("noise", True),
        ("threshold", 1.5),
        ("threshold", "half"),
        ("threshold", float("nan")),
        ("seed", -1),
    ],
)
def test_refuses_values_out_of_range(option, value):
    with pytest.raises(ConfigError, match=rf"^dataset\.{option}: got "):
        load("thresholds", **{option: value})


def test_refuses_a_threshold_that_leaves_one_class():
    with pytest.raises(ConfigError, match=r"^dataset\.threshold: .*both classes"):
        load("thresholds", threshold=0, noise=0, n_records=100)
