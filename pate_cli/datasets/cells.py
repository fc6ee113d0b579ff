"""Cells of a text file: read as numbers by pandas where all of a column are plain numbers, else as texts."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from pate_cli.datasets.column import MISSING, MOST_EXACT, NO_NUMBER, NUMBER
from pate_cli.datasets.names import normal
from pate_cli.datasets.reading import columns_of

__all__ = ["decimal_vote", "rows_of", "typed_cells"]

_SAMPLE = 50_000
_WORDS = {f(word) for word in MISSING | NO_NUMBER for f in (str, str.upper, str.capitalize)}
_WORDS |= {"NaN", "k.A.", "k. A.", "N.d."}
_COMMA = re.compile(
    r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}|\d*,(\d{1,2}|\d{4,})|(0|\d{4,}),\d+|[\d' ]+ \d{3},\d+"
)
_POINT = re.compile(
    r"\d{1,3}(,\d{2,3})+\.\d+|\d{1,3}(,\d{2,3}){2,}|\d*\.(\d{1,2}|\d{4,})|(0|\d{4,})\.\d+|[\d']+'\d{3}\.\d+"
)
_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


def decimal_vote(number: re.Match[str]) -> str:
    """What separates decimals in a number that can be read in one way alone; empty for all others."""
    digits = number["digits"]
    if number["exponent"] and (mark := re.fullmatch(r"\d([.,])\d+", digits)):
        return mark[1]
    return "," if _COMMA.fullmatch(digits) else "." if _POINT.fullmatch(digits) else ""


def typed_cells(
    body: bytes, names: Sequence[str], delimiter: str, quote: str, decimal: str | None, text: Collection[str]
) -> tuple[Any, str]:
    """Columns of records without a header, see `RecordTable`; and what separates decimals in its numbers.

    The first lines say which columns hold texts, and how numbers are written; one that turns out otherwise is
    read again. Numbers with a comma stay texts, unless `decimal` says what it is: two records do not.
    """
    import pandas as pd

    sample = _sample(body, names, delimiter, quote)
    point = decimal or _decimal(sample.values())
    plain = decimal or "."
    late = {name for name, cells in sample.items() if not _may_be_numbers(cells, plain)} | {*text}
    keys = list(range(len(names)))  # names may be empty
    # as texts are read: one in a column changes no other number of it (the default of pandas 3.1)
    is_old = [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1]
    exact: Any = {"float_precision": "round_trip"} if is_old else {}

    def cells(columns: Sequence[int], texts: Collection[int]) -> pd.DataFrame:
        words: Any = {key: [""] if key in texts else sorted(_WORDS) for key in keys}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns with cells of several kinds
            read: pd.DataFrame = pd.read_csv(
                io.BytesIO(body),
                sep=delimiter,
                quotechar=quote,
                names=keys,
                usecols=list(columns),
                dtype=dict.fromkeys(texts, str),
                header=None,
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=words,
                decimal=plain,
                encoding="utf-8",
                skip_blank_lines=False,
                low_memory=False,
                **exact,
            )
        return read

    frame = cells(keys, [key for key in keys if names[key] in late])
    coded = _coded(body, delimiter, quote, len(names))
    coded |= {k for k in keys if frame[k].dtype.kind not in "iuf" or np.abs(frame[k]).max() >= MOST_EXACT}
    if again := sorted(key for key in coded if names[key] not in late):  # as the reader has them
        frame[again] = cells(again, again)
    # of codes, as 007, a number would lose the zeros; a number of one column only is no code
    frame.columns = list(names)
    return pd.DataFrame(columns_of(frame), copy=False), point


def rows_of(text: str, delimiter: str, quote: str) -> Any:
    """Reader of the cells of each line; a cell may be of any length."""
    csv.field_size_limit(2**31 - 1)
    source = io.StringIO(text, newline="")
    return csv.reader(source, delimiter=delimiter, quotechar=quote, skipinitialspace=True)


def _sample(body: bytes, names: Sequence[str], delimiter: str, quote: str) -> dict[str, list[str]]:
    """Cells of the first lines, by column."""
    head = body[:_SAMPLE]
    rows = list(rows_of(head.decode("utf-8", "ignore"), delimiter, quote))
    rows = rows[:-1] if len(head) < len(body) else rows  # the last one is cut
    return {name: [row[at].strip() for row in rows if len(row) > at] for at, name in enumerate(names)}


def _decimal(columns: Iterable[Sequence[str]]) -> str:
    """Separator of decimals in more columns; each needs two cells that can be read in one way alone."""
    votes: Counter[str] = Counter()
    for cells in columns:
        numbers = (NUMBER.fullmatch(normal(text)) for text in cells if "," in text or "." in text)
        here = Counter(decimal_vote(number) for number in numbers if number)
        votes.update([mark for mark in ",." if here[mark] > 1])
    return "," if votes[","] > votes["."] else "."


def _may_be_numbers(cells: Sequence[str], point: str) -> bool:
    """Whether all first cells are plain numbers or missing, no codes, and no thousands for decimals."""
    number = re.compile(rf"[+-]?(\d+{re.escape(point)}?\d*|{re.escape(point)}\d+)([eE][+-]?\d+)?")
    filled = [text for text in cells if text not in _WORDS]
    if not all(number.fullmatch(text) for text in filled) or any(re.match(r"0\d", text) for text in filled):
        return False
    marked = [text for text in filled if point in text]
    return len(marked) < 2 or sum(not _GROUP.fullmatch(text) for text in marked) > 1


def _coded(body: bytes, delimiter: str, quote: str, n: int) -> set[int]:
    """Columns that have a cell with a leading zero before another digit; all, where cells are quoted."""
    characters = np.frombuffer(body, dtype=np.uint8)
    zeros = np.flatnonzero(characters[:-1] == ord("0"))
    zeros = zeros[characters[zeros + 1] - ord("0") < 10]
    begins = list(f"{quote} \n{delimiter}".encode())
    zeros = zeros[(zeros == 0) | np.isin(characters[zeros - 1], begins)]
    if not len(zeros):
        return set()
    if quote.encode() in body:
        return set(range(n))
    cuts = np.flatnonzero((characters == ord(delimiter)) | (characters == ord("\n")))
    return set((np.searchsorted(cuts, zeros) % n).tolist())
