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
    from pate_cli.mechanisms.protocol import LearnerPlan, SampledAttack
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "attacks", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {
    "noisy_gd": {"steps": "auto", "step_size": 4.0, "clip": math.sqrt(2)},
    "output_perturbation": {"noise": "gaussian", "regularisation": "auto"},
    "objective_perturbation": {"regularisation": "auto"},
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
        from pate_cli.mechanisms.baselines.noisy_gd import plan_noisy_gd

        return plan_noisy_gd(
            setting,
            steps=_steps(given["steps"]),
            step_size=_positive("step_size", given["step_size"]),
            clip=_positive("clip", given["clip"]),
        )
    from pate_cli.mechanisms.baselines import perturbation

    regularisation = given["regularisation"]
    weight = None if regularisation == "auto" else _positive("regularisation", regularisation, "auto, or ")
    if name == "objective_perturbation":
        return perturbation.plan_objective(setting, weight)
    if given["noise"] not in perturbation.NOISES:
        raise ConfigError("mechanism.noise", given["noise"], ", ".join(perturbation.NOISES))
    return perturbation.plan_output(setting, given["noise"], weight)


def attacks(plan: LearnerPlan) -> list[SampledAttack]:
    """Worst-case neighbours for a plan of this room; see `pate_cli.mechanisms.baselines.neighbours`."""
    from pate_cli.mechanisms.baselines.neighbours import attacks as made
    from pate_cli.mechanisms.protocol import SampledAttack

    runs = 200_000 if hasattr(plan, "scale") else 60_000  # the others are slow
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
