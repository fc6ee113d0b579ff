"""The table of runs for a terminal, CSV, Markdown and LaTeX.

Light on purpose: no pandas, and rich only where a terminal is written to.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pate_cli.report.tables import RunTable, TableRow

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["GUARANTEE", "TEX", "to_console", "to_csv", "to_latex", "to_markdown"]

GUARANTEE = (
    "eps is the guarantee, of one repeat. eps_ex_post depends on the outputs: a report, not a guarantee. "
    "Accuracy and ceiling are measured on held-out or private data: not differentially private."
)


def to_console(table: RunTable, console: Console) -> None:
    """Print the table; words fold in a narrow terminal, numbers are never cut."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # A terminal that cannot show a sign gets another one instead of an error. Text,
    # because "active[svt]" would be read as markup.
    ascii_only = console.options.ascii_only

    def text(words: str, style: str = "") -> Text:
        return Text(words.encode(console.encoding, "replace").decode(console.encoding), style=style)

    if table.rows:
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
        columns = _columns(table.rows)
        lines = _cells(table.rows, _ASCII if ascii_only else _UNICODE)
        floor = len(columns) - 1
        for (name, numeric), cells in zip(columns, zip(*lines, strict=True), strict=True):
            header = _FOLDED.get(name, name)
            if ascii_only:
                header = header.replace("±", "+-")
            narrowest = max(map(len, header.split("\n")))
            if numeric:
                narrowest = max(narrowest, *map(len, cells))
                grid.add_column(header, justify="right", no_wrap=True, min_width=narrowest)
            else:
                grid.add_column(header, overflow="fold", min_width=narrowest)
            floor += narrowest
        for line in lines:
            grid.add_row(*map(text, line))
        if floor > console.width:  # rather too wide than cut
            grid.width = floor
        console.print(grid, crop=False)
        console.print(text(GUARANTEE, "italic"))
    for remark in table.remarks():
        console.print(text(remark))


def to_csv(table: RunTable) -> str:
    """Make a row of every run with all its fields, unfinished runs too: infinity `inf`, nothing rounded."""
    buffer = io.StringIO()
    names = list(TableRow.__dataclass_fields__)
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(run, name) for name in names] for run in table.runs)
    return buffer.getvalue()


def to_markdown(table: RunTable) -> str:
    """Make a pipe table, then the remarks as a list."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"

    parts = []
    if table.rows:
        columns = _columns(table.rows)
        rule = "|" + "|".join("---:" if numeric else "---" for _, numeric in columns) + "|"
        body = [line([name for name, _ in columns]), rule, *map(line, _cells(table.rows, _UNICODE))]
        parts += ["\n".join(body), GUARANTEE]
    if remarks := table.remarks():
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    return "\n\n".join(parts) + "\n"


def to_latex(table: RunTable) -> str:
    r"""Make a booktabs `tabular`, ready for \input; the remarks are comments at its head."""
    lines = [r"% needs \usepackage{booktabs}", *(f"% {remark}" for remark in table.remarks())]
    if table.rows:
        columns = _columns(table.rows)
        lines += [
            rf"\begin{{tabular}}{{{''.join('r' if numeric else 'l' for _, numeric in columns)}}}",
            r"\toprule",
            " & ".join(_LATEX_HEADERS.get(name, name) for name, _ in columns) + r" \\",
            r"\midrule",
        ]
        for cells in _cells(table.rows, _LATEX):
            # Only words need escaping; numbers may hold the signs of _LATEX.
            shown = [
                cell if numeric else _escape(cell) for cell, (_, numeric) in zip(cells, columns, strict=True)
            ]
            lines.append(" & ".join(shown) + r" \\")
        lines += [
            r"\bottomrule",
            r"\end{tabular}",
            r"\par\smallskip",
            rf"{{\footnotesize {_escape(GUARANTEE)}\par}}",
        ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Signs:
    infinity: str
    plus_minus: str
    absent: str


_UNICODE = _Signs("∞", " ± ", "-")
_ASCII = _Signs("inf", " +- ", "-")
_LATEX = _Signs(r"$\infty$", r" $\pm$ ", "--")

# Narrow headers, so that the table fits into 80 columns.
_FOLDED = {
    "answered/asked": "answered\n/asked",
    "eps_ex_post": "eps_ex\n_post",
    "accuracy ± ci95": "accuracy\n± ci95",
    "teachers": "teach-\ners",
    "ceiling": "ceil-\ning",
}
_LATEX_HEADERS = {
    "eps": r"$\varepsilon$",
    "eps_ex_post": r"$\varepsilon_{\mathrm{ex\,post}}$",
    "accuracy ± ci95": r"accuracy $\pm$ ci95",
}


def _columns(rows: Sequence[TableRow]) -> list[tuple[str, bool]]:
    """Name the columns, and say which hold numbers; ceiling and status only where they say something."""
    columns = [("dataset", False), ("mechanism", False), ("teachers", True), ("answered/asked", True)]
    columns += [("eps", True), ("eps_ex_post", True), ("accuracy ± ci95", True)]
    if any(row.ceiling is not None for row in rows):
        columns.append(("ceiling", True))
    if any(row.status != "ok" for row in rows):
        columns.append(("status", False))
    return columns


def _cells(rows: Sequence[TableRow], signs: _Signs) -> list[list[str]]:
    def number(value: float | None, form: str) -> str:
        if value is None:
            return signs.absent
        return signs.infinity if math.isinf(value) else format(value, form)

    names = [name for name, _ in _columns(rows)]
    lines = []
    for row in rows:
        accuracy = number(row.accuracy, ".4f")
        if row.ci95 is not None:
            accuracy += f"{signs.plus_minus}{row.ci95:.4f}"
        shown = {
            "dataset": row.dataset,
            "mechanism": row.mechanism,
            "teachers": number(row.n_teachers, "d"),
            "answered/asked": row.queries,
            "eps": number(row.eps, "g"),
            "eps_ex_post": number(row.eps_ex_post, ".4f"),
            "accuracy ± ci95": accuracy,
            "ceiling": number(row.ceiling, ".4f"),
            "status": row.status,
        }
        lines.append([shown[name] for name in names])
    return lines


TEX: dict[str, str] = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # "[" and "*" at the start of a row would be read as an option of the line before
    "[": "{[}",
    "*": "{*}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""What LaTeX would not print as it stands."""


def _escape(text: str) -> str:
    return "".join(TEX.get(char, char) for char in text)
