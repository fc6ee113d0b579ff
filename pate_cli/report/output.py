"""The files of a recipe, a frontier or a leaderboard: tables, figures and one self-contained page."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.errors import InputError
from pate_cli.report.findings import Findings
from pate_cli.report.table import Column, Table
from pate_cli.terminal import check_directory, write_file

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["check", "document", "write"]

_TABLES = ("table", "metrics", "paired", "ranks", "rows", "settings")
"""Stem of every table's files: those of an earlier run are known by it."""
_HEADINGS = {
    "paired": "Paired differences",
    "ranks": "Ranks and win rates",
    "rows": "The runs",
    "settings": "Which setting gives which printed numbers",
}
_OURS = ("figure*.png", "figure*.svg", "report.html", *(f"{stem}.*" for stem in _TABLES))


def check(directory: Path, *, default: bool) -> None:
    """Check before the work that `write` can write; directories above the default one may be missing."""
    check_directory(directory, parents=default)
    for pattern in _OURS:
        for path in directory.glob(pattern):
            if path.is_dir():
                raise InputError(
                    f"--output {directory}: {path.name} in it is a directory; give another place"
                )


def write(directory: Path, findings: Findings) -> list[Path]:
    """Write every file, each whole or not at all; files of an earlier run are removed."""
    from pate_cli.report.figures import render  # matplotlib: not for the check before the work

    if unknown := set(findings.more) - set(_TABLES):
        raise ValueError(f"tables {', '.join(unknown)}: not among {', '.join(_TABLES)}")
    texts: dict[str, str] = {}
    images: dict[str, bytes] = {}
    drawn: list[tuple[str, str, float]] = []
    for stem, table in {"table": findings.table, **findings.more}.items():
        forms = {"csv": table.to_csv, "md": table.to_markdown, "tex": table.to_latex}
        texts |= {f"{stem}.{suffix}": form() for suffix, form in forms.items()}
    for index, (name, draw) in enumerate(findings.figures.items()):
        stem = "figure" if index == 0 else f"figure-{name}"
        png, svg, width = render(draw, salt=f"{findings.recipe.name}-{name}")
        images |= {f"{stem}.png": png, f"{stem}.svg": svg}
        drawn.append((name, base64.b64encode(svg).decode(), width))
    texts["report.html"] = _page(findings, drawn)
    directory.mkdir(parents=True, exist_ok=True)
    for pattern in _OURS:
        for path in directory.glob(pattern):
            if path.name not in texts and path.name not in images:
                path.unlink()
    content: dict[str, str | bytes] = {**images, **texts}
    return [write_file(directory / name, data) for name, data in content.items()]


def document(title: str, table: Table) -> str:
    """Render a page with one table."""
    return _template().render(title=title, table=table)


def _page(findings: Findings, figures: Sequence[tuple[str, str, float]]) -> str:
    """Render all of it; of each figure the name, the SVG in Base64, and the width in CSS pixels."""
    listed = [[one.name, one.verdict, one.reason] for one in findings.rows]
    columns = [
        Column("row", numeric=False),
        Column("verdict" if listed else "status", numeric=False, tags=True),
        Column("reason", numeric=False, prose=True),
    ]
    return _template().render(
        title=findings.recipe.title,
        found=findings,
        figures=figures,
        counts=Counter(verdict.verdict for verdict in findings.rows),
        reasons=Table(columns, listed or [list(row) for row in findings.absent]),
        headings=_HEADINGS,
        shell=shlex.join,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template("page.html")
