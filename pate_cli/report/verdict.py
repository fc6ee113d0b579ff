"""Verdicts: what became of a printed number or a claim of a paper, by intervals and margins.

Three outcomes can be told by an interval, and each is said only if the *whole* interval says it, at a level
corrected for the number of rows judged together (Bonferroni, `interval.simultaneous`). So of a table whose
intervals hold together with probability 95%, all verdicts are right with at least that probability,
however many rows and repeats there are; what the repeats cannot tell is "undecided".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from pate_cli.report.interval import LEVEL, Interval, simultaneous

__all__ = ["FEWEST", "VERDICTS", "Verdict", "VerdictWord"]
__all__ += ["CLAIMS_RULE", "above", "at_least", "close", "combined", "compare", "rule", "unjudged"]

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
"""Every word a verdict may be."""

FEWEST = 10
"""Repeats below which no verdict is given: Student's t needs more of accuracies to be near its level."""


@dataclass(frozen=True)
class Verdict:
    """What became of one printed number or claim of the paper.

    Attributes
    ----------
    name : str
        The claim, in a few words.
    verdict : str
        One of `VERDICTS`.
    reason : str
        Our number beside theirs, or why there is none.
    gap : Interval or None
        What was judged, at the level it was judged at: ours less what is claimed. None where several cases
        are judged together, and where no interval is needed.
    margin : float or None
        By how much it may be off; None where nothing may.
    """

    name: str
    verdict: VerdictWord
    reason: str
    gap: Interval | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")


def close(name: str, gap: Interval, margin: float, reason: str, rows: int = 1) -> Verdict:
    """Judge one difference that is claimed to be none, as `compare` does, and keep it."""
    return Verdict(name, compare(gap, margin, rows), reason, gap.at(simultaneous(rows)), margin)


def above(name: str, gap: Interval, reason: str, margin: float = 0.0, rows: int = 1) -> Verdict:
    """Judge one difference that is claimed to be above minus a margin, as `at_least` does, and keep it."""
    return Verdict(name, at_least(gap, margin, rows), reason, gap.at(simultaneous(rows)), margin)


def compare(gap: Interval, margin: float, rows: int = 1) -> VerdictWord:
    """Judge a difference that is claimed to be none.

    It reproduces if the whole interval lies within the margin of 0, differs if it lies wholly beyond it, and
    is undecided if an end of the margin is inside. If the true difference is beyond the margin, "reproduces"
    is said with probability at most 2.5% / rows; if it is within, "differs" with at most that on either side.

    Parameters
    ----------
    gap : Interval
        Ours less the printed number, or paired.
    margin : float
        At least 0.
    rows : int
        Judged together, at least 1.
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
    """Judge a difference that is claimed to be above 0, or not below it by more than a margin.

    It reproduces if the whole interval lies above -margin, and differs if none of it does: also where both
    are equal in every repeat, for equal is not greater. Either is wrong with probability at most 2.5% / rows.

    Parameters
    ----------
    gap, margin, rows
        As of `compare`.
    """
    if gap.half_width is None or gap.n < FEWEST:
        return "no verdict"
    wide = gap.at(simultaneous(rows))
    return "reproduces" if wide.low > -margin else "differs (below)" if wide.high <= -margin else "undecided"


def combined(words: Sequence[VerdictWord], *, most: bool = False) -> VerdictWord:
    """Judge a claim by its cases, the missing ones among them.

    Parameters
    ----------
    words : sequence of str
        Verdicts of the cases.
    most : bool
        Whether more than half of the cases are enough, and not all are needed.
    """
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


def unjudged(verdict: Verdict, why: str) -> Verdict:
    """Take a verdict back, as of a quick run or of too few repeats; its reason stays."""
    return replace(verdict, verdict="no verdict", reason=f"{why}. {verdict.reason}")


CLAIMS_RULE = (
    "A claim is looked at in every case it speaks of, by paired differences at a level corrected for the "
    "cases of all claims: a case holds if the whole interval lies above 0 (or minus the claim's margin), "
    "does not hold if none of it does, and is undecided otherwise; cases without numbers count as missing."
)
"""Said under claims."""


def rule(rows: int, margin: float) -> str:
    """Say how a table of `rows` rows is judged."""
    level = math.floor(1e4 * simultaneous(rows)) / 100
    return (
        f"A row reproduces if the whole interval of ours less the printed number, at {level:g}% (so that all "
        f"{rows} hold together at {LEVEL:.0%}), lies within {margin:g} of 0; it differs if it lies wholly "
        f"beyond that; else it is undecided. With fewer than {FEWEST} repeats there is no verdict."
    )
