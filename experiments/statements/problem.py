"""The numbers that the theorems speak of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

from pate_cli.errors import ConfigError

__all__ = ["PARAMETERS", "TheoryProblem"]


@dataclass(frozen=True)
class TheoryProblem:
    """A learning problem as the theorems see it.

    Attributes
    ----------
    n : float
        Private records, at least 2.
    m : float
        Public points, or queries, at least 2.
    eps : float
        Positive, finite.
    delta : float
        In (0, 1).
    d : float
        VC dimension of the hypothesis class (the papers' V or d), at least 1.
    alpha : float
        Error aimed at, in (0, 1).
    beta : float
        Probability of failure (also LZCW21's gamma), in (0, 1).
    gamma : float
        Error of the best hypothesis, Err(h*), in [0, 1).
    tau : float
        Of the Tsybakov noise condition, in (0, 1]; 1: bounded noise.
    theta : float
        Disagreement coefficient, at least 1.
    nu, xi : float
        Of the approximate high-margin condition (LZCW21 Definition 17): all but a share nu of the
        points has an expected margin of at least xi; in (0, 1) and (0, 1/2].
    """

    n: float
    m: float
    eps: float
    delta: float
    d: float
    alpha: float = 0.05
    beta: float = 0.05
    gamma: float = 0.0
    tau: float = 1.0
    theta: float = 2.0
    nu: float = 0.05
    xi: float = 0.25

    def __post_init__(self) -> None:
        for name, (accepts, accepted, _) in _CHECKS.items():
            value = getattr(self, name)
            if not (math.isfinite(value) and accepts(value)):
                raise ConfigError(f"--{name}", value, accepted)


_CHECKS: dict[str, tuple[Callable[[float], bool], str, str]] = {
    "n": (lambda x: x >= 2, "a number >= 2", "private records; default those of the run"),
    "m": (lambda x: x >= 2, "a number >= 2", "public points or queries; default those of the run"),
    "eps": (lambda x: x > 0, "a finite number > 0", "budget; default that of the run"),
    "delta": (lambda x: 0 < x < 1, "a number in (0, 1)", "default that of the run"),
    "d": (
        lambda x: x >= 1,
        "a number >= 1",
        "VC dimension; default columns + 1, of half-spaces on the data as loaded",
    ),
    "alpha": (lambda x: 0 < x < 1, "a number in (0, 1)", "error aimed at"),
    "beta": (lambda x: 0 < x < 1, "a number in (0, 1)", "probability of failure"),
    "gamma": (lambda x: 0 <= x < 1, "a number in [0, 1)", "error of the best hypothesis"),
    "tau": (lambda x: 0 < x <= 1, "a number in (0, 1]", "Tsybakov noise, 1: bounded noise"),
    "theta": (lambda x: x >= 1, "a number >= 1", "disagreement coefficient"),
    "nu": (lambda x: 0 < x < 1, "a number in (0, 1)", "share of points with a small expected margin"),
    "xi": (lambda x: 0 < x <= 0.5, "a number in (0, 1/2]", "expected margin of the others"),
}

PARAMETERS: dict[str, str] = {field.name: _CHECKS[field.name][2] for field in fields(TheoryProblem)}
"""Name of each number and what it is, in a few words."""
