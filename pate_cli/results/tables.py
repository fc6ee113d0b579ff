"""A table as text cells, and its forms: terminal, CSV (raw values), Markdown, LaTeX (HTML: its template).

On a terminal every line fits its width, and no number is cut. What is in the way goes in this order: columns
with the same cell in every row (named below the table), details (the CSV file has them), the middle of long
names; what still does not fit stands in further blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

from pate_cli.results.interval import Interval, digits_of
from pate_cli.terminal import out

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table as Rich
    from rich.text import Text

__all__ = ["ABSENT", "Head", "Table", "from_frame", "number", "printable", "short", "span"]

ABSENT = "–"


@dataclass(frozen=True)
class Head:
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

    columns: list[Head]
    cells: list[list[str]]
    records: list[dict[str, Any]] = field(default_factory=list)  # nothing rounded; all with the same keys
    note: str = ""  # below the table
    footnotes: list[str] = field(default_factory=list)  # below the note, a line each; comments in LaTeX
    meaning: str = ""  # of eps: what of the note is always printed
    title: str = ""
    looks: Sequence[str] = ()  # of each row on a page: pick, ref or nothing

    def to_csv(self) -> str:
        """Raw values: empty where absent, infinity `inf`, floats in full."""
        import pandas as pd

        names = list(self.records[0]) if self.records else [column.full for column in self.columns]
        frame = pd.DataFrame(self.records, columns=names, dtype=object)
        return frame.to_csv(index=False, lineterminator="\n")

    def to_markdown(self) -> str:
        """Pipe table, the note, and the footnotes as a list."""

        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |"

        parts = []
        if self.cells:
            rule = "|" + "|".join("---:" if column.numeric else "---" for column in self.columns) + "|"
            lines = [line([column.full for column in self.columns]), rule, *map(line, self.cells)]
            parts += ["\n".join(lines), *([self.note] if self.note else [])]
        if self.footnotes:
            parts.append("\n".join(f"- {footnote}" for footnote in self.footnotes))
        return "\n\n".join(parts) + "\n"

    def to_latex(self) -> str:
        r"""Booktabs tables of 40 rows each, ready for \input, shrunk to the line where they are wider.

        Columns with the same cell in every row go to the note.
        """
        footnotes = [f"% {footnote}" for footnote in self.footnotes]
        if not self.cells:
            return "\n".join(footnotes) + "\n"
        kept = [index for index in range(len(self.columns)) if not self.constant(index)]
        kept = kept or list(range(len(self.columns)))
        same = [f"{c.full} {self.cells[0][i]}" for i, c in enumerate(self.columns) if i not in kept]
        note = " ".join(filter(None, [self.note, f"In every row: {'; '.join(same)}." if same else ""]))
        columns = [self.columns[index] for index in kept]
        cells = [[_tex(row[index]) for index in kept] for row in self.cells]
        pages = [_tabular(columns, cells[start : start + _PAGE]) for start in range(0, len(cells), _PAGE)]
        below = [rf"{{\footnotesize {_tex(note)}\par}}"] if note else []
        return "\n".join([*_NEEDS, *footnotes, *pages, *below]) + "\n"

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings above the columns' own and how many columns each spans; empty if there is none."""
        if not any(column.group for column in self.columns):
            return []
        return [(name, len(list(run))) for name, run in groupby(self.columns, lambda column: column.group)]

    def show(self, console: Console | None = None, *, quiet: bool = False) -> None:
        """Print it to a console (default: stdout), within its width.

        `quiet` prints of note and footnotes the meaning of eps alone.
        """
        _show(self, console or out(), quiet=quiet)

    def filled(self) -> Table:
        """The same without columns that are empty in every row."""
        return self._with([i for i in range(len(self.columns)) if any(row[i] for row in self.cells)])

    def varying(self) -> Table:
        """The same without columns that say one thing in every row; the note says that."""
        kept = [index for index in range(len(self.columns)) if not self.constant(index)]
        if len(kept) in (0, len(self.columns)):
            return self
        same = ", ".join(f"{c.full} {self.cells[0][i]}" for i, c in enumerate(self.columns) if i not in kept)
        return replace(self._with(kept), note=f"In every row: {same}. {self.note}".strip())

    def _with(self, kept: Sequence[int]) -> Table:
        """The same with some of its columns."""
        cells = [[row[index] for index in kept] for row in self.cells]
        return replace(self, columns=[self.columns[index] for index in kept], cells=cells)

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
    if ci is None:
        return format(value, form)
    if form.endswith("f"):
        sign, digits = form[:-1].split(".")
        form = f"{sign}.{digits_of(ci, int(digits))}f"
    return f"{value:{form}} ± {ci:{form.lstrip('+')}}"


