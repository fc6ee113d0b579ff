"""One row of the table of results: what was measured, what it is beside, and whether it is what is wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["UNITS", "Row"]

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
    """

    part: str
    name: str
    value: float
    unit: str
    beside: str = ""
    most: float | None = None
    least: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

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

    def content(self) -> dict[str, Any]:
        """Give what goes into results.json."""
        return {
            "part": self.part,
            "name": self.name,
            "value": float(f"{self.value:.4g}"),
            "unit": self.unit,
            "beside": self.beside,
            "target": self.target,
            "met": self.met,
            "details": self.details,
        }
