import math

import numpy as np
import pytest
from scipy import integrate

from pate_cli.privacy import svt
from pate_cli.privacy.noise import SeededNoise, difference_tail

DELTA, ELL = 1 / 39073, 977  # of the table in docs/privacy.md


@pytest.mark.parametrize(
    ("eps", "cutoff", "liu", "bassily"),
    [
        (1.0, 1, (9.700, 528.2), (18.987, 689.3)),
        (1.0, 5, (21.690, 1181.4), (42.457, 1541.3)),
        (1.0, 30, (53.129, 2897.8), (103.998, 3775.3)),
        (0.5, 30, (105.140, 5734.7), (207.997, 7550.6)),
    ],
)
def test_published_check_values(eps, cutoff, liu, bassily):
    for rule, (scale, w) in (("liu2021", liu), ("bassily2018", bassily)):
        c = svt.calibrate(rule, eps, DELTA, ELL, cutoff)
        assert c.threshold_scale == pytest.approx(scale, abs=6e-4)
        assert c.query_scale == 2 * c.threshold_scale
        assert c.threshold == pytest.approx(w, abs=0.06)


@pytest.mark.parametrize("kind", ["laplace", "exponential"])
@pytest.mark.parametrize("scales", [(1.0, 2.0), (3.0, 3.0), (3.0, 3.0000001), (5.0, 0.7)])
@pytest.mark.parametrize("margin", [-4.0, 0.0, 1.5, 30.0])
def test_tail_is_the_integral(kind, scales, margin):
    a, b = scales

    def density(x, scale):
        if kind == "exponential":
            return math.exp(x / scale) / scale if x <= 0 else 0.0
        return math.exp(-abs(x) / scale) / (2 * scale)

    def above(x, scale):  # P(noise > x)
        if kind == "exponential":
            return -math.expm1(min(x, 0) / scale)
        return 0.5 * math.exp(-x / scale) if x > 0 else 1 - 0.5 * math.exp(x / scale)

    points = [-margin, 0.0]
    value = sum(
        integrate.quad(
            lambda r: density(r, a) * above(margin + r, b), low, high, epsabs=0, epsrel=1e-10, limit=500
        )[0]
        for low, high in zip([-60 * a, *sorted(points)], [*sorted(points), 60 * a], strict=True)
        if high > low
    )
    assert difference_tail(margin, a, b, kind) == pytest.approx(value, rel=1e-7)


def test_tight_is_far_below_the_published_margins():
    for cutoff, share in ((1, 0.11), (5, 0.17), (30, 0.37)):
        tight, liu = (svt.calibrate(rule, 1.0, DELTA, ELL, cutoff) for rule in ("tight", "liu2021"))
        assert tight.threshold <= share * liu.threshold
        # w alone flatters one-sided noise, whose mean is not 0: compare the margin that is answered, too
        failure = cutoff / (2 * ELL)
        assert tight.margin(failure) <= share * liu.margin(failure)


def test_unstable_probability_and_margin_agree_with_sampling():
    c = svt.calibrate("tight", 1.0, 1e-4, 100, 5)
    dist = c.margin(0.2)
    threshold, query = SeededNoise(np.random.SeedSequence(5)).spawn(2)
    n = 400_000
    nu, rho = -query.exponential(c.query_scale, n), -threshold.exponential(c.threshold_scale, n)
    rate = np.mean(dist + nu <= c.threshold + rho)
    assert abs(rate - 0.2) < 5.2 * math.sqrt(0.2 * 0.8 / n)  # false alarm 2e-7
    assert c.p_unstable(dist) == pytest.approx(0.2)


def test_pathwise_loss_by_hand():
    kept = svt.SvtCalibration(1, 1e-5, 9, 3, "tight", "laplace", False, 10.0, 4.0, 8.0, 0.0, 1e-5)
    assert kept.pathwise_eps(0, open_segment=False) == 0
    assert kept.pathwise_eps(0, open_segment=True) == 0.25
    assert kept.pathwise_eps(2, open_segment=True) == 0.25 + 2 * 0.25
    redrawn = svt.SvtCalibration(1, 1e-5, 9, 3, "tight", "laplace", True, 10.0, 4.0, 8.0, 0.0, 1e-5)
    assert redrawn.pathwise_eps(2, open_segment=False) == 2 * 0.5
    assert redrawn.pathwise_eps(2, open_segment=True) == 2 * 0.5 + 0.25


def test_bassily_is_refused_where_its_constants_fail():
    with pytest.raises(ValueError, match="8 ln"):
        svt.calibrate("bassily2018", 50.0, 0.1, 10, 2)