def span(values: Sequence[float], form: str) -> str:
    """Write the least and the largest of numbers, as "0.5 to 2"."""
    return " to ".join(dict.fromkeys(number(pick(values), form) for pick in (min, max) if values)) or ABSENT


_PAGE = 40  # rows of one `tabular`, which LaTeX does not break
_NEEDS = (
    r"% needs \usepackage{graphicx}; rules look better with \usepackage{booktabs}",
    r"\providecommand{\toprule}{\hline}\providecommand{\midrule}{\hline}\providecommand{\bottomrule}{\hline}",
)
_FITTED = r"\par\noindent\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
_HEADERS = {"eps": r"$\varepsilon$", "eps used": r"$\varepsilon$ used"}
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


def _tabular(columns: Sequence[Head], cells: Sequence[Sequence[str]]) -> str:
    import pandas as pd

    heads = [_HEADERS.get(column.full, _tex(column.full)) for column in columns]
    shape = "".join("r" if column.numeric else "l" for column in columns)
    style = pd.DataFrame(cells, columns=heads).style.hide(axis="index")
    return f"{_FITTED}\n{style.to_latex(column_format=shape, hrules=True)}}}\n\\par\\smallskip"


def _tex(text: str) -> str:
    """Escape for LaTeX; characters beyond Latin-1 become question marks."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", text).translate(_TEX)
    return text.encode("latin-1", "replace").decode("latin-1")


def from_frame(frame: pd.DataFrame, note: str = "") -> Table:
    """Make a table of a study's: numbers to four digits, texts as they are."""
    numeric = [dtype.kind in "iuf" for dtype in frame.dtypes]
    heads = [" ".join(map(str, name)).strip() if isinstance(name, tuple) else str(name) for name in frame]
    columns = [Head(name, numeric=kind) for name, kind in zip(heads, numeric, strict=True)]
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
    return number(value, ",.0f" if value is not None and 1e4 <= abs(value) < 1e9 else ".4g")


_NAME = 12  # characters of a name that are always shown
_PROSE = 24  # least width of a column of sentences
_MOST_LINES = 100
_ASCII = str.maketrans(
    {
        "±": "+-",
        "∞": "inf",
        "–": "-",
        "−": "-",
        "≤": "<=",
        "≥": ">=",
        "×": "x",
        "…": "~",
        "“": '"',
        "”": '"',
        "’": "'",
        "·": "-",
    }
)


def _show(table: Table, console: Console, *, quiet: bool) -> None:
    """Print a table, values that are equal in all rows, its note and its footnotes."""
    from rich.text import Text  # "active[svt]" would be read as markup

    def text(words: str, style: str = "") -> Text:
        return Text(printable(words, console), style=style)

    if table.cells:
        view = _View(table, console.width)
        for number, block in enumerate(view.blocks()):
            if number:
                console.print()
            console.print(view.grid(block, text), crop=False)
        for words in filter(None, [table.meaning if quiet else table.note, view.below()]):
            console.print(text(words, "italic"))
    for footnote in () if quiet else table.footnotes:
        console.print(text(footnote))


def printable(words: str, console: Console) -> str:
    """Words in signs that a console has."""
    signs = _ASCII if console.options.ascii_only else {}
    return words.translate(signs).encode(console.encoding, "replace").decode(console.encoding)


def short(name: str, most: int) -> str:
    """A name with at most so many letters: its ends, which tell names of one family apart."""
    first = most // 2
    return name if len(name) <= most else f"{name[:first]}…{name[first + 1 - most :]}"


def _broken(name: str, width: int) -> str:
    """Break a name that is longer than `width` into two lines; one without such a place loses its middle."""
    if len(name) <= width:
        return name
    lines = _wrapped(re.findall(r"[^ _./-]+[ _./-]*|[ _./-]+", name), width).split("\n")
    fits = len(lines) == 2 and max(map(len, lines)) <= width
    return "\n".join(lines) if fits else short(name, width)


