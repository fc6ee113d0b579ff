"""Read a recipe's `params`, and say in one line what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from pate_cli.errors import ConfigError

__all__ = ["Check", "Listed", "OneOf", "Real", "Whole", "read"]


class Check(Protocol):
    """What a parameter accepts."""

    def take(self, value: object) -> Any:
        """The value, or ValueError."""

    def describe(self) -> str:
        """Say what is accepted, in words."""


@dataclass(frozen=True)
class Whole:
    """An integer from `low` to `high`."""

    low: int = 1
    high: int | None = None

    def take(self, value: object) -> int:
        """See `Check`."""
        if isinstance(value, float) and value.is_integer():  # 1.0e+5, as YAML reads it
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError
        if value < self.low or (self.high is not None and value > self.high):
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return f"an integer of at least {self.low}" + ("" if self.high is None else f", at most {self.high}")


@dataclass(frozen=True)
class Real:
    """A finite number in (low, high], or in (low, high) where `open_above`."""

    low: float = 0.0
    high: float = math.inf
    open_above: bool = False

    def take(self, value: object) -> float:
        """See `Check`."""
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError
        if not self.low < value <= self.high or (self.open_above and value == self.high):
            raise ValueError
        return float(value)

    def describe(self) -> str:
        """See `Check`."""
        closing = ")" if self.open_above or math.isinf(self.high) else "]"
        return f"a number in ({self.low:g}, {self.high:g}{closing}"


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def take(self, value: object) -> str:
        """See `Check`."""
        if value not in self.words:
            raise ValueError
        return str(value)

    def describe(self) -> str:
        """See `Check`."""
        return "one of " + ", ".join(self.words)


@dataclass(frozen=True)
class Listed:
    """A list of values that each pass a check; strictly ascending where `ascending`."""

    item: Check
    at_least: int = 1
    ascending: bool = False

    def take(self, value: object) -> list[Any]:
        """See `Check`."""
        if not isinstance(value, list | tuple) or len(value) < self.at_least:
            raise ValueError
        values = [self.item.take(item) for item in value]
        if self.ascending and any(b <= a for a, b in pairwise(values)):
            raise ValueError
        return values

    def describe(self) -> str:
        """See `Check`."""
        order = ", ascending" if self.ascending else ""
        return f"a list of {self.at_least} or more{order}, each {self.item.describe()}"


def read(params: Mapping[str, object], checks: Mapping[str, Check]) -> dict[str, Any]:
    """Check every parameter of a study.

    Parameters
    ----------
    params : mapping of str to object
        As the recipe and the overrides give them.
    checks : mapping of str to Check
        What the study takes; each must be given.

    Returns
    -------
    dict

    Raises
    ------
    ConfigError
        Naming `params.KEY`, if one is unknown, missing or not accepted.
    """
    for key in params:
        if key not in checks:
            raise ConfigError(f"params.{key}", params[key], "the parameters " + ", ".join(checks))
    taken = {}
    for key, check in checks.items():
        try:
            taken[key] = check.take(params.get(key))
        except ValueError:
            raise ConfigError(f"params.{key}", params.get(key), check.describe()) from None
    return taken
