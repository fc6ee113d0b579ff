import math

import numpy as np
import pytest

from pate_cli.privacy.gaussian import calibrate_sigma, eps_of_mu
from pate_cli.privacy.odometer import gaussian_odometer, log_crossing


def test_crossing_probability_by_simulation():
    eps, variance, runs, steps = 1.0, 0.5, 40_000, 400
    rng = np.random.default_rng(1)
    v = variance / steps
    level, crossed = np.zeros(runs), np.zeros(runs, dtype=bool)
    for _ in range(steps):
        before = level
        level = level + v / 2 + math.sqrt(v) * rng.standard_normal(runs)
        # a bridge between two points below eps passes it with this probability
        bridge = np.exp(np.minimum(0, -2 * (eps - before) * (eps - level) / v))
        crossed |= (level > eps) | (rng.random(runs) < bridge)
    p = math.exp(log_crossing(eps, variance))
    assert abs(crossed.mean() - p) < 5.2 * math.sqrt(p * (1 - p) / runs)  # false alarm 2e-7


@pytest.mark.parametrize("signs", ["same", "adaptive"])
def test_no_stopping_rule_passes_the_odometer_more_often_than_delta(signs):
    """The adversary stops at the moment the log-ratio stands highest above the odometer."""
    ell, delta, sigma, runs = 40, 0.02, 12.0, 100_000
    bounds = [gaussian_odometer(q, ell, sigma, delta) for q in range(1, ell + 1)]
    rng = np.random.default_rng(2)
    loss, passed = np.zeros(runs), np.zeros(runs, dtype=bool)
    for bound in bounds:
        moves = np.ones(runs) if signs == "same" else (loss < bound / 2).astype(float)
        loss += moves / (2 * sigma**2) + moves * rng.standard_normal(runs) / sigma
        passed |= loss > bound
    assert passed.mean() < delta + 5.2 * math.sqrt(delta / runs)
    if signs == "same":
        assert passed.mean() > delta / 20  # the bound is not idle


def test_grows_with_the_queries_and_lies_above_the_report():
    ell, delta = 49, 1 / 6499
    sigma = calibrate_sigma(1.0, delta, ell)
    shown = [gaussian_odometer(q, ell, sigma, delta) for q in range(ell + 1)]
    assert shown[0] == 0
    assert shown == sorted(shown)
    for q in range(1, ell + 1):
        assert shown[q] > eps_of_mu(math.sqrt(q) / sigma, delta)
    assert shown[10] < 1.0 < shown[ell] < 1.5
