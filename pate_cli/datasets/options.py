"""What counts as a number in an option."""

from __future__ import annotations

import math
import numbers
from typing import Any

__all__ = ["is_real", "is_whole"]


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether a value is a finite number; True and False are not."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return math.isfinite(value)
