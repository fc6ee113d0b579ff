"""What counts as a number in an option, and how to refuse what does not."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from pate_cli.errors import ConfigError

__all__ = ["is_real", "is_whole", "real_option", "whole_option"]


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether a value is a finite number; True and False are not."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return math.isfinite(value)


def whole_option(option: str, value: Any, least: int) -> int:
    """Take the value of `dataset.OPTION`, a whole number of at least `least`, or refuse it (ConfigError)."""
    if not is_whole(value) or value < least:
        raise ConfigError(f"dataset.{option}", value, f"a whole number of at least {least}")
    return int(value)


def real_option(option: str, value: Any, within: Callable[[float], bool], accepted: str) -> float:
    """Take the value of `dataset.OPTION`, a finite number, or refuse it (ConfigError)."""
    if not is_real(value) or not within(value):
        raise ConfigError(f"dataset.{option}", value, accepted)
    return float(value)
