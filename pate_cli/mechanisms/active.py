"""Active student queries (LZCW21 Algorithm 5, ASQ): labels are asked where plausible hypotheses disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from pate_cli.checks import Flag, OneOf, Real, option
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.base import VoteMechanism
from pate_cli.mechanisms.gaussian import gaussian_labels
from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.mechanisms.sparse_vector import CALIBRATION, CUTOFF, stable_labels
from pate_cli.queries.disagreement import Disagreement
from pate_cli.queries.half_spaces import Active
from pate_cli.types import Setting

__all__ = ["Options", "calibrate"]


@dataclass(frozen=True)
class Options(MechanismOptions):
    """Options of `mechanism=active`.

    `cutoff` is of ``oracle=svt``; `mellowness`, `fill` and `test` are of ``hypotheses=half_spaces``,
    `constant`, `theta`, `failure` and `best_error` of ``hypotheses=thresholds`` (see `Disagreement`), `step`
    of ``test=weighted`` (see `OnlineLearner`).
    """

    checked = ({"oracle": "svt"},)

    oracle: str = option("gaussian", OneOf(("gaussian", "svt")))
    mellowness: float = option(0.05, Real(0, closed_below=True))
    fill: bool = option(True, Flag())
    calibration: Literal["tight", "liu2021", "bassily2018"] = option("tight", CALIBRATION)
    cutoff: int | None = option("auto", CUTOFF)
    hypotheses: str = option("half_spaces", OneOf(("half_spaces", "thresholds")))
    constant: float = option(1.0, Real(0))
    theta: float = option(2.0, Real(1, closed_below=True))
    failure: float = option(0.05, Real(0, 1, open_above=True))
    best_error: float = option(0.0, Real(0, 1, closed_below=True, open_above=True))
    test: str = option("constrained", OneOf(("constrained", "weighted")))
    step: float = option(5.0, Real(0))

    picks_queries = True

    def label(self, name: str) -> str:
        """With the oracle if it is not the default, and the exact form."""
        name = "active-svt" if self.oracle == "svt" else "active"
        return f"{name}-exact" if self.hypotheses == "thresholds" else name

    def audited_columns(self) -> int | None:
        """See `MechanismOptions`."""
        return 1 if self.hypotheses == "thresholds" else None

    def answered_by(self, name: str) -> str:
        """The oracle; the exact form has a student of its own."""
        return self.label(name) if self.hypotheses == "thresholds" else self.oracle


def calibrate(options: Options, setting: Setting) -> VoteMechanism:
    """Calibrate the oracle for `split.budget` questions.

    With ``hypotheses=thresholds`` the version space of Algorithm 4 is the student too.
    """
    s, o = setting, options
    exact = o.hypotheses == "thresholds"
    if exact and (s.n_features, s.n_classes) != (1, 2):
        accepted = (
            f"half_spaces; thresholds on one feature and two classes, not {s.n_features} and {s.n_classes}"
        )
        raise ConfigError("mechanism.hypotheses", o.hypotheses, accepted)
    weighted = o.test == "weighted"
    if weighted and (exact or s.n_classes != 2):
        accepted = "constrained; weighted with half_spaces and two classes"
        raise ConfigError("mechanism.test", o.test, accepted)
    if o.oracle == "gaussian" or math.isinf(s.eps):
        answering: VoteMechanism = replace(
            gaussian_labels(s.eps, s.delta, s.budget, s.n_classes, o.calibration),
            labels_only=o.oracle != "gaussian",
        )
    else:
        answering = stable_labels(
            s.eps,
            s.delta,
            s.budget,
            s.n_teachers,
            rule=o.calibration,
            cutoff=o.cutoff,
            n_records=s.n_private,
            n_classes=s.n_classes,
        )
    strategy = (
        Disagreement(o.constant, o.theta, o.failure, o.best_error)
        if exact
        else Active(o.mellowness, o.fill, o.step if weighted else None)
    )
    return replace(answering, n_teachers=s.n_teachers, budget=s.budget, strategy=strategy)
