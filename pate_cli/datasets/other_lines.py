"""Lines of a table that are no records: units, totals, notes; and names of its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pate_cli.datasets.column import NUMBER, Column, is_missing
from pate_cli.datasets.names import normal

__all__ = ["are_row_names", "are_units", "declared_units", "has_level", "header_of", "is_footer", "is_record"]
__all__ += ["is_rule", "may_be_below", "n_filled", "n_named", "uncomment_header", "units_of", "usual_of"]
__all__ += ["without_comments"]

_UNITS = re.compile(r"-?|(?=.*([^\W\d_]|[%‰°$€£]))[^,;:\"'_!?=<>]{1,14}")
_FOOTER = re.compile(r"\W*(total|sum|summe|gesamt|source|quelle|note|generated|n ?=)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\W*(grand |sub)?(total|totale|totaal|sum|summe|somme|suma|gesamt\w*|toplam|итого|всего|合計|mean"
    r"|total g[eé]n[eé]ral|average|avg|mittelwert|durchschnitt|moyenne|media|promedio|среднее|median|std|sd"
    r"|min|max|count)\W*",
    re.IGNORECASE,
)


def n_filled(cells: Iterable[str]) -> int:
    """Number of cells that hold something."""
    return sum(bool(cell.strip()) for cell in cells)


def n_named(cells: Iterable[str], columns: Collection[str]) -> int:
    """Number of the columns that a line names; the first may be behind a #."""
    texts = [normal(cell) for cell in cells]
    return len({*texts, *(text.lstrip("# ") for text in texts[:1])} & {*columns} - {""})


def header_of(rows: Sequence[tuple[int, Sequence[str]]], columns: Collection[str]) -> int:
    """Number of the first line that names most of the columns."""
    named = [n_named(cells, columns) for _, cells in rows]
    return named.index(max(named))


def usual_of(numbers: Iterable[int]) -> int:
    """The most frequent number; of equally frequent ones the largest."""
    counts = Counter(numbers)
    return max(counts, key=lambda number: (counts[number], number))


def is_record(cells: Sequence[str], others: Iterable[Sequence[str]]) -> bool:
    """Whether a line names no columns: a cell is a number, but no year, or again in its column, twice."""
    texts = [normal(cell) for cell in cells]
    open_ = {i: t for i, t in enumerate(texts) if not (is_missing(t) or NUMBER.fullmatch(t))}
    if not open_:
        names = [t for t in texts if t]
        counted = [[str(first + i) for i in range(len(names))] for first in (0, 1)]  # as pandas does
        return names not in counted and not all(re.fullmatch(r"(19|20)\d\d|\d", t) for t in names)
    rows = [row for row in others if len(row) == len(cells) and [*row] != [*cells]]
    below = [[normal(cell) for cell in row] for row in rows]
    return all(sum(row[i] == text for row in below) > 1 for i, text in open_.items())


def without_comments(
    rows: Sequence[tuple[int, list[str]]], *, records_alone: bool = False
) -> tuple[list[Any], list[Any]]:
    """Lines that are no comments, and those that are, of one cell or not all, but for orders as #1.

    Below the header each line is judged by itself; with `records_alone` there is no header.
    """
    above = 0 if records_alone else len(rows)
    first = next((i for i, row in enumerate(rows[:above]) if not _is_marked(row[1])), above)
    kept, left_out = list[Any](), list[Any]()
    for i, row in enumerate(rows):
        numbered = re.match(r"\s*#\d", row[1][0])
        few = n_filled(row[1]) == 1 or (n_filled(row[1]) < len(row[1]) and not numbered)
        (left_out if _is_marked(row[1]) and (i < first or few) else kept).append(row)
    return kept, left_out


def _is_marked(cells: Sequence[str]) -> bool:
    return cells[0].lstrip().startswith(("#", "//"))


def may_be_below(cells: Sequence[str]) -> bool:
    """Whether the last line has to be looked at."""
    first = next((cell for cell in cells if cell.strip()), "")
    return bool(_FOOTER.match(first) or _FIGURE.fullmatch(first)) or n_filled(cells) == 1


