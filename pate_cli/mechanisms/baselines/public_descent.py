"""Noisy gradient descent as far as it has come, and the noisy question which of two came farther."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pate_cli.mechanisms.baselines.gradients import PersonGradients, RecordGradients
from pate_cli.mechanisms.baselines.public_lines import Features, Position
from pate_cli.privacy.noise import Noise
from pate_cli.types import FloatArray, IntArray

__all__ = ["Descent", "Learned", "Move", "has_more_right"]

_LATE = 4  # of the steps averaged over, the last one in so many are the fewest
_SURE = 2.0  # standard deviations, beyond `_LAGS`, at which fewest, or all, are averaged over
_LAGS = 0.5  # the mean lags behind a little even where the loss does not fall any more
_LEAST = 1e-300  # divisors at least

Move: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""From a mean gradient, and where it is of, to a step; both of shape (runs, p, q)."""


class Learned(NamedTuple):
    """What runs side by side have released. PUBLIC.

    Attributes
    ----------
    features : tuple of PublicFeatures or PublicLines
        Those learned in: one, or two of which each run chose one, and maybe one that went on from the first.
    weights : tuple of ndarray of shape (runs, p, q)
        Of each, of features as `PublicFeatures.apply` gives them, times `UNIT`; of one that a run did not
        choose, or has left, as they were then.
    chosen : ndarray of int64, shape (runs,)
        Which of them each run ended in.
    sums : tuple of ndarray of shape (runs, p, q)
        All noisy sums of each, added up: the guarantee is of these too, which an audit looks at.
    """

    features: tuple[Features, ...]
    weights: tuple[FloatArray, ...]
    chosen: IntArray
    sums: tuple[FloatArray, ...]


