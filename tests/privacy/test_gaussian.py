"""Gaussian and pure composition: check values, and each profile in a second way.

That the inverses are on the safe side is tested in `test_second_opinion`.
"""

import itertools
import math

import pytest
from scipy import integrate
from scipy.stats import norm

from pate_cli.privacy import composition, gaussian

# worked out apart from this code, delta = 1/n: n, ell, eps, exact sigma, zCDP sigma (None where not printed)
CHECK_VALUES = [
    (6499, 163, 0.5, 72.3357, None),
    (6499, 163, 1.0, 39.2834, None),
    (6499, 163, 2.0, 21.4839, None),
    (6499, 49, 0.5, 39.6604, 59.49),
    (6499, 49, 2.0, 11.7793, 15.46),
    (39073, 293, 1.0, 60.17, 80.53),
]


@pytest.mark.parametrize(("n", "ell", "eps", "exact", "zcdp"), CHECK_VALUES)
def test_sigma_check_values(n, ell, eps, exact, zcdp):
    assert gaussian.calibrate_sigma(eps, 1 / n, ell) == pytest.approx(exact, abs=6e-5 if n == 6499 else 6e-3)
    if zcdp:
        assert gaussian.calibrate_sigma_zcdp(eps, 1 / n, ell) == pytest.approx(zcdp, abs=6e-3)


# eps_ex_post of LZCW21 Table 4's mean number of queries
@pytest.mark.parametrize(
    ("n", "ell", "eps", "q", "ours"), [(6499, 49, 0.5, 40.1, 0.4463), (39073, 293, 2.0, 290.3, 1.9896)]
)
def test_ex_post_check_values(n, ell, eps, q, ours):
    sigma = gaussian.calibrate_sigma(eps, 1 / n, ell)
    assert gaussian.eps_of_mu(math.sqrt(q) / sigma, 1 / n) == pytest.approx(ours, abs=6e-5)


@pytest.mark.parametrize(("eps", "mu"), [(0.1, 0.05), (1.0, 2.0), (5.0, 1.0), (0.0, 1.0)])
def test_profile_is_the_hockey_stick_divergence(eps, mu):
    # a second way: integrate max(0, p - e^eps q) for N(mu, 1) against N(0, 1)
    edge = eps / mu + mu / 2

    def excess(x):
        return norm.pdf(x, mu) - math.exp(eps) * norm.pdf(x)

    value, _ = integrate.quad(excess, edge, edge + 40, epsabs=0, epsrel=1e-11, limit=400)
    assert gaussian.profile(eps, mu) == pytest.approx(value, rel=1e-8)


def test_edges():
    assert gaussian.calibrate_sigma(math.inf, 1e-5, 10) == 0
    assert gaussian.profile(1.0, 0.0) == 0
    assert gaussian.eps_of_mu(0.0, 1e-5) == 0
    assert gaussian.eps_of_mu(math.inf, 1e-5) == math.inf
    assert gaussian.eps_of_mu(1e-3, 0.4) == 0  # delta alone covers it
    assert composition.eps0_of(1.0, 0.0, 4) == pytest.approx(0.25, rel=1e-14)  # without delta it is a sum
    assert composition.pure_eps(0.25, 4, 0.0) == 1.0


@pytest.mark.parametrize(("eps", "ell"), [(1.0, 2), (32.0, 5)])
def test_advanced_composition_by_hand(eps, ell):
    # delta = 2/e^4, so ln(2/delta) = 4: eps0 = eps/sqrt(32 ell), and delta/(2 ell) a query
    delta = 2 / math.e**4
    sigma = gaussian.sigma_by("bassily2018", eps, delta, ell, 1.5)
    eps0 = eps / math.sqrt(32 * ell)
    a = 1.5 / (2 * sigma) - eps0 * sigma / 1.5
    one = norm.cdf(a) - math.exp(eps0) * norm.cdf(a - 1.5 / sigma)
    assert one == pytest.approx(math.e**-4 / ell, rel=1e-6)
    # sqrt(2 ell ln(2/delta)) eps0 = eps/2, and ell eps0^2/2 = eps^2/64 is at most the other half up to 32
    assert math.sqrt(8 * ell) * eps0 + ell * eps0**2 / 2 <= eps * (1 + 1e-12)
    assert sigma > gaussian.sigma_by("liu2021", eps, delta, ell, 1.5) * 0.9
    with pytest.raises(ValueError, match=r"up to 8 ln\(2/delta\) = 32"):
        gaussian.sigma_by("bassily2018", 32.1, delta, ell, 1.5)


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("eps", [0.0, 0.3, 2.5])
def test_pure_profile_equals_enumerated_randomised_response(count, eps):
    # a second way: every outcome of `count` randomised responses, listed
    eps0 = 0.6
    p = math.exp(eps0) / (1 + math.exp(eps0))
    delta = 0.0
    for bits in itertools.product([True, False], repeat=count):
        first = math.prod(p if bit else 1 - p for bit in bits)
        second = math.prod(1 - p if bit else p for bit in bits)
        delta += max(0.0, first - math.exp(eps) * second)
    found = math.exp(composition.log_pure_profile(eps, eps0, count))
    assert found == pytest.approx(delta, rel=1e-12, abs=1e-300)
