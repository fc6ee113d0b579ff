"""What the columns of a table hold, decided by their cells; and what their owner must decide.

A name at most breaks a tie, and a decision needs two cells that agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pate_cli.datasets.asking import Ask, Decision, ask_missing, identified
from pate_cli.datasets.column import ASKED, NO_NUMBER, Column, number_of
from pate_cli.datasets.column_names import has_row_names, looks_like_unit
from pate_cli.datasets.dates import CLOCK, DATES, days_of, seconds_of
from pate_cli.datasets.distinct import Cells
from pate_cli.types import FloatArray, IntArray

__all__ = ["decide", "point_of"]

_NEARLY, _HALF, _FEW = 0.9, 0.5, 20
_LONG, _WORDS = 40, 4
"""Mean length, and number of words, of a free text."""

_MOST_RANGES = 500
_SENTINELS = [9.0, -1.0, -7.0, -8.0, -9.0]
_SENTINELS += [s * float(f"{nines}{d}") for s in (1, -1) for nines in ("9", "99", "999") for d in (7, 8, 9)]
_SENTINELS += [77.0, 88.0, 777.0, 888.0, 7777.0, 8888.0]
_FAR_DAYS = [days_of("y-m-d")(day) or 0.0 for day in ("9999-12-31", "2999-12-31", "1900-01-01", "1899-12-30")]
_MOST_DIGITS = 1e15
"""From there on, a spreadsheet does not keep all digits of a number."""

_RANGE = re.compile(
    r"[<>≤≥]?\s*[$€£]?\d+k?\s*(-|–|to|bis|à)\s*[$€£]?\d+k?|[<>≤≥]=?\s*[$€£]?\d+k|\d+\s*\+", re.IGNORECASE
)
_LIMIT = re.compile(r"[<>≤≥]?\s*\d+\+?")
_PAIR = re.compile(r"\d+\s*/\s*\d+")


def _sums(masks: Mapping[str, Any], counts: IntArray, least: int = 1) -> Counter[str]:
    """Number of records by the key of their text, where there are some."""
    sums = {key: int(counts[mask].sum()) for key, mask in masks.items()}
    return Counter({key: count for key, count in sums.items() if count >= least})


def point_of(columns: list[Cells], part: int | None, default: str) -> tuple[str, bool]:
    """What separates decimals in most columns, and whether any column says so, by two cells each."""
    votes: Counter[str] = Counter()
    for one in columns:
        if one.values is None:
            if one.like.any() and (here := _sums(one.votes, one.counts(part), 2)):
                votes[here.most_common(1)[0][0]] += 1
        elif one.n_broken(part) > 1:
            votes[default] += 1
    if votes[","] == votes["."]:
        return default, votes["."] > 0
    return (max(votes, key=lambda mark: votes[mark]), True)


def decide(cells: Cells, part: int | None, point: tuple[str, bool], *, target: bool = False) -> Decision:
    """Decide on a column, by some of its records (None: all of them)."""
    kind = cells.given.get("kind")
    if kind == "ignored":
        return Decision(Column("ignored", why="left out"))
    values = cells.values
    if values is not None and not target and kind in (None, "number"):
        values = cells.rest(values, part)
        if (decision := _of_numbers(cells, values)) is not None:
            return decision
    return _of_texts(cells, part, point, target)


def _of_numbers(cells: Cells, values: FloatArray) -> Decision | None:
    """Decide on plain numbers; None of whole ones that are dates, which have to be looked at."""
    held = values[~np.isnan(values)]
    if not len(held):
        return Decision(Column("ignored", why="empty"))
    whole = not (held % 1 > 0).any()
    if whole and held.min() >= 19000101 and held.max() <= 20991231 and cells.given.get("kind") is None:
        return None
    return _judged(cells, held, len(values), whole, Decision(Column(unit=cells.unit or None)))


def _judged(cells: Cells, held: FloatArray, n: int, whole: bool, decision: Decision) -> Decision:
    """Whether numbers are identifiers or constant; sentinels are asked for."""
    for value, n_here in _set_apart(cells, held, _SENTINELS):
        question = f"{value:g} ({n_here:,} cells) stands apart from all others: taken for missing"
        ask_missing(cells, decision, f"{value:g}", question)
        held = held[held != value]
    if cells.given.get("kind") is None:
        if (held == held[0]).all() and not cells.used:
            return Decision(Column("ignored", why="constant"))
        if why := _identifiers(cells, held, n, whole):
            return identified(cells, Decision(Column("ignored", why=why)), len(np.unique(held)), len(held))
    return decision


def _set_apart(cells: Cells, held: FloatArray, codes: list[float]) -> list[tuple[float, int]]:
    """Those of some codes for no value that are further from all other numbers than these from each other."""
    odd = np.isin(held, codes)
    others = held[~odd]
    if "missing" in cells.given or len(others) < 2:
        return []
    found = zip(*np.unique(held[odd], return_counts=True), strict=True)
    far = np.ptp(others)
    return [(v, n) for v, n in found if n > 1 and max(v - others.max(), others.min() - v) > far > 0]


def _identifiers(cells: Cells, held: FloatArray, n: int, whole: bool) -> str:
    """Reason why whole numbers are no feature; empty if they are one."""
    import pandas as pd

    rows = cells.row_names or has_row_names(cells.name)
    if not whole:
        return ""
    distinct = len(pd.unique(held))
    if np.median(held) >= _MOST_DIGITS and not cells.used:
        return "identifiers"
    why = "row names" if rows else "identifiers"
    if cells.used and not (rows or looks_like_unit(cells.name)):
        return ""
    if distinct < _FEW:
        return "row names" if rows and distinct > _NEARLY * n else ""
    up = np.count_nonzero(np.diff(held) > 0)
    if distinct >= 0.95 * len(held) and (up >= 0.95 * (len(held) - 1) or (rows and distinct > _NEARLY * n)):
        return why
    if looks_like_unit(cells.name) and distinct > max(_FEW, n / 10):
        return why
    # pairs of equal numbers among uniform draws; where 9 are expected, none has a probability of e^-9
    repeats = len(held) - distinct
    second, last = np.partition(held, [1, len(held) - 2])[[1, len(held) - 2]]
    by_chance = len(held) * (len(held) - 1) / (2 * (float(last) - float(second) + 1))
    few = repeats <= (1 - _NEARLY) * len(held)
    return why if few and by_chance >= (max(30, 3 * repeats) if repeats else 9) else ""


def _of_texts(cells: Cells, part: int | None, point: tuple[str, bool], target: bool) -> Decision:
    counts = cells.counts(part)
    seen = counts > 0
    held = cells.held & seen
    n, kind = int(counts.sum()), cells.given.get("kind")
    if counts[held].sum() < 2 - cells.used:
        return Decision(Column("ignored", why="empty"))
    decision = Decision(Column("category"))
    if cells.hidden and part is None:
        decision.remarks.append(f"{cells.hidden} cells with characters that nobody sees, taken away")
    if (
        not target
        and kind in (None, "number")
        and (number := _number(cells, counts, held, point, part, decision))
    ):
        return number
    if not target and kind in (None, "date") and (date := _date(cells, counts, held, decision)):
        return date
    if not target and kind in (None, "number") and (time := _time(cells, counts, held, decision)):
        return time
    return _category(cells, counts, held, n, decision, target)


def _number(
    cells: Cells, counts: IntArray, held: Any, point: tuple[str, bool], part: int | None, before: Decision
) -> Decision | None:
    """Decide on a column that is written like numbers; None if it is not."""
    forced = cells.given.get("kind") == "number"
    weight = int(counts[held & ~cells.wordy].sum())
    like = held & cells.like
    if not forced:
        if counts[like].sum() < _HALF * weight or not weight:
            return None
        whole = cells.mask("digits", lambda text: text.isascii() and text.isdigit())
        zeros = whole & cells.mask("zeros", lambda text: len(text) > 1 and text[0] == "0")
        if whole[held].all() and (zeros & held).sum() > 1:
            return None  # codes, as 01067
        if held.sum() < _MOST_RANGES:
            ranges = held & cells.mask("range", _RANGE.fullmatch)
            if 2 * ranges.sum() > held.sum() and (ranges & ~cells.mask("limit", _LIMIT.fullmatch)).any():
                return None
        if (cells.dates["ymd"] & held).sum() >= _NEARLY * held.sum():
            return None
    units = _sums(cells.units, counts * like, 2)
    if len(units) > 1 and not forced and units.most_common(2)[1][1] > (1 - _NEARLY) * weight:
        if part is None:
            shown = [cells.plain[np.argmax(cells.units[u] & like)] for u, _ in units.most_common(3)]
            before.remarks.append(f"{', '.join(shown)}: different units, so no numbers")
        return None
    decision = Decision(Column(), remarks=list(before.remarks))
    mark, unsure = _decimal(cells, counts * like, point)
    others = _sums({sep: mask for sep, mask in cells.separators.items() if sep != mark}, counts * like, 2)
    often = [sep for sep, _ in others.most_common(1)]
    thousands = cells.given.get("thousands") or (often[0] if often else None)
    unit = cells.given.get("unit") or (units.most_common(1)[0][0] if units else None)
    each = cells.parsed((mark, thousands, unit), number_of(mark, thousands, unit))
    ok = held & ~np.isnan(each)
    if unsure and "decimal" not in cells.given:
        decision.asked.append(Ask(cells.name, "decimal", unsure, mark))
    if not forced and counts[ok].sum() < _NEARLY * weight:
        share = counts[ok].sum() / weight
        if ok.sum() > _FEW or share > 0.8:
            odd = next(cells.plain[i] for i in np.flatnonzero(held & ~ok & ~cells.wordy) if counts[i])
            question = (
                f"{share:.0%} of the cells are numbers, others are not, as {odd!r}: numbers or categories?"
            )
            before.asked.append(Ask(cells.name, "kind", question, "number"))
        return None
    decision.column = Column(
        unit=unit or cells.unit or None, thousands=thousands, decimal=mark if mark != point[0] else None
    )
    limits = [cells.plain[i] for i in np.flatnonzero(ok & cells.limits)] if part is None else []
    if limits:
        decision.remarks.append(f"{', '.join(limits[:3])}: bounds, read as their number")
    if thousands and not point[1] and part is None:
        decision.remarks.append(f"{thousands!r} separates thousands")
    _rest(cells, counts, held & ~ok, decision)
    whole = not (each[ok] % 1 > 0).any()
    values = cells.rest(np.where(ok, each, np.nan)[cells.codes], part)
    return _judged(cells, values[~np.isnan(values)], len(values), whole, decision)


def _decimal(cells: Cells, counts: IntArray, point: tuple[str, bool]) -> tuple[str, str]:
    """What separates decimals in a column; and a question, where no two cells say it."""
    if given := cells.given.get("decimal"):
        return str(given), ""
    votes = _sums(cells.votes, counts)
    first, second = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    if first[1] > 1:
        both = second[1] > (1 - _NEARLY) * (first[1] + second[1])
        return first[0], "both , and . stand before decimals: which does?" if both else ""
    if point[1]:
        return point[0], ""
    unclear = np.flatnonzero(
        (counts > 0) & (cells.separators[","] | cells.separators["."]) & ~cells.votes["."]
    )
    if not len(unclear):
        return point[0], ""
    text = cells.plain[unclear[0]]
    return ".", f"{text!r}: no cell of the file says whether , or . stands before decimals"


def _rest(cells: Cells, counts: IntArray, rest: Any, decision: Decision) -> None:
    """Cells that are no numbers: a slip of one record is refused, a word of more is asked for."""
    if decision.column.missing is True or cells.given.get("missing") is True:
        return
    for i in np.flatnonzero(rest & (counts > 0)):
        text = cells.plain[i]
        if cells.low[i] in NO_NUMBER:
            continue
        if counts[i] > 1 and not re.search(r"\d", text):
            ask_missing(cells, decision, text, f"{text!r} ({counts[i]:,} cells) is taken for missing")
        else:
            decision.refused.append((int(i), f"{text!r}, no {decision.column.kind}"))


def _date(cells: Cells, counts: IntArray, held: Any, before: Decision) -> Decision | None:
    """Decide on a column that is written like dates; None if it is not."""
    forced = cells.given.get("kind") == "date"
    forms = _sums(cells.dates, counts * held, 2)
    weight = int(counts[held & ~cells.wordy].sum())
    if not forms or (sum(forms.values()) < _NEARLY * weight and not forced):
        return None
    decision = Decision(Column("date"), remarks=list(before.remarks))
    order = "d-m-y"
    if "d-m-y" in forms:
        order, unsure = _order(cells, counts * held)
        if unsure and "format" not in cells.given:
            decision.asked.append(Ask(cells.name, "format", unsure, order))
    shown = " or ".join(order if form == "d-m-y" else form for form in DATES if form in forms)
    shown = cells.given.get("format") or shown
    decision.column = Column("date", format=shown)
    each = cells.parsed(shown, days_of(shown))
    ok = held & ~np.isnan(each)
    clock = ok & (counts > 0) & cells.mask("clock", lambda text: ":" in text)
    zoned = clock & cells.mask("zone", lambda text: re.search(r":.*(Z|[+-]\d\d:?\d\d)$", text))
    if zoned.any() and (clock & ~zoned).any() and "zone" not in cells.given:
        decision.asked.append(
            Ask(cells.name, "zone", "some times have a zone, others have none: are these UTC?", "UTC")
        )
    _rest(cells, counts, held & ~ok, decision)
    days = each[ok & (counts > 0)]
    for value, n_here in _set_apart(cells, np.repeat(each[ok], counts[ok]), _FAR_DAYS):
        text = cells.plain[int(np.argmax(each == value))]
        question = f"{text} ({n_here:,} cells) stands apart from all others: taken for missing"
        ask_missing(cells, decision, text, question)
    if len(days) and (days == days[0]).all():
        return Decision(Column("ignored", why="constant"))
    return decision


def _order(cells: Cells, counts: IntArray) -> tuple[str, str]:
    """Whether the day or the month comes first; and a question, where no two cells say it."""
    numbers = (cells.mask("first", partial(_above_12, 1)), cells.mask("second", partial(_above_12, 2)))
    first, second = (int(counts[mask & cells.dates["d-m-y"]].sum()) for mask in numbers)
    dots = int(counts[cells.dates["d-m-y"] & cells.mask("dots", lambda t: "." in t.partition(" ")[0])].sum())
    if max(first, second) > 1 and min(first, second) <= 0.1 * max(first, second):
        return ("d-m-y" if first > second else "m-d-y"), ""
    if dots > 1 and not second:
        return "d-m-y", ""
    return "d-m-y", "does the day come first (d-m-y), or the month (m-d-y)?"


def _above_12(number: int, text: str) -> bool:
    """Whether the first or second number of a date is no month."""
    match = DATES["d-m-y"].fullmatch(text)
    return match is not None and int(match[number]) > 12


def _time(cells: Cells, counts: IntArray, held: Any, before: Decision) -> Decision | None:
    """Decide on times of day or durations; None if it is a column of others."""
    clock = cells.mask("time", CLOCK.fullmatch)
    if (
        counts[clock & held].sum() < _NEARLY * counts[held & ~cells.wordy].sum()
        or counts[clock & held].sum() < 2
    ):
        return None
    with_seconds = cells.mask("seconds", lambda text: text.count(":") > 1)
    form = "h:m:s" if counts[clock & held & with_seconds].sum() > 1 else "h:m"
    unit = "seconds" if form == "h:m:s" else "hours"
    decision = Decision(Column(format=form, unit=unit), remarks=list(before.remarks))
    each = cells.parsed(form, seconds_of)
    _rest(cells, counts, held & np.isnan(each), decision)
    return decision


def _category(
    cells: Cells, counts: IntArray, held: Any, n: int, decision: Decision, target: bool
) -> Decision:
    """Decide on texts: categories, identifiers, or nothing to learn from."""
    plain, forced = cells.plain, cells.given.get("kind") == "category"
    letters = held & (counts > 0)
    na = np.array([text == "NA" for text in plain], dtype=bool)
    codes = (
        letters.sum() > 1 and cells.mask("code", lambda text: re.fullmatch("[A-Z]{2}", text))[letters].all()
    )
    if codes and not target and not {"missing", "answers"} & cells.given.keys():
        decision.column = replace(decision.column, answers=["NA"])
        if n_na := int(counts[na].sum()):
            question = (
                f"NA ({n_na:,} cells) is a code as {plain[int(np.argmax(letters))]}, not a missing value"
            )
            decision.asked.append(Ask(cells.name, "answers", question, "[NA]", safe=True))
        held = held | na
    asked = [i for i in np.flatnonzero(held) if cells.low[i] in ASKED and counts[i]]
    if asked and held.sum() > 2 and "missing" not in cells.given:
        for i in asked:
            ask_missing(cells, decision, plain[i], f"{plain[i]!r} ({counts[i]:,} cells) is taken for missing")
        held = held & ~np.isin(np.arange(len(held)), asked)
    present = int(counts[held].sum())
    variants: dict[str, set[str]] = {}
    if "case" not in cells.given:
        for i in np.flatnonzero(held & (counts > 0)):
            variants.setdefault(cells.low[i], set()).add(plain[i])
        if merged := [" = ".join(sorted(v)) for v in variants.values() if len(v) > 1]:
            decision.remarks.append(f"{', '.join(merged[:3])}: they differ in capitals alone, and are one")
    names = list(variants) or [plain[i] for i in np.flatnonzero(held & (counts > 0))]
    distinct = len(names)
    if target or forced:
        return decision
    rows = cells.row_names or has_row_names(cells.name)
    if distinct <= 1:
        if n - present > 0.1 * n and distinct:
            if "empty" not in cells.given:
                question = f"an empty cell ({n - present:,} of them) beside {names[0]!r}: missing, or no?"
                decision.asked.append(Ask(cells.name, "empty", question, "missing", safe=True))
            return decision
        constant = Decision(Column("ignored", why="constant"), remarks=decision.remarks)
        return decision if cells.used else constant
    decision.asked = [ask for ask in decision.asked if ask.key != "kind" or distinct >= 2]
    mean = sum(map(len, names)) / distinct
    words = sum(text.count(" ") + 1 for text in names) / distinct
    if distinct > 0.3 * present and (words >= _WORDS or mean > _LONG):
        return Decision(Column("ignored", why="free text"), remarks=decision.remarks)
    if distinct >= _FEW and sum(bool(_PAIR.fullmatch(t)) for t in names) > _NEARLY * distinct:
        out = Decision(Column("ignored", why="two numbers in a cell"), remarks=decision.remarks)
        out.asked.append(
            Ask(cells.name, "kind", "two numbers in a cell: two columns of the file?", "ignored", safe=True)
        )
        return out
    stems = {re.sub(r"\d+", "", text) for text in names} if distinct >= _FEW else set()
    serial = len(stems) == 1 and all(re.search(r"\d{3}", text) for text in names)
    many = distinct > _HALF * present and present >= _FEW
    named = looks_like_unit(cells.name) and distinct > max(_FEW, n / 10)
    if not any(ask.key == "kind" for ask in decision.asked) and (
        many or (serial and 20 * distinct > n) or named
    ):
        why = "row names" if rows else "identifiers"
        return identified(
            cells, Decision(Column("ignored", why=why), remarks=decision.remarks), distinct, present
        )
    return decision
