"""What passes the door at once costs what it would one by one."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from pate_cli.privacy import svt
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Account, Event, Gdp, Inner, Pure, compose
from pate_cli.privacy.kinds import ExponentialChoice, GammaNoise, GaussianNoise, LaplaceNoise
from pate_cli.privacy.noise import discrete_difference_tail

M = 3


def _sparse(door, values, releases):
    AboveThreshold(svt.calibrate("tight", 1.0, 1e-3, M, 1), door, releases).test(values[:1, 0])


def _of(kind, releases=True):
    return lambda door, values, n: door.release(np.round(values), kind, n if releases else None)


WAYS = {
    "gaussian": _of(GaussianNoise(sensitivity=2.0, sigma=3.0)),
    "integer gaussian": _of(GaussianNoise(sensitivity=2.0, sigma=3.0, grain=1.0)),
    "laplace": _of(LaplaceNoise(sensitivity=2.0, scale=3.0)),
    "gamma": _of(GammaNoise(sensitivity=2.0, scale=3.0), False),
    "exponential": _of(ExponentialChoice(sensitivity=2.0, eps=3.0), False),
    "inner choices": lambda door, values, _: door.keep(values, ExponentialChoice(sensitivity=2.0, eps=3.0)),
    "sparse vector": _sparse,
}


@pytest.mark.parametrize("kind", WAYS)
def test_releases_at_once_cost_what_they_cost_one_by_one(kind):
    together, apart, values = Door.seeded(0), Door.seeded(0), np.arange(2.0 * M).reshape(M, 2)
    WAYS[kind](together, values, M)
    for row in values:
        WAYS[kind](apart, row[None], 1)
    one, other = together.spent, apart.spent
    assert compose(one, 1e-3) == pytest.approx(compose(other, 1e-3))
    assert one == other or kind == "sparse vector"
    assert not other.only()  # something was counted


@pytest.mark.parametrize("kind", sorted(WAYS.keys() - {"integer gaussian"}))
def test_a_source_of_integers_gives_no_noise_without_a_proof_for_them(kind):
    door = Door.seeded(0)
    door.noise.integers = True
    with pytest.raises(RuntimeError, match="from a source of integers"):
        WAYS[kind](door, np.ones((M, 2)), M)
    assert door.spent.only(AboveThreshold)  # which is paid when it starts


def test_the_threshold_of_real_numbers_is_too_low_for_integers():
    c = svt.calibrate("tight", 2.0, 1.5e-4, 10, 1)  # an unstable label leaves where the difference is above w
    on_integers = [discrete_difference_tail(int(each.threshold), c.threshold_scale, c.query_scale, c.noise)
                   for each in (c, svt.discrete_calibration(c))]  # fmt: skip
    assert on_integers[0] > 1.5 * c.delta > 1.5 * on_integers[1]


def test_what_each_kind_costs():
    assert GaussianNoise(sensitivity=2.0, sigma=4.0).event(7) == Gdp(0.25)
    assert LaplaceNoise(sensitivity=2.0, scale=4.0).event(7) == Pure(0.5)
    assert GammaNoise(sensitivity=2.0, scale=4.0).event(7) == Pure(0.5)
    assert ExponentialChoice(sensitivity=2.0, eps=4.0).event(7) == Pure(4.0)
    account = Account({Gdp(0.25): 4, Pure(0.5): 3})
    assert compose(account, 1e-5) == (1.5 + Gdp(1.0).eps(1e-5), 1e-5)
    assert math.isinf(compose(account + Account([Inner(Pure(1.0))]), 1e-5)[0])


def test_an_account_cannot_be_lost():
    door = Door.seeded(0).chapter("evaluation")
    (child,) = door.spawn(1)
    child.release(np.zeros(1), LaplaceNoise(sensitivity=1.0, scale=1.0))
    with pytest.raises(RuntimeError, match=re.escape("evaluation leave the private side a second time")):
        door.chapter("evaluation")
    child.release(np.zeros(1), LaplaceNoise(sensitivity=1.0, scale=1.0))
    assert door.accounts == {"": {}, "evaluation": {Pure(1.0): 2}}


def test_what_is_paid_once_is_equal_to_no_other():
    """Two runs of an event with equal parameters cost as much as one."""

    @dataclass(frozen=True)
    class Run(Event):
        once = True
        eps: float

        @classmethod
        def compose(cls, counts, delta):
            return sum(event.eps for event in counts), 0.0

    account = Account()
    with pytest.raises(TypeError, match="Run is paid once; accepted: a class without =="):
        account.pay(Run(1.0))

    class Own(Run):
        __eq__, __hash__ = object.__eq__, object.__hash__

    for _ in range(2):
        account.pay(Own(1.0))
    assert compose(account, 1e-5) == (2.0, 0.0)


def test_a_kind_cannot_make_a_value_free():
    class Free(LaplaceNoise):
        def count(self, value):
            return 0

    door = Door.seeded(0)
    with pytest.raises(ValueError, match="0 releases of Free; accepted: 1 or more"):
        door.release(np.ones(3), Free(sensitivity=1.0, scale=1.0))
    assert not door.spent
