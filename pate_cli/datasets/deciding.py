"""What the columns of a table hold, decided by their cells; and what their owner must decide.

A name at most breaks a tie, and a decision needs two cells that agree.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from pate_cli.datasets.asking import Ask, Decision
from pate_cli.datasets.categories import FEW, HALF, NEARLY, decide_texts, identified, of_one_level
from pate_cli.datasets.column import MOST_EXACT, NO_NUMBER, Column, number_of
from pate_cli.datasets.column_names import looks_like_unit
from pate_cli.datasets.dates import CLOCK, DATES, HAS_CLOCK, HAS_ZONE, days_of, seconds_of
from pate_cli.datasets.distinct import Cells, Seen
from pate_cli.errors import count_of, shortened
from pate_cli.types import FloatArray

__all__ = ["decide", "point_of"]

_MOST_RANGES = 500
_SENTINELS = [9.0, -1.0, -7.0, -8.0, -9.0]
_SENTINELS += [s * float(f"{nines}{d}") for s in (1, -1) for nines in ("9", "99", "999") for d in (7, 8, 9)]
_SENTINELS += [s * nines for s in (1, -1) for nines in (99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99)]
_SENTINELS += [77.0, 88.0, 777.0, 888.0, 7777.0, 8888.0]
_FAR_DAYS = [days_of("y-m-d")(day) or 0.0 for day in ("9999-12-31", "2999-12-31", "1900-01-01", "1899-12-30")]
_SHORT = {"d-m-y": 3, "d mon y": 3, "mon y": 2}
"""Forms of dates that may have a year of two digits, and where it is."""

_MOST_DIGITS = 1e15
"""From there on, a spreadsheet does not keep all digits of a number."""

_RANGE = re.compile(
    r"[<>≤≥]?\s*[$€£]?\d+k?\s*(-|–|to|bis|à)\s*[$€£]?\d+k?|[<>≤≥]=?\s*[$€£]?\d+k|\d+\s*\+", re.IGNORECASE
)
_LIMIT = re.compile(r"[<>≤≥]?\s*\d+\+?")
_BETTER, _WORSE = re.compile(r"\d+\+").fullmatch, re.compile(r"\d+-").fullmatch


def point_of(columns: list[Cells], part: int | None, default: str, in_text: bool) -> tuple[str, bool]:
    """What separates decimals in most columns, and whether any column says so, by two cells each.

    Of other files than texts each column says so where it is a comma.
    """
    votes: Counter[str] = Counter()
    for cells in columns:
        if cells.values is None:
            if any(texts.any() for texts in cells.votes.values()) and (
                here := Seen(cells, part).often(cells.votes)
            ):
                votes[here.most_common(1)[0][0]] += 1
        elif cells.n_broken(part) > 1:
            votes[default] += 1
    if votes[","] == votes["."]:
        return default, votes["."] > 0
    if votes[","] > votes["."] and not in_text:
        return ".", False
    return (max(votes, key=lambda mark: votes[mark]), True)


def decide(cells: Cells, part: int | None, point: tuple[str, bool], *, target: bool = False) -> Decision:
    """Decide on a column, by some of its records (None: all of them)."""
    kind = cells.edits.get("kind")
    if kind == "ignored":
        return Decision(Column("ignored", why="left out"))
    if cells.values is not None and not target and kind in (None, "number"):
        values = cells.rest(cells.values, part)
        filled = values[~np.isnan(values)]
        if not len(filled):
            return Decision(Column("ignored", why="empty"))
        # whole numbers that may be dates have to be looked at
        clocks = (1, 1e6)  # 20240531, and 20240531235959
        days = any(filled.min() >= 19000101 * c and filled.max() < 20991232 * c for c in clocks)
        days = days and not (filled % 1 > 0).any()
        if kind is not None or not days:
            of_column = cells.decimal if cells.n_broken(part) > 1 and cells.decimal != point[0] else None
            return _judged(cells, values, Decision(Column(unit=cells.unit or None, decimal=of_column)))
    return _of_texts(Seen(cells, part), point, target)


def _judged(cells: Cells, values: FloatArray, decision: Decision) -> Decision:
    """Whether numbers are identifiers or constant; sentinels are asked for."""
    filled = values[~np.isnan(values)]
    for value, n_here in _set_apart(cells, filled, _SENTINELS):
        question = f"{value:g} ({count_of(n_here, 'cell')}) stands apart from all others: taken for missing"
        decision.ask_missing(cells.name, f"{value:g}", question)
        filled = filled[filled != value]
    if cells.edits.get("kind") is None:
        if (filled == filled[0]).all() and not cells.used:
            if filled[0] == 1:  # a tick, perhaps
                return of_one_level(cells, ["1"], len(values), len(filled), Decision(Column("category")))
            return Decision(Column("ignored", why="constant"))
        if why := _identifiers(cells, filled, len(values)):
            exact = cells.values is None and filled.max() >= MOST_EXACT
            distinct = int(cells.filled.sum()) if exact else len(np.unique(filled))
            named, ignored = "persons" in cells.edits, Decision(Column("ignored", why=why))
            return identified(cells.name, named, ignored, distinct, len(filled), len(values))
    return decision


def _set_apart(cells: Cells, filled: FloatArray, codes: list[float]) -> list[tuple[float, int]]:
    """Those of some codes for no value that are further from all other numbers than these from each other."""
    odd = np.isin(filled, codes)
    others = filled[~odd]
    if "missing" in cells.edits or not odd.any() or len(others) < 2:
        return []
    counted = zip(*np.unique(filled[odd], return_counts=True), strict=True)
    far = np.ptp(others)
    return [(v, n) for v, n in counted if n > 1 and max(v - others.max(), others.min() - v) > far > 0]


def _identifiers(cells: Cells, filled: FloatArray, n: int) -> str:
    """Reason why whole numbers are no feature; empty if they are one."""
    import pandas as pd

    if (filled % 1 > 0).any():
        return ""
    distinct = len(pd.unique(filled))
    if np.median(filled) >= _MOST_DIGITS and not cells.used:
        return "identifiers"
    rows = cells.row_names
    why = "row names" if rows else "identifiers"
    if cells.used and not (rows or looks_like_unit(cells.name)):
        return ""
    if distinct < FEW:
        return "row names" if rows and distinct > NEARLY * n else ""
    ascending = np.count_nonzero(np.diff(filled) > 0) >= 0.95 * (len(filled) - 1)
    if distinct >= 0.95 * len(filled) and (ascending or (rows and distinct > NEARLY * n)):
        return why
    if looks_like_unit(cells.name) and distinct > max(FEW, n / 10):
        return why
    # pairs of equal numbers among uniform draws; where 9 are expected, none has a probability of e^-9
    repeats = len(filled) - distinct
    second, last = np.partition(filled, [1, len(filled) - 2])[[1, len(filled) - 2]]
    by_chance = len(filled) * (len(filled) - 1) / (2 * (float(last) - float(second) + 1))
    few = repeats <= (1 - NEARLY) * len(filled)
    return why if few and by_chance >= (max(30, 3 * repeats) if repeats else 9) else ""


def _of_texts(seen: Seen, point: tuple[str, bool], target: bool) -> Decision:
    cells, kind = seen.cells, seen.cells.edits.get("kind")
    if seen.n(seen.filled) < 2 - cells.used:
        return Decision(Column("ignored", why="empty"))
    decision = Decision(Column("category"))
    if cells.unusual and seen.part is None:
        odd = "characters that are not seen, or read as others (hyphens, blanks, accents)"
        decision.warnings.append(f"{count_of(cells.unusual, 'cell')} with {odd}: read as the usual ones")
    if not target and kind in (None, "number") and (number := _number(seen, point, decision)):
        return number
    if not target and kind in (None, "date") and (date := _date(seen, decision)):
        return date
    if not target and kind in (None, "number") and (time := _time(seen, decision)):
        return time
    return decide_texts(seen, decision, target)


def _number(seen: Seen, point: tuple[str, bool], before: Decision) -> Decision | None:
    """Decide on a column that is written like numbers; None if it is not."""
    cells, filled = seen.cells, seen.filled
    forced = cells.edits.get("kind") == "number"
    units = seen.often(cells.units)
    if not forced and (not _like_numbers(seen) or _are_different(units, seen, before)):
        return None
    decision = before.instead(Column())
    mark, unsure = _decimal(seen, point)
    if unsure and "decimal" not in cells.edits:
        decision.asked.append(Ask(cells.name, "decimal", unsure, mark))
    others = seen.often({sep: mask for sep, mask in cells.separators.items() if sep != mark})
    often = [sep for sep, _ in others.most_common(1)]
    thousands = cells.edits.get("thousands") or (often[0] if often else None)
    unit = cells.edits.get("unit") or (units.most_common(1)[0][0] if units else None)
    each = cells.parsed((mark, thousands, unit), number_of(mark, thousands, unit))
    ok = filled & ~np.isnan(each)
    if not forced and seen.n(ok) < NEARLY * seen.weight:
        _ask_kind(seen, ok, before)
        return None
    decision.column = Column(
        unit=unit or cells.unit or None, thousands=thousands, decimal=mark if mark != point[0] else None
    )
    if seen.part is None:
        if limits := [cells.plain[i] for i in np.flatnonzero(ok & cells.limits)]:
            decision.warnings.append(f"{', '.join(limits[:3])}: bounds, read as their number")
        if thousands and not point[1]:
            decision.warnings.append(f"{thousands!r} separates thousands")
    bare = ok & ~cells.units[unit] if unit == "%" and unit in cells.units else ok & False
    if seen.n(bare) > 1 and "unit" not in cells.edits:
        text = cells.plain[int(np.argmax(bare))]
        question = f"{seen.n(bare):,} cells, as {text}, have no %: are they percent, too?"
        decision.asked.append(Ask(cells.name, "unit", question, "%"))
    _rest(seen, filled & ~ok, decision)
    return _judged(cells, cells.rest(np.where(ok, each, np.nan)[cells.codes], seen.part), decision)


def _are_different(units: Counter[str], seen: Seen, before: Decision) -> bool:
    """Whether a tenth of the cells has a second unit, which is said: they are no numbers."""
    if len(units) < 2 or units.most_common(2)[1][1] <= (1 - NEARLY) * seen.weight:
        return False
    if seen.part is None:
        shown = [seen.cells.plain[np.argmax(seen.cells.units[u])] for u, _ in units.most_common(3)]
        before.warnings.append(f"{', '.join(shown)}: different units, so no numbers")
    return True


def _ask_kind(seen: Seen, ok: Any, before: Decision) -> None:
    """Ask for the kind of a column of which most cells are numbers, but not nearly all."""
    cells, share = seen.cells, seen.n(ok) / seen.weight
    if ok.sum() > FEW or share > 0.8:
        odd = shortened(repr(cells.plain[np.argmax(seen.filled & ~ok & ~cells.wordy)]))
        question = f"{share:.0%} of the cells are numbers, others are not, as {odd}: numbers or categories?"
        before.asked.append(Ask(cells.name, "kind", question, "category"))


def _like_numbers(seen: Seen) -> bool:
    """Whether half of the cells look like numbers, and they are no codes, ranges or days."""
    cells, filled = seen.cells, seen.filled
    if not seen.weight or seen.n(filled & cells.like) < HALF * seen.weight:
        return False
    whole = cells.mask("digits", lambda text: text.isascii() and text.isdigit())
    zeros = whole & cells.mask("zeros", lambda text: len(text) > 1 and text[0] == "0")
    if whole[filled].all() and seen.n(zeros & filled) > 1:
        return False  # codes, as 01067
    if seen.n(cells.mask("better", _BETTER) & filled) > 1 < seen.n(cells.mask("worse", _WORSE) & filled):
        return False  # marks, as 2+ and 3-
    if filled.sum() < _MOST_RANGES:
        ranges = filled & cells.mask("range", _RANGE.fullmatch)
        if 2 * ranges.sum() > filled.sum() and (ranges & ~cells.mask("limit", _LIMIT.fullmatch)).any():
            return False
    return bool((cells.dates["ymd"] & filled).sum() < NEARLY * filled.sum())


def _decimal(seen: Seen, point: tuple[str, bool]) -> tuple[str, str]:
    """What separates decimals in a column; and a question, where no two cells say it."""
    cells = seen.cells
    if mark := cells.edits.get("decimal"):
        return str(mark), ""
    votes = seen.often(cells.votes, 1)
    first, second = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    if first[1] > 1:
        both = second[1] > (1 - NEARLY) * (first[1] + second[1])
        return first[0], "both , and . stand before decimals: which does?" if both else ""
    unclear = seen.filled & (cells.separators[","] | cells.separators["."]) & ~cells.votes["."]
    if point[1] or not unclear.any():
        return point[0], ""
    text = cells.plain[np.argmax(unclear)]
    return ".", f"{text!r}: no cell of the file says whether , or . stands before decimals"


def _rest(seen: Seen, rest: Any, decision: Decision) -> None:
    """Cells that are no numbers: a word of more than one record is asked for; others will be refused."""
    cells, counts = seen.cells, seen.counts
    if decision.column.missing is True or cells.edits.get("missing") is True:
        return
    for i in np.flatnonzero(rest):
        text = cells.plain[i]
        if cells.low[i] in NO_NUMBER:
            continue
        if counts[i] > 1 and not re.search("[1-9]", text):  # 0000-00-00 is no date
            decision.ask_missing(
                cells.name,
                text,
                f"{shortened(repr(text))} ({count_of(int(counts[i]), 'cell')}) is taken for missing",
            )


def _date(seen: Seen, before: Decision) -> Decision | None:
    """Decide on a column that is written like dates; None if it is not."""
    cells, filled = seen.cells, seen.filled
    forms = seen.often(cells.dates)
    if cells.edits.get("kind") != "date" and (not forms or sum(forms.values()) < NEARLY * seen.weight):
        return None
    decision = before.instead(Column("date"))
    order, unsure = _order(seen) if "d-m-y" in forms else ("d-m-y", "")
    shown = " or ".join(order if form == "d-m-y" else form for form in DATES if form in forms)
    questions = [unsure] if unsure else []
    if _SHORT.keys() & forms.keys() and seen.n(filled & cells.mask("century", _of_two_centuries)) > 1:
        questions.append(
            f"do years of two digits begin in 1930, as spreadsheets have it, or in 1950 ({shown})?"
        )
        shown += " from 1930"  # not by today's date: a file is read the same next year
    if questions and "format" not in cells.edits:
        decision.asked.append(Ask(cells.name, "format", " ".join(questions), shown))
    shown = cells.edits.get("format") or shown or "y-m-d"
    decision.column = Column("date", format=shown)
    each = cells.parsed(shown, days_of(shown))
    ok = filled & ~np.isnan(each)
    clock = ok & cells.mask("clock", HAS_CLOCK.search)
    zoned = clock & cells.mask("zone", HAS_ZONE.search) if clock.any() else clock
    if zoned.any() and (clock & ~zoned).any() and "zone" not in cells.edits:
        decision.asked.append(
            Ask(cells.name, "zone", "some times have a zone, others have none: are these UTC?", "UTC")
        )
    _rest(seen, filled & ~ok, decision)
    for value, n_here in _set_apart(cells, np.repeat(each[ok], seen.counts[ok]), _FAR_DAYS):
        text = cells.plain[int(np.argmax(each == value))]
        question = f"{text} ({count_of(n_here, 'cell')}) stands apart from all others: taken for missing"
        decision.ask_missing(cells.name, text, question)
    if len(np.unique(each[ok])) == 1:
        return Decision(Column("ignored", why="constant"))
    return decision


def _order(seen: Seen) -> tuple[str, str]:
    """Whether the day or the month comes first; and a question, where no two cells say it."""
    cells, of_days = seen.cells, seen.cells.dates["d-m-y"]
    numbers = (cells.mask("first", partial(_above_12, 1)), cells.mask("second", partial(_above_12, 2)))
    first, second = (seen.n(mask & of_days) for mask in numbers)
    dots = seen.n(of_days & cells.mask("dots", lambda t: re.search(r"\d\. ?\d+\.", t)))
    if max(first, second) > 1 and min(first, second) <= 0.1 * max(first, second):
        return ("d-m-y" if first > second else "m-d-y"), ""
    if dots > 1 and not second:
        return "d-m-y", ""
    return "d-m-y", "does the day come first (d-m-y), or the month (m-d-y)?"


def _of_two_centuries(text: str) -> bool:
    """Whether the year of a date has two digits, which programs take for one of 19.. or of 20.. ."""
    matches = ((DATES[form].fullmatch(text), at) for form, at in _SHORT.items())
    years = [match[at] for match, at in matches if match and len(match[at]) == 2]
    return any(30 <= int(year) <= 68 for year in years)  # Excel's, and POSIX's


def _above_12(number: int, text: str) -> bool:
    """Whether the first or second number of a date is no month."""
    match = DATES["d-m-y"].fullmatch(text)
    return match is not None and int(match[number]) > 12


def _time(seen: Seen, before: Decision) -> Decision | None:
    """Decide on times of day or durations; None if it is a column of others."""
    cells = seen.cells
    clock = seen.filled & cells.mask("time", lambda text: seconds_of(text) is not None)
    several = cells.mask("several", lambda text: text[:1] == "P" or len(re.findall(r"\d+", text)) > 1)
    if seen.n(clock & several) < 2 or seen.n(clock) < NEARLY * seen.weight:
        return None
    with_seconds = cells.mask("seconds", lambda text: text.count(":") > 1 or not CLOCK.fullmatch(text))
    form, unit = ("h:m:s", "seconds") if seen.n(clock & with_seconds) > 1 else ("h:m", "hours")
    decision = before.instead(Column(format=form, unit=unit))
    _rest(seen, seen.filled & np.isnan(cells.parsed(form, seconds_of)), decision)
    return decision
