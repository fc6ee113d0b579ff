"""One row of the table of results: what was measured, what it is beside, and whether it is what is wanted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["UNITS", "Row", "beside", "growth"]

UNITS = ("times", "s", "ms", "MB", "MB/s", "exponent", "share", "modules")


@dataclass(frozen=True)
class Row:
    """One measured number with its target.

    Attributes
    ----------
    part : str
        Part of the benchmarks that it belongs to, as `--only` names them.
    name : str
        What was measured; with `part`, unlike all others.
    value : float
        The number that the target is about.
    unit : str
        One of `UNITS`; "times" for a ratio to what stands in `beside`.
    beside : str
        What it was measured side by side with, or per what it is.
    most, least : float or None
        Largest and smallest value that is wanted; both None where the row is for information.
    details : dict
        Numbers behind the value, as medians in seconds; plain values that JSON has.
    family : str
        Where it is not empty, the printed table has only the worst of the rows with this text.
    """

    part: str
    name: str
    value: float
    unit: str
    beside: str = ""
    most: float | None = None
    least: float | None = None
    details: dict[str, Any] = field(default_factory=dict)
    family: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"unit {self.unit!r}; accepted: {', '.join(UNITS)}")

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None if there is none. What is not a number meets none."""
        if self.most is None and self.least is None:
            return None
        low = self.least is None or self.value >= self.least
        return low and (self.most is None or self.value <= self.most)

    @property
    def target(self) -> str:
        """The target, in words."""
        said = [f"<= {self.most:g}"] if self.most is not None else []
        return " ".join([*said, *([f">= {self.least:g}"] if self.least is not None else [])])

    @property
    def shown(self) -> str:
        """The value with its unit."""
        text = f"{self.value:,.0f}" if abs(self.value) >= 100 else f"{self.value:.3g}"
        return text if self.unit in ("times", "exponent") else f"{text} {self.unit}"

    @property
    def badness(self) -> float:
        """How far it is on the way to its target, 1 at it, for the worst of a family."""
        if self.most is not None:
            return self.value / self.most if self.most else math.inf
        return self.least / self.value if self.least and self.value else 0.0

    def content(self) -> dict[str, Any]:
        """Give what goes into results.json; `of_content` reads it."""
        return {
            "part": self.part,
            "name": self.name,
            "value": float(f"{self.value:.4g}"),
            "unit": self.unit,
            "beside": self.beside,
            "most": self.most,
            "least": self.least,
            "met": self.met,
            "family": self.family,
            "details": self.details,
        }

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> Row:
        """Make the row that was written."""
        return cls(**{key: value for key, value in content.items() if key != "met"})


def beside(
    part: str,
    name: str,
    times: Mapping[str, Sequence[float]],
    bare: str,
    *,
    most: float | None = None,
    seconds: float | None = None,
) -> Row:
    """Make the row of what was timed in turn with bare work, in rounds.

    Parameters
    ----------
    part, name : str
    times : mapping of str to sequence of float
        Seconds of each round, of "ours" and of "bare".
    bare : str
        What the bare work is.
    most : float, optional
        Largest ratio that is wanted: the median of those within a round.
    seconds : float, optional
        Most seconds that are wanted; the row is then of them, and has the ratio among its details.
    """
    ratio = statistics.median(a / b for a, b in zip(times["ours"], times["bare"], strict=True))
    medians = {f"{key}_s": round(statistics.median(values), 4) for key, values in times.items()}
    details = {**medians, "ratio": round(ratio, 3), "rounds": len(times["ours"])}
    if seconds is None:
        return Row(part, name, ratio, "times", bare, most, details=details)
    return Row(part, name, statistics.median(times["ours"]), "s", bare, seconds, details=details)


def growth(name: str, sizes: Sequence[int], seconds: Sequence[float], most: float, family: str = "") -> Row:
    """Make the row of an exponent: the slope of the least-squares line through the logarithms.

    Parameters
    ----------
    name : str
        What grows.
    sizes : sequence of int
    seconds : sequence of float
        Medians.
    most : float
        Largest exponent that is wanted.
    family : str
    """
    import numpy as np

    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    details = {"sizes": list(sizes), "seconds": [round(value, 5) for value in seconds]}
    over = f"{sizes[0]:,} to {sizes[-1]:,}"
    return Row("growth", name, exponent, "exponent", over, most, details=details, family=family)
