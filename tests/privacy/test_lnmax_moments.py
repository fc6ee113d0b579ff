"""Moments of noisy majorities with Laplace noise, against the laws of their outputs."""

import functools
import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace

from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.lnmax import eps_of_moments, miss_probability, moment_of_miss


def moment(p, q, order):
    """Logarithm of the mean of exp(order * loss), loss = ln(p/q), over p."""
    return math.log(sum(a * (a / b) ** order for a, b in zip(p, q, strict=True)))


@functools.cache
def winners(counts, scale):
    """Probability that each class has the largest noisy count; of two classes, with noise on one."""
    if len(counts) == 2:
        one = laplace.sf(sum(counts) / 2, counts[1], scale)
        return [1 - one, one]

    def density(x, i):
        below = [math.exp(-abs(x - c) / scale) / 2 for c in counts]  # the tail of Laplace noise, either one
        others = (1 - p if x > c else p for k, (p, c) in enumerate(zip(below, counts, strict=True)) if k != i)
        return below[i] / scale * math.prod(others)

    low, high = min(counts) - 40 * scale, max(counts) + 40 * scale
    return [quad(density, low, high, (i,), points=counts, limit=400)[0] for i in range(len(counts))]


@pytest.mark.parametrize(("scale", "order"), [(2.0, 1), (2.0, 8), (10.0, 32)])
@pytest.mark.parametrize("counts", [(2, 10), (5, 7), (0, 12), (10, 1, 1), (6, 5, 1), (12, 0, 0)])
def test_moments_bound_the_true_ones(counts, scale, order):
    eps0 = (1 if len(counts) == 2 else 2) / scale
    here = winners(counts, scale)
    q = miss_probability(np.array([counts]), scale)
    missed = 1 - here[int(np.argmax(counts))]
    assert missed <= q[0] + 1e-8
    if len(counts) == 2:
        assert missed == pytest.approx(q[0])
    bound = float(moment_of_miss(q, eps0, order)[0])
    for giver, taker in itertools.permutations(range(len(counts)), 2):
        other = list(counts)
        other[giver] -= 1
        other[taker] += 1
        if min(other) >= 0:
            assert moment(here, winners(tuple(other), scale), order) <= bound + 1e-7


def test_votes_that_agree_cost_less_than_any_and_close_ones_no_less():
    """Far from a tie next to nothing; at a tie no less than the exact composition of the queries."""
    eps0, delta, m = 0.1, 1e-5, 200
    far, tied = (miss_probability(np.tile(row, (m, 1)), 1 / eps0) for row in ([0, 500], [250, 250]))
    assert eps_of_moments(far, eps0, delta) < 0.1 * pure_eps(eps0, m, delta)
    assert eps_of_moments(tied, eps0, delta) >= pure_eps(eps0, m, delta)
