"""Bytes of a user's file, and the table of numbers and texts that a reader makes of them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.three_files import texts_of
from pate_cli.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING", "Counts", "Table", "as_text", "columns_of", "has_value", "joint_digest", "number_in"]
__all__ += ["numbers", "read_bytes", "texts"]

MISSING = ("", "na", "n/a", "nan", "null", "?")
"""Cells that hold no number, in small letters."""


def read_bytes(path: Path) -> tuple[bytes, str]:
    """Read a file once: content, decompressed by its suffix, and SHA-256 (hex) of its bytes as they stand."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    checksum = hashlib.sha256(raw).hexdigest()
    try:
        return _UNPACK.get(path.suffix, bytes)(raw), checksum
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error, zipfile.BadZipFile):
        raise DataError(f"{path}: the compressed file is cut short or damaged") from None


def _unzip(raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [name for name in archive.namelist() if not name.endswith("/")]
        members = [name for name in members if not name.startswith("__MACOSX/")]  # macOS adds these
        if len(members) != 1:
            raise DataError(f"holds {len(members)} files; accepted: an archive of one")
        return archive.read(members[0])


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".bz2": bz2.decompress,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zip": _unzip,
}


def joint_digest(digests: list[str]) -> str:
    """Compute one checksum for a dataset: that of its file, or of its files' digests in order."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Table:
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
        held = self.frame[name].iloc[row]
        return "" if held != held else str(held)

    def numbers(self, name: str, words: Collection[str]) -> tuple[Any, Counts]:
        """Read a column as numbers, see the function `numbers`."""
        return numbers(self.frame[name], words, self.decimal)

    def texts(self, name: str, words: Collection[str] = ()) -> tuple[Any, Any, Any]:
        """Distinct texts of a column, stripped; whether each holds a value; and the text of each cell."""
        cells = texts(self.frame[name])
        names = np.array([str(text).strip() for text in cells.categories], dtype=object)
        there = np.array([has_value(text, words, numeric=True) for text in names], dtype=bool)
        return names, there, cells.codes


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
    each: Any = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, copy=True)
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
    held = np.full(len(values), "", dtype=object)
    held[~np.isnan(values)] = texts_of(values[~np.isnan(values)])
    return as_text(pd.Series(held))


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

    codes, found = pd.factorize(column)  # -1 where there is nothing
    names = np.array([*map(str, found), ""], dtype=object)
    names, where = np.unique(names if (codes < 0).any() else names[:-1], return_inverse=True)
    return pd.Categorical.from_codes(where[codes], pd.Index(names, dtype=object))


def has_value(text: str, words: Collection[str], *, numeric: bool = False) -> bool:
    """Whether a cell holds a value: it is neither empty nor a word for missing."""
    plain = str(text).strip()
    return bool(plain) and plain not in words and not (numeric and plain.lower() in MISSING)


def number_in(text: str) -> float | None:
    """Convert a text to a number; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def _pointed(text: str, decimal: str) -> str:
    """A number with a decimal point; a point that separates thousands makes it no number."""
    return text if decimal == "." else text.replace(".", "?").replace(decimal, ".")
