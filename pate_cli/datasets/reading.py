"""Bytes of a user's file, and the table of numbers and texts that a reader makes of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.column import distinct_texts, is_missing
from pate_cli.datasets.labels import Labels
from pate_cli.datasets.names import normal
from pate_cli.datasets.unpacking import unpacked
from pate_cli.errors import DataError
from pate_cli.terminal import open_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RecordTable", "as_text", "as_utf8", "columns_of", "joint_digest", "marked", "read_bytes"]

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
    unread: Mapping[str, str] = field(default_factory=dict)  # types of columns without cells, as lists
    row_names: frozenset[str] = frozenset()  # columns that were the index of a pandas table
    decimal: str = "."  # decimal separator of numbers in texts
    written: Mapping[str, Any] = field(default_factory=dict)  # encoding, delimiter, quote, header of a text
    remarks: tuple[str, ...] = ()  # what was done to the file
    asked: tuple[tuple[str, str], ...] = ()  # keys of its format that its owner must decide, and why
    refused: tuple[tuple[int, str], ...] = ()  # lines that do not fit, and why
    units: Mapping[str, str] = field(default_factory=dict)  # by column, of a line of units
    marks: Any = None  # a number for each record, made of its content alone
    header_line: int = 1
    skipped: Mapping[str, int] = field(default_factory=dict)  # lines that are no records, by kind

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

    def labels(
        self,
        name: str,
        words: Collection[str],
        key: str,
        *,
        missing: bool = False,
        one: bool = False,
        distinct: bool = True,
    ) -> Labels:
        """Texts of the column that the option `key` names; a record may have none, -1, where `missing`.

        Two that read alike are refused, or `one`; two that are equal as numbers too, where `distinct`.
        """
        texts, codes = distinct_texts(self.frame[name])
        plain = [normal(text) if one else text for text in texts]
        held = [not is_missing(normal(text), words) and not _INFINITE.fullmatch(text) for text in plain]
        names = list(dict.fromkeys(text for text, has in zip(plain, held, strict=True) if has))
        at = {text: number for number, text in enumerate(names)}
        numbers = [at[text] if has else -1 for text, has in zip(plain, held, strict=True)]
        labels = Labels(names, np.array(numbers, dtype=np.int64)[codes])
        if not missing and (labels.codes < 0).any():
            row = int(np.argmin(labels.codes))
            accepted = "accepted: a text or a number in each record"
            raise DataError(f"{self.place(row)}: {key} {name!r} has {self.cell(name, row)!r}; {accepted}")
        return labels.distinct(f"{key} {name!r}", self.place, self.decimal) if distinct else labels


def columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Columns of a `Table`: float64 where every cell is a number or empty, else a category of texts."""
    return {
        str(name): cells.to_numpy(np.float64, na_value=np.nan)
        if cells.dtype.kind in "iuf" and cells.notna().any()
        else as_text(cells)
        for name, cells in frame.items()
    }


def as_text(column: pd.Series) -> Any:
    """Convert a column to a category of texts, the empty text where there is nothing."""
    import pandas as pd

    codes, distinct = pd.factorize(column)  # -1 where there is nothing
    names = list(map(str, distinct))
    if (codes < 0).any() and "" not in names:
        names.append("")
    codes = np.where(codes < 0, names.index("") if "" in names else -1, codes)
    if len(set(names)) < len(names):  # 1 and "1" in a DataFrame
        names, at = (part.tolist() for part in np.unique(np.array(names, dtype=object), return_inverse=True))
        codes = np.array(at)[codes]
    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=object))
