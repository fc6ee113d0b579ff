"""Renyi divergences of noisy majorities and their sanitiser, by numerical integration and brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom, norm

from pate_cli.privacy.gnmax import Sanitiser, rdp_of_bit, rdp_of_majority, smooth_sensitivity
from pate_cli.privacy.noise import SeededNoise


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


def brute_smooth(values, states, beta):
    """Smooth sensitivity of a sum by its definition: over all databases, at their distance in records."""

    everything = np.array(list(itertools.product(range(len(values)), repeat=len(states))))
    total = values[everything].sum(axis=1)
    apart = np.abs(everything[:, None] - everything).max(axis=2)
    local = np.where(apart <= 1, np.abs(total[:, None] - total), 0.0).max(axis=1)
    return (np.exp(-beta * np.abs(everything - states).max(axis=1)) * local).max()


@pytest.mark.parametrize("beta", [0.05, 0.7, 3.0])
def test_smooth_sensitivity_is_an_upper_bound_and_smooth(beta):
    values = rdp_of_bit(5, 2.5, 0.8, 6.0)
    for states in itertools.product(range(6), repeat=2):
        ours = smooth_sensitivity([(values, np.array(states), 1)], beta)
        assert ours >= brute_smooth(values, states, beta) * (1 - 1e-12)
        for move in itertools.product((-1, 0, 1), repeat=2):
            near = np.clip(np.add(states, move), 0, 5)
            assert smooth_sensitivity([(values, near, 1)], beta) <= math.exp(beta) * ours * (1 + 1e-12)


@pytest.mark.parametrize("rdp", [0.02, 0.3])
@pytest.mark.parametrize("order", [5.0, 19.0])
def test_the_sanitiser_costs_what_it_says(rdp, order):
    s = Sanitiser.costing(rdp, order, 1e-6)
    assert s.rdp(order) == pytest.approx(rdp, rel=1e-6)
    worst = 0.0
    for ratio in (math.exp(-s.beta), 1.0, math.exp(s.beta)):  # of the neighbour's smooth sensitivity to ours
        for sign in (-1, 1):
            p, q = norm(0, s.sigma), norm(sign * min(1, ratio), s.sigma * ratio)

            def integrand(x, p=p, q=q):
                return math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x))

            reach = 60 * s.sigma
            total = quad(integrand, -reach, reach, limit=500, points=[-s.sigma, 0, s.sigma])[0]
            worst = max(worst, math.log(total) / (order - 1))
    logs = order / (2 * s.sigma_log**2)  # the Gaussian mechanism on ln S, which moves by beta
    assert worst + logs <= s.rdp(order) * (1 + 1e-9)
    assert worst + logs >= 0.6 * s.rdp(order)  # no more than the two maxima added up are given away


def test_the_limit_is_seldom_too_low():
    s = Sanitiser.costing(0.2, 10.0, 0.05)
    n = 20_000
    noise = SeededNoise(np.random.SeedSequence(1))
    low = sum(float(s.limit(3.0, 0.01, noise)) < 3.0 for _ in range(n))
    assert 0 < low <= binom.isf(1e-7, n, 0.05)  # false alarm 1e-7
