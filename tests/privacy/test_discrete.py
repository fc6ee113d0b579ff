"""Integer noise: bounds against brute force, a second opinion, and the continuous mechanisms."""

import math

import numpy as np
import pytest

from pate_cli.privacy import discrete, gaussian, svt


def _sum_of_gaussians(sigma, count):
    """Probabilities of the sum of `count` N_Z(0, sigma^2) by plain convolution, centred."""
    reach = int(40 * sigma)
    x = np.arange(-reach, reach + 1)
    one = np.exp(-x * x / (2 * sigma**2))
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, one / one.sum())
    return np.arange(len(total)) - len(total) // 2, total


def _profile(sigma, shifts, eps):
    """sum max(0, P - e^eps Q) over the sum, from its definition."""
    _, q = _sum_of_gaussians(sigma, shifts)
    p = np.concatenate([np.zeros(shifts), q])
    return float(np.maximum(0, p - math.exp(eps) * np.concatenate([q, np.zeros(shifts)])).sum())


@pytest.mark.parametrize(
    ("sigma", "shifts", "eps"),
    [
        (1.0, 1, 1.0),
        (1.0, 5, 1.0),
        (1.0, 10, 15.0),
        (1.3, 7, 0.5),
        (2.0, 3, 3.0),
        (3.0, 20, 0.01),
        (3.0, 20, 0.0),
        (5.0, 10, 2.0),
        (30.0, 40, 0.5),  # blocks of many integers
        (30.0, 3, 0.3),
    ],
)
def test_gaussian_bound_is_the_brute_force_sum_and_never_below_it(sigma, shifts, eps):
    exact = _profile(sigma, shifts, eps)
    bound = math.exp(discrete.log_discrete_profile(eps, sigma, shifts))
    assert exact > 1e-9  # where the brute force has digits to compare
    assert exact * (1 - 1e-7) <= bound <= exact * math.exp(discrete.log_sum_ratio(sigma, shifts)) * (1 + 1e-6)


@pytest.mark.parametrize("fine", [1, 3, 20])
@pytest.mark.parametrize("reach", [1.0, 3.0])
@pytest.mark.parametrize(
    ("sigma", "shifts", "eps"), [(20.0, 40, 0.3), (20.0, 5, 0.2), (3.0, 40, 0.0), (2.0, 60, 2.0)]
)
def test_gaussian_bound_holds_however_coarse_its_blocks_and_short_its_reach(
    monkeypatch, fine, reach, sigma, shifts, eps
):
    monkeypatch.setattr(discrete, "_FINE", fine)
    monkeypatch.setattr(discrete, "_REACH", reach)
    bound = math.exp(discrete.log_discrete_profile(eps, sigma, shifts))
    exact = _profile(sigma, shifts, eps)
    assert exact < bound or bound == 1
    if fine == 20 and reach == 3.0:
        assert bound < 1.03 * exact


@pytest.mark.parametrize(("sigma", "count"), [(0.6, 2), (0.6, 8), (0.7, 30), (1.0, 12)])
def test_the_sum_of_gaussians_is_as_near_to_a_gaussian_as_stated(sigma, count):
    """At 0.6, where the two laws differ by 10% and more, not only where they agree to all digits."""
    s, total = _sum_of_gaussians(sigma, count)
    other = np.exp(-(s.astype(float) ** 2) / (2 * count * sigma**2))
    other /= other.sum()
    seen = total > 1e-12
    distance = np.abs(np.log(total[seen] / other[seen])).max()
    assert 1e-8 < distance <= discrete.log_sum_ratio(sigma, count)
    tens = 10 * sum(math.exp(-2 * math.pi**2 * sigma**2 * k / (k + 1)) for k in range(1, count))
    assert discrete.log_sum_ratio(sigma, count) <= tens  # Kairouz, Liu, Steinke, Theorem 1


def test_the_sum_ratio_of_many_is_bounded_by_its_first_thousand_terms():
    k = np.arange(1, 50_000, dtype=float)
    exact = 4 * np.exp(-2 * math.pi**2 * k / (k + 1)).sum()
    assert exact <= discrete.log_sum_ratio(1.0, 50_000) <= 1.03 * exact


