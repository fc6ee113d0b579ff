"""Output perturbation: L2-regularised logistic regression on the private records, noise on its weights."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from pate_cli.checks import OneOf, Or, Real, option
from pate_cli.mechanisms.base import Mechanism, SampledAttack, no_answers
from pate_cli.mechanisms.direct.linear import RADIUS, Scaling, clip_rows, linear_model
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.privacy.kinds import GammaNoise, GaussianNoise, Kind
from pate_cli.types import (
    FloatArray,
    IntArray,
    PrivacyLoss,
    Private,
    PublicPoints,
    Released,
    Setting,
)

__all__ = ["TOLERANCE", "Options", "OutputPerturbation", "calibrate", "minimise"]

TOLERANCE = 1e-10
"""Largest norm of the gradient at a point that is taken for the minimiser."""

_ITERATIONS = 1000


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=output_perturbation`."""

    features_default = "none"
    checked = ({"noise": "laplace"},)

    noise: Literal["gaussian", "laplace"] = option("gaussian", OneOf(("gaussian", "laplace")))
    regularisation: float | None = option("auto", Or("auto", Real(0)))


def calibrate(options: Options, setting: Setting) -> OutputPerturbation:
    """Calibrate output perturbation.

    The rule for the regularisation: weights of norm R (10 here) cost ``regularisation R^2/2``, and noise of
    variance v a coordinate costs about ``v/8`` in the logistic loss of records of norm 1, for any d; v
    falls with ``regularisation^2``. The least sum of the two, and at least 1/n.
    """
    s, n, weight = setting, setting.n_private, options.regularisation
    problems = 1 if s.n_classes == 2 else s.n_classes
    unit = 2 / n + 2 * TOLERANCE  # the sensitivity where the regularisation is 1
    if options.noise == "gaussian":
        deviation = calibrate_sigma(s.eps, s.delta, problems, unit)
        variance = deviation**2
    else:
        deviation = unit * problems / s.eps  # 0 for eps = inf
        variance = (s.n_features + 2) * deviation**2  # |b| is Gamma(d, scale): E |b|^2 = d (d + 1) scale^2
    if weight is None:
        weight = max((variance / (2 * RADIUS**2)) ** (1 / 3), 1 / n)
    return OutputPerturbation(
        s.eps, s.delta, n, s.n_classes, weight, options.noise, unit / weight, deviation / weight
    )


