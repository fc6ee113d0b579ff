"""The audit in one run: its bound holds, is exact where that is known, and sees a release without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from pate_cli.audit.one_run import guesses_right, mu_of_guesses, p_value
from pate_cli.mechanisms.direct import noisy_gd
from pate_cli.testing import CheckFailed
from pate_cli.testing.call_checks import one_run
from pate_cli.testing.forms import Form


def test_guesses_of_nothing_are_coins():
    for right in (5, 14, 20):
        assert p_value(40, 20, right, 0.0) == pytest.approx(binom.sf(right - 1, 20, 0.5), rel=0.05)
    assert p_value(40, 20, 0, 1.0) == pytest.approx(1.0)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_the_bound_holds_where_each_bit_has_gaussian_noise_of_its_own(mu):
    """The mechanism that mu-GDP is tight for; of 40 games at 1 - 1e-7, a false alarm in 4e-6 at most."""
    rng, bounds = np.random.default_rng(1), []
    for _ in range(40):
        bits = rng.integers(0, 2, 200)
        scores = (2 * bits - 1) * mu / 2 + rng.normal(size=200)
        bounds.append(guesses_right(scores, bits, 80))
    assert mu_of_guesses(200, 80, max(bounds), 1 - 1e-7) <= mu
    assert mu < 1 or mu_of_guesses(200, 80, max(bounds), 0.95) > 0.2


def test_randomised_response_is_bounded_by_its_eps():
    """Guesses are right with probability e^eps/(1 + e^eps): the bound at delta = 0 is this law itself."""
    eps, m = 1.0, 100
    law = binom.sf(79, m, 1 / (1 + math.exp(-eps)))
    assert p_value(m, m, 80, 1e-3) < law  # under a smaller loss it is less likely


def test_a_release_without_noise_is_seen(monkeypatch):
    form = Form("noisy_gd", (("steps", 5),))
    assert "guesses right" in one_run(form)
    sigma = noisy_gd.NoisyGradientDescent.sigma_for
    monkeypatch.setattr(noisy_gd.NoisyGradientDescent, "sigma_for", lambda *given: sigma(*given) / 100)
    with pytest.raises(CheckFailed, match=r"measured mu 0\.\d+, claimed 0\.26"):
        one_run(form)
