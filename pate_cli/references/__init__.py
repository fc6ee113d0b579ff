"""Private learners a user would pick instead of PATE: references, trained on the records themselves.

Two classes or more, linear models, hyper-parameters from public numbers only. Importing this
package is cheap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan, SampledAttack
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "attacks", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {
    "noisy_gd": {"steps": "auto", "step_size": 4.0, "clip": math.sqrt(2)},
    "output_perturbation": {"noise": "gaussian", "regularisation": "auto"},
    "objective_perturbation": {"regularisation": "auto"},
    "public_kernel": {"solver": "gd", "steps": "auto", "clip": 0.5},
}
"""Options of each learner here (`mechanism.OPTION`), with their defaults."""


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    InputError
        If an option is not accepted, or the learner cannot work in this setting.
    """
    given = {**OPTIONS[name], **options}
    if name == "noisy_gd":
        from pate_cli.references.noisy_gd import plan_noisy_gd

        return plan_noisy_gd(
            setting,
            steps=_steps(given["steps"]),
            step_size=_positive("step_size", given["step_size"]),
            clip=_positive("clip", given["clip"]),
        )
    if name == "public_kernel":
        from pate_cli.references.public_kernel import SOLVERS, plan_public_kernel

        if given["solver"] not in SOLVERS:
            raise ConfigError("mechanism.solver", given["solver"], ", ".join(SOLVERS))
        return plan_public_kernel(
            setting,
            solver=given["solver"],
            steps=_steps(given["steps"]),
            clip=_positive("clip", given["clip"]),
        )
    from pate_cli.references import perturbation

    regularisation = given["regularisation"]
    weight = None if regularisation == "auto" else _positive("regularisation", regularisation, "auto, or ")
    if name == "objective_perturbation":
        return perturbation.plan_objective(setting, weight)
    if given["noise"] not in perturbation.NOISES:
        raise ConfigError("mechanism.noise", given["noise"], ", ".join(perturbation.NOISES))
    return perturbation.plan_output(setting, given["noise"], weight)


def attacks(plan: Any) -> list[SampledAttack]:
    """Worst-case neighbours for a plan of this room; see `neighbours` and `public_neighbours`."""
    from pate_cli.private_learner import SampledAttack
    from pate_cli.references import neighbours, public_neighbours
    from pate_cli.references.public_kernel import PublicKernelPlan

    made = public_neighbours.attacks if isinstance(plan, PublicKernelPlan) else neighbours.attacks
    runs = 200_000 if hasattr(plan, "scale") else 60_000  # the others are slow
    if isinstance(plan, PublicKernelPlan):
        runs = 20_000
    return [SampledAttack(name, sample, runs) for name, sample in made(plan)]


def _steps(value: Any) -> int | None:
    from pate_cli.datasets.options import is_whole

    if value == "auto":
        return None
    if not is_whole(value) or value < 1:
        raise ConfigError("mechanism.steps", value, "auto, or a whole number >= 1")
    return int(value)


def _positive(key: str, value: Any, otherwise: str = "") -> float:
    from pate_cli.datasets.options import is_real

    if not is_real(value) or not value > 0:
        raise ConfigError(f"mechanism.{key}", value, f"{otherwise}a number > 0")
    return float(value)
