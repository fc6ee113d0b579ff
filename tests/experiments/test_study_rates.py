"""The bounds of Table 1: hand-computed values, brute-force minima, and what the constants say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pate_cli.experiments.statements import rates
from pate_cli.experiments.statements.rates import Problem

HALF = Problem(d=3, tau=0.5, theta=4)


def test_theorems_by_hand():
    # n eps = 1000, d = 3, tau = 1/2, m = 100
    at = {a: rates.terms(a, 500, 2, HALF, realizable=False).at(100) for a in rates.ALGORITHMS}
    assert at["gaussian"] == pytest.approx(3 / 100 + (3 * 10 / 1000) ** (1 / 3))
    assert at["svt"] == pytest.approx(3 / 100 + (100 * 9 / 1000**2) ** (0.5 / 2.5))
    assert at["active"] == pytest.approx(3 / 100 + (3**1.5 * 2 / 1000) ** (1 / 3))
    before = rates.terms("svt before", 500, 2, Problem(3, 0.5, 4, 0.01), realizable=False).at(100)
    assert before == pytest.approx(0.13 + math.sqrt(0.03) + 100 ** (1 / 3) * (3 / 1000) ** (2 / 3))
    realizable = rates.terms("svt before", 500, 2, HALF, realizable=True).at(100)
    assert realizable == pytest.approx(math.sqrt(0.03) + 9 * 100 / 1000**2)


@pytest.mark.parametrize("algorithm", rates.ALGORITHMS)
@pytest.mark.parametrize("realizable", [True, False])
@pytest.mark.parametrize("most", [50.0, 1e9])
def test_best_m_beats_a_grid(algorithm, realizable, most):
    two = rates.terms(algorithm, 1e5, 1.0, HALF, realizable=realizable)
    grid = [two.at(m) for m in np.geomspace(1, most, 4000)]
    found = two.at(two.best_m(most))
    assert min(grid) * (1 - 1e-5) <= found <= min(grid) * (1 + 1e-9)


@pytest.mark.parametrize("tau", [0.3, 0.5, 1.0])
def test_remark_12_gives_the_best_m(tau):
    d, private = 3, 1e6
    printed = (d ** (4 - 5 * tau) * private ** (2 * tau)) ** (1 / (4 - 2 * tau))
    two = rates.terms("svt", private, 1.0, Problem(d, tau, 1), realizable=False)
    # it makes the two terms equal; the minimum is where their slopes cancel, p/q further, at any scale
    assert two.a * printed**-two.p == pytest.approx(two.b * printed**two.q)
    assert two.best_m() / printed == pytest.approx(((4 - 3 * tau) / tau) ** ((4 - 3 * tau) / (4 - 2 * tau)))


@pytest.mark.parametrize("algorithm", rates.ALGORITHMS)
@pytest.mark.parametrize("realizable", [True, False])
def test_printed_table_has_the_theorems_exponents(algorithm, realizable):
    for n, m, eps in [(1e4, 1e3, 0.5), (1e8, math.inf, 1.0), (1e6, 1e2, 2.0)]:
        ours = rates.rate(algorithm, n, m, eps, HALF, realizable=realizable)
        printed = rates.printed_rate(algorithm, n, m, eps, HALF, realizable=realizable)
        assert 0.5 < ours / printed < 2.01


def test_explicit_gaussian_by_hand():
    n, m, eps, delta, failure, d = 1e9, 1e5, 1.0, 1e-9, 0.1, 2
    inverse = 9 * math.log(10)
    teachers = 6 * math.sqrt(math.log(2e9)) * (math.sqrt(m * inverse) + math.sqrt(m * inverse + m))
    error = 4 * (2 * math.log(n / teachers) + math.log(4 * teachers / 0.05)) / (n / teachers)
    distance, b = 3 * error + 1e-9, (2 * math.log(m) + math.log(4 / 0.05)) / m
    by_hand = 2 * distance + 2 * math.sqrt(distance * b) + 4 * b
    assert rates.explicit_gaussian(n, m, eps, delta, failure, d) == pytest.approx(by_hand, rel=1e-12)


def test_explicit_svt_solves_for_its_cutoff():
    n, m, eps, delta, failure, d = 1e11, 1e6, 1.0, 1e-11, 0.1, 2
    bound = rates.explicit_svt(n, m, eps, delta, failure, d)
    cutoff = (bound - 5 * (d + math.log(4 / failure)) / m) * m / 4
    teachers = 136 * math.log(4 * m * cutoff / delta) * math.sqrt(cutoff * math.log(2 / delta))
    size = n / teachers
    expected = m * 4 * (d * math.log(size) + math.log(4 * teachers / failure)) / size
    unlikely = math.log(teachers / failure)
    mistakes = expected + math.sqrt(2 * expected * unlikely) + 2 / 3 * unlikely
    assert cutoff == pytest.approx(3 * mistakes, rel=1e-5)


def test_explicit_bounds_say_nothing_on_few_records():
    for algorithm in rates.EXPLICIT:
        assert rates.best_bound(algorithm, 1e4, 1.0, 1e-4, 0.05, 10) == 1.0
        small, large = (rates.best_bound(algorithm, n, 1.0, 1 / n, 0.05, 10) for n in (1e11, 1e12))
        assert large < small < 0.5
