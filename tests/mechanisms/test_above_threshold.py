"""The plain sparse vector technique at work; its privacy is checked exactly in tests/privacy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pate_cli.privacy import svt
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door


def above(c, numbers):
    """Decisions of a door on numbers, in order, until T were below."""
    door = Door.seeded(0)
    found = AboveThreshold(c, door).test(np.asarray(numbers))
    eps, delta = AboveThreshold.compose(door.spent)
    assert (0 < eps <= c.eps * (1 + 1e-9), delta) == (True, c.delta_comp)
    return found.above[found.reached].tolist()


def test_published_scales_by_hand():
    # ln(1/delta) = 4, T = 2, eps = 1: sqrt(32 * 2 * 4) = 16; sqrt(2 T 5) + sqrt(2 T 4) = sqrt(20) + 4
    for rule, scale in (("bassily2018", 16.0), ("liu2021", math.sqrt(20) + 4)):
        c = svt.above_threshold(rule, 1.0, math.exp(-4), 2, -7.5)
        assert (c.threshold_scale, c.query_scale) == pytest.approx((scale, 2 * scale))
        assert (c.threshold, c.redraw, c.delta_stab, c.noise) == (-7.5, True, 0.0, "laplace")
    with pytest.raises(ValueError, match=r"up to 8 ln\(1/delta\) = 32"):
        svt.above_threshold("bassily2018", 33.0, math.exp(-4), 2, 0.0)
    for eps, cutoff in ((0.5, 1), (2.0, 100)):
        tight, liu, bassily = (
            svt.above_threshold(rule, eps, 1e-6, cutoff, 0.0).margin(0.05) for rule in svt.CALIBRATIONS
        )
        assert tight < 0.8 * liu < 0.8 * bassily


def test_theorem_2_8_of_the_long_version():
    """Numbers 4 lambda ln(2 m T/beta) above w: all m are above, but for beta."""
    m, T, beta = 200, 3, 0.01
    c = svt.above_threshold("bassily2018", 1.0, 1e-6, T, 10.0)
    far = math.log(2 * m * T / beta) * math.sqrt(512 * T * math.log(1e6))
    assert far == pytest.approx(4 * c.threshold_scale * math.log(2 * m * T / beta))
    assert m * c.p_unstable(10.0 + far) <= beta
    said = above(c, np.tile([10.0 + far, -far, 10.0 + far], m))
    assert said == [True, False, True] * 2 + [True, False]  # the third "below" ends it
