"""Exact noise: its laws, its form, and where it does not come from."""

import sys

import numpy as np
import pytest
from scipy import stats

from pate_cli.errors import InputError
from pate_cli.release import ExactNoise
from pate_cli.release import exact_noise as module

SIZE = 20_000
ALARM = 1e-7
"""Probability that a right sampler fails one of the chi-square tests below (6 of them: under 1e-6)."""


@pytest.fixture(scope="module")
def exact():
    pytest.importorskip("opendp")
    return ExactNoise()


def _weights(law, scale, k):
    if law == "gaussian":
        return np.exp(-(k**2) / (2 * scale**2))
    return np.where((k >= 0) | (law == "laplace"), np.exp(-np.abs(k) / scale), 0.0)


def _p_value(draws, law, scale):
    """Of the chi-square test that draws are of a law; cells with fewer than 20 expected are one."""
    k = np.arange(-400, 401)
    expected = SIZE * _weights(law, scale, k) / _weights(law, scale, k).sum()
    observed = np.bincount(draws.astype(int) + 400, minlength=801)
    common = expected >= 20
    groups = [np.append(v[common], v[~common].sum()) for v in (observed, expected)]
    assert groups[1][-1] > 5
    return stats.chisquare(*groups).pvalue


@pytest.mark.parametrize("law", ["gaussian", "laplace", "exponential"])
@pytest.mark.parametrize("scale", [1.3, 6.28318])
def test_laws(exact, law, scale):
    draws = getattr(exact, law)(scale, SIZE)
    assert (draws.shape, draws.dtype) == ((SIZE,), np.float64)
    assert (draws == draws.round()).all()
    assert law != "exponential" or draws.min() >= 0
    assert _p_value(draws, law, scale) > ALARM
    assert [len(getattr(exact, law)(2.0, size)) for size in (0, 1, 5)] == [0, 1, 5]


@pytest.mark.parametrize("wrong", [2.0, 1 / 2.0])
def test_the_chi_square_test_would_see_a_wrong_scale(exact, wrong):
    """A variance for a deviation, or an inverse, at scale 2: a known bug."""
    assert _p_value(exact.gaussian(2.0, SIZE), "gaussian", 2.0 * wrong) < ALARM


def test_sources_and_draws_are_independent(exact):
    one, other = exact.spawn(2)
    draws = [source.laplace(1e6, 8) for source in (exact, one, other, exact)]
    # two draws of 8 alike: probability below 1e-40
    assert len({tuple(draw) for draw in draws}) == 4


def test_numpys_generators_play_no_part(exact, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a pseudo-random generator was asked")

    np.random.seed(0)  # noqa: NPY002
    first = exact.gaussian(1e6, 8)
    np.random.seed(0)  # noqa: NPY002
    assert (exact.gaussian(1e6, 8) != first).any()
    for name in ("default_rng", "Generator", "SeedSequence", "PCG64", "random", "normal", "laplace"):
        monkeypatch.setattr(np.random, name, refuse)
    for law in ("gaussian", "laplace", "exponential"):
        getattr(exact, law)(3.0, 10)


def test_the_scale_passed_on_is_the_double_that_was_accounted_for(exact):
    """OpenDP's own privacy map of what was built, at a scale that is no short decimal."""
    scale = 39.28344621520283
    laplace, gaussian = (module._measurement(law, scale) for law in ("laplace", "gaussian"))
    assert laplace.map(1) == pytest.approx(1 / scale, rel=1e-15)
    assert gaussian.map(1.0) == pytest.approx(1 / (2 * scale**2), rel=1e-15)  # zCDP


def test_noise_beyond_exact_integers_is_an_error(exact):
    with pytest.raises(RuntimeError, match="2\\^53"):
        exact.laplace(1e20, 50)  # all 50 below 2^53: probability (2^53 / 1e20)^50, below 1e-200


def test_without_opendp_one_line_says_what_to_install(monkeypatch):
    module._opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(InputError, match=r"pip install opendp$"):
        ExactNoise()
