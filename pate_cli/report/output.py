"""The files of a recipe, a frontier or a leaderboard: tables, figures and one page with all of it."""

from __future__ import annotations

from pathlib import Path

from pate_cli.errors import InputError
from pate_cli.report.findings import Findings
from pate_cli.report.page import Drawn, page
from pate_cli.terminal import check_directory, write_file

__all__ = ["check", "write"]

_TABLES = ("table", "metrics", "paired", "ranks", "rows", "settings")
"""Stem of every table's files: those of an earlier run are known by it."""

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
    """Write every file, each whole or not at all; those of an earlier run are removed."""
    from pate_cli.report.figures import render  # matplotlib: not for the check before the work

    if unknown := set(findings.more) - set(_TABLES):
        raise ValueError(f"tables {', '.join(unknown)}: not among {', '.join(_TABLES)}")
    texts: dict[str, str] = {}
    images: dict[str, bytes] = {}
    drawn: list[Drawn] = []
    for stem, table in {"table": findings.table, **findings.more}.items():
        forms = {"csv": table.to_csv, "md": table.to_markdown, "tex": table.to_latex}
        texts |= {f"{stem}.{suffix}": form() for suffix, form in forms.items()}
    for index, (name, draw) in enumerate(findings.figures.items()):
        stem = "figure" if index == 0 else f"figure-{name}"
        png, svg, width = render(draw, salt=f"{findings.recipe.name}-{name}")
        images |= {f"{stem}.png": png, f"{stem}.svg": svg}
        drawn.append(Drawn(name, svg, width))
    texts["report.html"] = page(findings, drawn)
    directory.mkdir(parents=True, exist_ok=True)
    for pattern in _OURS:
        for path in directory.glob(pattern):
            if path.name not in texts and path.name not in images:
                path.unlink()
    content: dict[str, str | bytes] = {**images, **texts}
    return [write_file(directory / name, data) for name, data in content.items()]
