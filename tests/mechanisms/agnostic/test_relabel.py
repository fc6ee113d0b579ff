"""Choices drawn from noise: their laws, at false-alarm rates below 1e-6."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2

from pate_cli.mechanisms.agnostic.relabel import drawn, subset
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import Pure
from pate_cli.privacy.kinds import ExponentialChoice


def close(counts, probabilities):
    expected = counts.sum() * probabilities
    return ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-7, len(counts) - 1)


def test_the_door_follows_the_exponential_mechanism_both_ways():
    mistakes = np.array([3.0, 0.0, 1.0, 6.0])
    # weights e^(-eps m/2) at eps = 0.8: e^-1.2, 1, e^-0.4, e^-2.4
    weights = np.array([math.exp(-1.2), 1.0, math.exp(-0.4), math.exp(-2.4)])
    law, door = weights / weights.sum(), Door.seeded(2)
    together = Door.seeded(1).release(
        np.tile(-mistakes, (20_000, 1)), ExponentialChoice(sensitivity=1.0, eps=0.8)
    )
    single = [
        int(door.release(-mistakes, ExponentialChoice(sensitivity=1.0, eps=0.8))) for _ in range(20_000)
    ]
    assert door.spent == {Pure(0.8): 20_000}
    for choices in (together, single):
        assert close(np.bincount(choices, minlength=4), law)
        assert not close(np.bincount(choices, minlength=4), np.array([0.3, 0.4, 0.2, 0.1]))
    assert door.release(-np.array([5e6, 0.0, 1e5]), ExponentialChoice(sensitivity=1.0, eps=1.0)) == 1
    assert door.release(-np.array([2.0, 1.0, 1.0]), ExponentialChoice(sensitivity=1.0, eps=math.inf)) == 1


def test_samples_are_uniform():
    noise, pairs = Door.seeded(4).noise, np.zeros((5, 5))
    for _ in range(10_000):
        a, b = subset(5, 2, noise)
        pairs[a, b] += 1
    assert np.trace(pairs) == 0
    assert close(pairs[~np.eye(5, dtype=bool)], np.full(20, 1 / 20))
    assert sorted(subset(7, 7, noise).tolist()) == list(range(7))
    assert close(np.bincount(drawn(6, noise, 30_000), minlength=6), np.full(6, 1 / 6))
