"""Output and objective perturbation of L2-regularised logistic regression.

References
----------
.. [1] K. Chaudhuri, C. Monteleoni, A. Sarwate. Differentially private empirical risk minimization.
   JMLR 12, 2011.
.. [2] B. Balle, Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML 2018.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from pate_cli.mechanisms.baselines.features import RADIUS, Scaling, clip_rows, linear_model
from pate_cli.mechanisms.baselines.minimiser import TOLERANCE, minimise
from pate_cli.mechanisms.baselines.neighbours import against_many, attacks_on, attacks_on_persons
from pate_cli.mechanisms.protocol import Plan, SampledAttack, no_answers
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.privacy.noise import Noise
from pate_cli.types import (
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["NOISES", "ObjectivePlan", "OutputPlan", "gamma_noise", "plan_objective", "plan_output"]

NOISES = ("gaussian", "laplace")

_CURVATURE = 0.25
"""c: the largest second derivative of the logistic loss."""


class _LinearPlan(Plan):
    """What both plans share: records clipped to the unit ball, a two-class problem for each class."""

    n: int
    n_classes: int
    regularisation: float

    @property
    def n_teachers(self) -> int:
        """None."""
        return 0

    @property
    def protects_units(self) -> bool:
        """They do: the loss of a person is a mean."""
        return True

    @property
    def n_problems(self) -> int:
        """One problem for two classes; for C > 2 each class against the rest, C problems."""
        return problems(self.n_classes)

    def weights(
        self, Z: Any, y: IntArray, noise: Noise, runs: int = 1, units: IntArray | None = None
    ) -> FloatArray:
        """Weights of each problem, shape (runs, n_problems, d), of records of any norm; and whose."""
        raise NotImplementedError

    @property
    def guarantee(self) -> PrivacyLoss:
        """What the whole run is promised to cost."""
        raise NotImplementedError

    def release(
        self, private: Private, public: PublicPoints, noise: Noise, rng: np.random.Generator
    ) -> Released:
        """Fit on the private records; see `Plan`."""
        records = private.records
        scaling = Scaling.of(public.X)
        found = self.weights(scaling.apply(records.X), records.y, noise, units=records.units)[0]
        by_class = np.vstack([np.zeros_like(found), found]) if self.n_classes == 2 else found
        return Released(linear_model(by_class, scaling), no_answers(), self.guarantee)

    def attacks(self) -> list[SampledAttack]:
        """Put worst-case records to `weights` itself; see `Plan`."""
        return attacks_on(self.weights, 60_000)


@dataclass(frozen=True)
class OutputPlan(_LinearPlan):
    """Output perturbation (Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1): minimise, then add noise.

    **Guarantee.** For neighbours that differ in one private record, replaced by another; n is public. Where
    records have units (`PrivateRecords.units`), for neighbours that differ in one person: all records, as
    many or not; n is then the number of persons, and the loss of a person, in place of that of a record
    below, is the mean of the losses of that person's records, whose gradients are no longer than theirs.
    Records are clipped to norm 1, so a record's loss has gradients of norm below 1. The objective is
    `regularisation`-strongly convex, and replacing a record changes its gradient by less than 2/n
    everywhere, so the minimiser moves by less than ``2/(n regularisation)`` (their Corollary 8). What is
    found has a gradient of norm at most t = `minimiser.TOLERANCE`, so it is within ``t/regularisation`` of
    the minimiser: the sensitivity used is ``(2/n + 2 t)/regularisation``, with nothing left out.

    - ``noise = gaussian``: (eps, delta)-DP. N(0, scale^2) on each coordinate; the C minimisers of C > 2
      classes have L2 sensitivity sqrt(C) times that of one; the exact profile gives the scale.
    - ``noise = laplace``: (eps, 0)-DP. Density proportional to ``exp(-|b|/scale)``, scale the sensitivity
      over eps; for C > 2 classes each problem gets eps/C (basic composition).

    Attributes
    ----------
    eps, delta : float
    n, n_classes : int
    regularisation : float
    noise : {"gaussian", "laplace"}
    sensitivity : float
        Of the weights of one problem, L2.
    scale : float
        Of the noise; 0 for eps = inf.
    """

    eps: float
    delta: float
    n: int
    n_classes: int
    regularisation: float
    noise: Literal["gaussian", "laplace"]
    sensitivity: float
    scale: float
    name = "output_perturbation"

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta), or (eps, 0)."""
        if self.scale == 0:
            return PrivacyLoss(math.inf, 0.0, "no noise")
        if self.noise == "laplace":
            return PrivacyLoss(self.eps, 0.0, "output perturbation, gamma-norm noise")
        return PrivacyLoss(self.eps, self.delta, "output perturbation, exact Gaussian profile")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return asdict(self)

    def weights(
        self, Z: Any, y: IntArray, noise: Noise, runs: int = 1, units: IntArray | None = None
    ) -> FloatArray:
        """Minimise once, add noise to each run; see `_LinearPlan`."""
        Z = clip_rows(Z)
        shares = _shares(units)
        exact = np.stack(
            [
                minimise(
                    *(Z, sign, np.zeros(Z.shape[1])),
                    n=self.n,
                    regularisation=self.regularisation,
                    shares=shares,
                )
                for sign in signs(y, self.n_classes)
            ]
        )
        shape = (runs, *exact.shape)
        if self.noise == "gaussian":
            return exact + noise.gaussian(self.scale, math.prod(shape)).reshape(shape)
        return exact + gamma_noise(noise, self.scale, runs * len(exact), Z.shape[1]).reshape(shape)

    def attacks(self) -> list[SampledAttack]:
        """As of any of these learners, and against the pull of many records, where it is all but tight."""
        pairs = {
            "steep losses, across the pull of the rest": against_many(self, (-0.4, 0.9), (-0.4, -0.9)),
            "far out of bounds, against the pull of the rest": against_many(self, (-1e6, 0.0), (0.0, 0.0)),
        }
        return attacks_on(self.weights, 200_000, pairs)

    def attacks_on_persons(self) -> list[SampledAttack]:
        """All records of one person in place of others; see `Plan`."""
        return attacks_on_persons(self.weights, 100_000)


