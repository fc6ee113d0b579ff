"""Which of the last steps are averaged over, and what it is read off."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from pate_cli import mechanisms
from pate_cli.mechanisms.baselines.public_descent import Averages
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

STEPS, AVERAGED, NOISE = 20, 8, 2.0


def walk(gradients, start, momentum=0.0, rate=0.1):
    """Averages of a descent along gradients, of shape (steps, runs, p, q), and where its steps ended."""
    theta, velocity, found = start, np.zeros_like(start), []
    averages = Averages(start, STEPS, AVERAGED)
    for gradient in gradients:
        averages.see_gradient(gradient, theta)
        velocity = momentum * velocity - rate * gradient
        theta = theta + velocity
        averages.add(theta)
        found.append(theta)
    return averages, np.array(found)


def direction(theta):
    return theta[:-1] / np.linalg.norm(theta[:-1])


def test_noise_alone_says_neither_that_the_loss_falls_nor_that_it_rises():
    """The path is made of the noise that it is held against: 20,000 runs, false alarms 1e-6 each."""
    rng = np.random.default_rng(0)
    runs = 20_000
    noise = rng.normal(0, NOISE, (STEPS, runs, 3, 2))
    start = rng.normal(0, 1, (runs, 3, 2))
    averages, _ = walk(noise, start, momentum=0.8)
    slope, square = averages._slope, averages._square
    bound = stats.norm.isf(0.5e-6) / np.sqrt(runs)
    assert abs(slope.mean()) < bound * slope.std()
    excess = slope**2 - NOISE**2 * square  # what `rises` takes its variance to be
    assert abs(excess.mean()) < bound * excess.std()


@pytest.mark.parametrize("falls", [True, False])
def test_fewer_steps_are_averaged_over_where_the_loss_falls_and_all_where_it_rises(falls):
    """A path round a curve, whose gradients say that it goes down it, or up."""
    angles = np.linspace(0, 1.5, STEPS + 1)
    path = np.stack([np.cos(angles), np.sin(angles), 5 + angles], axis=1)[:, None, :, None]
    averages = Averages(path[0], STEPS, AVERAGED)
    for here, there in pairwise(path):
        averages.see_gradient((here - there if falls else there - here) * 1000, here)
        averages.add(there)
    found, last = averages.fitted(NOISE)[0, :, 0], averages.last[0, :, 0]
    count = AVERAGED // 4 if falls else STEPS
    assert np.allclose(direction(found), direction(path[-count:].mean(axis=0)[0, :, 0]))
    assert np.isclose(np.linalg.norm(found[:-1]), np.linalg.norm(last[:-1]))  # its length is kept
    assert found[-1] == last[-1]  # and the constant
    known = averages.fitted(0.0)[0, :, 0]  # without noise any slope is told
    assert np.allclose(known, found)


def test_a_model_that_grows_without_a_turn_is_left_as_it_is():
    """Longer and longer, on gradients that ask for it: no class changes by that."""
    start = np.ones((1, 4, 3))
    averages, _ = walk(np.full((STEPS, 1, 4, 3), -50.0), start)
    assert abs(averages.rises(NOISE)[0]) < 1e-6
    assert np.allclose(averages.fitted(NOISE), averages.last)


def test_models_that_have_not_arrived_gain_by_it(monkeypatch):
    """Ten kinds of an embedding at eps = 0.5: without it 3 points or more are lost."""
    rng = np.random.default_rng(4)
    kinds, shared = rng.normal(size=(10, 100)) * 0.16, rng.normal(size=(30, 100)) * 0.2
    y = rng.integers(0, 10, 14_000)
    X = kinds[y] + rng.normal(size=(len(y), 30)) @ shared + 0.3 * rng.normal(size=(len(y), 100))
    n, m = 9800, 200
    learner = ("logistic", {})
    setting = Setting(0.5, 1 / n, n, m, 100, 30, 10, 10, False, learner, learner, "drop")
    plan = mechanisms.plan("public_kernel", {}, setting)

    def accuracy():
        private = Private(PrivateRecords(X[m : n + m], y[m : n + m], None))
        released = plan.release(private, PublicPoints(X[:m]), SeededNoise(2), np.random.default_rng(2))
        return np.mean(released.model.predict(X[n + m :]) == y[n + m :])

    with_it = accuracy()
    monkeypatch.setattr(Averages, "fitted", lambda self, noise: self.last)
    assert with_it > accuracy() + 0.03
