"""Sub-sample-and-aggregate beyond one label a query (BTT18): private learners with teachers inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "plan"]

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
