"""A column of a table, and the one grammar by which its cells are read: as numbers, dates or categories.

A cell is read by the column's entry alone, whatever the other cells hold. `deciding` chooses the entry.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import CheckedBy, Flag, Listed, OneOf, Or, Real, option
from pate_cli.datasets.dates import EPOCH, TIMES, as_date, days_of, hours_of, seconds_of
from pate_cli.datasets.labels import identity, number_in, texts_of
from pate_cli.datasets.names import normal
from pate_cli.datasets.three_files import Cell
from pate_cli.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ASKED", "KINDS", "MISSING", "MOST_EXACT", "NO_NUMBER", "NUMBER", "Column", "Reading"]
__all__ += ["distinct_texts", "is_missing", "levels_of", "number_of", "plain_numbers", "unit_of"]

KINDS = ("number", "date", "category", "ignored")

MISSING = frozenset(["", "na", "n/a", "n.a.", "n. a.", "n/d", "nan", "null", "\\n", "k.a.", "k. a.", "n.d."])
MISSING |= {"(null)", "[null]", "<null>", "<na>", "#n/a", "#nv", "#yok", "?", "-", "--", "."}
"""Cells that hold no value, in small letters, in columns of every kind; see also `_NOTHING`."""

_NOTHING = re.compile(r"#[¡¿]?[^\W\d_]+(/0)?[!?]|#[^\W\d_]/[^\W\d_]!?|-+|\.+|\?+")
"""Errors of spreadsheets in any language, as #REF! and #N/D; rules, as weather stations print them."""

ASKED = (
    frozenset(["unknown", "missing", "unbekannt", "keine angabe", "inconnu", "bilinmiyor", "refused"])
    | {"prefer not to say", "don't know", "not stated", "not applicable", "no answer"}
    | {"ne sait pas", "weiß nicht"}
)
"""Cells that hold no number; whether they are a level of a category its owner decides."""

NO_NUMBER = ASKED | {"none", "nc", "nd", "nat", "-1.#ind"}
"""Cells that hold no number, but may be levels of a category, as North Carolina."""

MOST_EXACT = 2.0**53
"""From there on, float64 does not tell all whole numbers apart: a column of such ones is read as texts."""

_SIGNS = "$¢£¤¥₠-⃀"
_CODES = "EUR USD GBP CHF JPY CNY INR BRL CAD AUD NZD SEK NOK DKK PLN CZK HUF TRY RUB ZAR MXN Rs kr Fr"
NUMBER = re.compile(
    r"(?P<limit>[<>≤≥]=?)?\s*(?P<open>\()?(?P<sign>[+-])?\s*"
    rf"(?P<currency>[A-Z]{{0,3}}[{_SIGNS}]|(?:{_CODES.replace(' ', '|')})\.?|%)?\s*(?P<inner>[+-])?"
    r"(?P<digits>[0-9]{1,3}(?P<mark>[.,' ])(?:(?:[0-9]{2}(?P=mark))*|(?:[0-9]{3}(?P=mark))*)[0-9]{3}"
    r"(?:(?!(?P=mark))[.,][0-9]+)?|[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)"
    r"(?P<exponent>[eE][+-]?[0-9]+)?(?P<even>[.,]-{1,2}|/-)?(?P<plus>\+)?(?P<behind>-)?"
    rf"\s*(?P<unit>[%‰{_SIGNS}]|°[CF]|[^\W\d_]{{1,8}}\.?(/[^\W\d_]{{1,3}})?[23]?|/[^\W\d_]{{1,3}}"
    r"|(?<= )(?=\S*[^\W\d_])\S{1,9}/\S{1,9})?(?P<close>\))?"
)
"""A number as people write it: a limit, a currency or percent, separators, parentheses, 5.- or 5/-, a unit.

One mark separates thousands, another one decimals: 10.117.238.5 is none.
"""


def _missing(value: Any) -> Any:
    return value if isinstance(value, bool) else Listed(Cell(empty=True)).take(value)


def _bound(value: Any) -> float:
    if isinstance(value, str):
        return float(dt.date.fromisoformat(value).toordinal() - EPOCH)
    return Real(-math.inf).take(value)


_BOUND = Or("null", CheckedBy(_bound, "a number, or of dates one as 2024-05-31"))
_WORDS = CheckedBy(_missing, "words for a missing value, as [unknown, -9]; or true or false")


