import math

import numpy as np
import pytest
from scipy import stats

from pate_cli.audit.bounds import best_event, clopper_pearson, eps_lower_bound


@pytest.mark.parametrize("total", [1, 20, 100_000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
def test_limits_are_scipys(total, confidence):
    hits = np.unique([0, 1, total // 3, total - 1, total])
    low, high = clopper_pearson(hits, total, confidence)
    for k, a, b in zip(hits, low, high, strict=True):
        expected = stats.binomtest(int(k), total).proportion_ci(confidence, method="exact")
        assert a == pytest.approx(expected.low, rel=1e-8)
        assert b == pytest.approx(expected.high, rel=1e-8)


@pytest.mark.parametrize("total", [1, 7, 60])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_each_limit_covers_by_exact_enumeration(total, confidence):
    hits = np.arange(total + 1)
    low, high = clopper_pearson(hits, total, confidence)
    for p in np.linspace(0.001, 0.999, 101):
        weight = stats.binom.pmf(hits, total, p)
        assert weight[low > p].sum() <= (1 - confidence) / 2 + 1e-12
        assert weight[high < p].sum() <= (1 - confidence) / 2 + 1e-12


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("confidence", [0.5, 0.9])
@pytest.mark.parametrize(("p_total", "q_total"), [(40, 40), (25, 60)])
def test_bound_fails_no_more_often_than_stated_by_exact_enumeration(delta, confidence, p_total, q_total):
    hits = np.meshgrid(np.arange(p_total + 1), np.arange(q_total + 1), indexing="ij")
    bounds = eps_lower_bound(hits[0], p_total, hits[1], q_total, delta, confidence)
    often = 0.0
    for p in (0.06, 0.3, 0.9, 0.999):
        for q in (0.001, 0.05, 0.3, 0.9):
            truth = max(0.0, math.log((p - delta) / q))
            weight = np.outer(
                stats.binom.pmf(np.arange(p_total + 1), p_total, p),
                stats.binom.pmf(np.arange(q_total + 1), q_total, q),
            )
            missed = weight[bounds > truth].sum()
            often = max(often, missed)
            assert missed <= 1 - confidence
    assert often > 0  # not by never saying anything


def test_bound_by_hand():
    # p >= 0.4 and q <= 0.1 or so, once there are enough runs
    assert float(eps_lower_bound(40_000, 100_000, 10_000, 100_000, 0.0, 0.95)) == pytest.approx(
        math.log(4), abs=0.03
    )
    assert float(eps_lower_bound(40_000, 100_000, 10_000, 100_000, 0.2, 0.95)) == pytest.approx(
        math.log(2), abs=0.04
    )
    assert eps_lower_bound(10, 100, 50, 100, 0.0, 0.95) == 0
    assert eps_lower_bound(10, 100, 0, 100, 0.5, 0.95) == 0
    assert eps_lower_bound(0, 100, 0, 100, 0.0, 0.95) == 0


def test_a_rare_event_never_seen_on_the_neighbour_gives_a_finite_bound():
    bound = float(eps_lower_bound(1000, 1000, 0, 1000, 0.0, 0.95))
    # both limits are (0.025)^(1/1000) from their end
    assert bound == pytest.approx(math.log(0.025**0.001 / (1 - 0.025**0.001)))


def test_best_event_finds_the_tail_that_tells_most():
    rng = np.random.default_rng(0)
    # 3% of D score 5, never on D'; the bulk is slightly shifted
    p, q = rng.normal(0.05, 1, 20_000), rng.normal(0, 1, 20_000)
    p[:600] = 50.0
    threshold, bound = best_event(p, q, 0.0, 0.95)
    assert 4 < threshold <= 50
    assert bound == pytest.approx(float(eps_lower_bound(600, 20_000, 0, 20_000, 0.0, 0.95)))
    # a delta of all of it, and the bulk is all that is left
    threshold, less = best_event(p, q, 0.04, 0.95)
    assert threshold < 4
    assert less < 0.3


def test_best_event_counts_ties_and_unequal_numbers_of_runs():
    threshold, bound = best_event(np.repeat([1.0, 0.0], [80, 20]), np.repeat([1.0, 0.0], [10, 190]), 0.0, 0.9)
    assert threshold == 1
    assert bound == pytest.approx(float(eps_lower_bound(80, 100, 10, 200, 0.0, 0.9)))
    assert best_event(np.zeros(50), np.zeros(50), 0.0, 0.9)[1] == 0
