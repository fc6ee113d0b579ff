"""Labelling services: votes of one query in, an answer (or none) out, adaptively.

A mechanism is chosen and calibrated from public numbers (`plan`), then put to
work on votes (`LabellingPlan.service`).
"""

from pate_cli.mechanisms.attacks import VoteAttack
from pate_cli.mechanisms.counting import auto_count
from pate_cli.mechanisms.gnmax import GnmaxPlan, plan_gnmax
from pate_cli.mechanisms.integer import with_integer_noise
from pate_cli.mechanisms.plan import (
    GaussianPlan,
    LabellingPlan,
    NoPrivacyPlan,
    SvtPlan,
    plan_gaussian,
    plan_svt,
)
from pate_cli.mechanisms.service import VoteService
from pate_cli.mechanisms.stable import StableService, aggregate, release_once

__all__ = [
    "GaussianPlan",
    "GnmaxPlan",
    "LabellingPlan",
    "NoPrivacyPlan",
    "StableService",
    "SvtPlan",
    "VoteAttack",
    "VoteService",
    "aggregate",
    "auto_count",
    "plan_gaussian",
    "plan_gnmax",
    "plan_svt",
    "release_once",
    "with_integer_noise",
]
