"""The problem that the theorems speak of, and the quantities that a theorem gives for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from pate_cli.checks import Real, take

Constants: TypeAlias = Literal["explicit", "up to a constant", "up to a constant and logs", "with a slip"]
EXPLICIT: Constants = "explicit"
CONSTANT: Constants = "up to a constant"
LOGS: Constants = "up to a constant and logs"
SLIP: Constants = "with a slip"

_FRACTION = Real(0, 1, open_above=True)


def _number(check: Real, meaning: str, **default: float) -> Any:
    return field(metadata={"check": check, "meaning": meaning}, **default)  # type: ignore[call-overload]


@dataclass(frozen=True)
class TheoryProblem:
    """A learning problem as the theorems see it.

    Raises
    ------
    ConfigError
        If a number is not accepted.
    """

    n: float = _number(Real(2, closed_below=True), "private records")
    m: float = _number(Real(2, closed_below=True), "public points or queries")
    eps: float = _number(Real(0), "budget")
    delta: float = _number(_FRACTION, "its probability of failure")
    d: float = _number(
        Real(1, closed_below=True),
        "VC dimension; columns + 1, of half-spaces",
    )
    alpha: float = _number(_FRACTION, "error aimed at", default=0.05)
    beta: float = _number(_FRACTION, "probability of failure", default=0.05)
    gamma: float = _number(
        Real(0, 1, closed_below=True, open_above=True), "error of the best hypothesis", default=0.0
    )
    tau: float = _number(Real(0, 1), "Tsybakov noise, 1: bounded noise", default=1.0)
    theta: float = _number(Real(1, closed_below=True), "disagreement coefficient", default=2.0)
    nu: float = _number(_FRACTION, "share of points with a small expected margin", default=0.05)
    xi: float = _number(Real(0, 0.5), "expected margin of the others", default=0.25)

    def __post_init__(self) -> None:
        for one in fields(self):
            take(f"params.{one.name}", getattr(self, one.name), one.metadata["check"])


@dataclass(frozen=True)
class Quantity:
    """One number that a statement gives, inf where it gives none, and which of its constants are known.

    Its kind is a size (of records, points or teachers) or a probability, which says nothing from 1 on: an
    error where it falls as n grows, a bound where it may not.
    """

    name: str
    value: float
    constants: Constants
    kind: Literal["size", "error", "bound"] = "size"


@dataclass(frozen=True)
class Statement:
    """A theorem (paper and number), its algorithm and setting, and its quantities for a problem."""

    source: str
    about: str
    evaluate: Callable[[TheoryProblem], list[Quantity]]


Row: TypeAlias = tuple[Any, ...]
"""The fields of a `Quantity`."""

Rows: TypeAlias = Callable[[TheoryProblem], list[Row]]


def numbered(table: list[Statement], source: str, about: str) -> Callable[[Rows], Rows]:
    """Add the statement that a function evaluates to a table."""

    def add(rows: Rows) -> Rows:
        table.append(Statement(source, about, lambda problem: [Quantity(*row) for row in rows(problem)]))
        return rows

    return add
