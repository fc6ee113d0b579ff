"""Pages: one skeleton and one style sheet for every result.

Answer, figure, one table, what to do next; everything else is folded. Texts have the marks of `sentences`:
names in backticks, `**` around strong words. All else is escaped.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.results.tables import Table

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

__all__ = ["Fact", "Page", "Section", "render"]

_SHORT = 24  # letters of a name that is never broken
_TAGS = {
    "yes": ("use this", "agrees", "within the bound"),
    "warn": ("worse", "higher than printed", "lower than printed"),
    "no": ("no better than a constant answer", "cannot run", "broke off", "differs", "failed", "infeasible"),
}
"""Verdicts with a colour, which never stands alone."""


@dataclass(frozen=True)
class Fact:
    """A label over a value, with a remark below."""

    label: str
    value: str
    small: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a page: blocks are pairs of a kind, as p, list, code or table, and content."""

    title: str
    blocks: Sequence[tuple[str, Any]]
    ident: str = ""  # to link to


@dataclass(frozen=True, kw_only=True)
class Page:
    """A result as somebody reads it who was not there."""

    title: str
    kicker: str  # command or kind, data
    answer: str
    lede: str = ""
    caution: str = ""
    facts: Sequence[Fact] = ()
    figure: str = ""  # of `svg`
    caption: str = ""
    sections: Sequence[Section] = ()
    details: Sequence[Section] = field(default_factory=list)  # folded
    footer: Sequence[str] = ()


def render(page: Page) -> str:
    """The whole page, which needs no network."""
    why = next((section.ident for section in page.details if section.ident == "why"), "")
    return _template().render(page=page, why=why)


def inline(text: str) -> Markup:
    """A text in which names and strong words are marked."""
    from markupsafe import Markup, escape

    marked = str(escape(text))
    marked = re.sub(r"`([^`]+)`", _code, marked)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked))


def _code(match: re.Match[str]) -> str:
    short = ' class="short"' if len(match[1]) <= _SHORT else ""
    return f"<code{short}>{match[1]}</code>"


def tokens(command: Sequence[str]) -> Markup:
    """A command that is wrapped between its words only; it is copied as it is."""
    from markupsafe import Markup

    return Markup(" ").join(Markup("<span>{}</span>").format(shlex.quote(word)) for word in command)


def cell(text: str) -> Markup:
    """A number with a small interval."""
    from markupsafe import Markup

    number, sign, half = text.partition(" ± ")
    return Markup("{} <small>± {}</small>").format(number, half) if sign else inline(text)


def tag(word: str) -> Markup:
    """A verdict."""
    from markupsafe import Markup

    look = next((look for look, words in _TAGS.items() if word in words), "")
    return Markup('<span class="tag {}">{}</span>').format(look, word)


def table_look(table: Table) -> Mapping[str, Any]:
    """How a table is shown: as wide as the page where it is the main one, on a phone two lines a row."""
    numeric = sum(column.numeric for column in table.columns)
    full = any(column.tags for column in table.columns) or bool(table.looks)
    full = full and not any(column.group for column in table.columns)
    return {"stack": max(1, numeric) if full and numeric <= 6 else 0, "full": full}


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"inline": inline, "tokens": tokens, "cell": cell, "tag": tag, "look": table_look}
    return environment.get_template("page.html")
