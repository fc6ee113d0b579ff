"""The mechanisms with integer noise, for a release; their proofs stand in `pate_cli.privacy.discrete`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.gaussian import GaussianService
from pate_cli.mechanisms.plan import GaussianPlan, LabellingPlan, SvtPlan, fewest_teachers
from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy.discrete import (
    calibrate_discrete_sigma,
    discrete_calibration,
    discrete_eps,
    unit_shifts,
)
from pate_cli.privacy.noise import Noise
from pate_cli.types import PrivacyLoss

__all__ = ["IntegerGaussianPlan", "IntegerGaussianService", "IntegerSvtPlan", "with_integer_noise"]


@dataclass(frozen=True)
class IntegerGaussianPlan(GaussianPlan):
    """The Gaussian mechanism with noise N_Z(0, sigma^2); see `IntegerGaussianService`."""

    n_classes: int

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for all `ell` queries."""
        return PrivacyLoss(self.eps, self.delta, f"integer Gaussian profile of {self.ell} queries")

    def service(self, noise: Noise, runs: int = 1) -> VoteService:
        """Put it to work, in one run or in several side by side."""
        return IntegerGaussianService(self, noise, runs)

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return super().describe() | {"integer_noise": True}


class IntegerGaussianService(GaussianService):
    """Noisy majority with integer noise, which `noise` must be a source of.

    **Guarantee.** (eps, delta)-DP under the assumptions of `GaussianService`, by the
    bound of `pate_cli.privacy.discrete.log_discrete_profile`.
    """

    def __init__(self, plan: IntegerGaussianPlan, noise: Noise, runs: int = 1) -> None:
        super().__init__(plan.sigma, plan.ell, plan.delta, plan.sensitivity, noise, runs)
        self._plan = plan

    def spent(self) -> PrivacyLoss:
        """Loss of the queries asked so far: a report, not a guarantee."""
        plan = self._plan
        eps = discrete_eps(plan.sigma, unit_shifts(self._asked, plan.n_classes), plan.delta)
        how = f"integer Gaussian profile of the {self._asked} queries asked"
        return PrivacyLoss(min(eps, plan.eps), plan.delta, how, data_dependent=True)

    def odometer(self) -> PrivacyLoss:
        """Not proved for integer noise: the budget."""
        return PrivacyLoss(self._plan.eps, self._plan.delta, "the budget", data_dependent=True)


@dataclass(frozen=True)
class IntegerSvtPlan(SvtPlan):
    """The sparse vector technique with discrete Laplace or geometric noise and an integer threshold."""

    @property
    def guarantee(self) -> PrivacyLoss:
        """(eps, delta) for the whole run."""
        loss = super().guarantee
        return PrivacyLoss(loss.eps, loss.delta, f"{loss.how}, integer noise")

    def describe(self) -> dict[str, Any]:
        """Its public numbers."""
        return super().describe() | {"integer_noise": True}


def with_integer_noise(plan: LabellingPlan, *, n_classes: int, n_teachers: int) -> LabellingPlan:
    """Calibrate a plan anew for integer noise.

    Raises
    ------
    ConfigError
        If eps asks for less noise than the integer Gaussian's bounds are for, or there is none (eps = inf).
    InfeasibleError
        If the threshold, now an integer, is out of reach.
    """
    if isinstance(plan, GaussianPlan):
        try:
            sigma = calibrate_discrete_sigma(plan.eps, plan.delta, plan.ell, n_classes)
        except ValueError as error:
            raise ConfigError("eps", plan.eps, f"less with release=true: {error}") from error
        return IntegerGaussianPlan(plan.eps, plan.delta, plan.ell, sigma, plan.sensitivity, n_classes)
    if isinstance(plan, SvtPlan):
        calibration = discrete_calibration(plan.calibration)
        best = max_distance(n_teachers)
        if calibration.threshold >= best or calibration.p_unstable(best) > 0.5:
            raise InfeasibleError(
                f"mechanism=svt cannot answer with {n_teachers} teachers: with release=true its threshold is"
                f" {calibration.threshold:g}, and a unanimous vote has distance {best}; what would do:"
                f" at least {fewest_teachers(calibration)} teachers (teacher.count, or less teacher.size)"
            )
        return IntegerSvtPlan(calibration)
    raise ConfigError("eps", float("inf"), "a finite number with release=true")
