"""Bytes of a user's file, and the table of numbers and texts that a reader makes of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.datasets.column import distinct_texts, is_missing
from pate_cli.datasets.column_names import has_row_names
from pate_cli.datasets.labels import Labels, number_in, texts_of
from pate_cli.datasets.names import normal
from pate_cli.datasets.unpacking import unpacked
from pate_cli.errors import DataError, shortened
from pate_cli.terminal import open_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RecordTable", "Written", "columns_of", "joint_digest", "read_bytes"]

_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


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


def joint_digest(digests: list[str]) -> str:
    """Compute one checksum for a dataset: that of its file, or of its files' digests in order."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


@dataclass
class Written:
    """How a text file is written, and what was found on the way; empty of a file of another kind."""

    path: Path = Path()
    key: str = "dataset.{}"  # how a user types an option of the format
    header: bool = True  # whether a line names the columns
    encoding: str = ""
    decimal: str | None = None  # before decimals, where that is stated
    sign: str = ","  # between two cells
    quote: str = '"'
    header_line: int = 1
    warnings: list[str] = field(default_factory=list)  # what was done to the file
    asked: list[tuple[str, str]] = field(default_factory=list)  # keys that its owner must decide, and why
    refused: list[tuple[int, str]] = field(default_factory=list)  # lines that do not fit, and why
    units: dict[str, str] = field(default_factory=dict)  # by column, of a line of units
    skipped: dict[str, int] = field(default_factory=dict)  # lines that are no records, by kind

    @property
    def delimiter(self) -> str:
        """The sign, or one byte in its place."""
        return self.sign if self.sign.isascii() else "\x1f"

    @property
    def form(self) -> dict[str, Any]:
        """Keys of a schema, but for the decimals."""
        pairs = {"delimiter": self.sign, "quote": self.quote, "header": self.header}
        return {"encoding": self.encoding, **pairs} if self.encoding else {}

    def skip(self, line: int, what: str, cells: Iterable[str]) -> None:
        """Leave a line out, and say so."""
        text = " ".join(cells).strip()
        self.warnings.append(f"line {line}: {what}" + (f" ({text[:30]!r})" if text else ""))
        self.skipped[what] = self.skipped.get(what, 0) + 1


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
    written: Written = field(default_factory=Written)
    marks: Any = None  # a number for each record, made of its content alone
    keys: Mapping[str, Any] = field(default_factory=dict)  # of JSON: 0 where a record has none, 2 a list

    @property
    def columns(self) -> list[str]:
        """Names of the columns that were read."""
        return [str(column) for column in self.frame.columns]

    @property
    def choices(self) -> str:
        """What names a column of it, for messages."""
        accepted, key = f"a column of {self.path}: {', '.join(self.columns)}", self.written.key
        if len(self.columns) == 1:
            return f"{accepted} ({key.format('sep')} says what stands between two cells)"
        if any(number_in(column) is not None for column in self.columns):
            how = "--no-header" if key.startswith("--") else "with dataset.header=false"
            return f"{accepted} ({how} a column's number, from 1)"
        return accepted

    def has_row_names(self, name: str) -> bool:
        """Whether a column holds numbers of rows, by its name or the file's metadata."""
        return name in self.row_names or has_row_names(name)

    def place(self, row: int) -> str:
        """File and line of a record, for messages."""
        return f"{self.path}, {self.word} {self.frame.index[row]}"

    def cell(self, name: str, row: int) -> str:
        """Text of a cell, for messages; empty where a number is missing."""
        value = self.frame[name].iloc[row]
        if value != value:
            return ""
        return texts_of(np.array([value]))[0] if isinstance(value, float) else str(value)

    def labels(
        self,
        name: str,
        words: Collection[str],
        key: str,
        *,
        declared: Collection[str] | None = None,
        missing: bool = False,
        merge_alike: bool = False,
        distinct: bool = True,
    ) -> Labels:
        """Texts of the column that the option `key` names; a record may have none, -1, where `missing`.

        Each text is judged by itself: "-", "NA" and the like are no labels, unless they are in `declared`.
        Two that read alike are refused, or one by `merge_alike`; two that are equal as numbers too, where
        `distinct`.
        """
        texts, codes = distinct_texts(self.frame[name])
        written = {normal(name): name for name in declared or ()}
        plain = [written.get(normal(text), normal(text)) if merge_alike else text for text in texts]
        is_label = [
            normal(text) in written or not (is_missing(normal(text), words) or _INFINITE.fullmatch(text))
            for text in plain
        ]
        names = list(dict.fromkeys(text for text, has in zip(plain, is_label, strict=True) if has))
        at = {text: number for number, text in enumerate(names)}
        numbers = [at[text] if has else -1 for text, has in zip(plain, is_label, strict=True)]
        labels = Labels(names, np.array(numbers, dtype=np.int64)[codes])
        if not missing and (labels.codes < 0).any():
            row = int(np.argmin(labels.codes))
            accepted = "accepted: a text or a number in each record"
            if key == "dataset.target":
                if text := self.cell(name, row).strip():
                    accepted += f", or dataset.classes with {shortened(repr(text))} among them"
                accepted += f", or pate data describe ... --set {name}.missing=dropped, which leaves it out"
            raise DataError(f"{self.place(row)}: {key} {name!r} has {self.cell(name, row)!r}; {accepted}")
        return labels.distinct(f"{key} {name!r}", self.place, self.decimal) if distinct else labels

    def labelled(
        self, target: str, words: Collection[str], declared: Collection[str] | None = None
    ) -> tuple[RecordTable, NDArray[np.bool_]]:
        """The records that have a label, see `labels`, and which of all they are."""
        labels = self.labels(target, words, "dataset.target", declared=declared, missing=True, distinct=False)
        kept = labels.codes >= 0
        keys = {name: states[kept] for name, states in self.keys.items()}
        marks = None if self.marks is None else self.marks[kept]
        frame = self.frame[kept].copy()
        for name in frame.select_dtypes("category"):  # whose texts would count as names of persons
            frame[name] = frame[name].cat.remove_unused_categories()
        return replace(self, frame=frame, marks=marks, keys=keys), kept


def columns_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Columns of a `Table`: float64 where every cell is a number or empty, else a category of texts."""
    return {
        str(name): cells.to_numpy(np.float64, na_value=np.nan)
        if cells.dtype.kind in "iuf" and cells.notna().any()
        else _as_text(cells)
        for name, cells in frame.items()
    }


def _as_text(column: pd.Series) -> Any:
    """Convert a column to a category of texts, the empty text where there is nothing."""
    import pandas as pd

    if column.dtype == object and pd.api.types.infer_dtype(column) != "string":
        column = column.map(str, na_action="ignore")  # a list is no key, and True would be 1
    codes, distinct = pd.factorize(column)  # -1 where there is nothing
    names = list(map(str, distinct))
    if (codes < 0).any() and "" not in names:
        names.append("")
    codes = np.where(codes < 0, names.index("") if "" in names else -1, codes)
    if len(set(names)) < len(names):  # 1 and "1" in a DataFrame
        names, at = (part.tolist() for part in np.unique(np.array(names, dtype=object), return_inverse=True))
        codes = np.array(at)[codes]
    return pd.Categorical.from_codes(codes, pd.Index(names, dtype=object))
