"""A kind that states less than it costs is seen by its draws alone; one that states the truth is not."""

from dataclasses import dataclass

import numpy as np
import pytest

from pate_cli.privacy.events import Gdp, Pure
from pate_cli.privacy.kinds import ExponentialChoice, GammaNoise, GaussianNoise, LaplaceNoise
from pate_cli.testing import CheckFailed
from pate_cli.testing.kind_checks import hidden

KINDS = {
    "gaussian": (GaussianNoise, lambda cost: {"sigma": 2 / cost}),
    "integer": (GaussianNoise, lambda cost: {"sigma": 2 / cost, "grain": 1e-3 / cost}),
    "laplace": (LaplaceNoise, lambda cost: {"scale": 2 / cost}),
    "gamma": (GammaNoise, lambda cost: {"scale": 2 / cost}),
    "choice": (ExponentialChoice, lambda cost: {"eps": cost}),
}


def of(kind, cost, pure, gdp):
    """A kind of that cost, whose event is made of the true one by `pure` or `gdp`."""
    cls, numbers = KINDS[kind]

    @dataclass(frozen=True, kw_only=True)
    class Stated(cls):
        def event(self, size):
            event = super().event(size)
            return pure(event) if isinstance(event, Pure) else gdp(event)

    return Stated(sensitivity=2.0, **numbers(cost))


def less(kind, cost, factor):
    """A kind that states less than its cost by a factor."""
    return of(
        kind,
        cost,
        lambda event: Pure(event.eps / factor),
        lambda event: Gdp(event.mu_squared / factor**2, event.integers),
    )


@pytest.mark.parametrize("cost", [0.01, 12])  # a whole number, too
@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_too_small_by_a_factor_of_1_3_is_seen(kind, cost):
    d = 3 if cost > 1 else 2  # a small cost takes the most draws; as many numbers as an index needs will do
    hidden(less(kind, cost, 1.0), d)
    with pytest.raises(
        CheckFailed, match=r"Stated: an event of probability \S+ where at most \S+ is counted"
    ):
        hidden(less(kind, cost, 1.3), d)


COUNTED = {
    "the largest alone": lambda costs: max(costs)[0],
    "the root of the number": lambda costs: sum(cost * n**0.5 for cost, n in costs),
    "all as the smallest": lambda costs: min(costs)[0] * sum(n for _, n in costs),
}


@pytest.mark.parametrize(
    ("kind", "counted"),
    [
        *((kind, "the largest alone") for kind in KINDS),
        ("gaussian", "the root of the number"),
        ("laplace", "the root of the number"),
        ("gaussian", "all as the smallest"),
    ],
)
def test_costs_that_compose_to_less_than_their_sum_are_seen(kind, counted):
    counted = COUNTED[counted]

    class SomePure(Pure):
        @classmethod
        def compose(cls, counts, delta):
            return counted([(event.eps, n) for event, n in counts.items()]), 0.0

    class SomeGdp(Gdp):
        @classmethod
        def compose(cls, counts, delta):
            least = counted([(event.mu_squared, n) for event, n in counts.items()])
            return cls(least, sum(event.integers * n for event, n in counts.items())).eps(delta), delta

    lying = of(
        kind,
        0.5,
        lambda event: SomePure(event.eps),
        lambda event: SomeGdp(event.mu_squared, event.integers),
    )
    with pytest.raises(CheckFailed, match=r"Stated: an event of .* is counted in 64 releases"):
        hidden(lying, 3)


def test_noise_that_is_missing_at_one_place_is_seen():
    class Third(ExponentialChoice):
        def draw(self, noise, value):
            drawn = super().draw(noise, value)
            return np.where(np.argmax(value, axis=-1) == 2, 2, drawn)

    with pytest.raises(CheckFailed, match="Third: an event"):
        hidden(Third(sensitivity=1.0, eps=0.5), 4)
