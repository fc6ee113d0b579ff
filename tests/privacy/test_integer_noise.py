"""Integer noise: bounds against brute force, a second opinion, and the continuous mechanisms."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli.privacy import gaussian, svt
from pate_cli.privacy.noise import discrete_difference_tail


def _pmf(kind, scale, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale)
    if kind == "exponential":
        weights[k > 0] = 0  # -Geom
    return weights / weights.sum()


@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize(("threshold_scale", "query_scale"), [(2.0, 3.0), (4.0, 4.0), (9.0, 0.5)])
def test_difference_tail_against_brute_force(kind, threshold_scale, query_scale):
    reach = 400
    # law of query - threshold
    law = np.convolve(_pmf(kind, query_scale, reach), _pmf(kind, threshold_scale, reach)[::-1])
    for margin in (-30, -5, -1, 0, 1, 7, 40):
        exact = law[2 * reach + margin + 1 :].sum()
        ours = discrete_difference_tail(margin, threshold_scale, query_scale, kind)
        assert ours == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("rule", svt.CALIBRATIONS)
@pytest.mark.parametrize(("eps", "ell", "cutoff"), [(1.0, 977, 1), (4.0, 50, 5), (0.3, 400, 20)])
def test_svt_threshold_is_the_smallest_safe_integer(rule, eps, ell, cutoff):
    continuous = svt.calibrate(rule, eps, 1 / 39073, ell, cutoff)
    c = svt.discrete_calibration(continuous)
    assert c.threshold == int(c.threshold)
    assert replace(c, threshold=continuous.threshold, integers=False) == continuous
    assert abs(c.threshold - continuous.threshold) < 1.001

    def critical(w):
        """P(some of T critical queries is answered), its bound from the definition where it is one."""
        if c.noise == "exponential" and not c.redraw:
            q1, q2 = math.exp(-1 / c.threshold_scale), math.exp(-1 / c.query_scale)
            g = np.arange(200_000)
            # G1 > w + min of T G2; P(min = g) by differences of survival functions
            least = q2 ** (c.cutoff * g) - q2 ** (c.cutoff * (g + 1))
            return float((least * q1 ** (w + g + 1)).sum())
        return c.cutoff * discrete_difference_tail(int(w), c.threshold_scale, c.query_scale, c.noise)

    assert critical(c.threshold) <= c.delta_stab
    if rule == "tight" and c.threshold > 0:
        assert critical(c.threshold - 1) > c.delta_stab * (1 - 1e-8)


def _integer_profile(shift, sigma, rounds, eps):
    """delta(eps) of N_Z(shift, sigma^2) against N_Z(0, sigma^2) on all coordinates, `rounds` times over."""
    losses, chances = np.zeros(1), np.ones(1)
    x = np.arange(-int(12 * sigma), int(12 * sigma) + 1)
    for step in list(shift) * rounds:
        p = np.exp(-((x - step) ** 2) / (2 * sigma**2))
        loss = (2 * x * step - step * step) / 2  # times 1/sigma^2: half-integers, so few are distinct
        losses, at = np.unique((losses[:, None] + loss).ravel(), return_inverse=True)
        chances = np.bincount(at, (chances[:, None] * (p / p.sum())).ravel())
    return float((chances * np.maximum(0, -np.expm1(eps - losses / sigma**2))).sum())


@pytest.mark.parametrize(("shift", "rounds"), [((1,), 1), ((1,), 3), ((2, 1), 2), ((3, -2, 1), 1)])
def test_vectors_of_integers_keep_their_promise(shift, rounds):
    eps, delta, norm = 1.0, 1e-4, float(np.linalg.norm(shift))
    mu = gaussian.vector_mu(eps, delta, rounds * len(shift))
    sigma = gaussian.vector_sigma(norm, mu / math.sqrt(rounds))
    exact = _integer_profile(shift, sigma, rounds, eps)
    assert exact <= delta < _integer_profile(shift, math.sqrt(sigma**2 - 1.25**2) * 0.9, rounds, eps)
    zcdp = gaussian.calibrate_sigma_zcdp(eps, delta, rounds, norm)  # Canonne, Kamath, Steinke: the same noise
    assert sigma < math.hypot(zcdp, 1.25)
    with pytest.raises(ValueError, match="no integer noise is calibrated"):
        gaussian.vector_mu(1e-20, delta, 10**15)
    assert rounds * gaussian.vector_mu_squared(norm, sigma) == pytest.approx(mu**2, rel=1e-8)
    assert gaussian.vector_eps(mu, rounds * len(shift), delta) == pytest.approx(eps, rel=1e-8)


def test_little_noise_costs_more_than_the_continuous_formula_says():
    """sigma of the continuous mechanism, used with integers, would break the promise: a named bug."""
    sigma = gaussian.calibrate_sigma(1.0, 1e-5, 1)
    assert _integer_profile((1,), sigma, 1, 1.0) > 1e-5 * 1.02
    safe = gaussian.vector_sigma(1.0, gaussian.vector_mu(1.0, 1e-5, 1))
    assert _integer_profile((1,), safe, 1, 1.0) <= 1e-5


@pytest.mark.parametrize(("sigma", "ell", "delta"), [(4.0, 1, 1e-5), (10.0, 20, 1e-5), (25.0, 100, 1e-6)])
def test_eps_is_safe_and_near_to_the_exact_one_of_dp_accounting(sigma, ell, delta):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=1, value_discretization_interval=1e-5)
    exact = one.self_compose(ell).get_epsilon_for_delta(delta)
    ours = gaussian.vector_eps(math.sqrt(ell * gaussian.vector_mu_squared(1.0, sigma)), ell, delta)
    assert exact - 1e-5 * ell <= ours <= exact * (sigma**2 / (sigma**2 - 1.25**2))


@pytest.mark.parametrize(("t", "k"), [(0.4, 1), (0.6, -5), (1.0, 0)])
def test_a_gaussian_made_whole_is_as_near_to_integer_noise_as_stated(t, k):
    """The law in the proof for vectors, by numerical integration, at t where the two laws differ."""
    sigma = 2.0
    s = math.sqrt(sigma**2 - t**2)
    y, x = np.linspace(k - 12 * s, k + 12 * s, 48_001), np.arange(-60, 61)
    kernel = np.exp(-((x[:, None] - y) ** 2) / (2 * t * t))
    kernel /= kernel.sum(axis=0)
    made = kernel @ np.exp(-((y - k) ** 2) / (2 * s * s)) * (y[1] - y[0]) / (math.sqrt(2 * math.pi) * s)
    right = np.exp(-((x - k) ** 2) / (2 * sigma**2))
    near = np.abs(x - k) <= 8
    apart = np.abs(np.log(made[near] / (right / right.sum())[near])).max()
    stated = gaussian._log_factor(t)
    assert apart <= stated + 1e-9
    if t < 1:
        assert apart > 1e-6  # or there would be nothing to see
