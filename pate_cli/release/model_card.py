"""The model card of a release: its certificate in words, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["model_card"]


def model_card(facts: Mapping[str, Any]) -> bytes:
    """Content of `model_card.md`; a function of the certified facts alone."""
    return _template().render(**facts).encode()


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # Markdown: `_text` and `_code` escape what comes from outside
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"text": _text, "code": _code, "number": _number}
    return environment.get_template("model_card.md")


def _text(text: str) -> str:
    """Keep text to one line, and from being read as Markdown or HTML."""
    flat = " ".join(text.split())
    for char in "\\`*_<>[]#|":
        flat = flat.replace(char, "\\" + char)
    return flat


def _code(name: str) -> str:
    return "`" + " ".join(json.dumps(name, ensure_ascii=False)[1:-1].replace("`", "'").split()) + "`"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else str(value)