class _View:
    """Columns of a table that are shown at a width, and how wide each is."""

    def __init__(self, table: Table, width: int) -> None:
        self.table, self.width = table, width
        self.shown = list(range(len(table.columns)))
        self.same: list[int] = []
        self.left_out: list[int] = []
        self.name = self.longest = max(len(cell) for row in table.cells for cell in row)
        if self._total(self.shown) <= width:
            return
        first = table.cells[0]  # means stay, if they agree or not
        self.same = [index for index in self.shown if table.constant(index) and "±" not in first[index]]
        self.shown = [index for index in self.shown if index not in self.same] or self.shown[:1]
        details = [index for index in self.shown if table.columns[index].detail]
        while self._shorten() and details:
            self.left_out.append(details.pop())
            self.shown.remove(self.left_out[-1])
        if self._total(self.shown) > width:
            self.name = 2 * _NAME

    def _shorten(self) -> bool:
        """Shorten names until everything fits; whether it still does not."""
        for name in range(min(self.longest, self.width), _NAME - 1, -1):
            self.name = name
            if self._total(self.shown) <= self.width:
                return False
        return True

    def _cell(self, row: Sequence[str], index: int) -> str:
        """Text of a cell, a long name in two lines or without its middle."""
        column = self.table.columns[index]
        return row[index] if column.numeric or column.prose else _broken(row[index], self.name)

    def _least(self, index: int) -> int:
        """Width of a column: of its cells, and of the longest part of its heading."""
        column = self.table.columns[index]
        widest = max(len(line) for row in self.table.cells for line in self._cell(row, index).split("\n"))
        widest = min(widest, _PROSE) if column.prose else widest
        return max([widest, *(len(part.strip()) for part in _parts(column))])

    def blocks(self) -> Iterator[list[int]]:
        """Columns of each block; the names at the left, and eps, are in every one."""
        if self._total(self.shown) <= self.width:
            yield self.shown
            return
        columns = self.table.columns
        names = list(takewhile(lambda index: not columns[index].numeric, self.shown)) or self.shown[:1]
        keys = names + [index for index in self.shown if columns[index].header == "eps"]
        block = list(keys)
        for index in (index for index in self.shown if index not in keys):
            if len(block) > len(keys) and self._total([*block, index]) > self.width:
                yield block
                block = list(keys)
            block.append(index)
        yield block

    def below(self) -> str:
        """Caption: values that are equal in all rows."""
        columns, first = self.table.columns, self.table.cells[0]
        shown = [index for index in self.same if first[index] not in ("", "–")]
        same = [f"{columns[index].full} {first[index]}" for index in shown]
        others = [columns[index].full for index in sorted(self.left_out)]
        sentences = [f"In every row: {', '.join(same)}."] if same else []
        sentences += [f"Only in the files and in CSV: {', '.join(others)}."] if others else []
        return " ".join(sentences)

    def _total(self, shown: Sequence[int]) -> int:
        return sum(map(self._least, shown)) + len(shown) - 1

    def grid(self, block: Sequence[int], text: Callable[[str], Text]) -> Rich:
        """Columns of a block for rich."""
        from rich import box
        from rich.table import Table as Rich

        heads = {index: max(self._least(index), len(self.table.columns[index].full)) for index in block}
        widths = heads if sum(heads.values()) + 2 * (len(block) - 1) <= self.width else {}
        spare = self.width - self._total(block)
        padding = (0, int(spare >= len(block) - 1), 0, 0)
        grid = Rich(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
        for index in block:
            column, width = self.table.columns[index], widths.get(index, self._least(index))
            grid.add_column(
                text(_wrapped(_parts(column), width)),
                justify="right" if column.numeric else "left",
                no_wrap=not column.prose,
                min_width=width,
            )
        for row in self.table.cells[:_MOST_LINES]:
            grid.add_row(*(text(self._cell(row, index)) for index in block))
        if len(self.table.cells) > _MOST_LINES:
            grid.add_row(f"... {len(self.table.cells) - _MOST_LINES} more")
        if spare < 0:
            grid.width = self.width - spare
        return grid


def _parts(column: Head) -> list[str]:
    """Parts of a heading that are not broken; the group in a line of its own, as on paper."""
    return re.findall(r"[ _./]?(?:[^ _./]|\.(?=\d))+", f"{column.header} {column.group}".strip())


def _wrapped(parts: Sequence[str], width: int) -> str:
    lines = [""]
    for part in parts:
        if len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)
