"""Renyi divergences of noisy majorities, by numerical integration."""

import itertools
import math

import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from pate_cli.privacy.gnmax import rdp_of_bit, rdp_of_majority


def renyi(p, q, order):
    return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize(("sigma", "order"), [(1.5, 3.0), (10.0, 40.0)])
def test_one_bit_is_exact(sigma, order):
    K, centre = 12, 6.0
    rdp = rdp_of_bit(K, centre, sigma, order)
    for s in range(K + 1):
        bits = {t: ndtr((t - centre) / sigma) for t in (s - 1, s, s + 1) if 0 <= t <= K}
        here = (bits.pop(s), 1 - ndtr((s - centre) / sigma))
        expected = max(
            max(renyi(here, (b, 1 - b), order), renyi((b, 1 - b), here, order)) for b in bits.values()
        )
        assert rdp[s] == pytest.approx(expected, rel=1e-9)
    assert (rdp <= order / (2 * sigma**2) * (1 + 1e-12)).all()  # post-processing of the Gaussian mechanism


def winners(counts, sigma):
    """Probability that each class has the largest noisy count."""

    def density(x, i):
        others = [ndtr((x - c) / sigma) for k, c in enumerate(counts) if k != i]
        return norm.pdf(x, counts[i], sigma) * math.prod(others)

    low, high = min(counts) - 12 * sigma, max(counts) + 12 * sigma
    return [quad(density, low, high, (i,), epsabs=1e-14, limit=200)[0] for i in range(len(counts))]


@pytest.mark.parametrize("order", [2.0, 4.0])
@pytest.mark.parametrize("counts", [(14, 3, 3), (10, 9, 1), (20, 0, 0)])
def test_theorem_6_bounds_the_true_divergence_of_three_classes(counts, order):
    sigma = 2.5
    bound = rdp_of_majority(20, 3, sigma, order)
    top = sorted(counts)[::-1]
    here = winners(counts, sigma)
    for giver, taker in itertools.permutations(range(3), 2):
        other = list(counts)
        other[giver] -= 1
        other[taker] += 1
        if min(other) >= 0:
            assert renyi(here, winners(other, sigma), order) <= bound[top[0] - top[1]] + 1e-9
