"""Bytes of a user's file, and the table of numbers and texts that a reader makes of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.labels import Labels, number_in, texts_of
from pate_cli.datasets.names import normal
from pate_cli.datasets.unpacking import unpacked
from pate_cli.errors import DataError
from pate_cli.terminal import open_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING",
    "Counts",
    "RecordTable",
    "as_text",
    "as_utf8",
    "columns_of",
    "has_value",
    "joint_digest",
]
__all__ += ["marked", "numbers", "read_bytes", "texts"]

MISSING = ("", "na", "n/a", "nan", "null", "?")
"""Cells that hold no number, in small letters."""

_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_MARKS = {
    b"\xff\xfe\0\0": "utf-32",  # before the one that it begins with
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}


def read_bytes(path: Path) -> tuple[bytes, str]:
    """Read a file or pipe once: content, decompressed by its suffix, and SHA-256 (hex) of its bytes."""
    try:
        with open_file(path, pipe=True) as file:
            raw = file.read()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except MemoryError:
        raise DataError(f"{path}: it does not fit into memory") from None
    checksum = hashlib.sha256(raw).hexdigest()
    try:
        return unpacked(raw, path.suffix.lower()), checksum
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def marked(raw: bytes) -> str | None:
    """Encoding that the byte order mark of a text states; None without one."""
    return next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)


def as_utf8(raw: bytes, path: Path, encoding: str, hint: str = "") -> bytes:
    """Text in UTF-8, without a byte order mark; `hint` is for a file that is no UTF-8."""
    try:
        content = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeError as error:
        line = raw.count(b"\n", 0, getattr(error, "start", 0)) + 1
        name, hint = ("UTF-8", hint) if encoding.startswith("utf-8") else (encoding, "")
        raise DataError(f"{path}, line {line}: not {name} text{hint}") from None
    return content.encode("utf-8", "surrogatepass")


def joint_digest(digests: list[str]) -> str:
    """Compute one checksum for a dataset: that of its file, or of its files' digests in order."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class RecordTable:
    """A file of records as it was read.

    A column of `frame` is float64 where every cell is a number or empty (NaN), else a pandas category of
    texts; its index is the place of each record in the file.
    """

    frame: pd.DataFrame
    path: Path
    checksum: str  # SHA-256 (hex) of the file's bytes
    word: str = "line"  # unit of the index: "line" or "row"
    dates: frozenset[str] = frozenset()  # columns of dates by the file's own types
    unread: Mapping[str, str] = field(default_factory=dict)  # types of columns without cells, as lists
    row_names: frozenset[str] = frozenset()  # columns that were the index of a pandas table
    decimal: str = "."  # decimal separator of numbers in texts

    @property
    def columns(self) -> list[str]:
        """Names of the columns that were read."""
        return [str(column) for column in self.frame.columns]

    def place(self, row: int) -> str:
        """File and line of a record, for messages."""
        return f"{self.path}, {self.word} {self.frame.index[row]}"

    def cell(self, name: str, row: int) -> str:
        """Text of a cell, for messages; empty where a number is missing."""
        value = self.frame[name].iloc[row]
        return "" if value != value else str(value)

    def numbers(self, name: str, words: Collection[str]) -> tuple[Any, Counts]:
        """Read a column as numbers, see the function `numbers`."""
        return numbers(self.frame[name], words, self.decimal)

    def texts(self, name: str, words: Collection[str] = ()) -> tuple[Any, Any, Any]:
        """Distinct texts of a column; whether each holds a value; and the text of each cell."""
        cells = texts(self.frame[name])
        names = np.array(list(map(str, cells.categories)), dtype=object)
        has_text = [has_value(t, words, numeric=True) and not _INFINITE.fullmatch(t.strip()) for t in names]
        return names, np.array(has_text, dtype=bool), cells.codes

    def labels(self, name: str, words: Collection[str], key: str, *, missing: bool = False) -> Labels:
        """Texts of the column that the option `key` names; a record may have none, -1, where `missing`."""
        names, has_text, codes = self.texts(name, words)
        labels = Labels(names[has_text].tolist(), np.where(has_text, np.cumsum(has_text) - 1, -1)[codes])
        if not missing and (labels.codes < 0).any():
            row = int(np.argmin(labels.codes))
            accepted = "accepted: a text or a number in each record"
            raise DataError(f"{self.place(row)}: {key} {name!r} has {self.cell(name, row)!r}; {accepted}")
        return labels.distinct(f"{key} {name!r}", self.place, self.decimal)


