"""The proof at the top of `pate_cli.privacy.above_threshold`, checked without sampling.

Probabilities of every pattern of answered and unstable queries are integrated exactly over the threshold
noise, and the hockey-stick divergence at the claimed eps, the supremum over all events, is held against the
claimed delta: for every adaptive choice of queries from a menu (short sequences), and for the worst sequences
known (longer ones). Integer noise is checked by the same sums.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli.mechanisms.agnostic.printed import proved
from pate_cli.privacy import svt

CRITICAL = None
"""A query whose majority differs between D and D'; others are a pair of distances."""


class Exact:
    """The laws of a calibrated mechanism's transcripts on D and D'."""

    def __init__(self, c, integers):
        self.c, self.integers = c, integers
        scale = c.threshold_scale
        one_sided = c.noise == "exponential"
        if integers:
            self.rho = np.arange(-math.ceil(40 * scale), 1 if one_sided else math.ceil(40 * scale) + 1)
            weight = -np.expm1(-1 / scale) / (1 if one_sided else 1 + np.exp(-1 / scale))
            self.fresh = weight * np.exp(-np.abs(self.rho) / scale)
        else:
            low, high = -40 * scale, 0 if one_sided else 40 * scale
            # smooth but for kinks where a distance meets the threshold, and at 0
            kinks = [d - c.threshold for d in range(200)]
            pieces = sorted({low, high, 0.0, *(kink for kink in kinks if low < kink < high)})
            x, w = np.polynomial.legendre.leggauss(16)
            nodes, weights = [], []
            for start, end in itertools.pairwise(pieces):
                edges = np.linspace(
                    start, end, 1 + math.ceil((end - start) / (2 * min(scale, c.query_scale)))
                )
                half = np.diff(edges)[:, None] / 2
                nodes.append((edges[:-1, None] + half + half * x).ravel())
                weights.append((half * w).ravel())
            self.rho = np.concatenate(nodes)
            density = np.exp(-np.abs(self.rho) / scale) / (scale if one_sided else 2 * scale)
            self.fresh = np.concatenate(weights) * density
        self.known = {}

    def unstable(self, dist):
        """P(unstable) and P(answered) at each threshold noise."""
        if dist not in self.known:
            z, b = self.c.threshold + self.rho - dist, self.c.query_scale
            if self.c.noise == "exponential":
                below, above = np.exp(np.minimum(z, 0) / b), -np.expm1(np.minimum(z, 0) / b)
            elif self.integers:
                tail = np.exp(-(np.where(z < 0, -z - 1, z) + 1) / b) / (1 + math.exp(-1 / b))
                below, above = np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail)
            else:
                tail = 0.5 * np.exp(-np.abs(z) / b)
                below, above = np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail)
            self.known[dist] = below, above
        return self.known[dist]

    def step(self, p, q, query):
        """After one query: (p, q) if it is answered, (p, q) if it is not."""
        (below, above), (below_, above_) = map(self.unstable, query or (0, 0))
        failed = p * below, q * below_
        if self.c.redraw:
            failed = failed[0].sum() * self.fresh, failed[1].sum() * self.fresh
        return (p * above, q * above_), failed

    def worst(self, menu, length):
        """Supremum of the divergence over adaptive choices, and of log-ratio less pathwise loss."""
        return self._worst(menu, length, self.fresh, self.fresh, 0, False)

    def _worst(self, menu, length, p, q, unstable, open_):
        on_d, on_other = p.sum(), q.sum()
        worst = max(0.0, on_d - math.exp(self.c.eps) * on_other)
        excess = math.log(on_d / on_other) - self.c.pathwise_eps(unstable, open_segment=open_)
        if not length or unstable == self.c.cutoff:
            return worst, excess
        for query in menu:
            answered, failed = self.step(p, q, query)
            if query is CRITICAL:  # its label alone tells the two apart
                left, above = answered[0].sum(), -math.inf
            else:
                left, above = self._worst(menu, length - 1, *answered, unstable, True)
            right, below = self._worst(menu, length - 1, *failed, unstable + 1, not self.c.redraw)
            worst, excess = max(worst, left + right), max(excess, above, below)
        return worst, excess

    def along(self, queries):
        """Divergence, and largest log-ratio less pathwise loss, of one sequence over all its patterns."""
        states, gone = [(self.fresh, self.fresh, 0, False)], 0.0
        leaves = []
        for query in queries:
            after = []
            for p, q, unstable, _ in states:
                answered, failed = self.step(p, q, query)
                if query is CRITICAL:
                    gone += answered[0].sum()
                else:
                    after.append((*answered, unstable, True))
                into = leaves if unstable + 1 == self.c.cutoff else after
                into.append((*failed, unstable + 1, not self.c.redraw))
            states = after
        leaves += states
        laws = [(p.sum(), q.sum(), unstable, open_) for p, q, unstable, open_ in leaves]
        assert sum(p for p, *_ in laws) + gone == pytest.approx(1, abs=1e-9)
        excess = max(
            math.log(p / q) - self.c.pathwise_eps(unstable, open_segment=open_)
            for p, q, unstable, open_ in laws
        )
        return sum(max(0.0, p - math.exp(self.c.eps) * q) for p, q, *_ in laws) + gone, excess


