"""Confident-GNMax (Papernot et al. 2018): labels alone, where a noisy check says that teachers agree."""

from __future__ import annotations

from dataclasses import dataclass

from pate_cli.checks import Real, option
from pate_cli.mechanisms.gnmax import SANITISE, plan_gnmax
from pate_cli.mechanisms.labelling import LabelledByVotes
from pate_cli.mechanisms.protocol import Plan
from pate_cli.queries.passive import Passive
from pate_cli.types import Setting

__all__ = ["Options", "plan"]

_SHARE = Real(0, 1, open_above=True)


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=confident_gnmax`."""

    sanitise: float = option(0.0, SANITISE)
    confidence: float = option(0.75, _SHARE)
    """Share of the teachers that the check asks for."""
    checks: float = option(0.2, _SHARE)
    """Share of mu^2 that all checks may spend."""


def plan(options: Options, setting: Setting) -> Plan:
    """Check all public points, and answer at most `split.budget` of them."""
    labelling = plan_gnmax(
        setting,
        name="confident_gnmax",
        sanitise=options.sanitise,
        confidence=options.confidence,
        checks=options.checks,
    )
    return LabelledByVotes(labelling, Passive(), setting)
