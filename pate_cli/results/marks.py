"""Parts of sentences: words in backticks are names, as typed; `**` stands around strong ones."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from pate_cli.errors import one_line

__all__ = ["bare", "guaranteed", "listed", "name", "plain", "quoted", "rounded_down", "rounded_up"]


def bare(text: object) -> str:
    """A text of the data or the user, on one line, without signs of ours."""
    return one_line(str(text)).replace("`", "").replace("*", "")


def name(text: object) -> str:
    """A name, as of a method or a column, marked as one."""
    return f"`{bare(text)}`"


def quoted(text: object) -> str:
    """A value of the data, between quotation marks."""
    return f"“{bare(text)}”"


def plain(text: str) -> str:
    """A sentence without its marks."""
    return text.replace("`", "").replace("**", "")


def listed(texts: Iterable[str], last: str = "and") -> str:
    """Texts as a list in a sentence."""
    *most, end = [*texts] or [""]
    return f"{', '.join(most)} {last} {end}" if most else end


def rounded_up(number: float, digits: int) -> float:
    """The number of a guarantee to so many digits, never below what is proved."""
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(number))))


def rounded_down(number: float, digits: int) -> float:
    """A lower bound to so many digits, never above what was shown."""
    return float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(number))))


def guaranteed(eps: float) -> str:
    """The eps of a guarantee, in six digits and never below it, but for the rounding of a computer."""
    return f"{rounded_up(eps * (1 - 1e-12), 6):g}"
