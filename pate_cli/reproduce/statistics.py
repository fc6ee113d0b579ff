"""Means, confidence intervals and paired differences over repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pate_cli.engine.finished import Unit

__all__ = ["Interval", "difference", "interval", "measure", "over", "paired"]

_OWN = {"answered": "n_answered", "asked": "n_asked"}


@dataclass(frozen=True)
class Interval:
    """A mean over repeats.

    Attributes
    ----------
    mean : float
    ci95 : float or None
        Half-width 1.96 s / sqrt(n), as in LZCW21 Table 4; None where n is 1.
    n : int
    """

    mean: float
    ci95: float | None
    n: int

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0; else 0."""
        if self.ci95 is None or not abs(self.mean) > self.ci95:
            return 0
        return 1 if self.mean > 0 else -1


def interval(values: Sequence[float]) -> Interval | None:
    """Mean and 95% confidence interval; None of no values.

    Infinite values (eps of a run without privacy) have no interval.
    """
    n = len(values)
    if not n:
        return None
    if not all(map(math.isfinite, values)):
        return Interval(math.inf, None, n)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Interval(mean, 1.96 * deviation / math.sqrt(n), n)


def measure(unit: Unit, name: str) -> float | None:
    """A number of one repeat: answered, asked, eps_ex_post, accuracy or a diagnostic; None if undefined."""
    if name in ("n_teachers", "eps_ex_post", "accuracy", *_OWN):
        return float(getattr(unit, _OWN.get(name, name)))
    value = unit.diagnostics.get(name)
    return None if value is None else float(value)


def over(units: Sequence[Unit], name: str) -> Interval | None:
    """Mean of a measure over the repeats in which it is defined."""
    return interval([value for unit in units if (value := measure(unit, name)) is not None])


def paired(of: Sequence[Unit], minus: Sequence[Unit], name: str) -> Interval | None:
    """Mean difference of a measure over the repeats both have: the same splits, teachers and points."""
    others = {unit.repeat: measure(unit, name) for unit in minus}
    differences = []
    for unit in of:
        one, other = measure(unit, name), others.get(unit.repeat)
        if one is not None and other is not None and math.isfinite(one) and math.isfinite(other):
            differences.append(one - other)
    return interval(differences)


def difference(ours: Interval, printed: float, printed_ci: float | None) -> Interval:
    """Our mean less a printed one; the intervals of independent experiments add in squares."""
    ci = None if ours.ci95 is None else math.hypot(ours.ci95, printed_ci or 0.0)
    return Interval(ours.mean - printed, ci, ours.n)
