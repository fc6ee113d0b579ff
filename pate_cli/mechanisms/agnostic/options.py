"""Values of the options of these learners, checked by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pate_cli.errors import ConfigError, InfeasibleError

if TYPE_CHECKING:
    from pate_cli.learners.hypotheses import HypothesisClass
    from pate_cli.types import Setting

__all__ = [
    "calibration",
    "finite",
    "fraction",
    "hypotheses",
    "listable",
    "listable_encoded",
    "two_classes",
    "whole",
]

_CLASSES = ("thresholds", "stumps", "rectangles", "points")


def two_classes(setting: Setting, name: str) -> None:
    """Hypotheses label with 0 and 1."""
    if setting.n_classes != 2:
        accepted = f"a dataset of two classes for mechanism={name}, not {setting.n_classes}"
        raise ConfigError("dataset", f"{setting.n_classes} classes", accepted)


def finite(setting: Setting, name: str) -> None:
    """Where no eps means nothing, as nothing is left to calibrate."""
    if math.isinf(setting.eps):
        raise ConfigError("eps", setting.eps, f"a finite number with mechanism={name}")


def hypotheses(options: Mapping[str, Any], accepted: tuple[str, ...] = _CLASSES) -> HypothesisClass:
    """The hypothesis class of `mechanism.hypotheses`."""
    from pate_cli.learners.hypotheses import CLASSES

    name = options["hypotheses"]
    if name not in accepted:
        raise ConfigError("mechanism.hypotheses", name, ", ".join(accepted))
    return CLASSES[name]


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


def calibration(options: Mapping[str, Any]) -> str:
    """`mechanism.calibration`: tight or paper."""
    value = options["calibration"]
    if value not in ("tight", "paper"):
        raise ConfigError("mechanism.calibration", value, "tight, paper")
    return str(value)


def fraction(options: Mapping[str, Any], key: str) -> float:
    """A number in (0, 1)."""
    value = options[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ConfigError(f"mechanism.{key}", value, "a number in (0, 1)")
    return float(value)


def whole(options: Mapping[str, Any], key: str, *, auto: bool, most: int | None = None) -> int | None:
    """A whole number from 1 to `most`, or None for auto."""
    value = options[key]
    if auto and value == "auto":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most and value > most):
        accepted = ("auto, or " if auto else "") + "a whole number >= 1" + (f", <= {most}" if most else "")
        raise ConfigError(f"mechanism.{key}", value, accepted)
    return value
