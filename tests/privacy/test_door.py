"""What passes the door at once costs what it would one by one."""

import numpy as np
import pytest

from pate_cli.privacy import svt
from pate_cli.privacy.door import Door

M = 3


def _sparse(door, values, releases):
    tests = door.above_threshold(svt.calibrate("tight", 1.0, 1e-3, M, 1), runs=releases)
    tests.test(values[:1, 0])


WAYS = {
    "gaussian": lambda door, values, releases: door.gaussian(
        values, sensitivity=2.0, sigma=3.0, releases=releases
    ),
    "integer gaussian": lambda door, values, releases: door.gaussian(
        np.round(values), sensitivity=2.0, sigma=3.0, releases=releases, unit=1.0
    ),
    "laplace": lambda door, values, releases: door.laplace(
        values, sensitivity=2.0, scale=3.0, releases=releases
    ),
    "gamma": lambda door, values, releases: door.gamma(values, sensitivity=2.0, scale=3.0),
    "exponential": lambda door, values, releases: door.exponential(values, sensitivity=2.0, eps=3.0),
    "inner choices": lambda door, values, releases: door.exponential(
        values, sensitivity=2.0, eps=3.0, released=False
    ),
    "sparse vector": _sparse,
}


@pytest.mark.parametrize("kind", WAYS)
def test_releases_at_once_cost_what_they_cost_one_by_one(kind):
    together, apart, values = Door.seeded(0), Door.seeded(0), np.arange(2.0 * M).reshape(M, 2)
    WAYS[kind](together, values, M)
    for row in values:
        WAYS[kind](apart, row[None], 1)
    one, other = together.spent, apart.spent
    assert one.mu_squared == pytest.approx(other.mu_squared)
    assert (one.pure, one.inner, one.integers) == (other.pure, other.inner, other.integers)
    assert one.sparse_loss() == pytest.approx(other.sparse_loss())
    assert not other.only()  # something was counted


@pytest.mark.parametrize("kind", sorted(WAYS.keys() - {"integer gaussian", "sparse vector"}))
def test_a_source_of_integers_gives_no_noise_without_a_proof_for_them(kind):
    door = Door.seeded(0)
    door.noise.integers = True
    with pytest.raises(RuntimeError, match="from a source of integers"):
        WAYS[kind](door, np.ones((M, 2)), M)
    assert door.spent.only()
