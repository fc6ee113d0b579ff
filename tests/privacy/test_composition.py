import itertools
import math

import pytest

from pate_cli.privacy import composition


@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.parametrize("eps", [0.0, 0.3, 1.0, 2.5])
def test_profile_equals_enumerated_randomised_response(count, eps):
    # a second way: every outcome of `count` randomised responses, listed
    eps0 = 0.6
    p = math.exp(eps0) / (1 + math.exp(eps0))
    delta = 0.0
    for bits in itertools.product([True, False], repeat=count):
        first = math.prod(p if bit else 1 - p for bit in bits)
        second = math.prod(1 - p if bit else p for bit in bits)
        delta += max(0.0, first - math.exp(eps) * second)
    assert math.exp(composition.log_pure_profile(eps, eps0, count)) == pytest.approx(
        delta, rel=1e-12, abs=1e-300
    )


@pytest.mark.parametrize("eps", [1e-3, 0.5, 1.0, 50.0])
@pytest.mark.parametrize("delta", [1e-30, 1e-6, 0.5])
@pytest.mark.parametrize("count", [1, 3, 30, 1000])
def test_eps0_inverts_the_profile_on_the_safe_side(eps, delta, count):
    eps0 = composition.eps0_of(eps, delta, count)
    assert eps0 >= eps / count * (1 - 2e-15)
    assert math.exp(composition.log_pure_profile(eps, eps0, count)) <= delta * (1 + 1e-12)  # exp() rounds
    assert math.exp(composition.log_pure_profile(eps, eps0 * (1 + 1e-7), count)) > delta * (1 - 1e-4)
    assert composition.pure_eps(eps0, count, delta) == pytest.approx(eps, rel=1e-6)


def test_without_delta_composition_is_a_sum():
    assert composition.eps0_of(1.0, 0.0, 4) == pytest.approx(0.25, rel=1e-14)
    assert composition.pure_eps(0.25, 4, 0.0) == 1.0
    assert composition.log_pure_profile(1.0, 0.25, 4) == -math.inf


def test_many_small_losses_grow_with_the_square_root():
    one, hundredfold = composition.pure_eps(0.01, 100, 1e-6), composition.pure_eps(0.01, 10_000, 1e-6)
    assert 9 < hundredfold / one < 13