@pytest.mark.parametrize(("sigma", "ell", "delta"), [(4.0, 1, 1e-5), (10.0, 20, 1e-5), (25.0, 100, 1e-6)])
def test_eps_agrees_with_dp_accounting(sigma, ell, delta):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    one = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=1, value_discretization_interval=1e-5)
    theirs = one.self_compose(ell).get_epsilon_for_delta(delta)
    ours = discrete.discrete_eps(sigma, ell, delta)
    # theirs rounds each of ell losses up to the grid
    assert ours <= theirs + 1e-9
    assert ours == pytest.approx(theirs, abs=1e-5 * ell + 1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("eps", "delta", "ell"),
    [
        (1.0, 1 / 6499, 163),
        (0.5, 1 / 39073, 977),
        (1e-3, 1e-30, 10**7),
        (50.0, 1e-12, 10**7),
        (10.0, 0.5, 10**6),
    ],
)
def test_calibration_is_the_smallest_on_the_safe_side(eps, delta, ell, n_classes):
    sigma = discrete.calibrate_discrete_sigma(eps, delta, ell, n_classes)
    shifts = discrete.unit_shifts(ell, n_classes)
    assert shifts == ell * (n_classes - 1)
    reached = discrete.log_discrete_profile(eps, sigma, shifts)
    assert math.log(delta) - 1e-6 <= reached <= math.log(delta)
    # with this much noise, integers cost next to nothing
    continuous = gaussian.calibrate_sigma(eps, delta, ell, 1 if n_classes == 2 else math.sqrt(2))
    assert sigma == pytest.approx(continuous, rel=1e-6)
    assert discrete.discrete_eps(sigma, shifts, delta) == pytest.approx(eps, rel=1e-6)


def test_little_noise_costs_more_than_the_continuous_formula_says():
    """sigma of the continuous mechanism, used with integers, would break the promise: a named bug."""
    sigma = gaussian.calibrate_sigma(1.0, 1e-5, 1)
    assert _profile(sigma, 1, 1.0) > 1e-5 * 1.02
    safe = discrete.calibrate_discrete_sigma(1.0, 1e-5, 1, 2)
    assert safe > sigma
    assert _profile(safe, 1, 1.0) <= 1e-5


def test_too_little_noise_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        discrete.log_discrete_profile(1.0, 0.9, 10)
    with pytest.raises(ValueError, match="eps up to"):
        discrete.calibrate_discrete_sigma(50.0, 1e-5, 1, 2)


def _pmf(kind, scale, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-np.abs(k) / scale)
    if kind == "exponential":
        weights[k > 0] = 0  # -Geom
    return weights / weights.sum()


@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize(("threshold_scale", "query_scale"), [(2.0, 3.0), (3.0, 2.0), (4.0, 4.0), (0.5, 9.0)])
def test_difference_tail_against_brute_force(kind, threshold_scale, query_scale):
    reach = 400
    # law of query - threshold
    law = np.convolve(_pmf(kind, query_scale, reach), _pmf(kind, threshold_scale, reach)[::-1])
    for margin in (-30, -5, -1, 0, 1, 7, 40):
        exact = law[2 * reach + margin + 1 :].sum()
        ours = discrete.discrete_difference_tail(margin, threshold_scale, query_scale, kind)
        assert ours == pytest.approx(exact, rel=1e-11)


def test_difference_tail_is_continuous_where_the_scales_meet_and_keeps_small_values():
    tail = discrete.discrete_difference_tail
    assert tail(1000, 37.0, 37.0, "laplace") == pytest.approx(
        tail(1000, 37.0, 37.0 * (1 + 1e-9), "laplace"), rel=1e-6
    )
    assert tail(10**5, 1e3, 1e3, "laplace") == pytest.approx(0.5 * math.exp(-100) * 51, rel=1e-2)


@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize("scale", [0.7, 5.0])
def test_the_two_facts_the_pattern_proof_needs(kind, scale):
    """f(r) <= e^(1/b) f(r-1), F(z) <= e^(2/b) F(z-2), tight: the losses are the continuous ones."""
    reach = 400
    f = _pmf(kind, scale, reach)
    F = np.cumsum(f)
    z = np.arange(-30, 31) + reach
    once, twice = f[z] - math.exp(1 / scale) * f[z - 1], F[z] - math.exp(2 / scale) * F[z - 2]
    assert (once <= 1e-12 * f[z]).all()
    assert (twice <= 1e-12 * F[z]).all()
    # no smaller loss would do
    assert np.abs(once[:30]).max() <= 1e-12
    assert np.abs(twice[:30]).max() <= 1e-12