@dataclass(frozen=True)
class Column:
    """Entry of a schema: the kind of a column, and how a cell of it is written. PUBLIC.

    Numbers beyond `low` and `high` are clipped; bounds of dates are days since 1970. A cell that is none of
    the `levels` has the code of an unseen one. Where these are None, public records decide.
    """

    kind: str = option("number", OneOf(KINDS))
    low: float | None = option(None, _BOUND)
    high: float | None = option(None, _BOUND)
    levels: list[str] | None = option(None, Or("null", Listed(Cell(empty=True))))
    unit: str | None = option(None, Or("null", Cell("one unit, as kg")))
    decimal: str | None = option(None, Or("null", OneOf((".", ","))))  # None: that of the file
    thousands: str | None = option(None, Or("null", OneOf((",", ".", "'", " "))))
    format: str | None = option(None, Or("null", Cell("d-m-y, m-d-y, y-m-d, ymd, d mon y, y-m, h:m, ...")))
    missing: Any = option(None, Or("null", _WORDS))  # true: any other text is missing, too
    answers: list[str] | None = option(None, Or("null", Listed(Cell(empty=True))))  # no missing values here
    empty: str | None = option(None, Or("null", Cell("what an empty cell stands for")))
    case: str | None = option(None, Or("null", OneOf(("kept",))))
    why: str | None = option(None, Or("null", Cell("a few words")))
    source: str | None = option(None, Or("null", Cell("where bounds or levels are from")))
    scale: str | None = option(None, Or("null", OneOf(("linear", "asinh"))))
    bought: bool = option(False, Flag())  # `levels: private`: its levels or bounds are paid for by the run

    @property
    def is_number(self) -> bool:
        """Whether its cells become numbers: those of a date are days."""
        return self.kind in ("number", "date")

    @property
    def words(self) -> list[str]:
        """Words for a missing value that the built-in list does not have."""
        return self.missing if isinstance(self.missing, list) else []

    @property
    def is_plain(self) -> bool:
        """Whether its numbers are written as a computer does."""
        return not (self.unit or self.thousands or self.format)

    @property
    def about(self) -> str:
        """Bounds, levels or reason, for people."""
        if self.is_number:
            return "any" if self.low is None else f"{self.shown(self.low)} to {self.shown(self.high)}"
        if self.kind == "category":
            names = self.levels or []
            not_shown = f" and {len(names) - 4} more" if len(names) > 4 else ""
            return "any text" if self.levels is None else f"{len(names)}: {', '.join(names[:4])}{not_shown}"
        return self.why or ""

    def shown(self, bound: float | None) -> str:
        """A bound as it is written: a date, or a number."""
        if bound is None:
            return ""
        return as_date(bound) if self.kind == "date" else f"{bound:.10g}"

    def beyond(self, values: FloatArray) -> Any:
        """Which numbers are beyond the bounds; the last day of dates is not."""
        if self.low is None or self.high is None:
            return np.zeros(len(values), dtype=bool)
        return (values < self.low) | (values > self.high + (self.kind == "date"))

    def read(self, cells: pd.Series, words: Collection[str] = (), decimal: str = ".") -> Reading:
        """Read a column of a `RecordTable`: float64, or a category of texts; `words` are of all columns.

        `decimal` is the file's.
        """
        import pandas as pd

        if self.kind == "number" and self.is_plain and not hasattr(cells, "cat"):
            values = plain_numbers(cells, {*self.words, *words}, decimal)
            odd = np.isinf(values)
            return Reading(np.where(odd, np.nan, values) if odd.any() else values, odd)
        texts, codes = distinct_texts(cells)
        plain = [normal(text) for text in texts]
        filled = np.array([not self._is_missing(text, words) for text in plain], dtype=bool)
        if self.is_number:
            parse = self._parser(decimal)
            parsed = [parse(text) if h else None for text, h in zip(plain, filled, strict=True)]
            each = np.array([np.nan if value is None else value for value in parsed], dtype=np.float64)
            odd = filled & np.isnan(each)
            if self.kind == "number":
                each = _without(each, {*self.words, *words}, decimal)
            return Reading(each[codes], odd[codes])
        find = levels_of(self.levels, kept=self.case == "kept")
        names = [find(text) if h else "" for text, h in zip(plain, filled, strict=True)]
        if self.empty:
            names = [self.empty if text == "" else name for text, name in zip(plain, names, strict=True)]
        distinct, at = np.unique(np.array(names, dtype=object), return_inverse=True)
        return Reading(pd.Categorical.from_codes(at[codes], pd.Index(distinct, dtype=object)), None)

    def _parser(self, decimal: str) -> Callable[[str], float | None]:
        if self.kind == "date":
            return days_of(self.format)
        if self.format in TIMES:
            return seconds_of if self.format == "h:m:s" else hours_of
        return number_of(self.decimal or decimal, self.thousands, self.unit)

    def _is_missing(self, text: str, words: Collection[str]) -> bool:
        if text in (self.answers or ()) or text in (self.levels or ()):
            return False
        return is_missing(text, {*words, *self.words}, number=self.is_number)