class Averages:
    """Means of where steps have been, and what their noisy gradients say of which of them is best.

    A gradient at theta has noise that is not in theta yet: its product with how far theta is ahead of the
    mean of all positions till then says without bias whether the loss still falls that way. The sum of these
    over the last steps, in standard deviations of its noise, says whether to average over fewer steps, as
    the model has not arrived, or over all, as the noise has carried it off. Only the direction of theta is
    changed by it: its length gives other probabilities and the same classes. The constant stays as it is: it
    swings for longer than few steps.

    Parameters
    ----------
    theta : ndarray of shape (runs, p, q)
        Where it starts; the last of p is the constant.
    steps, averaged : int
        How many there will be, and how many of the last are averaged over if nothing is known.
    """

    def __init__(self, theta: FloatArray, steps: int, averaged: int) -> None:
        self._steps, self._counts = steps, (steps, averaged, max(averaged // _LATE, 1))
        self._totals = [np.zeros_like(theta) for _ in self._counts]
        self._slope, self._square = np.zeros(len(theta)), np.zeros(len(theta))
        self._taken = 0

    def see_gradient(self, gradient: FloatArray, theta: FloatArray) -> None:
        """Take in a noisy sum of gradients at theta, where the last step ended."""
        if self._taken < max(self._steps - self._counts[1], 1):
            return
        ahead = theta - self._totals[0] / self._taken
        ahead -= (_along(ahead, theta) / np.maximum(_along(theta, theta), _LEAST))[:, None, None] * theta
        ahead[:, -1] = 0
        self._slope += _along(gradient, ahead)
        self._square += _along(ahead, ahead)

    def add(self, theta: FloatArray) -> None:
        """Take in where a step ended."""
        for total, count in zip(self._totals, self._counts, strict=True):
            if self._taken >= self._steps - count:
                total += theta
        self._taken += 1

    @property
    def last(self) -> FloatArray:
        """Mean of the last steps, as many as are averaged over if nothing is known."""
        found: FloatArray = self._totals[1] / self._counts[1]
        return found

    def rises(self, noise: float) -> FloatArray:
        """How far the loss rises where the last steps went, in standard deviations of the noise, (runs,)."""
        found: FloatArray = self._slope / np.maximum(noise * np.sqrt(self._square), _LEAST)
        return found

    def fitted(self, noise: float) -> FloatArray:
        """Turn `last` towards the mean of a quarter of its steps, or of all steps.

        Parameters
        ----------
        noise : float
            Standard deviation of the noise on a coordinate of a sum.
        """
        whole, last, late = (total / count for total, count in zip(self._totals, self._counts, strict=True))
        share = np.clip((_LAGS - self.rises(noise)) / _SURE, -1, 1)[:, None, None]
        found = last + np.abs(share) * (np.where(share > 0, late, whole) - last)
        was, size = (np.sqrt(_along(each[:, :-1], each[:, :-1])) for each in (last, found))
        found[:, :-1] *= (was / np.maximum(size, _LEAST))[:, None, None]
        found[:, -1] = last[:, -1]
        return found


def _along(one: FloatArray, other: FloatArray) -> FloatArray:
    """Inner products in each run."""
    found: FloatArray = np.einsum("rpq,rpq->r", one, other)
    return found


class _NoRecords:
    """What a sum over no records is made of."""

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Zeros, of the shape of theta."""
        return np.zeros_like(theta)


class Descent:
    """Gradient descent with momentum on noisy sums over private records, in runs side by side.

    Where it has come is computed from noisy sums and public numbers alone; the sums are `take_steps`'s.

    Parameters
    ----------
    records : RecordGradients or PersonGradients
        PRIVATE.
    shape : tuple of int
        (runs, p, q), of theta.
    move : Move
    momentum : float
        Share of a step that the next one repeats.
    grain : float
        Unit of the sums.
    n : int
        Records, or persons, that a sum is over.
    start : tuple of ndarrays of shape (runs, p, q), or None
        A position, where it goes on from another descent.
    """

    def __init__(
        self,
        records: RecordGradients | PersonGradients | _NoRecords,
        shape: tuple[int, int, int],
        *,
        move: Move,
        momentum: float,
        grain: float,
        n: int,
        start: Position | None = None,
    ) -> None:
        self._records = records
        self._move, self._momentum, self._grain, self._n = move, momentum, grain, n
        found = start or (np.zeros(shape), np.zeros(shape), np.zeros(shape))
        self._theta, self._velocity, self.weights = found
        self.sums: FloatArray = np.zeros(shape)

    @property
    def records(self) -> RecordGradients | PersonGradients:
        """PRIVATE."""
        if isinstance(self._records, _NoRecords):
            raise ValueError("this descent has no records")
        return self._records

    def of_noise_alone(self, runs: int) -> Descent:
        """Start where this one did, in so many runs, with no records: what it says is of noise."""
        shape = (runs, self._theta.shape[1], self._theta.shape[2])
        move, momentum = self._move, self._momentum
        return Descent(_NoRecords(), shape, move=move, momentum=momentum, grain=self._grain, n=self._n)

    def forget_records(self) -> None:
        """Let go of the records, which may be large, where it goes no further."""
        self._records = _NoRecords()

    @property
    def position(self) -> Position:
        """Theta, the last step, and the weights if it ended here, each of shape (runs, p, q)."""
        return self._theta, self._velocity, self.weights

    def take_steps(
        self,
        steps: int,
        averaged: int,
        sigma: float,
        noise: Noise,
        runs: Any = slice(None),
        *,
        fitted: bool = False,
    ) -> None:
        """Go on in some of the runs; `weights` then are the mean of theta after each of the last steps.

        Parameters
        ----------
        steps, averaged : int
            How many, and how many of them are averaged over.
        sigma : float
            Standard deviation of the noise on each coordinate of a sum, in units of `grain`.
        noise : Noise
        runs : slice or ndarray of bool, shape (runs,)
        fitted : bool
            Whether it is read off the sums if fewer or all of the steps are averaged over (`Averages`).
        """
        theta, velocity = self._theta[runs], self._velocity[runs]
        if not len(theta):
            return
        averages, sums = Averages(theta, steps, averaged), np.zeros_like(theta)
        for _ in range(steps):
            gradient = self._records.gradient(theta)
            if sigma > 0:
                gradient += noise.gaussian(sigma, theta.size).reshape(theta.shape)
            sums += gradient
            gradient *= self._grain
            if theta.shape[2] > 1:  # exact gradients sum to 0 over classes
                gradient -= gradient.mean(axis=2, keepdims=True)
            averages.see_gradient(gradient, theta)
            velocity = self._momentum * velocity - self._move(gradient / self._n, theta)
            theta = theta + velocity
            averages.add(theta)
        weights = averages.fitted(sigma * self._grain) if fitted else averages.last
        self._theta[runs], self._velocity[runs], self.weights[runs] = theta, velocity, weights
        self.sums[runs] += sums * self._grain


def has_more_right(one: Descent, other: Descent, asked: int, sigma: float, noise: Noise) -> IntArray:
    """Ask in each run which of two has more private records right, `asked` times; 1 if it is `other`.

    Each time a Gaussian mechanism: a record adds its clip, or takes it off, if only one of both has it right,
    a person the mean of that, so replacing one moves the sum by at most twice the clip, as it moves a
    sum of gradients; and the noise is the same. Sums are whole numbers below 2^53 in units of the grain.

    Parameters
    ----------
    one, other : Descent
        Of the same records, in the same number of runs.
    asked : int
        At least 1.
    sigma : float
        Standard deviation of the noise, in units of the grain.
    noise : Noise

    Returns
    -------
    ndarray of int64, shape (runs,)
    """
    right = other.records.right(other.weights).astype(np.int64) - one.records.right(one.weights)
    lead = one.records.total(right) * asked
    if sigma > 0:
        lead += noise.gaussian(sigma, asked * len(lead)).reshape(asked, -1).sum(axis=0)
    return (lead > 0).astype(np.int64)