@pytest.mark.parametrize("rule", svt.CALIBRATIONS)
@pytest.mark.parametrize(
    ("eps", "ell", "cutoff"), [(1.0, 977, 1), (1.0, 977, 30), (4.0, 50, 5), (0.3, 400, 20)]
)
def test_svt_threshold_is_the_smallest_safe_integer(rule, eps, ell, cutoff):
    continuous = svt.calibrate(rule, eps, 1 / 39073, ell, cutoff)
    c = discrete.discrete_calibration(continuous)
    assert c.threshold == int(c.threshold)
    assert (c.threshold_scale, c.query_scale, c.redraw, c.noise, c.delta_stab) == (
        continuous.threshold_scale,
        continuous.query_scale,
        continuous.redraw,
        continuous.noise,
        continuous.delta_stab,
    )
    assert abs(c.threshold - continuous.threshold) < 1.001

    def critical(w):
        """P(some of T critical queries is answered), its bound from the definition where it is one."""
        if c.noise == "exponential" and not c.redraw:
            q1, q2 = math.exp(-1 / c.threshold_scale), math.exp(-1 / c.query_scale)
            g = np.arange(200_000)
            # G1 > w + min of T G2; P(min = g) by differences of survival functions
            least = q2 ** (c.cutoff * g) - q2 ** (c.cutoff * (g + 1))
            return float((least * q1 ** (w + g + 1)).sum())
        return c.cutoff * discrete.discrete_difference_tail(int(w), c.threshold_scale, c.query_scale, c.noise)

    assert critical(c.threshold) <= c.delta_stab
    if rule == "tight" and c.threshold > 0:
        assert critical(c.threshold - 1) > c.delta_stab * (1 - 1e-8)


def test_svt_one_sided_kept_threshold_by_enumeration():
    """The probability that any of T critical queries is answered, summed over all noises at T = 3."""
    base = svt.calibrate("tight", 3.0, 1e-3, 10, 3)
    for noise, redraw in (("exponential", False), ("laplace", False), ("laplace", True)):
        c = discrete.discrete_calibration(
            svt.SvtCalibration(
                **(
                    vars(base)
                    | {"noise": noise, "redraw": redraw, "threshold_scale": 2.0, "query_scale": 4.0}
                )
            )
        )
        reach = 150
        rho, nu = _pmf(noise, c.threshold_scale, reach), _pmf(noise, c.query_scale, reach)
        k = np.arange(-reach, reach + 1)
        below = np.cumsum(nu)[
            np.clip((c.threshold + k + reach).astype(int), 0, 2 * reach)
        ]  # P(nu <= w + rho)
        answered = 1 - (rho @ below) ** 3 if redraw else 1 - rho @ below**3
        assert answered <= c.delta_stab
        if noise == "exponential":  # exact, so one less would not do
            below = np.cumsum(nu)[np.clip((c.threshold - 1 + k + reach).astype(int), 0, 2 * reach)]
            assert 1 - rho @ below**3 > c.delta_stab


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
    sigma = discrete.calibrate_vector_sigma(eps, delta, rounds, norm, len(shift))
    exact = _integer_profile(shift, sigma, rounds, eps)
    assert exact <= delta < _integer_profile(shift, math.sqrt(sigma**2 - 4) * 0.9, rounds, eps)
    zcdp = gaussian.calibrate_sigma_zcdp(eps, delta, rounds, norm)  # Canonne, Kamath, Steinke: the same noise
    assert sigma < math.hypot(zcdp, 2)


@pytest.mark.parametrize("t", [0.4, 0.6, 1.0])
@pytest.mark.parametrize("k", [0, 1, -5])
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
    stated = float(discrete._log_factor(np.array([t * t]))[0])
    assert apart <= stated + 1e-9
    if t < 1:
        assert apart > 1e-6  # or there would be nothing to see


def test_too_many_numbers_for_the_bound_are_refused():
    with pytest.raises(ValueError, match="no integer noise is calibrated"):
        discrete.calibrate_vector_sigma(1e-20, 1e-5, 10**6, 1.0, 10**9)
