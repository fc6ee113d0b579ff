"""Tables on a terminal: every line fits its width, and no number is cut.

What is in the way goes in this order: columns with the same cell in every row (named below the table),
details (the CSV file has them), the middle of long names; what still does not fit stands in further blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Rich
    from rich.text import Text

    from pate_cli.results.tables import Column, Table

__all__ = ["show"]

_NAME = 12  # characters of a name that are always shown
_PROSE = 24  # least width of a column of sentences
_MOST_LINES = 100
_ASCII = str.maketrans({"±": "+-", "∞": "inf", "–": "-", "−": "-", "≤": "<=", "≥": ">=", "×": "x", "…": "~"})


def show(table: Table, console: Console) -> None:
    """Print a table, its note and its remarks."""
    from rich.text import Text  # "active[svt]" would be read as markup

    encoding, signs = console.encoding, _ASCII if console.options.ascii_only else {}

    def text(words: str, style: str = "") -> Text:
        words = words.translate(signs).encode(encoding, "replace").decode(encoding)
        return Text(words, style=style)

    if table.cells:
        view = _View(table, console.width)
        for number, block in enumerate(view.blocks()):
            if number:
                console.print()
            console.print(view.grid(block, text), crop=False)
        for words in filter(None, [table.note, view.below()]):
            console.print(text(words, "italic"))
    for remark in table.remarks:
        console.print(text(remark))


def _without_middle(name: str, width: int) -> str:
    """Cut the middle out of a name that is longer than `width`."""
    left = (width - 1) // 2
    return name if len(name) <= width else f"{name[: width - 1 - left]}…{name[len(name) - left :]}"


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
        """Text of a cell, a long name without its middle."""
        column = self.table.columns[index]
        return row[index] if column.numeric or column.prose else _without_middle(row[index], self.name)

    def _least(self, index: int) -> int:
        """Width of a column: of its cells, and of the longest part of its heading."""
        column = self.table.columns[index]
        widest = max(len(self._cell(row, index)) for row in self.table.cells)
        widest = min(widest, _PROSE) if column.prose else widest
        return max(widest, *(len(part.strip()) for part in _parts(column)))

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
        told = [index for index in self.same if first[index] not in ("", "–")]
        same = [f"{columns[index].full} {first[index]}" for index in told]
        others = [columns[index].full for index in sorted(self.left_out)]
        said = [f"In every row: {', '.join(same)}."] if same else []
        said += [f"Only in the files and in CSV: {', '.join(others)}."] if others else []
        return " ".join(said)

    def _total(self, shown: Sequence[int]) -> int:
        return sum(map(self._least, shown)) + len(shown) - 1

    def grid(self, block: Sequence[int], text: Callable[[str], Text]) -> Rich:
        """Columns of a block for rich."""
        from rich import box
        from rich.table import Table as Rich

        spare = self.width - self._total(block)
        padding = (0, int(spare >= len(block) - 1), 0, 0)
        grid = Rich(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding)
        for index in block:
            column, width = self.table.columns[index], self._least(index)
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


def _parts(column: Column) -> list[str]:
    """Parts of a heading that are not broken."""
    return re.findall(r"[ _./]?[^ _./]+", column.full)


def _wrapped(parts: Sequence[str], width: int) -> str:
    lines = [""]
    for part in parts:
        if len((lines[-1] + part).rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)
