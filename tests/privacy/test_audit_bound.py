"""Confidence limits and lower bounds of an audit, by exact enumeration."""

import math

import numpy as np
import pytest
from scipy import stats

from pate_cli.audit.bounds import best_event, clopper_pearson, eps_lower_bound


@pytest.mark.parametrize("total", [1, 20, 100_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_limits_are_scipys(total, confidence):
    hits = np.unique([0, 1, total // 3, total - 1, total])
    for k, low, high in zip(hits, *clopper_pearson(hits, total, confidence), strict=True):
        expected = stats.binomtest(int(k), total).proportion_ci(confidence, method="exact")
        assert (low, high) == pytest.approx(tuple(expected), rel=1e-8)


@pytest.mark.parametrize(("delta", "confidence"), [(0.0, 0.5), (0.05, 0.9)])
@pytest.mark.parametrize(("p_total", "q_total"), [(40, 40), (25, 60)])
def test_bound_fails_no_more_often_than_stated_by_exact_enumeration(delta, confidence, p_total, q_total):
    hits = np.meshgrid(np.arange(p_total + 1), np.arange(q_total + 1), indexing="ij")
    bounds = eps_lower_bound(hits[0], p_total, hits[1], q_total, delta, confidence)
    missed = []
    for p in (0.06, 0.3, 0.9, 0.999):
        for q in (0.001, 0.05, 0.3, 0.9):
            weight = stats.binom.pmf(hits[0], p_total, p) * stats.binom.pmf(hits[1], q_total, q)
            missed.append(weight[bounds > max(0.0, math.log((p - delta) / q))].sum())
    assert 0 < max(missed) <= 1 - confidence  # nor by never showing anything


def test_bound_by_hand():
    # p >= 0.4 and q <= 0.1 or so, once there are enough runs
    found = eps_lower_bound(40_000, 100_000, 10_000, 100_000, 0.2, 0.95)
    assert float(found) == pytest.approx(math.log(2), abs=0.04)
    # an event never seen on the neighbour: both limits are (0.025)^(1/1000) from their end
    found = eps_lower_bound(1000, 1000, 0, 1000, 0.0, 0.95)
    assert float(found) == pytest.approx(math.log(0.025**0.001 / (1 - 0.025**0.001)))
    for p_hits, q_hits, delta in ((10, 50, 0.0), (10, 0, 0.5), (0, 0, 0.0)):
        assert eps_lower_bound(p_hits, 100, q_hits, 100, delta, 0.95) == 0


def test_best_event_finds_the_tail_and_counts_ties():
    rng = np.random.default_rng(0)
    # 3% of D score 50, never on D'; the bulk is slightly shifted
    p, q = rng.normal(0.05, 1, 20_000), rng.normal(0, 1, 20_000)
    p[:600] = 50.0
    threshold, bound = best_event(p, q, 0.0, 0.95)
    assert 4 < threshold <= 50
    assert bound == pytest.approx(float(eps_lower_bound(600, 20_000, 0, 20_000, 0.0, 0.95)))
    threshold, less = best_event(p, q, 0.04, 0.95)  # a delta of all of the tail
    assert threshold < 4
    assert less < 0.3
    threshold, bound = best_event(np.repeat([1.0, 0.0], [80, 20]), np.repeat([1.0, 0.0], [10, 190]), 0.0, 0.9)
    assert (threshold, bound) == (1, pytest.approx(float(eps_lower_bound(80, 100, 10, 200, 0.0, 0.9))))
