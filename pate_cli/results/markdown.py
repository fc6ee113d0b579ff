"""A page as Markdown: what of it is text and tables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pate_cli.results.html import Page
from pate_cli.results.tables import Table

__all__ = ["markdown"]


def markdown(page: Page) -> str:
    """The page without its figure."""
    parts = [f"# {_escaped(page.title)}", _escaped(page.answer), _escaped(page.lede), _escaped(page.caution)]
    parts.append(
        "\n".join(
            _escaped(f"- {one.label}: {one.value}" + f" ({one.small})" * bool(one.small)).replace(
                "\\- ", "- "
            )
            for one in page.facts
        )
    )
    for section in (*page.sections, *page.details):
        parts.append(f"## {_escaped(section.title)}")
        parts += [text for kind, content in section.blocks for text in _block(kind, content)]
    parts += [_escaped(line) for line in page.footer]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(kind: str, content: Any) -> Iterator[str]:
    if kind == "table":
        yield _table(content).to_markdown().rstrip()
    elif kind == "code":
        yield "\n".join(f"    {shlex.join(command)}" for command in content)
    elif kind == "pair":
        for title, items in content.items():
            yield f"{title}:"
            yield from _block("list", items)
    elif kind == "words":
        yield from _block("list", [f"{word}: {text}" for word, text in content.items()])
    elif kind == "list":
        yield "\n".join(f"- {_escaped(item)}" for item in content)
    else:
        yield _escaped(content)


def _table(table: Table) -> Table:
    cells = [[_escaped(cell) for cell in row] for row in table.cells]
    return replace(table, cells=cells, note=_escaped(table.note))


def _escaped(text: str) -> str:
    """A marked text, kept from being read as other Markdown or HTML; names stay as they are."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part[:1] == "`" else re.sub(r"([\\_<>\[\]#|])", r"\\\1", part) for part in parts)
