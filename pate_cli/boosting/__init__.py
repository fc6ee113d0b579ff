"""Boosting by votes: a private learner whose teachers are trained again on what the student gets wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.mechanisms.protocol import LearnerPlan
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {"boosting": {"rounds": 4, "step": 4.0, "kernel": "auto"}}
"""Options of each learner here (`mechanism.OPTION`), with their defaults."""


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    ConfigError
        If an option is not accepted.
    """
    from pate_cli.mechanisms.boosting import BoostingPlan

    rounds, step, kernel = options["rounds"], options["step"], options["kernel"]
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= 100:
        raise ConfigError("mechanism.rounds", rounds, "a whole number from 1 to 100")
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step <= 100:
        raise ConfigError("mechanism.step", step, "a number in (0, 100]")
    if kernel not in ("auto", "linear", "rbf"):
        raise ConfigError("mechanism.kernel", kernel, "auto, linear, rbf")
    return BoostingPlan.of(setting, rounds=rounds, step=float(step), kernel=kernel)
