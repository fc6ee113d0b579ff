"""A table as text cells, and its forms: CSV (raw values), Markdown, LaTeX, HTML and the terminal."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pate_cli.report.renderers import TEX

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

__all__ = ["Column", "Grid", "from_frame", "number", "print_grid", "tag"]

ABSENT = "–"
_MOST_LINES = 100  # on a terminal


@dataclass(frozen=True)
class Column:
    """One column as people see it.

    Attributes
    ----------
    header : str
    group : str
        Columns next to each other with one group share a heading above theirs.
    numeric : bool
    tags : bool
        Whether its cells are verdicts.
    """

    header: str
    group: str = ""
    numeric: bool = True
    tags: bool = False

    @property
    def full(self) -> str:
        """Heading where there is one line for it."""
        return f"{self.header} ({self.group})" if self.group else self.header


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes
    ----------
    columns : list of Column
    cells : list of list of str
        As people see it.
    records : list of dict of str to Any
        For CSV: every number, nothing rounded; all with the same keys.
    note : str
        Said below it.
    brief : list of int
        Columns shown on a terminal; empty for all.
    """

    columns: list[Column]
    cells: list[list[str]]
    records: list[dict[str, Any]] = field(default_factory=list)
    note: str = ""
    brief: list[int] = field(default_factory=list)

    def to_csv(self) -> str:
        """Raw values: empty where absent, infinity `inf`, floats in full."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        names = list(self.records[0]) if self.records else [column.full for column in self.columns]
        writer.writerow(names)
        writer.writerows([record[name] for name in names] for record in self.records)
        return buffer.getvalue()

    def to_markdown(self) -> str:
        """Pipe table."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"

        rule = "|" + "|".join("---:" if column.numeric else "---" for column in self.columns) + "|"
        lines = [line([column.full for column in self.columns]), rule, *map(line, self.cells)]
        return "\n".join(lines) + "\n" + (f"\n{self.note}\n" if self.note else "")

    def to_latex(self) -> str:
        r"""Booktabs `tabular`, ready for \input."""
        shape = "".join("r" if column.numeric else "l" for column in self.columns)
        lines = [r"% needs \usepackage{booktabs}", rf"\begin{{tabular}}{{{shape}}}", r"\toprule"]
        if any(column.group for column in self.columns):
            heads, rules, start = [], [], 1
            for name, run in groupby(self.columns, key=lambda column: column.group):
                width = len(list(run))
                heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(name)}}}" if name else "&" * (width - 1))
                if name:
                    rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
                start += width
            lines += [" & ".join(heads) + r" \\", " ".join(rules)]
        lines += [" & ".join(_tex(column.header) for column in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(map(_tex, row)) + r" \\" for row in self.cells]
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.note:
            lines += [r"\par\smallskip", rf"{{\footnotesize {_tex(self.note)}\par}}"]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Build a `table` element; what it shows is escaped."""
        lines = ["<table>", "<thead>"]
        if any(column.group for column in self.columns):
            cells = []
            for name, run in groupby(self.columns, key=lambda column: column.group):
                width = len(list(run))
                cells.append(f'<th colspan="{width}" class="group">{html.escape(name)}</th>' if name else "")
                if not name:
                    cells[-1] = f'<td colspan="{width}"></td>'
            lines.append(f"<tr>{''.join(cells)}</tr>")
        lines.append(self._html_row([column.header for column in self.columns], "th"))
        lines += ["</thead>", "<tbody>", *(self._html_row(row, "td") for row in self.cells), "</tbody>"]
        return "\n".join([*lines, "</table>"])

    def _html_row(self, cells: Sequence[str], kind: str) -> str:
        parts = []
        for column, cell in zip(self.columns, cells, strict=True):
            number = ' class="number"' if column.numeric else ""
            scope = ' scope="col"' if kind == "th" else ""
            text = tag(cell) if column.tags and kind == "td" and cell else html.escape(cell)
            parts.append(f"<{kind}{number}{scope}>{text}</{kind}>")
        return f"<tr>{''.join(parts)}</tr>"

    def to_rich(self) -> Table:
        """Table for a terminal: `brief` columns, each as wide as it must be."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        shown = self.brief or list(range(len(self.columns)))
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        for index in shown:
            column = self.columns[index]
            header = column.full.replace(" (", "\n(")
            cells = [line for row in self.cells for line in row[index].split("\n")]
            table.add_column(
                header,
                justify="right" if column.numeric else "left",
                no_wrap=True,
                min_width=max(map(len, [*header.split("\n"), *cells])),
            )
        for row in self.cells[:_MOST_LINES]:
            table.add_row(*(Text(row[index]) for index in shown))
        if len(self.cells) > _MOST_LINES:
            table.add_row(f"... {len(self.cells) - _MOST_LINES} more")
        return table


def print_grid(grid: Grid) -> None:
    """Print a table to stdout, rather too wide than cut."""
    from pate_cli.console import out

    table = grid.to_rich()
    floor = sum((column.min_width or 0) + 1 for column in table.columns)
    if floor > out().width:
        table.width = floor
    out().print(table, crop=False)


def tag(word: str) -> str:
    """Write a verdict for the page: its first word is its style."""
    return f'<span class="tag {html.escape(word.split()[0])}">{html.escape(word)}</span>'


def number(value: float | None, form: str = ".4f", ci: float | None = None) -> str:
    """Write a number, with its interval where there is one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    if math.isinf(value):
        return "∞"
    return format(value, form) + ("" if ci is None else f" ± {ci:{form}}")


def from_frame(frame: pd.DataFrame) -> Grid:
    """Make a grid of a study's table: numbers to four digits, texts as they are."""
    numeric = [frame[name].dtype.kind in "iuf" for name in frame.columns]
    columns = [Column(str(name), numeric=kind) for name, kind in zip(frame.columns, numeric, strict=True)]
    values = [[_plain(value) for value in row] for row in frame.itertuples(index=False)]
    cells = [[_cell(value) for value in row] for row in values]
    names = [column.header for column in columns]
    return Grid(columns, cells, [dict(zip(names, row, strict=True)) for row in values])


def _plain(value: Any) -> Any:
    """Python's own type; nan and None both as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if value is None or value != value else value


def _cell(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return number(value, ".4g")


def _tex(text: str) -> str:
    r"""Escape for LaTeX; `[` and `*` at the start of a row would be read as an option of `\\`."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text)
    return "".join(_TEX.get(char) or _tex_letter(char) for char in text)


def _tex_letter(char: str) -> str:
    name = unicodedata.name(char, "")
    if name.startswith("GREEK SMALL LETTER "):
        letter = name.rpartition(" ")[2].lower()
        return rf"$\{'var' * (letter == 'epsilon')}{letter}$"
    return char if char.isascii() or name.startswith("LATIN ") else "?"


_TEX = TEX | {
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "–": "--",
    "−": "$-$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "×": r"$\times$",
}
