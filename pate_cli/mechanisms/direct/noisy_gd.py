"""Noisy gradient descent: DP-SGD for a linear model, with all private records in every step.

On the records' own columns, or on any features made from public points (``features=kernel``: `best`).
Song, Chaudhuri, Sarwate (GlobalSIP 2013); Bassily, Smith, Thakurta (FOCS 2014); Abadi et al. (CCS 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pate_cli import features
from pate_cli.checks import Or, Real, Whole, option
from pate_cli.features.classifiers import FeatureClassifier
from pate_cli.features.columns import FEW, is_text
from pate_cli.features.kernel import (
    CONSTANT,
    MOST_DIRECTIONS,
    GridFeatures,
    KernelFeatures,
    OwnColumns,
    feature_values,
)
from pate_cli.matrices import dense
from pate_cli.mechanisms.direct.clipped_gradients import (
    CLIPS,
    LINE,
    ClippedGradients,
    PersonSums,
    grain_for,
    noisy_descent,
)
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import calibrate_sigma, mu_of, vector_mu, vector_sigma
from pate_cli.types import FloatArray, PrivacyLoss, Private, PrivateRecords, PublicPoints, Released, Setting

__all__ = ["NoisyGradientDescent", "Options", "calibrate"]

_STEPS = (20, 100)  # fewest and most
_MOMENTUM = 0.8  # a step acts for 1/(1 - 0.8) = 5 steps in all
_LONGER = 2.0  # times as long at most, where noise leaves time for more steps than are taken
_ENOUGH = 10  # time, in steps, that a direction needs
_FEWEST = 3  # directions at least
_SHARED = (2.0, 0.7)  # of several classes: factor and power of the time, for the most directions
_SEEN = 10.0  # private records in a bin of rare values at least, in noises of one sum over all of the budget
_REACH = 64.0  # standard deviations of the noise that are below 2^52 in the grain
_MOST_PUBLIC = 2000  # public points in the mean curvature, about
_FLATTEST = 1e-3  # least curvature assumed, as a share of the largest


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=noisy_gd` and `mechanism=best`."""

    features_default = "none"
    steps: int | None = option("auto", Or("auto", Whole(1)))
    clip: float = option(0.5, Real(*CLIPS))
    """As a share of the gradient's norm of a record whose features have norm 1, before anything is learnt."""


def calibrate(options: Options, setting: Setting) -> NoisyGradientDescent:
    """Choose the clip from public numbers; all else follows from these and the public points."""
    s = setting
    space = "none" if s.features == "auto" else s.features
    return NoisyGradientDescent(
        s.eps,
        s.delta,
        s.n_private,
        s.n_public,
        s.n_classes,
        options.clip * _size(s.n_classes),
        options.steps,
        space,
    )


def _size(n_classes: int) -> float:
    """Norm of the gradient of a record whose features have norm 1, before anything is learnt."""
    return math.hypot(1.0, CONSTANT) * (0.5 if n_classes == 2 else math.sqrt(1 - 1 / n_classes))


