"""Prints lines and tables of text cells, as `pate plan` and `pate audit` show theirs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pate_cli.terminal import out

__all__ = ["line", "show"]

_SHORT = 24
"""Cells of up to so many characters stay on one line."""


def line(text: str, style: str = "") -> None:
    """Print a line that a terminal breaks, where it does not fit, without cutting words or paths."""
    out().print(text, style=style, markup=False, soft_wrap=True)


def show(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[str] = (),
    title: str = "",
    caption: str = "",
) -> None:
    """Print a table; columns `right` are numbers, and a row of one cell heads those below it."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    table.title, table.caption = Text(title) if title else None, Text(caption) if caption else None
    table.caption_justify = "left"
    for index, name in enumerate(columns):
        cells = [part for row in rows if len(row) > 1 for part in row[index].splitlines()]
        short = all(len(cell) <= _SHORT for cell in cells)
        table.add_column(Text(name), no_wrap=short, overflow="fold")
        table.columns[-1].justify = "right" if name in right else "left"
    for row in rows:
        table.add_row(*map(Text, row), style="bold" if len(row) == 1 else "")
    out().print(table, crop=False)
