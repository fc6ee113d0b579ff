"""Lines of a table that are no records: units, totals, notes; and names of its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from pate_cli.datasets.column import MISSING, NO_NUMBER, NUMBER
from pate_cli.datasets.names import normal

__all__ = ["are_row_names", "are_units", "is_footer", "may_be_below", "n_filled"]
__all__ += ["uncomment_header", "units_of", "usual_of"]

_UNITS = re.compile(r"-|\(?\[?([%‰°µμ]?[A-Za-z]{0,5}([/²³][A-Za-z0-9]{0,4})?|years?|Jahre|ans)\]?\)?")
_FOOTER = re.compile(r"\W*(total|sum|summe|gesamt|source|quelle|note|generated|n ?=)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\W*(grand |sub)?(total|totale|totaal|sum|summe|somme|suma|gesamt|toplam|итого|всего|合計|mean"
    r"|average|avg|mittelwert|durchschnitt|moyenne|media|promedio|среднее|median|std|sd|min|max|count)\W*",
    re.IGNORECASE,
)
_NO_UNIT = MISSING | NO_NUMBER


def n_filled(cells: Iterable[str]) -> int:
    """Number of cells that hold something."""
    return sum(bool(cell.strip()) for cell in cells)


def usual_of(numbers: Iterable[int]) -> int:
    """The most frequent number; of equally frequent ones the largest."""
    counts = Counter(numbers)
    return max(counts, key=lambda number: (counts[number], number))


def may_be_below(cells: Sequence[str]) -> bool:
    """Whether the last line has to be looked at."""
    return bool(_FOOTER.match(cells[0]) or _FIGURE.fullmatch(cells[0])) or n_filled(cells) == 1


def is_footer(rows: Sequence[tuple[int, list[str]]], usual: int, width: int) -> bool:
    """Whether the last line is a total, or a note behind a gap, and no record that is cut short."""
    cells = rows[-1][1]
    first = next(cell for cell in cells if cell.strip())
    if _FIGURE.fullmatch(first) and n_filled(cells) < usual:
        return sum(row[0] == cells[0] for _, row in rows) == 1
    few = n_filled(cells) < max(2, usual / 2 + 1)
    note = n_filled(cells) == 1 < width and cells[0].strip() != "" and " " in first.strip()
    return few and (note or bool(_FOOTER.match(first)))


def are_row_names(cells: Sequence[str], n: int) -> bool:
    """Whether each of n lines begins with a name of its row, as R writes them below no name of a column."""
    if not 1 < len(set(cells)) == n:
        return False
    return list(cells) == [str(i) for i in range(1, n + 1)] or not any(map(NUMBER.fullmatch, cells))


def are_units(cells: Sequence[str]) -> bool:
    """Whether all cells of a line are written like units."""
    return all(_UNITS.fullmatch(cell.strip()) for cell in cells)


def units_of(rows: Sequence[tuple[int, list[str]]], names: Sequence[str]) -> dict[str, str]:
    """Units by column, if the first line holds them, and numbers are below it; else nothing."""
    if not rows or len(rows[0][1]) != len(names) or not n_filled(rows[0][1]) or not are_units(rows[0][1]):
        return {}
    units = {
        i: cell.strip(" -()[]")
        for i, cell in enumerate(rows[0][1])
        if cell.strip().casefold() not in _NO_UNIT
    }
    below = [[normal(row[i]) for _, row in rows[1:30] if len(row) == len(names)] for i in units]
    held = [[text for text in cells if text.casefold() not in MISSING] for cells in below]
    if not all(len(texts) > 1 and all(map(NUMBER.fullmatch, texts)) for texts in held):
        return {}
    return {names[i]: unit for i, unit in units.items() if unit}


def uncomment_header(rows: Sequence[tuple[int, list[str]]]) -> None:
    """Take the # from a header: it has a cell for each column, and a record below it."""
    n = next((i for i, (_, cells) in enumerate(rows) if not cells[0].lstrip().startswith("#")), 0)
    if not n or not 1 < len(head := rows[n - 1][1]) == len(rows[n][1]) == n_filled(head):
        return
    below = [any(NUMBER.fullmatch(normal(cell)) for cell in cells) for _, cells in rows[n : n + 2]]
    if below[0] or not below[-1]:
        head[0] = head[0].lstrip("# ")
