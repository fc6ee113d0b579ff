"""Output perturbation (Chaudhuri, Monteleoni, Sarwate 2011): a regularised fit, and noise on its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pate_cli.checks import OneOf, Or, Real, option
from pate_cli.mechanisms.baselines.perturbation import NOISES, plan_output
from pate_cli.mechanisms.protocol import Plan
from pate_cli.types import Setting

__all__ = ["Options", "plan"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=output_perturbation`."""

    noise: Literal["gaussian", "laplace"] = option("gaussian", OneOf(NOISES))
    regularisation: float | None = option("auto", Or("auto", Real(0)))


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate; see `plan_output`."""
    return plan_output(setting, options.noise, options.regularisation)