@dataclass(frozen=True)
class NoisyGradientDescent(PersonSums):
    """Noisy gradient descent, with momentum, on features made from public points.

    The model is ``argmax_c phi(x) . theta_c`` (for two classes the sign of ``phi(x) . theta``), phi the map
    of `KernelFeatures`, that of `OwnColumns` for ``features=none`` and for text, or any other. Each of T
    steps moves theta against a noisy sum of the persons' gradients of the logistic loss, each clipped to norm
    `clip`; a record is a person with one record where the data name no persons. The model is a mean of theta
    over the last steps (`noisy_descent`).

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one person: all of a person's records,
    replaced by any others, as many or not; n, the number of persons, is public.

    1. *What is public.* phi, T, the step size, `clip`, `grain` and sigma are functions of public points,
       public numbers and a seed. Theta is a function of these and of the noisy sums of earlier steps.
    2. *One step.* Given theta, `ClippedGradients` adds up one term a person, which is a function of that
       person's records alone, to the bit: rows of features (`stable_product`, `on_grid`) and scores are
       computed from whole numbers whose sums are exact, and sums over a person's records and norms in an
       order that depends on that person's records alone. A term is a vector of whole multiples of `grain`,
       of norm at most `clip`: it is shrunk to ``(1 - 1e-9) clip`` by a norm that floating point has right to
       1e-12, and then truncated towards 0, which makes no norm larger. The sum is of whole numbers below
       2^53 in that unit, so exact. Replacing a person takes one term out and puts another in: the sum moves
       by at most ``2 clip`` in L2. Nothing is assumed of the records but finite numbers.
    3. *All steps.* With N(0, sigma^2) noise on each number of each sum, T adaptive Gaussian mechanisms of
       that sensitivity are mu-GDP with ``mu = 2 clip sqrt(T) / sigma`` (Dong, Roth, Su 2022, Corollary 2),
       and (eps, delta)-DP by the exact profile (Balle and Wang 2018). The model is post-processing: a
       function of the noisy sums and of what is public.
    4. *Integer noise* (`integer_noise`, for a release). In units of `grain` the sum is a vector of integers,
       which moves by at most ``2 clip / grain``; N_Z(0, sigma^2) noise on all numbers of all steps is (eps,
       delta)-DP by `pate_cli.privacy.gaussian` (vectors of integers). Sum and noise are below 2^53, so the
       computation is the one that is proved. Without it the noise is drawn in floating point.
    """

    eps: float
    delta: float
    n: int
    n_public: int
    n_classes: int
    clip: float  # largest norm of a person's gradient
    steps: int | None  # T; None for the rule of `steps_for`
    features: str = "kernel"  # as `pate_cli.features.fit` takes it
    integer_noise: bool = False

    sees_features = False  # it makes its map itself, by the noise

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        if math.isinf(self.eps):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        if self.integer_noise:
            return PrivacyLoss(self.eps, self.delta, "Gaussian profile of integer noise on gradients")
        mu = mu_of(self.eps, self.delta)
        return PrivacyLoss(self.eps, self.delta, "exact Gaussian profile of noisy gradients", mu=mu)

    def with_exact_noise(self) -> NoisyGradientDescent:
        """Calibrate for integer noise."""
        return replace(self, integer_noise=True)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {
            **asdict(self),
            "steps": self.steps or f"auto, at most {self.steps_for(self.directions + 1)}",
            "directions": f"at most {self.directions}",
            "sensitivity": 2 * self.clip,
        }

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Learn from the private records; see `Mechanism`."""
        space, weights, _ = self.fit(private.records, public, door, rng)
        return self.released(FeatureClassifier(space, weights[0], self.clip / _size(self.n_classes)))

    def fit(
        self,
        private: PrivateRecords,
        public: PublicPoints,
        door: Door,
        rng: np.random.Generator,
        runs: int = 1,
    ) -> tuple[Any, FloatArray, FloatArray]:
        """Descend in one run, or in many with noise of their own, side by side, for an audit.

        The map, theta (runs, p, q), and all noisy sums added up, for which the guarantee holds too. `rng`
        draws landmarks, and nothing that privacy rests on. Fewer persons than `n` are as if the others had no
        gradient.
        """
        space = self._space(public.X, rng)
        p, q = space.dimension, self.columns
        public_features = feature_values(space, public.X[:: -(-public.n_points // _MOST_PUBLIC)])
        steps, time = self.steps_for(p), self.time_for(p)
        size = 8 * self._speed * min(1.0, time / steps) * self.grain / self.n
        gradients = ClippedGradients(
            space.apply(private.X), private.y, private.persons, clip=self.clip, grain=self.grain
        )
        weights, released = noisy_descent(
            gradients,
            door,
            (runs, p, q),
            steps=steps,
            sensitivity=2 * self.clip / self.grain,
            sigma=self.sigma_for(p),
            integer=self.integer_noise,
            move=(_along_columns if isinstance(space, OwnColumns) else _down)(public_features, size),
            momentum=1 - (1 - _MOMENTUM) / min(max(time / steps, 1.0), _LONGER),
        )
        return space, weights, released

    def _space(self, public: Any, rng: np.random.Generator) -> Any:
        """Make the map from records to features in multiples of `UNIT`."""
        if self.features == "none" or is_text(public):
            return OwnColumns.of(public)
        most = self.directions if self.bends else MOST_DIRECTIONS
        if self.features != "kernel":
            return GridFeatures.of(features.fit(self.features, public, rng, most), public)
        fewest = max(_SEEN * self._noise_of_one * self.n_public / self.n, 1.0) if self.bends else math.inf
        return KernelFeatures.of(public, rng, directions=most, fewest=fewest, bends=self.bends)

    @property
    def columns(self) -> int:
        """Columns of theta: 1 for two classes, else one a class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def _speed(self) -> float:
        """Size of a step against that for two classes: the loss is flatter for two than for four or more."""
        return 1.0 if self.n_classes == 2 else min(self.n_classes / 4, 1.0)

    @property
    def _noise_of_one(self) -> float:
        """Noise of a single sum over all of the budget, of terms of norm 1."""
        return calibrate_sigma(self.eps, self.delta, 1, 2.0)

    def time_for(self, dimension: int) -> float:
        """Steps where learning and noise balance, for so many features.

        N(0, sigma^2) noise in each of T steps is as large as a signal of ``kappa = 2 sqrt(p q) / (mu n)`` in
        the mean gradient, whatever T. Learning and noise balance after a time of about ``2 / kappa`` in steps
        of size 1; with momentum a quarter of the steps go as far.
        """
        kappa = self._noise_of_one * math.sqrt(dimension * self.columns) / self.n
        return 0.5 / (self._speed * kappa) if kappa else math.inf

    def steps_for(self, dimension: int) -> int:
        """Steps, T, for so many features."""
        fewest, most = _STEPS
        return self.steps or math.ceil(min(max(self.time_for(dimension), fewest), most))

    @property
    def bends(self) -> bool:
        """Whether functions may bend or are lines: few public points say little, unless noise leaves time."""
        return self.n_public >= FEW or self.time_for(MOST_DIRECTIONS) >= _ENOUGH

    @property
    def directions(self) -> int:
        """Most directions of the kernel: as many as noise leaves time for 10 steps with.

        For several classes, each seen in few records, no more than ``2 t^0.7``, t the time for one direction.
        """
        paid = (self.time_for(1) * math.sqrt(self.columns) / _ENOUGH) ** 2
        if self.columns > 1:
            factor, power = _SHARED
            paid = min(paid, factor * self.time_for(1) ** power)
        return int(min(max(paid, _FEWEST), MOST_DIRECTIONS))

    def sigma_for(self, dimension: int) -> float:
        """Noise on each number of a sum, in multiples of `grain`; 0 for eps = inf."""
        steps, sensitivity = self.steps_for(dimension), 2 * self.clip / self.grain
        if self.integer_noise:
            mu = vector_mu(self.eps, self.delta, steps * dimension * self.columns)
            return vector_sigma(sensitivity * math.sqrt(steps), mu)
        return calibrate_sigma(self.eps, self.delta, steps, sensitivity)

    @property
    def grain(self) -> float:
        """Unit of the sums, a power of two: they and their noise are whole numbers of 52 bits in it."""
        most = calibrate_sigma(self.eps, self.delta, self.steps or _STEPS[1], 2 * self.clip)
        return grain_for(max(self.n * self.clip, _REACH * most))

    def outputs(self, private: PrivateRecords, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
        """Outputs of `fit` for an audit: everything public is the same in every run, and on D and D'."""
        _, weights, released = self.fit(private, LINE, door, np.random.default_rng(0), runs)
        return np.hstack([weights.reshape(runs, -1), self.grain * released.reshape(runs, -1)])


def _down(known: FloatArray, size: float) -> Callable[[FloatArray], FloatArray]:
    """Steps of `size` over the largest curvature at public features of shape (m, p)."""
    rate = size / float(np.linalg.eigvalsh(known.T @ known / len(known))[-1])
    return lambda gradient: rate * gradient


def _along_columns(known: Any, size: float) -> Callable[[FloatArray], FloatArray]:
    """Step lengths where all directions but the steepest are about equally flat."""
    m = known.shape[0]
    values, vectors = np.linalg.eigh(dense(known @ known.T) / m)
    first, others = values[-1], max(values[-2:][0], _FLATTEST * values[-1])
    shared = (known.T @ vectors[:, -1]) / math.sqrt(m * first)

    def move(gradient: FloatArray) -> FloatArray:
        along = np.einsum("p,rpq->rq", shared, gradient)[:, None]
        step: FloatArray = size / others * (gradient - (1 - others / first) * shared[:, None] * along)
        return step

    return move
