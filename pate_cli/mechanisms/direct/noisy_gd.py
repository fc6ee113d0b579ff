"""Noisy gradient descent: DP-SGD for a linear model, with all private records in every step.

Song, Chaudhuri, Sarwate (GlobalSIP 2013); Bassily, Smith, Thakurta (FOCS 2014); Abadi et al. (CCS 2016).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pate_cli.checks import Or, Real, Whole, option
from pate_cli.mechanisms.direct.clipped_gradients import (
    CLIPS,
    LINE,
    ClippedGradients,
    PersonSums,
    grain_for,
    noisy_descent,
)
from pate_cli.mechanisms.direct.linear import RADIUS, Scaling, linear_model
from pate_cli.mechanisms.direct.rows import on_grid
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import calibrate_sigma, mu_of
from pate_cli.types import FloatArray, PrivacyLoss, Private, PrivateRecords, PublicPoints, Released, Setting

__all__ = ["NoisyGradientPlan", "Options", "calibrate"]

_STEPS = (10, 300)
"""Fewest and most steps of the rule: fewer learn nothing, more cost time and hardly any accuracy."""


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=noisy_gd`."""

    steps: int | None = option("auto", Or("auto", Whole(1)))
    step_size: float = option(4.0, Real(0))
    clip: float = option(math.sqrt(0.5), Real(*CLIPS))


def calibrate(options: Options, setting: Setting) -> NoisyGradientPlan:
    """Calibrate the noise, and choose the number of steps where it is `auto`.

    The excess risk of the averaged weights after a time ``t = steps * step_size`` is about
    ``R^2/(2 t) + t d s^2/2`` with R the norm of good weights (10 here) and s the noise on the mean gradient
    over unit time, so ``t = R/(s sqrt(d))``.
    """
    s, n, (fewest, most) = setting, setting.n_private, _STEPS
    steps = options.steps or most
    if options.steps is None and not math.isinf(s.eps):
        one = calibrate_sigma(s.eps, s.delta, 1, 2 * options.clip) / n
        time = RADIUS / (one * math.sqrt(s.n_features + 1))
        steps = math.ceil(min(max(time / options.step_size, fewest), most))
    sigma = calibrate_sigma(s.eps, s.delta, steps, 2 * options.clip)
    return NoisyGradientPlan(s.eps, s.delta, n, s.n_classes, steps, options.step_size, options.clip, sigma)


@dataclass(frozen=True)
class NoisyGradientPlan(PersonSums):
    """Full-batch noisy gradient descent on the softmax loss, on columns scaled by public points.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one person: all of a person's records,
    replaced by any others, as many or not (a record is a person with one where the data name no persons); n,
    the number of persons, is public. One step releases the sum of the persons' gradients, each clipped to
    norm `clip` by `ClippedGradients`, with N(0, sigma^2) noise on each number. Replacing a person takes one
    term out and puts another in, so the sum moves by at most ``2 clip`` at any weights: these follow from
    earlier steps. `steps` such releases, adaptively composed, are mu-GDP with
    ``mu = 2 clip sqrt(steps) / sigma`` (Dong, Roth, Su 2022, Corollary 2), and (eps, delta)-DP by the exact
    profile (Balle and Wang 2018). The model is post-processing. Nothing is assumed of the records; the scale
    of the features, `steps`, `step_size` and `clip` come from public points and public numbers.
    """

    eps: float
    delta: float
    n: int
    n_classes: int
    steps: int
    step_size: float  # of the mean gradient; the loss has curvature 1/2 at most on records of norm 1
    clip: float
    """Largest norm of a person's gradient; sqrt(2) is the largest a record of norm 1 can have. Half of it,
    the default, is what an undecided record of two classes has: half the noise, and only records that are
    classified wrongly are shortened."""
    sigma: float  # of the noise on a coordinate of the sum of gradients; 0 for eps = inf

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        if self.sigma == 0:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        how = f"exact Gaussian profile of {self.steps} noisy gradients"
        return PrivacyLoss(self.eps, self.delta, how, mu=mu_of(self.eps, self.delta))

    @property
    def grain(self) -> float:
        """Unit of the sums over persons, a power of two."""
        return grain_for(self.n * self.clip)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {**asdict(self), "sensitivity": 2 * self.clip}

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Scale by public points, and descend on the private records; see `Mechanism`."""
        scaling = Scaling.of(public.X)
        weights, _ = self.fit(private.records, scaling, door)
        return self.released(linear_model(weights[0], scaling))

    def fit(
        self, private: PrivateRecords, scaling: Scaling, door: Door, runs: int = 1
    ) -> tuple[FloatArray, FloatArray]:
        """Descend in one run, or in many side by side: weights (runs, C, d + 1), and all noisy sums added up.

        Where there are fewer than `n` persons, the others have no gradient. Of two classes one has the
        gradient of the other with its sign changed: one column, their difference, is enough. Its gradient is
        shorter by sqrt(2), and it moves twice as far.
        """
        columns, share = (1, math.sqrt(0.5)) if self.n_classes == 2 else (self.n_classes, 1.0)
        features, clip = on_grid(scaling.apply(private.X)), share * self.clip
        rate = self.step_size * self.grain / self.n / share**2
        theta, released = noisy_descent(
            ClippedGradients(features, private.y, private.units, clip=clip, grain=self.grain),
            door,
            (runs, features.shape[1], columns),
            steps=self.steps,
            sensitivity=2 * clip / self.grain,
            sigma=share * self.sigma / self.grain,
            move=lambda gradient: rate * gradient,
        )
        weights = np.concatenate([-theta, theta], axis=2) / 2 if columns == 1 else theta
        return np.swapaxes(weights, 1, 2), self.grain * released

    @property
    def runs_on_persons(self) -> int:
        """Fewer of many steps."""
        return min(20_000, max(400_000 // self.steps, 500))

    def outputs(self, private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
        """Outputs of `fit` for an audit."""
        found = self.fit(private, Scaling.of(LINE.X), door, runs)
        return np.hstack([each.reshape(runs, -1) for each in found])
