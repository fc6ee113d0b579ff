"""Sub-sample-and-aggregate beyond one label a query (BTT18): private learners with teachers inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan, SampledAttack
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "attacks", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {
    "soft": {"width": 0.1, "calibration": "tight", "cutoff": "auto"},
    "svt_private": {"calibration": "tight", "holdout": 0.1, "share": 0.1},
}
"""Options of each learner here (`mechanism.OPTION`), with their defaults.

`svt_private` is what ``mechanism=svt mechanism.cutoff=private`` is called here.
"""


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    InputError
        If an option is not accepted, or the learner cannot work in this setting.
    """
    if name == "soft":
        from pate_cli.aggregation.soft import plan_soft

        return plan_soft(options, setting)
    if name == "svt_private":
        from pate_cli.aggregation.cutoff import plan_private_cutoff

        return plan_private_cutoff(options, setting)
    raise ConfigError("mechanism.name", name, ", ".join(OPTIONS))


def attacks(plan: LearnerPlan) -> list[SampledAttack]:
    """Worst-case inputs for an audit of a plan made here.

    Parameters
    ----------
    plan : LearnerPlan
        With noise: at eps = inf there is nothing to attack.
    """
    from pate_cli.aggregation import cutoff, soft
    from pate_cli.private_learner import SampledAttack

    if isinstance(plan, soft.SoftPlan):
        return [SampledAttack(*pair, runs=80_000) for pair in soft.attacks(plan)]
    if isinstance(plan, cutoff.PrivateCutoffPlan):
        return [SampledAttack(*pair, runs=100_000) for pair in cutoff.attacks(plan)]
    raise TypeError(f"{type(plan).__name__} is not a plan of this room")
