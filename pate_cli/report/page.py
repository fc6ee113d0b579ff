"""One self-contained page: no network, no script, readable on a telephone and on a desk."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.report.findings import Findings
from pate_cli.report.table import Column, Table

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Drawn", "document", "page"]

_HEADINGS = {
    "paired": "Paired differences",
    "ranks": "Ranks and win rates",
    "rows": "The runs",
    "settings": "Which setting gives which printed numbers",
}


@dataclass(frozen=True)
class Drawn:
    """A figure: its name, its SVG, and its width in CSS pixels."""

    name: str
    svg: bytes
    width: float

    @property
    def encoded(self) -> str:
        """Base64 of the SVG."""
        return base64.b64encode(self.svg).decode()


def document(title: str, table: Table) -> str:
    """Render a page with one table."""
    return _templates().get_template("page.html").render(title=title, table=table)


def page(findings: Findings, figures: Sequence[Drawn]) -> str:
    """Render the report of a recipe, a frontier or a leaderboard."""
    listed = [[one.name, one.verdict, one.reason] for one in findings.rows]
    columns = [
        Column("row", numeric=False),
        Column("verdict" if listed else "status", numeric=False, tags=True),
        Column("reason", numeric=False, prose=True),
    ]
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=findings.recipe.title,
            found=findings,
            figures=figures,
            counts=Counter(verdict.verdict for verdict in findings.rows),
            reasons=Table(columns, listed or [list(row) for row in findings.absent]),
            headings=_HEADINGS,
            shell=shlex.join,
        )
    )


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