@dataclass(frozen=True, eq=False)
class Reading:
    """Values of a column: float64, NaN where missing, or texts, empty where missing; others are `odd`."""

    values: Any
    odd: Any  # mask of cells that are neither a number nor missing; None of categories


def is_missing(text: str, words: Collection[str] = (), *, number: bool = False) -> bool:
    """Whether a cell without what nobody sees holds no value: it is empty, or a word for missing."""
    low = text.casefold()
    known = low in MISSING or text in words or (number and low in NO_NUMBER)
    return known or (text[0] in "#-.?" and bool(_NOTHING.fullmatch(text)))


def distinct_texts(cells: pd.Series) -> tuple[list[str], IntArray]:
    """Different texts of a column, and the number of each cell's; a number is written in the shortest way."""
    import pandas as pd

    if hasattr(cells, "cat"):
        return [str(text) for text in cells.cat.categories], cells.cat.codes.to_numpy().astype(np.int64)
    codes, values = pd.factorize(cells.to_numpy(dtype=np.float64))
    return [*texts_of(values), ""], np.where(codes < 0, len(values), codes)


def plain_numbers(cells: pd.Series, words: Iterable[str], decimal: str = ".") -> FloatArray:
    """Numbers of a column of plain ones, NaN where missing: as those that `words` are."""
    return _without(cells.to_numpy(dtype=np.float64), words, decimal)


def _without(values: FloatArray, words: Iterable[str], decimal: str) -> FloatArray:
    """Numbers, NaN for those that a word is: 7.0 as 7, whether others in the column are plain or not."""
    gone = [value for word in words if (value := number_of(decimal)(word)) is not None]
    return np.where(np.isin(values, gone), np.nan, values) if gone else values


def levels_of(levels: Iterable[str] | None, *, kept: bool = False) -> Callable[[str], str]:
    """Function from a text in its normal form to the level that it stands for; to itself where it is none.

    Levels that differ in capitals alone are one, unless they are `kept`; 1.0 is the level 1.
    """
    if levels is None:
        return lambda text: text
    exact, folded, equal = _spellings(tuple(levels))

    def find(text: str) -> str:
        if (level := exact.get(text)) is not None:
            return level
        if not kept and (level := folded.get(text.casefold())) is not None:
            return level
        return equal.get(identity(text), text)

    return find


@cache
def _spellings(levels: tuple[str, ...]) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[Any, str]]:
    """Levels by text and normal form; by the latter in small letters; by number, if numbers differ."""
    folded, equal = dict[str, str](), dict[Any, str]()
    for level in levels:
        folded.setdefault(normal(level).casefold(), level)
        if not isinstance(identity(level), str):
            equal.setdefault(identity(level), level)
    n_numbers = sum(not isinstance(identity(level), str) for level in levels)
    exact = {normal(level): level for level in levels} | {level: level for level in levels}
    return exact, folded, equal if len(equal) == n_numbers else {}


def unit_of(number: re.Match[str]) -> str:
    """Unit of a number, its currency, or both, as of $1.2M."""
    return (number["currency"] or "") + (number["unit"] or "")


@cache
def number_of(
    point: str = ".", thousands: str | None = None, unit: str | None = None
) -> Callable[[str], float | None]:
    """Function that reads a number as a column writes it; None of what is none."""
    mark = re.escape(thousands or "")
    groups = rf"\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|" if thousands else ""
    digits = re.compile(rf"({groups}\d+)?(?:{re.escape(point)}(\d*))?", re.ASCII)

    def parse(text: str) -> float | None:
        if point == "." and (value := number_in(text)) is not None:
            return value if math.isfinite(value) else None
        if not (match := NUMBER.fullmatch(text)):
            return None
        if (written := unit_of(match)) and written != unit:
            return None
        if not (cut := digits.fullmatch(match["digits"])) or bool(match["open"]) != bool(match["close"]):
            return None
        whole = re.sub(r"\D", "", cut[1] or "")
        value = float(f"{whole}.{cut[2] or 0}{match['exponent'] or ''}")
        minus = "-" in (match["sign"], match["inner"], match["behind"]) or match["open"]
        return None if math.isinf(value) else -value if minus else value

    return parse