def calibrated(eps, delta, cutoff, redraw, length):
    make = svt._redrawn if redraw else svt._kept
    return make(eps, delta, length, cutoff, min(0.5, cutoff / (2 * length)))


def menu_of(c):
    w = math.floor(c.threshold)
    levels = sorted({max(0, w // 2), w, w + math.ceil(c.query_scale)})
    return [CRITICAL, *((d + 1, d) for d in levels), *((d, d + 1) for d in levels)]


def worst_sequences(c, length):
    """Up: a vote further from instability on D; down: on D'."""
    w, far = math.floor(c.threshold), math.floor(c.threshold + c.query_scale)
    last = min(c.cutoff, length - 1)
    for up in ((w + 1, w), (far + 1, far)):
        for down in ((w, w + 1), (far, far + 1), (0, 1), CRITICAL):
            yield [up] * (length - last) + [down] * last
            yield [(up, down)[j % 2] for j in range(length)]
        yield [up] * length
        yield [up[::-1]] * length
    yield [CRITICAL] * length
    yield [(w + 1, w), CRITICAL, (w, w + 1)] * (length // 3)


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("cutoff", [1, 3])
@pytest.mark.parametrize(("eps", "delta"), [(1.0, 0.05), (3.0, 0.3)])
def test_every_adaptive_choice_of_queries_stays_within_the_claim(redraw, integers, cutoff, eps, delta):
    c = calibrated(eps, delta, cutoff, redraw, 12)
    c = svt.discrete_calibration(c) if integers else c
    divergence, excess = Exact(c, integers).worst(menu_of(c), 4 if eps == 1.0 else 3)
    assert divergence <= delta * (1 + 1e-9)
    assert excess <= 1e-9


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("cutoff", [1, 3])
@pytest.mark.parametrize(("eps", "delta"), [(1.0, 0.05), (4.0, 1e-4)])
def test_worst_sequences_stay_within_the_claim(redraw, integers, cutoff, eps, delta):
    c = calibrated(eps, delta, cutoff, redraw, 12)
    c = svt.discrete_calibration(c) if integers else c
    exact = Exact(c, integers)
    found = [exact.along(sequence) for sequence in worst_sequences(c, 12)]
    assert max(divergence for divergence, _ in found) <= delta * (1 + 1e-9)
    assert max(excess for _, excess in found) <= 1e-9
    if not integers:  # the claim is not idle: nearly all of delta is needed, or all of stability's part
        assert max(divergence for divergence, _ in found) >= 0.8 * c.delta_stab
    # nor is the pathwise loss
    assert max(excess for _, excess in found) >= -0.5 * eps


@pytest.mark.parametrize(
    ("rule", "scale", "w"), [("liu2021", 53.129, 2897.8), ("bassily2018", 103.998, 3775.3)]
)
def test_published_calibrations_stay_within_the_claim(rule, scale, w):
    c = svt.calibrate(rule, 1.0, 1 / 39073, 977, 30)  # as in docs/mechanisms.md
    assert c.query_scale == 2 * c.threshold_scale
    assert c.threshold_scale == pytest.approx(scale, abs=6e-4)
    assert c.threshold == pytest.approx(w, abs=0.06)
    c = svt.calibrate(rule, 2.0, 0.1, 12, 3)
    found = [Exact(c, False).along(sequence) for sequence in worst_sequences(c, 12)]
    assert max(divergence for divergence, _ in found) <= 0.1
    assert max(excess for _, excess in found) <= 1e-9
    with pytest.raises(ValueError, match="8 ln"):
        svt.calibrate("bassily2018", 50.0, 0.1, 10, 2)


@pytest.mark.parametrize(("eps", "cutoff"), [(2.0, 3), (6.0, 2)])
def test_margins_of_sensitivity_2_cost_what_is_proved_of_them(eps, cutoff):
    """NB20 Algorithm 5 as printed. A query whose majority differs has margin 1 on both sides, or 0 and 2."""
    c = svt.calibrate("bassily2018", eps, 0.3, 12, cutoff)
    true_eps, true_delta = proved(c)
    exact, half = Exact(replace(c, eps=true_eps), False), Exact(replace(c, eps=true_eps / 2), False)
    w, far = math.floor(c.threshold), math.floor(c.threshold + c.query_scale)
    found, more = [], []
    for up in ((w + 2, w), (far + 2, far), (2, 0)):
        for down in (up[::-1], (w, w + 2), (0, 2)):
            queries = [up] * (12 - cutoff) + [down] * cutoff
            found.append(exact.along(queries)[0])
            more.append(half.along(queries)[0])
    assert max(found) <= c.delta / 2
    assert max(more) > 1e-3  # the claim is not idle
    answered = max(exact.step(exact.fresh, exact.fresh, (2, 0))[0][0].sum(), 0.0)
    assert cutoff * answered <= true_delta - c.delta / 2 < cutoff * answered * 1.01


@pytest.mark.parametrize("rule", svt.CALIBRATIONS)
@pytest.mark.parametrize("cutoff", [1, 3])
def test_the_plain_technique_stays_within_the_claim(rule, cutoff):
    """Of numbers and a threshold, which have no critical queries; for T "below" and not for one more."""
    c = svt.above_threshold(rule, 2.0, 0.1, cutoff, 6.0)
    exact = Exact(c, False)
    sequences = [s for s in worst_sequences(c, 12) if CRITICAL not in s]
    assert len(sequences) > 10
    found = [exact.along(sequence) for sequence in sequences]
    assert max(divergence for divergence, _ in found) <= c.delta_comp * (1 + 1e-9) + 1e-12
    assert max(excess for _, excess in found) <= 1e-9
    if rule == "tight" and cutoff == 1:
        more = Exact(replace(c, cutoff=cutoff + 1), False)  # as the printed ``c <= T`` allows
        assert max(more.along(sequence)[0] for sequence in sequences) > c.delta_comp + 1e-4


@pytest.mark.parametrize("redraw", [False, True])
def test_the_check_sees_what_is_too_little(redraw):
    c = calibrated(1.0, 0.05, 3, redraw, 12)
    low = replace(c, threshold=c.threshold - 2)
    exact = Exact(low, False)
    assert any(exact.along(s)[0] > c.delta_stab for s in worst_sequences(low, 12))
    claimed = c.pathwise_eps
    for little in (
        replace(c, threshold_scale=0.7 * c.threshold_scale),
        replace(c, query_scale=0.7 * c.query_scale),
    ):
        exact = Exact(little, False)
        exact.c = Claiming(little, claimed)
        assert any(exact.along(s)[1] > 0.01 for s in worst_sequences(little, 12))


class Claiming:
    """A calibration that goes on claiming another's pathwise loss."""

    def __init__(self, calibration, claimed):
        self.calibration, self.pathwise_eps = calibration, claimed

    def __getattr__(self, name):
        return getattr(self.calibration, name)