@dataclass(frozen=True)
class Counts:
    """Numbers of cells that are numbers, missing, and other texts; and the row of the first other text."""

    n_numbers: int
    n_missing: int
    n_others: int = 0
    first: int | None = None


def numbers(cells: pd.Series, words: Collection[str], decimal: str = ".") -> tuple[Any, Counts]:
    """Read a column of a `Table` as float64, NaN where there is no number, each cell by itself.

    No cell depends on the others. `words` stand for a missing value, beside `MISSING`.
    """
    import pandas as pd

    sentinels = [number for word in words if (number := number_in(_pointed(word, decimal))) is not None]
    if not hasattr(cells, "cat"):
        values = cells.to_numpy(dtype=np.float64)
        if sentinels:
            values = np.where(np.isin(values, sentinels), np.nan, values)
        n_missing = int(np.count_nonzero(np.isnan(values)))
        return values, Counts(len(values) - n_missing, n_missing)
    # each text is looked at once, however often it occurs
    names = pd.Series(cells.cat.categories, dtype=object).map(str)
    missing = np.array([not has_value(text, words, numeric=True) for text in names], dtype=bool)
    plain = names.str.strip().mask(missing, "").map(lambda text: _pointed(text, decimal))
    each = np.array([number_in(text) for text in plain], dtype=np.float64)  # None is NaN
    missing |= np.isin(each, sentinels)
    each[missing] = np.nan
    at = cells.cat.codes.to_numpy()
    others = (np.isnan(each) & ~missing)[at]
    first = int(np.argmax(others)) if others.any() else None
    n_missing, n_others = int(np.count_nonzero(missing[at])), int(np.count_nonzero(others))
    return each[at], Counts(len(at) - n_missing - n_others, n_missing, n_others, first)


def texts(cells: pd.Series) -> Any:
    """Convert a column of a `Table` to a category of texts: 7, not 7.0, where it was read as numbers."""
    import pandas as pd

    if hasattr(cells, "cat"):
        return cells.array
    values = cells.to_numpy(dtype=np.float64)
    objects = np.full(len(values), "", dtype=object)
    objects[~np.isnan(values)] = texts_of(values[~np.isnan(values)])
    return as_text(pd.Series(objects))


def columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Columns of a `Table`: float64 where every cell is a number or empty, else a category of texts."""
    return {
        str(name): cells.to_numpy(np.float64, na_value=np.nan)
        if cells.dtype.kind in "iuf" and cells.notna().any()
        else as_text(cells)
        for name, cells in frame.items()
    }


def as_text(column: pd.Series) -> Any:
    """Convert a column to a category of texts in sorted order, the empty text where there is nothing."""
    import pandas as pd

    codes, distinct = pd.factorize(column)  # -1 where there is nothing
    names = np.array([*map(str, distinct), ""], dtype=object)
    names, where = np.unique(names if (codes < 0).any() else names[:-1], return_inverse=True)
    return pd.Categorical.from_codes(where[codes], pd.Index(names, dtype=object))


def has_value(text: str, words: Collection[str], *, numeric: bool = False) -> bool:
    """Whether a cell holds a value: it is neither empty nor a word for missing."""
    plain = str(text).strip()
    seen = normal(plain)
    return bool(seen) and plain not in words and not (numeric and seen.lower() in MISSING)


def _pointed(text: str, decimal: str) -> str:
    """A number with a decimal point; a point that separates thousands makes it no number."""
    return text if decimal == "." else text.replace(".", "?").replace(decimal, ".")
