"""What a command says and leaves: the answer, tables, verdicts, the page, and their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.errors import InputError, one_line
from pate_cli.results.next_steps import NextStep
from pate_cli.results.record import RECORD_NAME
from pate_cli.results.tables import Table
from pate_cli.terminal import check_directory, write_file

if TYPE_CHECKING:
    from pate_cli.results.html import Page

__all__ = [
    "PAGE",
    "Report",
    "checked_directory",
    "write",
    "write_page",
]

PAGE = "report.html"
"""Name of the page among the files of a result."""

_TABLES = ("table", "metrics", "paired", "ranks", "rows", "measures", "settings")
_OURS = ("figure*.png", "figure*.svg", PAGE, *(f"{stem}.*" for stem in _TABLES))
"""Files of a result, by which those of an earlier one are known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """What a command says: on a terminal, in its files, and on a page."""

    answer: str  # with the marks of `sentences`
    table: Table
    page: Page | None = None
    lines: Sequence[tuple[str, str, str]] = ()  # label, value, remark: in place of a table of one row
    notes: Sequence[str] = ()  # below the table, at most two
    explain: Sequence[str] = ()  # meanings of columns and words
    next_step: NextStep | None = None
    files: Mapping[str, Table] = field(default_factory=dict)  # CSV, by their stem
    images: Mapping[str, bytes] = field(default_factory=dict)  # by file
    verdicts: Sequence[Mapping[str, Any]] = ()  # a record each
    failures: Sequence[str] = ()

    def html(self) -> str:
        """Render the page."""
        from pate_cli.results.html import Page, render

        return render(self.page or Page(title="", kicker="", answer=self.answer))


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


def write(directory: Path, report: Report) -> str:
    """Write every file, each whole or not at all; files of an earlier run are removed.

    Returns why there is no page, if it cannot be written: the tables stand.
    """
    content: dict[str, str | bytes] = {f"{stem}.csv": table.to_csv() for stem, table in report.files.items()}
    content |= report.images
    directory.mkdir(parents=True, exist_ok=True)
    for path in _earlier(directory):
        if path.name not in content:
            path.unlink()
    for name, data in content.items():
        write_file(directory / name, data)
    return write_page(directory, report.html)


def write_page(directory: Path, make: Callable[[], str]) -> str:
    """Write the page that `make` returns into the directory of a result; the reason if that fails."""
    try:
        write_file(directory / PAGE, make())
    except Exception as error:  # the work is done, and stands in other files
        (directory / PAGE).unlink(missing_ok=True)
        return f"{PAGE} is not written: {one_line(str(error)) or type(error).__name__}"
    return ""
