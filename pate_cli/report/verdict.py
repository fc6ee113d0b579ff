"""Verdicts: what became of one claim of a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

__all__ = ["VERDICTS", "Verdict", "VerdictWord"]

VerdictWord: TypeAlias = Literal["reproduces", "better", "worse", "refuted", "cannot be compared"]

VERDICTS: tuple[str, ...] = get_args(VerdictWord)
"""Every word a verdict may be."""


@dataclass(frozen=True)
class Verdict:
    """What became of one claim of the paper.

    Attributes
    ----------
    name : str
        The claim, in a few words.
    verdict : str
        One of `VERDICTS`.
    reason : str
        Our number beside theirs, or why there is none.
    """

    name: str
    verdict: VerdictWord
    reason: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")
