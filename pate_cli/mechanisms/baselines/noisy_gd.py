"""Noisy gradient descent: DP-SGD for a linear model, with all private records in every step.

References
----------
.. [1] S. Song, K. Chaudhuri, A. Sarwate. Stochastic gradient descent with differentially private
   updates. GlobalSIP 2013.
.. [2] R. Bassily, A. Smith, A. Thakurta. Private empirical risk minimization. FOCS 2014.
.. [3] M. Abadi et al. Deep learning with differential privacy. CCS 2016 (clipping).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from pate_cli.checks import Or, Real, Whole, option
from pate_cli.mechanisms.baselines.features import RADIUS, Scaling, linear_model, row_norms, shorten
from pate_cli.mechanisms.baselines.gradients import (
    CLIPS,
    PersonGradients,
    Persons,
    grain_for,
    whole_features,
)
from pate_cli.mechanisms.baselines.neighbours import attacks_on, attacks_on_persons
from pate_cli.mechanisms.baselines.public_model import probabilities
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.types import (
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["NoisyGradientPlan", "Options", "descend", "plan", "plan_noisy_gd"]

_STEPS = (10, 300)
"""Fewest and most steps of the rule: fewer learn nothing, more cost time and hardly any accuracy."""


@dataclass(frozen=True)
class NoisyGradientPlan(Plan):
    """Full-batch noisy gradient descent on the softmax loss.

    **Guarantee.** (eps, delta)-DP for neighbours that differ in one private record, replaced by another;
    n is public. One step releases the sum of the records' gradients, each clipped to L2 norm `clip`, with
    N(0, sigma^2) noise on each coordinate. Replacing a record takes one clipped gradient out and puts
    another in, so the sum moves by at most ``2 * clip``, whatever the weights: they are the outcome of
    earlier steps. `steps` such releases, adaptively composed, are mu-GDP with
    ``mu = 2 * clip * sqrt(steps) / sigma`` (Dong, Roth, Su 2022, Corollary 2), and (eps, delta)-DP by the
    exact profile (Balle and Wang 2018). The model, an average of the weights on the way, is
    post-processing. Nothing is assumed of the records; the scale of the features, `steps`, `step_size` and
    `clip` come from public points and public numbers.

    *Persons.* Where records have units (`PrivateRecords.units`), the guarantee is for neighbours that differ
    in one person: all records, replaced by any others, as many or not; n, public, is then the number of
    persons. A step releases one term a person: the sum of the gradients of that person's records, not
    clipped one by one, shrunk to norm `clip` and truncated towards 0 to whole multiples of `grain`. It is a
    function of that person's records and of the weights alone, to the bit (`PersonGradients`, of features
    rounded by `whole_features`), and the sum of all terms is exact, so replacing a person takes one such term
    out and puts another in: it moves by at most ``2 * clip``, and all else is as above. How many records
    there are in all is used nowhere.

    Attributes
    ----------
    eps, delta : float
    n : int
        Private records, or persons.
    n_classes : int
    steps : int
    step_size : float
        Of the mean gradient, on records of norm about 1. The loss has curvature 1/2 at most there.
    clip : float
        Largest norm of a record's gradient, or of the sum of a person's; sqrt(2) is the largest a record of
        norm 1 can have. Half of it, the default, is what an undecided record of two classes has: half the
        noise, and only records that are classified wrongly are shortened.
    sigma : float
        Standard deviation of the noise on a coordinate of the sum of gradients; 0 for eps = inf.
    """

    eps: float
    delta: float
    n: int
    n_classes: int
    steps: int
    step_size: float
    clip: float
    sigma: float

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all steps."""
        if self.sigma == 0:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        return PrivacyLoss(self.eps, self.delta, f"exact Gaussian profile of {self.steps} noisy gradients")

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    @property
    def protects_units(self) -> bool:
        """It does: a person's records are one term of a sum."""
        return True

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
        """Descend on the private records; see `Plan`."""
        records = private.records
        scaling = Scaling.of(public.X)
        weights = descend(self, scaling.apply(records.X), records.y, door, units=records.units)
        return Released(linear_model(weights[0], scaling), no_answers(), self.guarantee)

    def attacks(self) -> list[SampledAttack]:
        """Put worst-case records to `descend` itself; see `Plan`."""
        return attacks_on(lambda Z, y, door, runs: descend(self, Z, y, door, runs), 60_000)

    def attacks_on_persons(self) -> list[SampledAttack]:
        """All records of one person in place of others; see `Plan`."""
        return attacks_on_persons(partial(descend, self), min(20_000, max(400_000 // self.steps, 500)))


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=noisy_gd`."""

    steps: int | None = option("auto", Or("auto", Whole(1)))
    step_size: float = option(4.0, Real(0))
    clip: float = option(math.sqrt(0.5), Real(*CLIPS))


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate for the steps given, or chosen by the rule of `plan_noisy_gd`."""
    return plan_noisy_gd(setting, steps=options.steps, step_size=options.step_size, clip=options.clip)


def plan_noisy_gd(setting: Setting, *, steps: int | None, step_size: float, clip: float) -> NoisyGradientPlan:
    """Calibrate the noise, and choose how many steps to take where it is left open.

    Parameters
    ----------
    setting : Setting
    steps : int or None
        None for the rule: the excess risk of the averaged weights after a time ``t = steps * step_size`` is
        about ``R^2/(2 t) + t d s^2/2`` with R the norm of good weights (10 here) and s the noise on the
        mean gradient over unit time, so ``t = R/(s sqrt(d))``.
    step_size, clip : float
        Positive.
    """
    s, n = setting, setting.n_private
    if steps is None:
        fewest, most = _STEPS
        if math.isinf(s.eps):
            steps = most
        else:
            one = calibrate_sigma(s.eps, s.delta, 1, 2 * clip) / n
            time = RADIUS / (one * math.sqrt(s.n_features + 1))
            steps = math.ceil(min(max(time / step_size, fewest), most))
    sigma = calibrate_sigma(s.eps, s.delta, steps, 2 * clip)
    return NoisyGradientPlan(s.eps, s.delta, n, s.n_classes, steps, step_size, clip, sigma)


def descend(
    plan: NoisyGradientPlan, Z: Any, y: IntArray, door: Door, runs: int = 1, units: IntArray | None = None
) -> FloatArray:
    """Descend from 0; the weights are those of the second half of the steps, averaged.

    Parameters
    ----------
    plan : NoisyGradientPlan
    Z : ndarray or csr_matrix of shape (rows, d)
        Scaled records, of any finite norm; where there are fewer than `plan.n`, or fewer persons, the others
        are zeros and have no gradient.
    y : ndarray of int64, shape (rows,)
    door : Door
    runs : int
        Independent runs side by side, for auditing.
    units : ndarray of int64, shape (rows,), optional
        Whose each record is, as in `PrivateRecords`.

    Returns
    -------
    ndarray of shape (runs, C, d)
    """
    gradient_at = _of_records(plan, Z, y) if units is None else _of_persons(plan, Z, y, units)
    weights = np.zeros((runs, plan.n_classes, Z.shape[1]))
    total = np.zeros_like(weights)
    averaged = (plan.steps + 1) // 2
    for step in range(plan.steps):
        gradient = door.gaussian(gradient_at(weights), sensitivity=2 * plan.clip, sigma=plan.sigma)
        weights = weights - (plan.step_size / plan.n) * gradient
        if step >= plan.steps - averaged:
            total += weights
    return total / averaged


def _of_records(plan: NoisyGradientPlan, Z: Any, y: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Give what adds up the records' clipped gradients, at weights of shape (runs, C, d)."""
    Z = shorten(Z)
    norms = row_norms(Z)[:, None]
    truth = np.eye(plan.n_classes)[y][:, None, :]

    def of_two(weights: FloatArray) -> FloatArray:
        """With half of the work: what is missed of one class is there too much of the other."""
        scores = np.asarray(Z @ (weights[:, 1] - weights[:, 0]).T)
        miss = probabilities(scores[:, :, None])[:, :, 0] - truth[:, :, 1]
        size = math.sqrt(2) * np.abs(miss) * norms
        miss *= plan.clip / np.maximum(size, plan.clip)
        of_second = np.asarray(Z.T @ miss).T
        return np.stack([-of_second, of_second], axis=1)

    def gradient(weights: FloatArray) -> FloatArray:
        runs, n_classes, d = weights.shape
        miss = _softmax(np.asarray(Z @ weights.reshape(-1, d).T).reshape(-1, runs, n_classes))
        miss -= truth  # a record's gradient is the outer product of this and the record
        size = np.sqrt(np.einsum("irc,irc->ir", miss, miss)) * norms
        miss *= (plan.clip / np.maximum(size, plan.clip))[:, :, None]
        return np.asarray(Z.T @ miss.reshape(-1, runs * n_classes)).T.reshape(weights.shape)

    return of_two if plan.n_classes == 2 else gradient


def _of_persons(
    plan: NoisyGradientPlan, Z: Any, y: IntArray, units: IntArray
) -> Callable[[FloatArray], FloatArray]:
    """Give what adds up the clipped sums of persons' gradients, at weights of shape (runs, C, d)."""
    seen = PersonGradients(whole_features(Z), y, Persons(units), clip=plan.clip, grain=plan.grain)
    return lambda weights: plan.grain * seen.gradient(weights.transpose(0, 2, 1)).transpose(0, 2, 1)


def _softmax(scores: FloatArray) -> FloatArray:
    """Probabilities along the last axis, in place."""
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=2, keepdims=True)
    return scores
