"""Verdicts on printed numbers and claims: tests of equivalence and of superiority against a margin.

A verdict is given only if the *whole* interval supports it, at a level corrected for the number of rows
judged together (Bonferroni, `interval.simultaneous`): all verdicts of a table are right with probability at
least 95%, however many rows and repeats there are; what the repeats cannot tell is "undecided".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from pate_cli.results.interval import LEVEL, Interval, simultaneous

__all__ = ["FEWEST", "VERDICTS", "Verdict", "VerdictWord"]
__all__ += ["above", "at_least", "close", "combined", "compare", "rule"]

VerdictWord: TypeAlias = Literal[
    "reproduces",
    "differs",
    "differs (above)",
    "differs (below)",
    "undecided",
    "missing",
    "printed number unusable",
    "no verdict",
]

VERDICTS: tuple[str, ...] = get_args(VerdictWord)
FEWEST = 10  # repeats that a verdict needs: with fewer accuracies Student's t is not near its level


@dataclass(frozen=True)
class Verdict:
    """Verdict on one printed number or claim of the paper."""

    name: str
    verdict: VerdictWord
    reason: str  # our number beside theirs, or why there is none
    gap: Interval | None = None  # ours less the claimed, at the level of the test; None for several cases
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")

    @classmethod
    def read(cls, content: dict[str, Any]) -> Verdict:
        """Read the fields of a verdict from JSON, in which an infinity is text."""
        gap = content["gap"]
        if gap is not None:
            half = gap["half_width"]
            gap = Interval(**gap | {"mean": float(gap["mean"]), "half_width": half and float(half)})
        return cls(**content | {"gap": gap})

    def unjudged(self, why: str) -> Verdict:
        """Take it back, as of a quick run or of too few repeats; its reason stays, and what is missing is."""
        return (
            self
            if self.verdict == "missing"
            else replace(self, verdict="no verdict", reason=f"{why}. {self.reason}")
        )


def close(name: str, gap: Interval, margin: float, reason: str, rows: int = 1) -> Verdict:
    """Verdict of an equivalence test, see `compare`."""
    return Verdict(name, compare(gap, margin, rows), reason, gap.at(simultaneous(rows)), margin)


def above(name: str, gap: Interval, reason: str, margin: float = 0.0, rows: int = 1) -> Verdict:
    """Verdict of a superiority test against a margin, see `at_least`."""
    return Verdict(name, at_least(gap, margin, rows), reason, gap.at(simultaneous(rows)), margin)


def compare(gap: Interval, margin: float, rows: int = 1) -> VerdictWord:
    """Equivalence test against a margin >= 0, of `rows` rows judged together.

    It reproduces if the whole interval lies within the margin of 0, differs if it lies wholly beyond it, and
    is undecided if an end of the margin is inside. If the true difference is beyond the margin, "reproduces"
    is said with probability at most 2.5% / rows; if it is within, "differs" with at most that on either side.
    """
    if gap.half_width is None or gap.n < FEWEST:
        return "no verdict"
    wide = gap.at(simultaneous(rows))
    if -margin <= wide.low and wide.high <= margin:
        return "reproduces"
    return (
        "differs (above)" if wide.low > margin else "differs (below)" if wide.high < -margin else "undecided"
    )


def at_least(gap: Interval, margin: float = 0.0, rows: int = 1) -> VerdictWord:
    """Test that a difference is above 0, or not below it by more than a margin.

    It reproduces if the whole interval lies above -margin, and differs if none of it does: also where both
    are equal in every repeat, for equal is not greater. Either is wrong with probability at most 2.5% / rows.
    """
    if gap.half_width is None or gap.n < FEWEST:
        return "no verdict"
    wide = gap.at(simultaneous(rows))
    return "reproduces" if wide.low > -margin else "differs (below)" if wide.high <= -margin else "undecided"


def combined(words: Sequence[VerdictWord], *, most: bool = False) -> VerdictWord:
    """Verdict on a claim by those of its cases: all must hold, with `most` more than half of them."""
    holds = sum(word == "reproduces" for word in words)
    fails = [word for word in words if word.startswith("differs")]
    if not words or all(word == "missing" for word in words):
        return "missing"
    if "no verdict" in words:
        return "no verdict"
    if 2 * holds > len(words) if most else holds == len(words):
        return "reproduces"
    if 2 * len(fails) >= len(words) if most else fails:
        return fails[0] if len(set(fails)) == 1 else "differs"
    return "missing" if not most and holds + words.count("missing") == len(words) else "undecided"


def rule(rows: int, margin: float) -> str:
    """Rule by which a table of `rows` rows is judged, in words."""
    level = math.floor(1e4 * simultaneous(rows)) / 100
    return (
        f"A row reproduces if the whole interval of ours less the printed number, at {level:g}% (so that all "
        f"{rows} hold together at {LEVEL:.0%}), lies within {margin:g} of 0; it differs if it lies wholly "
        f"beyond that; else it is undecided. With fewer than {FEWEST} repeats there is no verdict."
    )
