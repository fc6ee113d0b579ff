"""Marks in sentences: words in backticks are names, as typed; `**` stands around strong ones."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed", "name", "plain", "quoted"]


def name(text: object) -> str:
    """A name, as of a method or a column, marked as one; signs of ours in it are dropped."""
    return f"`{str(text).replace('`', '').replace('*', '')}`"


def quoted(text: object) -> str:
    """A value of the data, between quotation marks."""
    return f"“{str(text).replace('`', '').replace('*', '')}”"


def plain(text: str) -> str:
    """A sentence without its marks."""
    return text.replace("`", "").replace("**", "")


def listed(texts: Iterable[str], last: str = "and") -> str:
    """Texts as a list in a sentence."""
    *most, end = [*texts] or [""]
    return f"{', '.join(most)} {last} {end}" if most else end
