"""Writing what a recipe came to: tables, figures and one page with all of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError
from pate_cli.report.findings import Findings
from pate_cli.report.page import Drawn, page
from pate_cli.writing import check_directory, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check", "write"]

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "lines.markersize": 5,
    "lines.linewidth": 1.2,
    "svg.fonttype": "path",
}
_OURS = ("figure*.png", "figure*.svg", "table.*", "paired.*", "rows.*", "report.html")


def check(directory: Path, *, default: bool) -> None:
    """Check, before the work, that `write` will be able to write.

    Parameters
    ----------
    directory : Path
        Of `--output`, or the default one.
    default : bool
        Whether it is the default: then those above it may be missing too.

    Raises
    ------
    InputError
    """
    check_directory(directory, parents=default)
    for pattern in _OURS:
        for path in directory.glob(pattern):
            if path.is_dir():
                raise InputError(
                    f"--output {directory}: {path.name} in it is a directory; give another place"
                )


def write(directory: Path, findings: Findings) -> list[Path]:
    """Write every file of a recipe, each whole or not at all; those of an earlier run go.

    Returns
    -------
    list of Path
        `table.csv`, `.md`, `.tex`, further tables, `figure.png`, `.svg` (further ones as `figure-NAME`),
        and `report.html`.

    Raises
    ------
    OSError
    """
    texts: dict[str, str] = {}
    images: dict[str, bytes] = {}
    drawn: list[Drawn] = []
    for stem, grid in {"table": findings.table, **findings.more}.items():
        forms = {"csv": grid.to_csv, "md": grid.to_markdown, "tex": grid.to_latex}
        texts |= {f"{stem}.{suffix}": form() for suffix, form in forms.items()}
    for index, (name, draw) in enumerate(findings.figures.items()):
        stem = "figure" if index == 0 else f"figure-{name}"
        png, svg, width = _render(draw, salt=f"{findings.recipe.name}-{name}")
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


def _render(draw: Callable[[], Figure], salt: str) -> tuple[bytes, bytes, float]:
    """PNG, SVG and the width in CSS pixels; the same bytes for the same figure."""
    import matplotlib as mpl

    png, svg = io.BytesIO(), io.BytesIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": salt}):
        figure = draw()
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return png.getvalue(), svg.getvalue(), float(figure.get_figwidth() * 96)
