"""Sparse vector, asked first where the student is sure: an experiment on an open question of LZCW21."""

from __future__ import annotations

from dataclasses import dataclass

from pate_cli.checks import option
from pate_cli.mechanisms.labelling import LabelledByVotes
from pate_cli.mechanisms.protocol import Plan
from pate_cli.mechanisms.svt import CALIBRATION, CUTOFF, plan_svt
from pate_cli.privacy.svt import Calibration
from pate_cli.queries.confident import ConfidentFirst
from pate_cli.types import Setting

__all__ = ["Options", "plan"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=confident_svt`."""

    calibration: Calibration = option("tight", CALIBRATION)
    cutoff: int | None = option("auto", CUTOFF)


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate for all public points."""
    s = setting
    labelling = plan_svt(
        *(s.eps, s.delta, s.n_public, s.n_teachers),
        rule=options.calibration,
        cutoff=options.cutoff,
        n_records=s.n_private,
    )
    return LabelledByVotes(labelling, ConfidentFirst(), s)
