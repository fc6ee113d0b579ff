"""Printing of a report: the answer, one table, notes, and the next command; and writing of its files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pate_cli.commands.printing import print_json
from pate_cli.plugins import python_path
from pate_cli.results.marks import plain
from pate_cli.results.next_steps import wrapped
from pate_cli.results.page import PAGE, Report, write
from pate_cli.results.tables import Table, printable
from pate_cli.terminal import err, notice, out

__all__ = ["publish", "say", "show_next", "show_report"]


def show_report(report: Report, options: argparse.Namespace, command: str, place: str = "") -> None:
    """Print the answer, one table, notes and the next command; `place` is the page's file."""
    if options.json:
        tables = {"table": report.table, **report.files}
        shown: dict[str, Sequence[Any]] = {name: table.records for name, table in tables.items()}
        shown |= {"verdicts": report.verdicts} if report.verdicts else {}
        notes = [plain(text) for text in (*report.notes, *report.explain)]
        print_json(command, shown, notes, answer=plain(report.answer))
        return
    say(plain(report.answer))
    out().print()
    if report.lines:
        _show_lines(report.lines)
    else:
        _unmarked(report.table).show(quiet=True)
    if options.quiet:
        return
    page = [f"Figure and reasons: {place}"] if place else []
    texts = [*report.notes, *page, *(report.explain if getattr(options, "explain", False) else [])]
    if texts:
        out().print()
    for text in texts:
        say(plain(text))
    if report.next_step is not None:
        show_next(*report.next_step)


def _unmarked(table: Table) -> Table:
    """A table as a terminal shows it, without marks."""
    columns = [replace(column, header=plain(column.header)) for column in table.columns]
    return replace(table, columns=columns, cells=[[plain(cell) for cell in row] for row in table.cells])


def show_next(title: str, commands: Sequence[Sequence[str]]) -> None:
    """Print commands to type next."""
    say(f"\n{title}:")
    setting = python_path()
    for words in commands:
        for line in wrapped([*setting, *words], min(out().width, 80)):
            out().print(line, markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Print a sentence, broken between words at 80 columns, or fewer on a narrow terminal."""
    for part in printable(text, out()).split("\n"):
        lines = _wrapped(part, min(out().width, 80))
        out().print("\n".join(lines), markup=False, soft_wrap=True)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of a text in columns of a terminal, of which a sign of Chinese takes two; no word is broken."""
    from rich.cells import cell_len

    lines: list[str] = []
    for word in text.replace(" ± ", "\xa0±\xa0").split(" "):  # a number keeps its interval
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line.replace("\xa0±\xa0", " ± ") for line in lines]


def _show_lines(lines: Sequence[tuple[str, str, str]]) -> None:
    """Print a label, a value and a note a line."""
    widths = [max(len(line[index]) for line in lines) for index in (0, 1)]
    for label, value, about in lines:
        start, width = f"{label:{widths[0]}}  {value:{widths[1]}}  ", min(out().width, 80)
        note_lines = _wrapped(about, max(width - len(start), 20))
        for number, part in enumerate(note_lines):
            line = f"{' ' * len(start) if number else start}{part}".rstrip()
            out().print(printable(line, out()), markup=False, soft_wrap=True)


def publish(
    report: Report, directory: Path, options: argparse.Namespace, command: str, notes: Iterable[str] = ()
) -> int:
    """Write all files; print the report, `notes` and failures. 1 if there are failures."""
    missing = write(directory, report)
    show_report(report, options, command, "" if missing else str(directory / PAGE))
    for text in (*notes, *filter(None, [missing])):
        notice(text)
    err().print(f"written to {directory}", style="dim", markup=False, soft_wrap=True)
    for failure in report.failures:
        notice(failure)
    return 1 if report.failures else 0
