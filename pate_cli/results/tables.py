"""A table as text cells, and its forms: terminal, CSV (raw values), Markdown, LaTeX, HTML (`page.html`)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pate_cli.results.console import show
from pate_cli.results.interval import Interval
from pate_cli.terminal import out

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

__all__ = ["ABSENT", "Column", "Table", "from_frame", "number"]

ABSENT = "–"


@dataclass(frozen=True)
class Column:
    """One column as people see it."""

    header: str
    group: str = ""  # columns next to each other with one group share a heading above theirs
    numeric: bool = True
    tags: bool = False  # its cells are verdicts
    prose: bool = False  # its cells are sentences, of several lines
    detail: bool = False  # a terminal shows it where there is room

    @property
    def full(self) -> str:
        """Heading where there is one line for it."""
        return f"{self.header} ({self.group})" if self.group else self.header


@dataclass(frozen=True)
class Table:
    """Cells for people and records for CSV."""

    columns: list[Column]
    cells: list[list[str]]
    records: list[dict[str, Any]] = field(default_factory=list)  # nothing rounded; all with the same keys
    note: str = ""  # below the table
    remarks: list[str] = field(default_factory=list)  # below the note, a line each; comments in LaTeX

    def to_csv(self) -> str:
        """Raw values: empty where absent, infinity `inf`, floats in full."""
        import pandas as pd

        names = list(self.records[0]) if self.records else [column.full for column in self.columns]
        frame = pd.DataFrame(self.records, columns=names, dtype=object)
        return frame.to_csv(index=False, lineterminator="\n")

    def to_markdown(self) -> str:
        """Pipe table, the note, and the remarks as a list."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"

        parts = []
        if self.cells:
            rule = "|" + "|".join("---:" if column.numeric else "---" for column in self.columns) + "|"
            lines = [line([column.full for column in self.columns]), rule, *map(line, self.cells)]
            parts += ["\n".join(lines), *([self.note] if self.note else [])]
        if self.remarks:
            parts.append("\n".join(f"- {remark}" for remark in self.remarks))
        return "\n\n".join(parts) + "\n"

    def to_latex(self) -> str:
        r"""Booktabs tables of 40 rows each, ready for \input, shrunk to the line where they are wider.

        Columns with the same cell in every row go to the note.
        """
        remarks = [f"% {remark}" for remark in self.remarks]
        if not self.cells:
            return "\n".join(remarks) + "\n"
        kept = [index for index in range(len(self.columns)) if not self.constant(index)]
        kept = kept or list(range(len(self.columns)))
        same = [f"{c.full} {self.cells[0][i]}" for i, c in enumerate(self.columns) if i not in kept]
        note = " ".join(filter(None, [self.note, f"In every row: {'; '.join(same)}." if same else ""]))
        columns = [self.columns[index] for index in kept]
        cells = [[_tex(row[index]) for index in kept] for row in self.cells]
        pages = [_tabular(columns, cells[start : start + _PAGE]) for start in range(0, len(cells), _PAGE)]
        below = [rf"{{\footnotesize {_tex(note)}\par}}"] if note else []
        return "\n".join([*_NEEDS, *remarks, *pages, *below]) + "\n"

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings above the columns' own and how many columns each spans; empty if there is none."""
        if not any(column.group for column in self.columns):
            return []
        return [(name, len(list(run))) for name, run in groupby(self.columns, lambda column: column.group)]

    def show(self, console: Console | None = None) -> None:
        """Print it to a console (default: stdout), within its width."""
        show(self, console or out())

    def constant(self, index: int) -> bool:
        """Whether every row, of several, has the same in this column."""
        return len(self.cells) > 1 and len({row[index] for row in self.cells}) == 1


def number(value: float | Interval | None, form: str = ".4f", ci: float | None = None) -> str:
    """Write a number or a mean, with its interval where there is one."""
    if isinstance(value, Interval):
        return number(value.mean, form, value.half_width)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    if math.isinf(value):
        return "∞"
    return format(value, form) + ("" if ci is None else f" ± {ci:{form.lstrip('+')}}")


_PAGE = 40  # rows of one `tabular`, which LaTeX does not break
_NEEDS = (
    r"% needs \usepackage{graphicx}; rules look better with \usepackage{booktabs}",
    r"\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}",
)
_FITTED = r"\par\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_HEADERS = {"eps": r"$\varepsilon$", "eps_ex_post": r"$\varepsilon_{\mathrm{ex\,post}}$"}
_TEX = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "[": "{[}",  # `[` and `*` at the start of a row would be read as an option of `\\`
        "*": "{*}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "∞": r"$\infty$",
        "–": "--",
        "−": "$-$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "×": r"$\times$",
        **dict.fromkeys("«»ÐÞðþ", "?"),  # of Latin-1, those that LaTeX's own fonts lack
    }
)


def _tabular(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> str:
    import pandas as pd

    groups = [_tex(column.group) for column in columns]
    heads = [_HEADERS.get(column.header, _tex(column.header)) for column in columns]
    names = pd.MultiIndex.from_arrays([groups, heads]) if any(groups) else pd.Index(heads)
    shape = "".join("r" if column.numeric else "l" for column in columns)
    style = pd.DataFrame(cells).set_axis(names, axis="columns").style.hide(axis="index")
    text = style.to_latex(column_format=shape, hrules=True, multicol_align="c")
    return f"{_FITTED}\n{text}}}\n\\par\\smallskip"


def _tex(text: str) -> str:
    """Escape for LaTeX; characters beyond Latin-1 become question marks."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text).translate(_TEX)
    return text.encode("latin-1", "replace").decode("latin-1")


def from_frame(frame: pd.DataFrame, note: str = "") -> Table:
    """Make a table of a study's: numbers to four digits, texts as they are."""
    numeric = [frame[name].dtype.kind in "iuf" for name in frame.columns]
    columns = [Column(str(name), numeric=kind) for name, kind in zip(frame.columns, numeric, strict=True)]
    values = [[_plain(value) for value in row] for row in frame.itertuples(index=False)]
    cells = [[_cell(value) for value in row] for row in values]
    names = [column.header for column in columns]
    return Table(columns, cells, [dict(zip(names, row, strict=True)) for row in values], note)


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
