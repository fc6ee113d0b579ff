"""Agnostic private learners over classes with listable dichotomies (NB20, LWY25)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError

if TYPE_CHECKING:
    from pate_cli.private_learner import LearnerPlan
    from pate_cli.types import Setting

__all__ = ["OPTIONS", "plan"]

# copies of what each module says: importing them would load scikit-learn at every start (a test compares)
_CLASS: dict[str, Any] = {"hypotheses": "stumps", "calibration": "tight"}
_AGPRIVCL: dict[str, Any] = {
    **_CLASS,
    "teachers": "class",
    "relabel_eps": 1.0,
    "cutoff": "auto",
    "alpha": 0.1,
    "beta": 0.05,
}

OPTIONS: dict[str, dict[str, Any]] = {
    "agprivcl": _AGPRIVCL,
    "sspp": _CLASS,
    "universal": {**_AGPRIVCL, "share": 0.5, "first": "auto"},
    "realizable_to_agnostic": {**_CLASS, "inner": "exponential", "cutoff": "auto"},
    "private_prediction": {**_CLASS, "queries": 1, "alpha": 0.1},
}
"""Options of each learner here (`mechanism.OPTION`), with their defaults."""


def _module(name: str) -> Any:
    if name not in OPTIONS:
        raise ConfigError("mechanism.name", name, ", ".join(OPTIONS))
    from pate_cli.agnostic import agprivcl, prediction, sspp, transform, universal

    return {
        "agprivcl": agprivcl,
        "sspp": sspp,
        "universal": universal,
        "realizable_to_agnostic": transform,
        "private_prediction": prediction,
    }[name]


def plan(name: str, options: Mapping[str, Any], setting: Setting) -> LearnerPlan:
    """Check the options of a learner and calibrate it.

    Raises
    ------
    InputError
        If an option is not accepted, or the learner cannot work in this setting.
    """
    made: LearnerPlan = _module(name).plan({**OPTIONS.get(name, {}), **options}, setting)
    return made
