"""Agnostic private learners over classes with listable dichotomies (NB20, LWY25)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "plan"]

OPTIONS: dict[str, dict[str, Any]] = {}
"""Options of each learner here (`mechanism.OPTION`), with their defaults."""


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    InputError
        If an option is not accepted, or the learner cannot work in this setting.
    """
    raise ConfigError("mechanism.name", name, ", ".join(OPTIONS))
