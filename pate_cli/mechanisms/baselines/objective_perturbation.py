"""Objective perturbation (Chaudhuri, Monteleoni, Sarwate 2011): noise in the objective that is minimised."""

from __future__ import annotations

from dataclasses import dataclass

from pate_cli.checks import Or, Real, option
from pate_cli.mechanisms.baselines.perturbation import plan_objective
from pate_cli.mechanisms.protocol import Plan
from pate_cli.types import Setting

__all__ = ["Options", "plan"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=objective_perturbation`."""

    regularisation: float | None = option("auto", Or("auto", Real(0)))


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate; see `plan_objective`."""
    return plan_objective(setting, options.regularisation)
