"""Our accounting against 60-digit arithmetic, dp-accounting and autodp, at random points."""

import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from pate_cli.privacy import composition, gaussian, gnmax, lnmax, selection, svt


@pytest.fixture(autouse=True)
def _sixty_digits():
    with mp.workdps(60):
        yield


def _points(count=200):
    rng = np.random.default_rng(20)
    for _ in range(count):
        eps, delta = 10 ** rng.uniform(-3, math.log10(50)), 10 ** rng.uniform(-30, math.log10(0.5))
        ell = int(10 ** rng.uniform(0, 7))
        yield eps, delta, ell, int(min(ell, 10 ** rng.uniform(0, 3)))


def _profile(eps, mu):
    """Exact profile of mu-GDP (Balle and Wang 2018, Theorem 8)."""
    eps, mu = mpf(eps), mpf(mu)

    def phi(x):
        return erfc(-x / sqrt(mpf(2))) / 2

    return phi(mu / 2 - eps / mu) - exp(eps) * phi(-mu / 2 - eps / mu)


def _composed(eps, eps0, count):
    """Exact profile of pure composition (Kairouz, Oh, Viswanath 2015, Theorem 3.3)."""
    eps, eps0, total = mpf(eps), mpf(eps0), mpf(0)
    ways, odds = 1, exp(count * eps0)  # of i = 0; each from the last, as thousands of exp would take seconds
    less, back, twice = exp(eps - count * eps0), exp(-eps0), exp(2 * eps0)
    for i in range(count // 2 + 1):
        if (count - 2 * i) * eps0 <= eps:
            break
        total += ways * odds * (1 - less)
        ways, odds, less = ways * (count - i) // (i + 1), odds * back, less * twice
    return total / (1 + exp(eps0)) ** count


def _tail(w, a, b):
    """P(query noise - threshold noise > w), one-sided, scales a (threshold) and b (query)."""
    w, a, b = mpf(w), mpf(a), mpf(b)
    return a / (a + b) * exp(-w / a)


def test_both_inverses_of_the_gaussian_profile_are_on_the_safe_side():
    """Without a margin delta was exceeded by 1.6e-5 of it, at eps = 1e-9; 7e-11 at 1e-5."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        eps, delta, mu = (10 ** rng.uniform(*powers) for powers in ((-9, 8), (-30, -0.01), (-9, 4)))
        found = gaussian.mu_of(eps, delta)
        assert 1 - mpf(10) ** -3 < _profile(eps, found) / mpf(delta) <= 1, (eps, delta)
        least = gaussian.eps_of_mu(mu, delta)
        assert _profile(least, mu) <= mpf(delta), (mu, delta)
        if least > 0:
            assert _profile(least, mu) > mpf(delta) * (1 - mpf(10) ** -3), (mu, delta)
    assert _profile(gaussian.eps_of_mu(1e-20, 1e-25), mpf(10) ** -20) <= mpf(10) ** -25


def test_pure_eps_is_on_the_safe_side():
    """Without a margin delta was exceeded by 2e-3 of it, where eps is nearly the plain sum."""
    rng = np.random.default_rng(1)
    points = [(10 ** rng.uniform(-4, 1.5), int(10 ** rng.uniform(0, 2.3))) for _ in range(60)]
    points += [(10 ** rng.uniform(-2, 1), count) for count in (1, 2, 3, 6) for _ in range(40)]
    for eps0, count in points:
        delta = 10 ** rng.uniform(-30, -0.31)
        eps = composition.pure_eps(eps0, count, delta)
        assert _composed(eps, eps0, count) <= mpf(delta), (eps0, count, delta)
        if eps > 0:
            assert _composed(eps * (1 - 1e-9), eps0, count) > mpf(delta) * (1 - mpf(10) ** -6)
        assert mpf(composition.pure_eps(eps0, count, 0.0)) >= count * mpf(eps0)


def test_composition_at_200_points():
    for eps, delta, _, count in _points():
        eps0 = composition.eps0_of(eps, delta, count)
        assert _composed(eps, eps0, count) <= mpf(delta), (eps, delta, count)
        assert _composed(eps, eps0 * (1 + 1e-6), count) > mpf(delta), (eps, delta, count)


def test_svt_at_200_points():
    for eps, delta, ell, cutoff in _points():
        c = svt.calibrate("tight", eps, delta, ell, cutoff)
        if c.redraw:
            per_segment = 1 / mpf(c.threshold_scale) + 2 / mpf(c.query_scale)
            assert _composed(eps, per_segment, cutoff) <= mpf(c.delta_comp)
            stab = cutoff * _tail(c.threshold, c.threshold_scale, c.query_scale)
        else:  # the least of T exponentials has scale/T
            assert 1 / mpf(c.threshold_scale) + 2 * cutoff / mpf(c.query_scale) <= mpf(eps)
            stab = _tail(c.threshold, c.threshold_scale, c.query_scale / cutoff)
        assert stab <= mpf(c.delta_stab)
        if c.threshold > 0:
            assert stab >= mpf(c.delta_stab) * (1 - mpf(10) ** -6)
        assert mpf(c.delta_comp) + mpf(c.delta_stab) <= mpf(delta) * (1 + mpf(10) ** -15)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning", "ignore::FutureWarning")
def test_gaussian_against_dp_accounting_and_autodp():
    from autodp import dp_bank
    from dp_accounting.pld import common
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    for eps, delta, ell, _ in _points(70):  # their searches are slow
        sigma = gaussian.calibrate_sigma(eps, delta, ell)
        guarantee = common.DifferentialPrivacyParameters(eps, delta)
        theirs = GaussianPrivacyLoss.from_privacy_guarantee(guarantee).standard_deviation * math.sqrt(ell)
        assert sigma == pytest.approx(theirs, rel=1e-6)
        assert dp_bank.get_eps_ana_gaussian(sigma / math.sqrt(ell), delta) == pytest.approx(eps, rel=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(("eps0", "count"), [(0.2, 5), (0.01, 1000)])
def test_composition_against_dp_accounting_and_autodp(eps0, count):
    """dp-accounting is exact where its grid divides eps0; autodp's Renyi bound is safe, but not exact."""
    from autodp import mechanism_zoo, transformer_zoo
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    delta = 1e-6
    ours = composition.pure_eps(eps0, count, delta)
    one = pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(eps0, 0), value_discretization_interval=1e-4
    )
    assert ours == pytest.approx(one.self_compose(count).get_epsilon_for_delta(delta), rel=1e-6)
    renyi = transformer_zoo.Composition()([mechanism_zoo.PureDP_Mechanism(eps0)], [count])
    assert ours <= min(renyi.get_approxDP(delta), count * eps0) * (1 + 1e-9)


