"""The cells of a column, its different texts looked at once: what they are written like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pate_cli.datasets.cells import decimal_vote
from pate_cli.datasets.column import NO_NUMBER, NUMBER, distinct_texts, is_missing, plain_numbers, unit_of
from pate_cli.datasets.dates import DATES, days_of
from pate_cli.datasets.names import normal
from pate_cli.types import FloatArray, IntArray

__all__ = ["N_PARTS", "Cells", "Seen", "kept_parts"]

N_PARTS = 13
_LINE = (0, 1, 3, 9)
"""Parts left out together, counted from one on: a line of the projective plane of order 3, whose differences
are all different, so that any two parts are on one line."""


@dataclass(eq=False)
class Cells:
    """Different texts of a column, looked at once; `part` is the first of those that are left out."""

    name: str
    cells: Any
    edits: Mapping[str, Any] = field(default_factory=dict)  # what the owner has decided
    common: Sequence[str] = ()  # words for a missing value in all columns
    unit: str = ""  # of a line of units
    row_names: bool = False
    used: bool = False  # a number is one, though it may be constant, or grow from record to record
    decimal: str = "."  # of the numbers, if all cells are plain ones
    marks: Any = None  # part of each record; see `_LINE` for those that are left out together

    @cached_property
    def values(self) -> FloatArray | None:
        """The numbers, if all cells are plain ones or missing."""
        if hasattr(self.cells, "cat"):
            return None
        values = plain_numbers(self.cells, self.words)
        return np.where(np.isinf(values), np.nan, values)  # which will be refused

    @cached_property
    def words(self) -> list[str]:
        """Words for a missing value that the owner named."""
        decided = self.edits.get("missing")
        return [*self.common, *(decided if isinstance(decided, list) else [])]

    @cached_property
    def _distinct(self) -> tuple[list[str], IntArray]:
        return distinct_texts(self.cells)

    @cached_property
    def plain(self) -> list[str]:
        """Texts in the form in which they are compared."""
        return [normal(text) for text in self._distinct[0]]

    @property
    def codes(self) -> IntArray:
        """Number of each record's text."""
        return self._distinct[1]

    @cached_property
    def unusual(self) -> int:
        """Number of cells with characters that `normal` replaces or takes away."""
        odd = [t.strip() != p and not t.isascii() for t, p in zip(self._distinct[0], self.plain, strict=True)]
        return int(np.array(odd, dtype=bool)[self.codes].sum()) if any(odd) else 0

    @cached_property
    def low(self) -> list[str]:
        """Texts in small letters."""
        return [text.casefold() for text in self.plain]

    @cached_property
    def filled(self) -> Any:
        """Whether each text holds a value, or may do so."""
        answers = self.edits.get("answers") or ()
        return np.array([t in answers or not is_missing(t, self.words) for t in self.plain], dtype=bool)

    @cached_property
    def wordy(self) -> Any:
        """Whether each is a word that may stand for a missing value, or is one in numbers."""
        answers = self.edits.get("answers") or ()
        both = [t in NO_NUMBER and p not in answers for t, p in zip(self.low, self.plain, strict=True)]
        return np.array(both, dtype=bool)

    def _matches(self, pattern: Callable[[str], Any]) -> list[Any]:
        """A match of each held text, or None; none at all where hardly one of a sample matches."""
        at = np.flatnonzero(self.filled)
        sample = at[:: max(1, len(at) // 200)]
        if sum(bool(pattern(self.plain[i])) for i in sample) < 0.3 * len(sample):
            return [None] * len(self.plain)
        return [pattern(text) if h else None for text, h in zip(self.plain, self.filled, strict=True)]

    @cached_property
    def numbers(self) -> list[Any]:
        """Match of each text that is written like a number."""
        return self._matches(NUMBER.fullmatch)

    @cached_property
    def like(self) -> Any:
        """Whether each text is written like a number."""
        return np.array([m is not None for m in self.numbers], dtype=bool)

    @cached_property
    def separators(self) -> dict[str, Any]:
        """Texts that have a separator in their digits, by separator."""
        digits = [m["digits"] if m else "" for m in self.numbers]
        return {mark: np.array([mark in d for d in digits], dtype=bool) for mark in ",.' "}

    @cached_property
    def votes(self) -> dict[str, Any]:
        """Texts that can be read in one way alone, by what separates decimals in them."""
        votes = np.array([decimal_vote(m) if m else "" for m in self.numbers], dtype=object)
        return {mark: votes == mark for mark in ",."}

    @cached_property
    def units(self) -> dict[str, Any]:
        """Texts with a unit or currency, by it."""
        units = np.array([unit_of(m) if m else "" for m in self.numbers], dtype=object)
        return {unit: units == unit for unit in sorted(set(units)) if unit}

    @cached_property
    def limits(self) -> Any:
        """Texts that are a limit, as <5 or 90+."""
        return np.array([bool(m and (m["limit"] or m["plus"])) for m in self.numbers], dtype=bool)

    def mask(self, name: str, test: Callable[[str], Any]) -> Any:
        """Mask of the texts that pass a test, computed once under a name."""
        if name not in self._parsed:
            self._parsed[name] = np.array([bool(test(text)) for text in self.plain], dtype=bool)
        return self._parsed[name]

    @cached_property
    def dates(self) -> dict[str, Any]:
        """Texts that are written like a date, by form; d-m-y stands for m-d-y, too."""
        forms = [form for form in DATES if form != "m-d-y"]
        days = days_of("ymd")

        def is_date(form: str, text: str) -> bool:  # 20240099 may be a number
            return DATES[form].fullmatch(text) is not None and (form != "ymd" or days(text) is not None)

        forms_found = self._matches(lambda text: next((f for f in forms if is_date(f, text)), None))
        return {form: np.array([f == form for f in forms_found], dtype=bool) for form in forms}

    @cached_property
    def _parsed(self) -> dict[Any, Any]:
        return {}

    def parsed(self, key: Any, parse: Callable[[str], float | None]) -> FloatArray:
        """Number of each text, NaN where there is none; computed once."""
        if key not in self._parsed:
            values = [parse(text) if h else None for text, h in zip(self.plain, self.filled, strict=True)]
            self._parsed[key] = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        return np.asarray(self._parsed[key])

    @cached_property
    def _by_mark(self) -> IntArray:
        """How often each text occurs, by the part of the records."""
        n = N_PARTS
        return np.bincount(self.codes * n + self.marks, minlength=len(self.plain) * n).reshape(-1, n)

    def counts(self, part: int | None) -> IntArray:
        """How often each text occurs, but for the records that are left out."""
        if part is None:
            return np.bincount(self.codes, minlength=len(self.plain))
        return np.asarray(self._by_mark[:, kept_parts(part)].sum(axis=1))

    def rest(self, values: Any, part: int | None) -> Any:
        """Values of all records, but for those that are left out."""
        return values if part is None else values[kept_parts(part)[self.marks]]

    @cached_property
    def _broken(self) -> Any:
        """Whether each number is not whole."""
        return np.zeros(0, dtype=bool) if self.values is None else self.values % 1 > 0

    def n_broken(self, part: int | None) -> int:
        """Numbers that are not whole, but for those that are left out."""
        return int(np.count_nonzero(self.rest(self._broken, part)))

    @cached_property
    def surely_number(self) -> bool:
        """Whether any part of the records says number: broken ones are left, and others than the first."""
        if self.values is None or self.edits:
            return False
        filled = self.values[~np.isnan(self.values)]
        if not len(filled):
            return False
        differ = (self.values != filled[0]) & ~np.isnan(self.values)
        by_part = [np.bincount(self.marks[mask], minlength=N_PARTS) for mask in (self._broken, differ)]
        return all(counts[kept_parts(part)].sum() > 1 for counts in by_part for part in range(N_PARTS))


def kept_parts(part: int) -> Any:
    """Whether each part is kept where the line of parts that begins with `part` is left out."""
    return ~np.isin((np.arange(N_PARTS) - part) % N_PARTS, _LINE)


class Seen:
    """The texts of a column as some records show them: all of them, or all but those that are left out."""

    def __init__(self, cells: Cells, part: int | None) -> None:
        self.cells = cells
        self.part = part
        self.counts = cells.counts(part)
        self.filled = cells.filled & (self.counts > 0)

    def n(self, mask: Any) -> int:
        """Number of records with one of these texts."""
        return int(self.counts[mask].sum())

    @cached_property
    def weight(self) -> int:
        """Number of records whose text is no word for a missing value."""
        return self.n(self.filled & ~self.cells.wordy)

    def often(self, masks: Mapping[str, Any], least: int = 2) -> Counter[str]:
        """Number of records by the key of their text, where there are some."""
        sums = {key: self.n(mask) for key, mask in masks.items()}
        return Counter({key: count for key, count in sums.items() if count >= least})
