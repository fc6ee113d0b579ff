"""Checks of values, declared beside the fields that hold them, and one-line errors.

A field is declared as ``rounds: int = option(4, Whole(1, 100))``; `read_options` makes the dataclass from
the given values, and names the key, the value and the accepted values if one is wrong.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar

from pate_cli.errors import ConfigError, InputError

__all__ = ["Check", "CheckedBy", "Flag", "Listed", "OneOf", "Or", "Real", "Text", "Whole"]
__all__ += ["known", "listed", "option", "option_names", "read", "read_options", "read_values", "take"]

T = TypeVar("T")


class Check(Protocol):
    """Accepts values, or describes what is accepted."""

    def take(self, value: object) -> Any:
        """Return the value in its own type, or raise ValueError."""

    def describe(self) -> str:
        """Accepted values, in words."""


@dataclass(frozen=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int = 1
    high: int | None = None

    def take(self, value: object) -> int:
        """See `Check`."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise ValueError
        whole = int(value)
        if whole < self.low or (self.high is not None and whole > self.high):
            raise ValueError
        return whole

    def describe(self) -> str:
        """See `Check`."""
        if self.high is None:
            return f"a whole number >= {self.low}"
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True)
class Real:
    """A finite number between `low` and `high`; an end belongs to it where it is closed."""

    low: float = 0.0
    high: float = math.inf
    closed_below: bool = False
    open_above: bool = False
    infinite: bool = False
    """Whether `inf` is accepted as well."""

    def take(self, value: object) -> float:
        """See `Check`."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError
        number = float(value)
        if self.infinite and number == math.inf:
            return number
        above = number >= self.low if self.closed_below else number > self.low
        below = number < self.high if self.open_above else number <= self.high
        if not (math.isfinite(number) and above and below):
            raise ValueError
        return number

    def describe(self) -> str:
        """See `Check`."""
        otherwise = ", or inf" if self.infinite else ""
        if math.isinf(self.high):
            return f"a number {'>=' if self.closed_below else '>'} {self.low:g}{otherwise}"
        ends = "[" if self.closed_below else "(", ")" if self.open_above else "]"
        return f"a number in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}{otherwise}"


@dataclass(frozen=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]

    def take(self, value: object) -> str:
        """See `Check`."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return ", ".join(self.words)


@dataclass(frozen=True)
class Text:
    """A text that is not empty; `kind` describes it."""

    kind: str = "a name"

    def take(self, value: object) -> str:
        """See `Check`."""
        if not isinstance(value, str) or not value or value == "???":
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return self.kind


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def take(self, value: object) -> bool:
        """See `Check`."""
        if not isinstance(value, bool):
            raise ValueError
        return value

    def describe(self) -> str:
        """See `Check`."""
        return "true, false"


@dataclass(frozen=True)
class Or:
    """A word that stands for `gives` (None for `auto` and `null`), or a value of another check."""

    word: str
    other: Check
    gives: Any = None

    def take(self, value: object) -> Any:
        """See `Check`."""
        if value == self.word or (value is None and self.word == "null"):
            return self.gives
        return self.other.take(value)

    def describe(self) -> str:
        """See `Check`."""
        return f"{self.word}, or {self.other.describe()}"


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
        of = f" of {self.at_least} or more" if self.at_least else ""
        return f"a list{of}{order}, each {self.item.describe()}"


@dataclass(frozen=True)
class CheckedBy:
    """A check by a function, which returns the value to keep or raises, with words of its own."""

    make: Callable[[Any], Any]
    says: str

    def take(self, value: object) -> Any:
        """See `Check`."""
        try:
            return self.make(value)
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError from error

    def describe(self) -> str:
        """See `Check`."""
        return self.says


def option(default: Any, check: Check) -> Any:
    """Declare a field of a dataclass of options: its default and its check."""
    return dataclasses.field(default=default, metadata={"check": check})


def take(key: str, value: object, check: Check) -> Any:
    """Check one value; ConfigError names `key`, the value, and the accepted values."""
    try:
        return check.take(value)
    except (ValueError, OverflowError):
        accepted = check.describe()
        if isinstance(value, str) and accepted.startswith("a number") and _is_number(value):
            accepted += f"; this is text: of a variable, '{key}=\"${{oc.decode:${{oc.env:NAME}}}}\"'"
        raise ConfigError(key, value, accepted) from None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def known(prefix: str, values: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Refuse a key that does not exist (InputError), naming those that do."""
    for key in values:
        if key not in keys:
            accepted = ", ".join(prefix + other for other in keys) or f"none in {prefix.rstrip('.')}"
            raise InputError(f"{prefix}{key}: no such key; there are: {accepted}")


def read_options(options: type[T], values: Mapping[str, object], prefix: str) -> T:
    """Make a dataclass, whose fields are declared by `option`, from the given values and its defaults.

    `prefix`, as ``mechanism.``, is put before a key in a message. InputError if a key is unknown (listing
    those there are) or a value is not accepted.
    """
    known(prefix, values, option_names(options))
    return options(**read_values(options, values, prefix))


def option_names(options: type) -> tuple[str, ...]:
    """Names of the fields that are declared by `option`."""
    return tuple(field.name for field in dataclasses.fields(options) if "check" in field.metadata)


def read_values(options: type, values: Mapping[str, object], prefix: str) -> dict[str, Any]:
    """Check the values of the fields that are declared by `option`; other keys are ignored."""
    # defaults are checked too: they are written as a user would write them, as `auto`
    return {
        field.name: take(prefix + field.name, values.get(field.name, field.default), field.metadata["check"])
        for field in dataclasses.fields(options)
        if "check" in field.metadata
    }


def read(params: Mapping[str, object], checks: Mapping[str, Check]) -> dict[str, Any]:
    """Check every parameter of a study; ConfigError for `params.KEY` if unknown, missing or not accepted."""
    for key in params:
        if key not in checks:
            raise ConfigError(f"params.{key}", params[key], "the parameters " + ", ".join(checks))
    return {key: take(f"params.{key}", _digits(params.get(key)), check) for key, check in checks.items()}


def _digits(value: object) -> object:
    """Turn whole floats into integers, also in a list: 1.0e+5, as YAML reads it."""
    if isinstance(value, list | tuple):
        return [_digits(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def listed(names: Sequence[str], most: int = 6) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
