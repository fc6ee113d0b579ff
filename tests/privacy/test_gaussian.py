import math

import pytest
from scipy import integrate
from scipy.stats import norm

from pate_cli.privacy import gaussian

# worked out apart from this code, delta = 1/n: n, ell, eps, exact sigma, zCDP sigma (None where not printed)
CHECK_VALUES = [
    (6499, 163, 0.5, 72.3357, None),
    (6499, 163, 1.0, 39.2834, None),
    (6499, 163, 2.0, 21.4839, None),
    (6499, 49, 0.5, 39.6604, 59.49),
    (6499, 49, 1.0, 21.5384, 30.14),
    (6499, 49, 2.0, 11.7793, 15.46),
    (39073, 293, 0.5, 112.68, 159.27),
    (39073, 293, 1.0, 60.17, 80.53),
    (39073, 293, 2.0, 32.37, 41.14),
]


@pytest.mark.parametrize(("n", "ell", "eps", "exact", "zcdp"), CHECK_VALUES)
def test_sigma_check_values(n, ell, eps, exact, zcdp):
    assert gaussian.calibrate_sigma(eps, 1 / n, ell) == pytest.approx(
        exact, abs=6e-3 if exact > 100 else 6e-5 if n == 6499 else 6e-3
    )
    if zcdp:
        assert gaussian.calibrate_sigma_zcdp(eps, 1 / n, ell) == pytest.approx(zcdp, abs=6e-3)


# eps_ex_post of LZCW21 Table 4's mean number of queries
@pytest.mark.parametrize(
    ("n", "ell", "eps", "q", "ours"),
    [
        (6499, 49, 0.5, 40.1, 0.4463),
        (6499, 49, 1.0, 42.9, 0.9271),
        (6499, 49, 2.0, 46.5, 1.9402),
        (39073, 293, 1.0, 290.8, 0.9958),
        (39073, 293, 2.0, 290.3, 1.9896),
    ],
)
def test_ex_post_check_values(n, ell, eps, q, ours):
    sigma = gaussian.calibrate_sigma(eps, 1 / n, ell)
    assert gaussian.eps_of_mu(math.sqrt(q) / sigma, 1 / n) == pytest.approx(ours, abs=6e-5)


@pytest.mark.parametrize(("eps", "mu"), [(0.1, 0.05), (1.0, 0.3), (1.0, 2.0), (5.0, 1.0), (0.0, 1.0)])
def test_profile_is_the_hockey_stick_divergence(eps, mu):
    # a second way: integrate max(0, p - e^eps q) for N(mu, 1) against N(0, 1)
    edge = eps / mu + mu / 2
    value, _ = integrate.quad(
        lambda x: norm.pdf(x, mu) - math.exp(eps) * norm.pdf(x),
        edge,
        edge + 40,
        epsabs=0,
        epsrel=1e-11,
        limit=400,
    )
    assert gaussian.profile(eps, mu) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("eps", [1e-3, 0.1, 1.0, 10.0, 50.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-12, 1e-5, 0.5])
@pytest.mark.parametrize("ell", [1, 10**7])
def test_calibration_inverts_the_profile_on_the_safe_side(eps, delta, ell):
    sigma = gaussian.calibrate_sigma(eps, delta, ell)
    reached = gaussian.profile(eps, math.sqrt(ell) / sigma)
    assert delta * (1 - 1e-9) <= reached <= delta * (1 + 1e-9)
    assert gaussian.eps_of_mu(math.sqrt(ell) / sigma, delta) == pytest.approx(eps, rel=1e-9)
    assert gaussian.calibrate_sigma_zcdp(eps, delta, ell) > sigma


def test_edges():
    assert gaussian.calibrate_sigma(math.inf, 1e-5, 10) == 0
    root = math.sqrt(2)
    assert gaussian.calibrate_sigma(1, 1e-5, 10, root) == pytest.approx(
        root * gaussian.calibrate_sigma(1, 1e-5, 10)
    )
    assert gaussian.profile(1.0, 0.0) == 0
    assert gaussian.eps_of_mu(0.0, 1e-5) == 0
    assert gaussian.eps_of_mu(math.inf, 1e-5) == math.inf
    assert gaussian.eps_of_mu(1e-3, 0.4) == 0  # delta alone covers it


@pytest.mark.parametrize(("eps", "ell"), [(1.0, 2), (4.0, 300), (32.0, 5)])
def test_advanced_composition_by_hand(eps, ell):
    # delta = 2/e^4, so ln(2/delta) = 4: eps0 = eps/sqrt(32 ell), and delta/(2 ell) a query
    delta = 2 / math.e**4
    sigma = gaussian.calibrate_sigma_composed(eps, delta, ell, 1.5)
    eps0 = eps / math.sqrt(32 * ell)
    a = 1.5 / (2 * sigma) - eps0 * sigma / 1.5
    one = norm.cdf(a) - math.exp(eps0) * norm.cdf(a - 1.5 / sigma)
    assert one == pytest.approx(math.e**-4 / ell, rel=1e-6)
    # sqrt(2 ell ln(2/delta)) eps0 = eps/2, and ell eps0^2/2 = eps^2/64 is at most the other half up to 32
    assert math.sqrt(8 * ell) * eps0 + ell * eps0**2 / 2 <= eps * (1 + 1e-12)
    assert sigma > gaussian.calibrate_sigma_zcdp(eps, delta, ell, 1.5) * 0.9
    assert sigma > gaussian.calibrate_sigma(eps, delta, ell, 1.5)
    with pytest.raises(ValueError, match=r"up to 8 ln\(2/delta\) = 32"):
        gaussian.calibrate_sigma_composed(32.1, delta, ell)
