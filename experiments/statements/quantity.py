"""What a statement gives: quantities, each with which of its constants are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .problem import TheoryProblem

__all__ = ["CONSTANT", "EXPLICIT", "LOGS", "SLIP", "Constants", "Quantity", "Statement"]

Constants: TypeAlias = Literal["explicit", "up to a constant", "up to a constant and logs", "with a slip"]

EXPLICIT: Constants = "explicit"
CONSTANT: Constants = "up to a constant"
LOGS: Constants = "up to a constant and logs"
SLIP: Constants = "with a slip"


@dataclass(frozen=True)
class Quantity:
    """One number that a statement gives.

    Attributes
    ----------
    name : str
        What it is.
    value : float
        inf where the statement gives none for this problem.
    constants : {"explicit", "up to a constant", "up to a constant and logs", "with a slip"}
    kind : {"size", "error", "bound"}
        A number of records, points or teachers; or a probability, which says nothing from 1 on: `error`
        where it falls as n grows, `bound` where it may not.
    """

    name: str
    value: float
    constants: Constants
    kind: Literal["size", "error", "bound"] = "size"


@dataclass(frozen=True)
class Statement:
    """A theorem as a function of the problem.

    Attributes
    ----------
    source : str
        Paper and number.
    about : str
        Algorithm and setting.
    evaluate : callable
        From a `TheoryProblem` to quantities.
    """

    source: str
    about: str
    evaluate: Callable[[TheoryProblem], Sequence[Quantity]]
