"""Texts of a column: categories, identifiers, or nothing to learn from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pate_cli.datasets.asking import Ask, Decision, as_list, persons_ask
from pate_cli.datasets.column import ASKED
from pate_cli.datasets.column_names import looks_like_unit
from pate_cli.datasets.distinct import Cells, Seen
from pate_cli.errors import count_of, shortened

__all__ = ["FEW", "HALF", "NEARLY", "decide_texts", "identified", "of_one_level"]

NEARLY, HALF, FEW = 0.9, 0.5, 20
_LONG, _WORDS = 40, 4
"""Mean length, and number of words, of a free text."""

_PAIR = re.compile(r"(?!0\d)\d+\s*/\s*(?!0\d)\d+")  # 0151/1234567 is a phone


def decide_texts(seen: Seen, decision: Decision, target: bool) -> Decision:
    """Decide on texts that are no numbers, dates or times."""
    cells, edits = seen.cells, seen.cells.edits
    filled = _without_missing(seen, _with_codes(seen, decision, target), decision, target)
    names = _levels(seen, filled, decision)
    n, n_filled = int(seen.counts.sum()), seen.n(filled)
    if target or edits.get("kind") == "category":
        return decision
    if len(names) <= 1:
        return of_one_level(cells, names, n, n_filled, decision)
    if _is_free_text(names, n_filled):
        return decision.ignored("free text")
    if len(names) >= FEW and sum(bool(_PAIR.fullmatch(t)) for t in names) > NEARLY * len(names):
        out = decision.ignored("two numbers in a cell")
        question = "two numbers in a cell: two columns of the file?"
        out.asked.append(Ask(cells.name, "kind", question, "ignored", safe=True))
        return out
    asked = any(ask.key == "kind" for ask in decision.asked)
    if not asked and _are_identifiers(cells.name, names, n, n_filled):
        why = "row names" if cells.row_names else "identifiers"
        return identified(cells.name, "persons" in edits, decision.ignored(why), len(names), n_filled, n)
    return decision


def identified(
    name: str, answered: bool, decision: Decision, distinct: int, n_filled: int, n: int
) -> Decision:
    """Ask whether identifiers that repeat name persons, unless that is `answered`."""
    if 2 < distinct < n_filled and decision.column.why == "identifiers" and not answered:
        decision.asked.append(persons_ask(name, distinct, n_filled, n))
    return decision


def _with_codes(seen: Seen, decision: Decision, target: bool) -> Any:
    """Texts that hold a value; - beside +, and NA among codes of two letters, are values, too."""
    cells, filled = seen.cells, seen.filled
    codes = filled.sum() > 1 and cells.mask("code", lambda text: re.fullmatch("[A-Z]{2}", text))[filled].all()
    signs = seen.n(filled & cells.mask("plus", "+".__eq__)) > 1
    words = ["-", "--", "---"] if signs else ["NA"] if codes and not target else []
    if not words or {"missing", "answers"} & cells.edits.keys():
        return filled
    decision.column = replace(decision.column, answers=words)
    same = (seen.counts > 0) & cells.mask(words[0], words.__contains__)
    if same.any() and not target:
        code = "+" if signs else cells.plain[int(np.argmax(filled))]
        every = ", ".join(cells.plain[i] for i in np.flatnonzero(same))
        question = f"{every} ({count_of(seen.n(same), 'cell')}) is a code as {code}, not a missing value"
        decision.asked.append(Ask(cells.name, "answers", question, as_list(words), safe=True))
    return filled | same


def _without_missing(seen: Seen, filled: Any, decision: Decision, target: bool) -> Any:
    """Texts but for words as `unknown`: they are taken for missing, and asked for; of a target, kept."""
    cells, plain = seen.cells, seen.cells.plain
    asked = [i for i in np.flatnonzero(filled & cells.wordy) if cells.low[i] in ASKED]
    if target and asked:
        every = [plain[i] for i in asked]
        question = f"{', '.join(every)}: a class? Or no label (--missing {shlex.quote(every[0])})"
        decision.asked.append(Ask(cells.name, "answers", question, as_list(every), safe=True))
    elif asked and filled.sum() > 2 and "missing" not in cells.edits:
        for i in asked:
            question = f"{plain[i]!r} ({count_of(int(seen.counts[i]), 'cell')}) is taken for missing"
            decision.ask_missing(cells.name, plain[i], question)
        return filled & ~np.isin(np.arange(len(filled)), asked)
    return filled


def _levels(seen: Seen, filled: Any, decision: Decision) -> list[str]:
    """Levels; those that differ in capitals alone are one, and said."""
    names = [seen.cells.plain[i] for i in np.flatnonzero(filled)]
    if "case" in seen.cells.edits:
        return names
    variants: dict[str, set[str]] = {}
    for text in names:
        variants.setdefault(text.casefold(), set()).add(text)
    if merged := [" = ".join(map(shortened, sorted(v))) for v in variants.values() if len(v) > 1]:
        decision.warnings.append(f"{', '.join(merged[:3])}: they differ in capitals alone, and are one")
    return [min(texts) for texts in variants.values()]


def of_one_level(cells: Cells, names: Sequence[str], n: int, n_filled: int, decision: Decision) -> Decision:
    """A column of one level, or none: constant, unless many cells beside it are empty."""
    n_empty = n - n_filled
    if not names or n_empty <= 0.1 * n:
        return decision if cells.used else decision.ignored("constant")
    if "empty" not in cells.edits:
        question = f"an empty cell ({n_empty:,} of them) beside {shortened(repr(names[0]))}: missing, or no?"
        decision.asked.append(Ask(cells.name, "empty", question, "missing", safe=True))
    return decision


def _is_free_text(names: Sequence[str], n_filled: int) -> bool:
    length = sum(map(len, names)) / len(names)
    words = sum(text.count(" ") + 1 for text in names) / len(names)
    return len(names) > 0.3 * n_filled and (words >= _WORDS or length > _LONG)


def _are_identifiers(name: str, names: Sequence[str], n: int, n_filled: int) -> bool:
    """Whether half of the texts are different, or they are serial, or of a column named so."""
    distinct = len(names)
    if distinct > HALF * n_filled and n_filled >= FEW:
        return True
    if distinct < FEW:
        return False
    serial = 20 * distinct > n and len({re.sub(r"\d+", "", text) for text in names}) == 1
    serial = serial and all(re.search(r"\d{3}", text) for text in names)
    return serial or (looks_like_unit(name) and distinct > max(FEW, n / 10))