def is_footer(rows: Sequence[tuple[int, list[str]]], usual: int, width: int) -> bool:
    """Whether the last line is a total, or a note behind a gap, and no record that is cut short."""
    cells = rows[-1][1]
    first = next(cell for cell in cells if cell.strip())
    if _FIGURE.fullmatch(first) and n_filled(cells) < usual:
        return sum(row[0] == cells[0] for _, row in rows) == 1
    few = n_filled(cells) < max(2, usual / 2 + 1)
    note = n_filled(cells) == 1 < width and cells[0].strip() != "" and " " in first.strip()
    return few and (note or bool(_FOOTER.match(first)))


def has_level(cells: Sequence[str], columns: Mapping[str, Column]) -> bool:
    """Whether a line begins with a declared level: it is a record, and no total."""
    return any(normal(cells[0]) in (column.levels or ()) for column in columns.values())


def are_row_names(cells: Sequence[str], n: int) -> bool:
    """Whether each of n lines begins with a name of its row, as R writes them below no name of a column.

    Numbers of rows grow, of a part of a table, too; others may be what stands before a decimal comma.
    """
    if not 1 < len(set(cells)) == n:
        return False
    numbers = [int(cell) for cell in cells if cell.isdecimal()]
    return numbers == sorted(numbers) if len(numbers) == n else not any(map(NUMBER.fullmatch, cells))


def is_rule(cells: Sequence[str]) -> bool:
    """Whether a line is drawn, as databases and Markdown do below a header and at the end."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(re.fullmatch(r"[-=+:_*~][-=+_*~ ]+[-=+:_*~]", cell) for cell in filled)


def are_units(cells: Sequence[str]) -> bool:
    """Whether all cells of a line are written like units: none or short, with a letter or sign, no number."""
    texts = [cell.strip(" ()[]") for cell in cells]
    return all(_UNITS.fullmatch(text) and not NUMBER.fullmatch(normal(text)) for text in texts)


def units_of(rows: Sequence[tuple[int, list[str]]], names: Sequence[str]) -> dict[str, str]:
    """Units by column, if the first line holds them, and numbers are below it; else nothing."""
    if not rows or len(rows[0][1]) != len(names) or not n_filled(rows[0][1]) or not are_units(rows[0][1]):
        return {}
    written = [cell.strip(" -()[]") for cell in rows[0][1]]
    units = {i: unit for i, unit in enumerate(written) if not is_missing(unit, number=True)}
    below = [[normal(row[i]) for _, row in rows[1:30] if len(row) == len(names)] for i in units]
    filled = [[text for text in cells if not is_missing(text)] for cells in below]
    if not all(len(texts) > 1 and all(map(NUMBER.fullmatch, texts)) for texts in filled):
        return {}
    return {names[i]: unit for i, unit in units.items()}


def declared_units(
    cells: Sequence[str], names: Sequence[str], columns: Mapping[str, Column]
) -> dict[str, str]:
    """Units by column, if a line holds such, and of declared numbers alone; else nothing."""
    if len(cells) != len(names) or not are_units(cells):
        return {}
    units = {name: text.strip(" -()[]") for name, text in zip(names, cells, strict=True)}
    units = {name: unit for name, unit in units.items() if not is_missing(unit, number=True)}
    return units if all(columns.get(name, Column("category")).kind == "number" for name in units) else {}


def uncomment_header(rows: Sequence[tuple[int, list[str]]]) -> None:
    """Take the # from a header: it has a cell for each column, and a record below it."""
    n = next((i for i, (_, cells) in enumerate(rows) if not cells[0].lstrip().startswith("#")), 0)
    if not n or not 1 < len(head := rows[n - 1][1]) == len(rows[n][1]) == n_filled(head):
        return
    below = [any(NUMBER.fullmatch(normal(cell)) for cell in cells) for _, cells in rows[n : n + 2]]
    if below[0] or not below[-1]:
        head[0] = head[0].lstrip("# ")