@dataclass(frozen=True)
class OutputPerturbation(Mechanism):
    """Output perturbation (Chaudhuri, Monteleoni, Sarwate, JMLR 12, 2011, Algorithm 1): minimise, add noise.

    **Guarantee.** For neighbours that differ in one private record, replaced by another; n is public.
    Records are clipped to norm 1, so a record's loss has gradients of norm below 1. The objective is
    `regularisation`-strongly convex, and replacing a record changes its gradient by less than 2/n
    everywhere, so the minimiser moves by less than ``2/(n regularisation)`` (their Corollary 8). What is
    found has a gradient of norm at most t = `TOLERANCE` (checked, for any solver), so it is within
    ``t/regularisation`` of the minimiser: the sensitivity used is ``(2/n + 2 t)/regularisation``, with
    nothing left out.

    - ``noise = gaussian``: (eps, delta)-DP. N(0, scale^2) on each coordinate; the C minimisers of C > 2
      classes have L2 sensitivity sqrt(C) times that of one; the exact profile gives the scale.
    - ``noise = laplace``: (eps, 0)-DP. Density proportional to ``exp(-|b|/scale)``, scale the sensitivity
      over eps; for C > 2 classes each problem gets eps/C (basic composition).
    """

    eps: float
    delta: float
    n: int
    n_classes: int
    regularisation: float
    noise: Literal["gaussian", "laplace"]
    sensitivity: float  # of the weights of one problem, L2
    scale: float  # of the noise; 0 for eps = inf

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

    def release(
        self, private: Private, public: PublicPoints, door: Door, rng: np.random.Generator
    ) -> Released:
        """Fit on the private records; see `Mechanism`."""
        records = private.records
        scaling = Scaling.of(public.X)
        weights = self.weights(scaling.apply(records.X), records.y, door)[0]
        by_class = np.vstack([np.zeros_like(weights), weights]) if self.n_classes == 2 else weights
        return Released(linear_model(by_class, scaling), no_answers())

    def weights(self, Z: Any, y: IntArray, door: Door, runs: int = 1) -> FloatArray:
        """Minimise once, and add noise for each run: shape (runs, problems, d).

        Z are scaled records, of any norm; where they are fewer than n, the others are zeros. Two classes are
        one problem; C > 2 are C problems, each class against the rest.
        """
        Z = clip_rows(Z)
        codes = [1] if self.n_classes == 2 else range(self.n_classes)
        signs = [np.where(y == code, 1.0, -1.0) for code in codes]
        exact = np.stack([minimise(Z, each, self.n, self.regularisation) for each in signs])
        every = np.broadcast_to(exact, (runs, *exact.shape))
        kind: Kind = GammaNoise(sensitivity=self.sensitivity, scale=self.scale)
        if self.noise == "gaussian":
            kind = GaussianNoise(sensitivity=self.sensitivity * math.sqrt(len(exact)), sigma=self.scale)
        noisy: FloatArray = door.release(every, kind)
        return noisy

    def attacks(self) -> list[SampledAttack]:
        """Make worst-case neighbours: few scaled records; the other records are zeros, without a gradient.

        Against the pull of many short records the sensitivity is all but reached.
        """
        pull = self._pull()
        pairs = [
            ("a record and its mirror image", [4.0], [-4.0], []),
            ("the same, far out of bounds", [1e6], [-1e6], []),
            ("a record against nothing", [4.0], [0.0], []),
            ("steep losses, across the pull of the rest", [-0.4, 0.9], [-0.4, -0.9], pull),
            ("far out of bounds, against the pull of the rest", [-1e6, 0.0], [0.0, 0.0], pull),
        ]

        def outputs(Z: FloatArray, door: Door, rng: np.random.Generator, runs: int) -> FloatArray:
            return self.weights(Z, np.ones(len(Z), dtype=np.int64), door, runs)

        return [
            SampledAttack.on(name, (np.array([first, *many]), np.array([other, *many])), outputs)
            for name, first, other, many in pairs
        ]

    def _pull(self) -> list[list[float]]:
        """Short records that pull the weights along one axis.

        Far along it a record's loss is steep if its margin is negative. Two such records that nearly point
        away from each other across that axis, where only the regularisation holds the weights, move the
        minimiser by almost all of the sensitivity.
        """
        reach, short = 8.0, 0.3
        pull = short / (1 + math.exp(short * reach))
        return [[short, 0.0]] * min(self.n - 1, math.ceil(self.n * self.regularisation * reach / pull))


def minimise(Z: Any, signs: FloatArray, n: int, regularisation: float) -> FloatArray:
    """Minimise ``(1/n) sum_i log(1 + exp(-y_i z_i.w)) + (regularisation/2) |w|^2``, y 1 or -1; shape (d,).

    The gradient's norm is at most `TOLERANCE`: by strong convexity the point is within
    ``TOLERANCE / regularisation`` of the minimiser. FloatingPointError if such a point is not found: it then
    must not be released, as no guarantee would hold.
    """
    import scipy.sparse as sp
    from scipy.special import expit
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    d = Z.shape[1]
    fit = LogisticRegression(
        C=1 / (n * regularisation),
        fit_intercept=False,
        solver="newton-cg",
        tol=TOLERANCE / (2 * math.sqrt(d)),  # of the largest entry of the gradient
        max_iter=_ITERATIONS,
    )
    # scikit-learn wants records of both classes: two of zeros, with no share in the sum
    zeros, join = np.zeros((2, d)), sp.vstack if sp.issparse(Z) else np.vstack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gradient is looked at below
        fit.fit(join([Z, zeros]), np.append(signs, [1, -1]), np.append(np.ones(len(signs)), [0, 0]))
    w: FloatArray = fit.coef_[0]
    gradient = Z.T @ (-signs * expit(-signs * (Z @ w)) / n) + regularisation * w
    if not (size := float(np.linalg.norm(gradient))) <= TOLERANCE:
        raise FloatingPointError(f"no minimiser: the gradient is still {size:.3g}")
    return w
