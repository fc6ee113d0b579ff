"""Results of a recipe or a frontier: their files (tables, figures, one page), and printing."""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pate_cli.errors import InputError, one_line
from pate_cli.results.record_files import RECORD_NAME
from pate_cli.results.tables import Column, Table
from pate_cli.results.verdicts import Verdict
from pate_cli.terminal import check_directory, write_file

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Template
    from matplotlib.figure import Figure

__all__ = [
    "PAGE",
    "About",
    "Findings",
    "Progress",
    "StudyResult",
    "checked_directory",
    "document",
    "write",
    "write_page",
]

PAGE = "report.html"
"""Name of the page among the files of a result."""

_HEADINGS = {
    "table": "Table",
    "metrics": "Further measures",
    "paired": "Paired differences",
    "ranks": "Ranks and win rates",
    "rows": "The runs",
    "measures": "Every measure",
    "settings": "Which setting gives which printed numbers",
}
"""Heading of every table on the page, by the stem of its files: those of an earlier run are known by it."""

_OURS = ("figure*.png", "figure*.svg", PAGE, *(f"{stem}.*" for stem in _HEADINGS))


@dataclass(frozen=True, kw_only=True)
class About:
    """What a result is of, in words."""

    name: str
    title: str
    source: str  # paper, table or figure, page; of other results their sizes
    shows: str  # one sentence
    printed: dict[str, Any] = field(default_factory=dict)  # in the paper, but of no row


@dataclass(frozen=True, eq=False)
class Findings:
    """Tables, figures and verdicts."""

    about: About
    command: list[str]  # that makes it again
    table: Table
    more: dict[str, Table] = field(default_factory=dict)  # by the stem of their files
    figures: dict[str, Callable[[], Figure]] = field(default_factory=dict)
    rows: list[Verdict] = field(default_factory=list)
    claims: list[Verdict] = field(default_factory=list)  # on the paper's observations
    # rows without numbers: name, status, reason
    absent: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: Table | None = None  # that all rows share; on the page alone
    private: Sequence[str] = ()  # what is, and what is not; on the page alone
    statements: list[str] = field(default_factory=list)  # computed from the numbers, where there is no paper
    quick: bool = False
    sources: dict[str, str] = field(default_factory=dict)  # data, code, versions
    commands: dict[str, list[str]] = field(default_factory=dict)  # that run each row by itself
    failures: list[str] = field(default_factory=list)

    @property
    def reasons(self) -> Table:
        """The verdict on each row, or why it has no numbers."""
        judged = [[verdict.name, verdict.word, verdict.reason] for verdict in self.rows]
        columns = [
            Column("row", numeric=False),
            Column("verdict" if judged else "status", numeric=False, tags=True),
            Column("reason", numeric=False, prose=True),
        ]
        return Table(columns, judged or [list(row) for row in self.absent])


Progress: TypeAlias = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Result of a study.

    Attributes
    ----------
    table : DataFrame or Table
    figures : mapping of str to function
        Each draws a new `matplotlib.figure.Figure`, without pyplot's global state.
    verdicts : list of Verdict
    notes : list of str
        Below the table: sizes, units, what is exact.
    """

    table: pd.DataFrame | Table
    figures: Mapping[str, Callable[[], Figure]]
    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def checked_directory(given: Path | None, default: Path) -> Path:
    """Choose the directory for the results, and check before the work that they can be written.

    Directories above the default one may be missing.
    """
    directory = given or default
    check_directory(directory, parents=given is None)
    if (directory / RECORD_NAME).is_file():
        raise InputError(f"--output {directory}: has the files of a run; give another directory")
    for path in _earlier(directory):
        if path.is_dir():
            raise InputError(f"--output {directory}: {path.name} in it is a directory; give another place")
    return directory


def _earlier(directory: Path) -> list[Path]:
    """Paths named as the files of findings."""
    return [path for pattern in _OURS for path in directory.glob(pattern)]


def write(directory: Path, findings: Findings) -> str:
    """Write every file, each whole or not at all; files of an earlier run are removed.

    Returns why there is no page, if it cannot be written: the tables stand.
    """
    content: dict[str, str | bytes] = {}
    drawn = _drawn(findings)
    for index, (name, (png, svg, _)) in enumerate(drawn.items()):
        stem = "figure" if index == 0 else f"figure-{name}"
        content |= {f"{stem}.png": png, f"{stem}.svg": svg}
    for stem, table in {"table": findings.table, **findings.more}.items():
        content[f"{stem}.csv"] = table.to_csv()
    directory.mkdir(parents=True, exist_ok=True)
    for path in _earlier(directory):
        if path.name not in content:
            path.unlink()
    for name, data in content.items():
        write_file(directory / name, data)
    return write_page(directory, lambda: _page(findings, drawn))


def write_page(directory: Path, make: Callable[[], str]) -> str:
    """Write the page that `make` returns into the directory of a result; the reason if that fails."""
    try:
        write_file(directory / PAGE, make())
    except Exception as error:  # the work is done, and stands in other files
        (directory / PAGE).unlink(missing_ok=True)
        return f"{PAGE} is not written: {one_line(str(error)) or type(error).__name__}"
    return ""


def document(findings: Findings) -> str:
    """Page of a result, with all that it needs in it."""
    return _page(findings, _drawn(findings, png=False))


def _drawn(findings: Findings, *, png: bool = True) -> dict[str, tuple[bytes, bytes, float]]:
    """Figures by name: PNG, SVG, and width in CSS pixels."""
    from pate_cli.results.figures import render  # matplotlib: not for the check before the work

    salt = findings.about.name
    return {name: render(draw, f"{salt}-{name}", png=png) for name, draw in findings.figures.items()}


def _page(findings: Findings, drawn: Mapping[str, tuple[bytes, bytes, float]]) -> str:
    figures = [(name, base64.b64encode(svg).decode(), width) for name, (_, svg, width) in drawn.items()]
    counts = Counter(verdict.word for verdict in findings.rows)
    return _template().render(
        title=findings.about.title, found=findings, figures=figures, counts=counts, headings=_HEADINGS
    )


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
    environment.filters["shell"] = shlex.join
    return environment.get_template("page.html")
