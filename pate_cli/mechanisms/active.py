"""Active student queries (LZCW21 Algorithm 5, ASQ): labels are asked where plausible hypotheses disagree."""

from __future__ import annotations

from dataclasses import dataclass

from pate_cli.checks import Flag, OneOf, Real, option
from pate_cli.mechanisms.gaussian import plan_gaussian
from pate_cli.mechanisms.labelling import LabelledByVotes
from pate_cli.mechanisms.protocol import LabellingPlan, Plan
from pate_cli.mechanisms.svt import CALIBRATION, CUTOFF, plan_svt
from pate_cli.privacy.svt import Calibration
from pate_cli.queries.active import Active
from pate_cli.types import Setting

__all__ = ["Options", "label", "plan"]


@dataclass(frozen=True)
class Options:
    """Options of `mechanism=active`; `cutoff` is of ``oracle=svt``."""

    oracle: str = option("gaussian", OneOf(("gaussian", "svt")))
    mellowness: float = option(0.05, Real(0, closed_below=True))
    fill: bool = option(True, Flag())
    calibration: Calibration = option("tight", CALIBRATION)
    cutoff: int | None = option("auto", CUTOFF)


def label(options: Options) -> str:
    """Name it in tables: who answers stands there if it is not the default."""
    return "active-svt" if options.oracle == "svt" else "active"


def plan(options: Options, setting: Setting) -> Plan:
    """Calibrate the oracle for `split.budget` questions."""
    s = setting
    if options.oracle == "gaussian":
        labelling: LabellingPlan = plan_gaussian(s.eps, s.delta, s.budget, s.n_classes, options.calibration)
    else:
        labelling = plan_svt(
            *(s.eps, s.delta, s.budget, s.n_teachers),
            rule=options.calibration,
            cutoff=options.cutoff,
            n_records=s.n_private,
        )
    return LabelledByVotes(labelling, Active(options.mellowness, options.fill), s)
