from __future__ import annotations

import numpy as np
import pytest

from pate_cli.errors import ConfigError
from pate_cli.teachers import n_teachers, partition
from pate_cli.teachers.parts import check_disjoint


@pytest.mark.parametrize(("n", "k"), [(1, 1), (10, 3), (10, 10), (6_499, 324), (39_073, 390)])
def test_parts_are_disjoint_even_and_cover_everything(n, k):
    parts = partition(n, k, np.random.default_rng(0))
    assert len(parts) == k
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))  # each record once
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    check_disjoint(parts, n)


def test_parts_are_random_and_repeatable():
    first, again, other = (partition(1000, 10, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    # not runs of neighbours: a file may be sorted by class
    assert np.ptp(first[0]) > 500


@pytest.mark.parametrize("k", [0, 11])
def test_no_teacher_without_a_record(k):
    with pytest.raises(ConfigError, match=r"^teacher\.count: got -?\d+; accepted: 1 to 10 "):
        partition(10, k, np.random.default_rng(0))


def test_known_bug_teachers_that_share_records():
    with pytest.raises(RuntimeError, match="every epsilon would be void"):
        check_disjoint([np.array([0, 1]), np.array([1, 2])], 3)
    with pytest.raises(RuntimeError, match="does not exist"):
        check_disjoint([np.array([0, 3])], 3)


def test_number_of_teachers():
    assert n_teachers(6_499, size=20, count=None) == 324
    assert n_teachers(39_073, size=100, count=None) == 390
    assert n_teachers(39_073, size=100, count=250) == 250
    assert n_teachers(10, size=10, count=None) == 1


@pytest.mark.parametrize(
    ("size", "count", "key"),
    [
        (101, None, "size"),
        (None, None, "size"),
        (10, 1.5, "count"),
    ],
)
def test_impossible_numbers_name_the_key(size, count, key):
    with pytest.raises(ConfigError, match=rf"^teacher\.{key}: got .*; accepted: an integer from 1 to 100 "):
        n_teachers(100, size=size, count=count)
