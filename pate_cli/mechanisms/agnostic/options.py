"""What the options of these mechanisms may be, and refusals that several of them share."""

from __future__ import annotations

import math
from typing import Any

from pate_cli.checks import OneOf, Real
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES, HypothesisClass
from pate_cli.types import Setting

__all__ = ["CALIBRATION", "FRACTION", "HYPOTHESES"]
__all__ += ["at_most", "finite", "listable", "listable_encoded", "two_classes"]

HYPOTHESES = OneOf(tuple(CLASSES))
CALIBRATION = OneOf(("tight", "paper"))
FRACTION = Real(0, 1, open_above=True)


def two_classes(setting: Setting, name: str) -> None:
    """Refuse more labels than the two of hypotheses."""
    if setting.n_classes != 2:
        accepted = f"a dataset of two classes for mechanism={name}, not {setting.n_classes}"
        raise ConfigError("dataset", f"{setting.n_classes} classes", accepted)


def finite(setting: Setting, name: str) -> None:
    """Refuse eps = inf, where nothing is left to calibrate."""
    if math.isinf(setting.eps):
        raise ConfigError("eps", setting.eps, f"a finite number with mechanism={name}")


def at_most(key: str, value: Any, most: int, otherwise: str = "") -> None:
    """Refuse a number of queries larger than there are public points."""
    if isinstance(value, int) and value > most:
        raise ConfigError(f"mechanism.{key}", value, f"{otherwise}a whole number >= 1, <= {most}")


def listable(chosen: HypothesisClass, n_points: int, setting: Setting, what: str) -> None:
    """Refuse where the dichotomies of `n_points` points cannot be listed."""
    refusal = chosen.refusal(n_points, setting.n_features)
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={chosen.name}: {refusal}; {what}")


def listable_encoded(chosen: HypothesisClass, X: Any) -> None:
    """Refuse where encoding has made more columns than the class takes; public, as the encoder is."""
    refusal = chosen.refusal(1, X.shape[1])
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={chosen.name}, after encoding: {refusal}")