@dataclass(frozen=True)
class ObjectivePlan(_LinearPlan):
    """Objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 2): noise, then minimise.

    Minimises ``J(w) + b.w/n + (extra/2) |w|^2`` with J the regularised mean loss and b of density
    proportional to ``exp(-eps_noise |b| / 2)``.

    **Guarantee.** (eps, 0)-DP for neighbours that differ in one private record, replaced by another; n is
    public (their Theorem 9). Records are clipped to norm 1. For given records, b and the minimiser w
    determine each other. For one w, the b of neighbours differ by a difference of two gradients of norm
    below 1, so their densities differ by a factor of ``exp(eps_noise)`` at most; the Jacobians of the two
    maps, a change of rank 2 and size c = 1/4 to a matrix that is at least ``n (regularisation + extra)``,
    differ by ``(1 + c/(n (regularisation + extra)))^2`` at most. `eps_noise` is what is left of eps after
    that: with extra = 0, or, if nothing would be left, eps/2 with the `extra` that makes the second factor
    ``exp(eps/2)``. For C > 2 classes each of C problems, a class against the rest, gets eps/C (basic
    composition).

    *Persons.* Where records have units (`PrivateRecords.units`), the same holds for neighbours that differ in
    one person: all records, as many or not; n is then the number of persons, and the loss of a person is the
    mean of the losses of that person's records. Its gradient is no longer than theirs, so the first factor
    is as above. Its Hessian H may be of any rank, but it is positive semidefinite and its trace is c at
    most. With M the rest of the matrix, at least ``L = n (regularisation + extra)``, and H' the Hessian of
    the other person, ``det(M + H)/det(M + H') <= det(M + H)/det(M) = det(I + M^(-1/2) H M^(-1/2))``, and as
    ``ln(1 + x) <= x`` for each eigenvalue that is at most exp of their sum, ``exp(tr(H)/L) <= exp(c/L)``.
    Neither factor passes ``max((1 + c/L)^2, exp(c/L))``, which is the one that eps pays for: the published
    one, unless c/L is above 2.5, as a `regularisation` below 0.1/n that is asked for may have it.

    **It is a theorem about the exact minimiser.** What is released has a gradient of norm at most
    `minimiser.TOLERANCE` = 1e-10, so it is the exact minimiser for another b, off by at most 1e-10 n against
    a norm of about 2 d/eps. That gap, like the rounding of floats in any mechanism here, is outside the
    theorem; where the point is not found nothing is released.

    Attributes
    ----------
    eps : float
        Of the whole.
    n, n_classes : int
        Private records, or persons; classes.
    regularisation : float
    extra : float
        Delta of the paper.
    eps_noise : float
        The paper's eps', of one problem.
    """

    eps: float
    n: int
    n_classes: int
    regularisation: float
    extra: float
    eps_noise: float
    name = "objective_perturbation"

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, 0)."""
        if math.isinf(self.eps_noise):
            return PrivacyLoss(math.inf, 0.0, "no noise")
        return PrivacyLoss(self.eps, 0.0, "objective perturbation")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return {**asdict(self), "delta": 0.0}

    def weights(
        self, Z: Any, y: IntArray, noise: Noise, runs: int = 1, units: IntArray | None = None
    ) -> FloatArray:
        """Minimise a perturbed objective in each run; see `_LinearPlan`."""
        import scipy.sparse as sp

        Z, d, shares = clip_rows(Z), Z.shape[1], _shares(units)
        # independent runs are one problem with a block for each
        blocks = Z if runs == 1 else sp.kron(sp.identity(runs, format="csr"), Z, format="csr")
        solve = partial(
            minimise,
            n=self.n,
            regularisation=self.regularisation + self.extra,
            shares=None if shares is None else np.tile(shares, runs),
        )
        found = []
        for sign in signs(y, self.n_classes):
            scale = 0.0 if math.isinf(self.eps_noise) else 2 / self.eps_noise
            linear = gamma_noise(noise, scale, runs, d).ravel() / self.n
            found.append(solve(blocks, np.tile(sign, runs), linear))
        return np.stack([w.reshape(runs, d) for w in found], axis=1)

    def attacks_on_persons(self) -> list[SampledAttack]:
        """All records of one person in place of others; see `Plan`."""
        return attacks_on_persons(self.weights, 10_000)


def plan_output(setting: Setting, noise: Literal["gaussian", "laplace"], weight: float | None) -> OutputPlan:
    """Calibrate output perturbation.

    Parameters
    ----------
    setting : Setting
    noise : {"gaussian", "laplace"}
    weight : float or None
        Of the regularisation; None for the rule: weights of norm R (10 here) cost ``weight R^2/2``, and noise
        of variance v a coordinate costs about ``v/8`` in the logistic loss of records of norm 1, whatever
        d is; v falls with ``weight^2``. The least sum of the two, and at least 1/n.
    """
    s, n, pieces = setting, setting.n_private, problems(setting.n_classes)
    unit = 2 / n + 2 * TOLERANCE  # the sensitivity at weight 1
    if noise == "gaussian":
        deviation = calibrate_sigma(s.eps, s.delta, pieces, unit)
        variance = deviation**2
    else:
        deviation = unit * pieces / s.eps  # 0 for eps = inf
        variance = (s.n_features + 2) * deviation**2  # |b| is Gamma(d, scale): E |b|^2 = d (d + 1) scale^2
    if weight is None:
        weight = max((variance / (2 * RADIUS**2)) ** (1 / 3), 1 / n)
    return OutputPlan(s.eps, s.delta, n, s.n_classes, weight, noise, unit / weight, deviation / weight)


def plan_objective(setting: Setting, weight: float | None) -> ObjectivePlan:
    """Calibrate objective perturbation.

    Parameters
    ----------
    setting : Setting
    weight : float or None
        Of the regularisation; None for the rule: weights of norm R (10 here) cost ``weight R^2/2``, and
        the noise at most ``|b|^2/(2 n^2 weight)`` with |b| about 2 d/eps. The least sum of the two, and at
        least 1/n.
    """
    s, n = setting, setting.n_private
    eps = s.eps / problems(s.n_classes)
    d = s.n_features + 1
    if weight is None:
        weight = max(2 * math.sqrt(d * (d + 1)) / (n * eps * RADIUS), 1 / n)
    share, extra = _CURVATURE / (n * weight), 0.0
    eps_noise = eps - max(2 * math.log1p(share), share)
    if eps_noise <= 0:
        share = min(math.expm1(eps / 4), eps / 2)  # that costs eps/2
        eps_noise, extra = eps / 2, _CURVATURE / (n * share) - weight
    return ObjectivePlan(s.eps, n, s.n_classes, weight, extra, eps_noise)


def problems(n_classes: int) -> int:
    """Two-class problems that make up one of C classes."""
    return 1 if n_classes == 2 else n_classes


def _shares(units: IntArray | None) -> FloatArray | None:
    """Weight of each record in its person's mean; None for records by themselves."""
    return None if units is None else 1 / np.bincount(units)[units]


def signs(y: IntArray, n_classes: int) -> list[FloatArray]:
    """Labels of each problem, 1 or -1: class 1 of two, or each of C against the rest."""
    return [np.where(y == code, 1.0, -1.0) for code in ([1] if n_classes == 2 else range(n_classes))]


def gamma_noise(noise: Noise, scale: float, count: int, d: int) -> FloatArray:
    """Vectors of density proportional to ``exp(-|b|/scale)``, shape (count, d).

    The norm is Gamma(d, scale), a sum of d exponentials, and the direction is uniform.
    """
    norms = noise.exponential(scale, count * d).reshape(count, d).sum(axis=1)
    directions = noise.gaussian(1.0, count * d).reshape(count, d)
    vectors: FloatArray = directions * (norms / np.linalg.norm(directions, axis=1))[:, None]
    return vectors