@pytest.mark.parametrize("rule", ["liu2021", "bassily2018"])
def test_published_rules_for_gaussian_noise_are_safe(rule):
    """Their noise, in the exact profile, costs no more than they say."""
    for eps, delta, ell, _ in _points():
        if eps > 1 or delta > 0.1:
            continue  # what they are published for
        sigma = gaussian.sigma_by(rule, eps, delta, ell, 1.0)
        assert _profile(eps, math.sqrt(ell) / sigma) <= mpf(delta), (eps, delta, ell)


def test_advanced_composition_is_safe():
    """Of choices of eps0 = eps/factor, and as its derivation goes."""
    for eps, delta, _, count in _points():
        if eps > 1 or delta > 0.1:
            continue
        eps0 = eps / composition.advanced_factor(delta, count)
        assert _composed(eps, eps0, count) <= mpf(delta), (eps, delta, count)


def test_a_renyi_divergence_costs_no_less_than_the_exact_profile():
    """Of Gaussian noise, whose divergence of any order and whose profile are both known."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        mu, delta = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-12, -1)
        order = 1 + 10 ** rng.uniform(-1, 2)
        eps = gnmax.eps_of_rdp(order * mu**2 / 2, order, delta)
        assert _profile(eps, mu) <= mpf(delta), (mu, delta, order)


def test_every_account_is_in_the_table_of_second_opinions():
    """Functions of `privacy` that turn a budget into noise, or noise into a loss."""
    page = (Path(__file__).parents[2] / "docs" / "auditing.md").read_text()
    table = page.partition("## Second opinions")[2].partition("\n## ")[0]
    losses = ("eps", "delta", "mu", "rdp", "sigma", "calibrat", "profile", "loss", "advanced", "cutoff")
    left_out = []
    for module in (composition, gaussian, gnmax, lnmax, selection, svt):
        for name in module.__all__:
            accounts = inspect.isfunction(getattr(module, name)) and any(word in name for word in losses)
            if accounts and not name.startswith(("printed", "advanced_limit")) and f"`{name}`" not in table:
                left_out.append(name)
    assert left_out == []
    files = re.findall(r"`(tests/[\w/]+\.py)`", table)
    assert len(files) > 5
    assert all((Path(__file__).parents[2] / file).exists() for file in files)
