"""Voting fails, voting wins: closed forms against enumeration by hand and by brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pate_cli.experiments.example2 import study as example2
from pate_cli.experiments.figure1 import study as figure1

HYPOTHESES = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])


def error_by_enumeration(n_teachers: int) -> float:
    """Every choice of hypotheses by K teachers, equally likely; y = 1 at all four points."""
    picks = itertools.product(range(3), repeat=n_teachers)
    errors = [np.mean(2 * HYPOTHESES[list(pick)].sum(axis=0) < n_teachers) for pick in picks]
    return float(np.mean(errors))


@pytest.mark.parametrize("n_teachers", [1, 2, 3, 8])
def test_voting_fails_exactly(n_teachers):
    assert figure1.exact_error(n_teachers) == pytest.approx(error_by_enumeration(n_teachers), abs=1e-12)


@pytest.mark.parametrize("n_records", [1, 30])
def test_trained_teachers_pick_uniformly(n_records):
    errors = figure1.simulate(5, n_records, 20_000, np.random.default_rng(3))
    assert set(errors.tolist()) <= {0.5, 0.75}  # five teachers: a majority for one hypothesis, or none
    assert errors.mean() == pytest.approx(figure1.exact_error(5), abs=4.5 * errors.std() / math.sqrt(20_000))


def test_chernoff_lies_below():
    assert figure1.exact_error(1001) == pytest.approx(0.75, abs=1e-12)
    for n_teachers in range(1, 400, 2):
        gap = 0.75 - figure1.exact_error(n_teachers)
        assert 0 <= gap <= 0.75 * math.exp(-n_teachers * figure1.RATE) + 1e-15


def wrong_votes(n_teachers: int, edge: float) -> float:
    """Sum over every pattern of wrong teachers."""
    wrong = 0.5 - edge
    return sum(
        wrong ** sum(pattern) * (1 - wrong) ** (n_teachers - sum(pattern))
        for pattern in itertools.product([0, 1], repeat=n_teachers)
        if 2 * sum(pattern) >= n_teachers
    )


@pytest.mark.parametrize("n_teachers", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("edge", [0.05, 0.3])
def test_voting_wins_exactly(n_teachers, edge):
    assert example2.exact_error(n_teachers, edge) == pytest.approx(wrong_votes(n_teachers, edge), rel=1e-12)


def test_the_bound_holds_and_the_simulation_agrees():
    assert example2.bound(25, 0.2) == pytest.approx(math.exp(-2))
    for edge, n_teachers in itertools.product([0.01, 0.1, 0.4], range(1, 120)):
        assert example2.exact_error(n_teachers, edge) <= example2.bound(n_teachers, edge)
    errors = example2.simulate(10, 0.1, 500, 100, np.random.default_rng(1))
    assert errors.mean() == pytest.approx(example2.exact_error(10, 0.1), abs=4.5 * errors.std() / 10)
