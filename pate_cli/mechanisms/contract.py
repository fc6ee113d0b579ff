"""What the module of a mechanism is, so that one of somebody's can be refused in one line before a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from os import PathLike
from typing import Any

from pate_cli.mechanisms.options import MechanismOptions
from pate_cli.types import PrivacyLoss

__all__ = ["check_promise", "lacks"]


def lacks(module: Any) -> str:
    """What a module has to be and is not; empty for that of a mechanism."""
    options = getattr(module, "Options", object)
    ours = isinstance(options, type) and issubclass(options, MechanismOptions)
    if not ours or not hasattr(module, "calibrate"):
        return "a module with Options, of MechanismOptions, and calibrate (docs/extending.md)"
    if not is_dataclass(options):
        return "a module whose Options is a frozen dataclass"
    methods = {name for name, value in vars(MechanismOptions).items() if callable(value)}
    if taken := sorted(methods & {field.name for field in fields(options)}):
        return f"a module whose options have other names than {', '.join(taken)}, of MechanismOptions"
    return ""


def check_promise(mechanism: Any) -> None:
    """Check what a calibrated mechanism says of itself; TypeError or ValueError, of public numbers."""
    loss, numbers = mechanism.guarantee, mechanism.describe()
    if not isinstance(loss, PrivacyLoss):
        raise TypeError(f"guarantee is a {type(loss).__name__}; accepted: a property, of a PrivacyLoss")
    if not (loss.eps >= 0 and 0 <= loss.delta < 1):
        raise ValueError(f"guarantee of eps {loss.eps}, delta {loss.delta}; accepted: 0 or more, below 1")
    if not isinstance(numbers, Mapping):
        raise TypeError(f"describe gives a {type(numbers).__name__}; accepted: a dict of public numbers")
    for name, value in numbers.items():
        try:
            json.dumps(value, default=_plain)
        except TypeError:
            unwritable = f"describe: {name!r} is a {type(value).__name__}"
            raise TypeError(f"{unwritable}; accepted: numbers, texts, lists and dicts") from None


def _plain(value: Any) -> Any:
    if getattr(value, "shape", None) == ():  # a number of numpy's
        return value.item()
    if isinstance(value, Enum | PathLike):
        return str(value)
    raise TypeError
