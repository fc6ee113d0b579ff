"""Reading a CSV file: pandas does the work, after a look at each line that pandas would not take.

pandas fills a line that is too short without a word and does not say on which line a record is. So cells
are counted first: by their separators where nothing is quoted, else by Python's `csv`. Numbers are read by
pandas' own engine, also where pyarrow is installed: the same file gives the same numbers everywhere.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.libsvm import open_bytes
from pate_cli.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CsvFormat", "Table", "as_text", "check_target", "number_in", "read_csv"]

_SEPARATORS = ",;\t|"
_SIGNS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_NO_TEXT = {
    b"PK\x03\x04": "a spreadsheet, to be saved as CSV, or an archive (then its name ends in .zip)",
    b"PAR1": "a Parquet file (dataset=parquet; its name ends in .parquet)",
    b"\x1f\x8b": "compressed (then its name ends in .gz)",
}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written.

    Attributes
    ----------
    sep : str or None
        What stands between two cells; None to find it in the first line.
    encoding : str or None
        None for UTF-8, or what a byte order mark says.
    decimal : {".", ","}
        What stands before the decimals of a number.
    header : bool
        Whether the first line names the columns; else they are named by their number, from 1.
    option : str
        What a user types to say so, for messages: with the name in place of the braces.
    """

    sep: str | None = None
    encoding: str | None = None
    decimal: str = "."
    header: bool = True
    option: str = "dataset.{}"


@dataclass(frozen=True, eq=False)
class Table:
    """A file of records as it was read.

    Attributes
    ----------
    frame : DataFrame
        A column is float64 where every cell is a number or empty (NaN), else a pandas category of texts; its
        index says where in the file each record is.
    path : Path
    checksum : str
        SHA-256 (hex) of the file's bytes.
    word : str
        What the index counts: "line" or "row".
    dates : frozenset of str
        Columns that the format itself says hold dates.
    unread : mapping of str to str
        Columns that hold nothing that can be a cell, as lists, and are not in the frame; and what they hold.
    decimal : {".", ","}
        What stands before the decimals of a number in a text.
    """

    frame: pd.DataFrame
    path: Path
    checksum: str
    word: str = "line"
    dates: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."

    def place(self, row: int) -> str:
        """Name the place of a record, for messages."""
        return f"{self.path}, {self.word} {self.frame.index[row]}"


def read_csv(
    path: Path,
    form: CsvFormat,
    text: Collection[str] | None = (),
    digest: Any = None,
    wanted: str | None = None,
) -> pd.DataFrame:
    """Read a file; `Table` says what a column becomes.

    Parameters
    ----------
    path : Path
        May end in .bz2, .gz, .xz or .zip.
    form : CsvFormat
    text : collection of str or None
        Columns whose cells stay as they are written, whatever they look like; None for all.
    digest : hashlib object, optional
        As of `libsvm.open_bytes`.
    wanted : str, optional
        A column that is there: it tells separators apart.

    Raises
    ------
    DataError
        If the file is missing, empty, not text, or its lines do not have as many cells as its header.
    """
    import pandas as pd

    with open_bytes(path, digest) as stream:
        raw = _as_utf8(stream.read(), form, path)
    sep = form.sep or _found_separator(raw, wanted)
    header, index = _lines(raw, sep, path, form)
    given: dict[str, Any] = {
        "sep": sep,
        "names": header,
        "header": 0 if form.header else None,
        "index_col": False,
        "skipinitialspace": True,
        "keep_default_na": False,
        "encoding": "utf-8",
        "decimal": form.decimal,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns with cells of several kinds, which are read again
        text = header if text is None else text
        dtypes = dict.fromkeys([name for name in header if name in text], str)
        frame = pd.read_csv(io.BytesIO(raw), na_values=[""], dtype=dtypes, **given)
        # a column read in pieces may hold 7 and "007"; one of True and False is text, too
        again = [name for name in header if name not in text and _is_mixed(frame[name])]
        if again:
            frame[again] = pd.read_csv(
                io.BytesIO(raw), na_values=[""], dtype=dict.fromkeys(again, str), usecols=again, **given
            )[again]
    if len(frame) != len(index):
        raise DataError(f"{path}: {len(frame)} records in {len(index)} lines: quotes that do not fit")
    columns = {}
    for name in header:
        column = frame[name]
        numeric = column.dtype.kind in "iuf" and not column.isna().all()
        columns[name] = column.to_numpy(dtype=np.float64) if numeric else as_text(column)
    return pd.DataFrame(columns, index=index, copy=False)


def as_text(column: pd.Series) -> Any:
    """Texts of a column as categories, an empty one where there is nothing."""
    import pandas as pd

    codes, found = pd.factorize(column)  # -1 where there is nothing
    texts = np.array([*map(str, found), ""], dtype=object)
    names, where = np.unique(texts if (codes < 0).any() else texts[:-1], return_inverse=True)
    return pd.Categorical.from_codes(where[codes], pd.Index(names, dtype=object))


def _is_mixed(column: pd.Series) -> bool:
    if column.dtype.kind == "b":
        return True
    if column.dtype != object:
        return False
    import pandas as pd

    return pd.api.types.infer_dtype(column, skipna=True) not in ("string", "empty")


def _as_utf8(raw: bytes, form: CsvFormat, path: Path) -> bytes:
    """Text in UTF-8, without a byte order mark."""
    _check_text(raw, form, path)
    known = next((name for sign, name in _SIGNS.items() if raw.startswith(sign)), None)
    encoding = form.encoding or known or "utf-8"
    if encoding == "utf-8" and raw.isascii():
        return raw
    try:
        content = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeError as error:
        line = raw.count(b"\n", 0, getattr(error, "start", 0)) + 1
        name = "UTF-8" if encoding.startswith("utf-8") else encoding
        option = form.option.format("encoding")
        hint = f"; {option} says what it is, as cp1252" if name == "UTF-8" else ""
        raise DataError(f"{path}, line {line}: not {name} text{hint}") from None
    return raw if encoding == "utf-8" and not known else content.encode("utf-8", "surrogatepass")


def _check_text(raw: bytes, form: CsvFormat, path: Path) -> None:
    """Refuse what is no text, by its first bytes; text would be read from it, and a line of it blamed."""
    what = next((words for sign, words in _NO_TEXT.items() if raw.startswith(sign)), None)
    if what is not None:
        raise DataError(f"{path}: {what}; accepted: a CSV file")
    begin = raw[:1000]
    if form.encoding is None and begin.count(0) > len(begin) // 3 and not raw.startswith(tuple(_SIGNS)):
        name = "utf-16-be" if begin[0] == 0 else "utf-16-le"
        option = form.option.format("encoding")
        raise DataError(f"{path}: every other byte is 0; accepted: text in UTF-8, or {option}={name}")


def _found_separator(raw: bytes, wanted: str | None) -> str:
    """Separator that cuts the first line into most cells, of those that leave a known column whole."""
    begin = next((line for line in io.BytesIO(raw) if line.strip()), b"").decode("utf-8")
    first = next(iter(begin.splitlines()), "")
    cells = {sep: next(csv.reader([first], delimiter=sep, skipinitialspace=True), []) for sep in _SEPARATORS}
    likely = [sep for sep in _SEPARATORS if wanted in cells[sep]] or list(_SEPARATORS)
    return max(likely, key=lambda sep: len(cells[sep]))  # the first of several


def _lines(raw: bytes, sep: str, path: Path, form: CsvFormat) -> tuple[list[str], Any]:
    """Names of the columns, and the line each record starts on; refuses lines of another length."""
    import pandas as pd

    plain = b'"' not in raw and raw.count(b"\r") == raw.count(b"\r\n")
    records = _counted(raw, sep) if plain else _parsed(raw, sep, path)
    start, width, first = next(records, (1, 0, []))
    if not width:
        raise DataError(f"{path}: empty, no header line in it")
    header = list(first) if form.header else [str(number) for number in range(1, width + 1)]
    twice = {column for column in header if header.count(column) > 1}
    if twice:
        raise DataError(f"{path}, line {start}: the column {min(twice)!r} occurs twice")
    lines = [] if form.header else [start]
    for line, cells, _ in records:
        if cells != width:
            whose, option = "the header" if form.header else "the first line", form.option.format("sep")
            raise DataError(f"{path}, line {line}: {cells} cells, {whose} has {width} ({option} is {sep!r})")
        lines.append(line)
    if not lines:
        raise DataError(f"{path}: no records after the header line")
    whole = lines[-1] - lines[0] == len(lines) - 1
    return header, pd.RangeIndex(lines[0], lines[-1] + 1) if whole else pd.Index(lines)


def _counted(raw: bytes, sep: str) -> Iterator[tuple[int, int, list[str]]]:
    """Lines of a file in which nothing is quoted: number, cells, and of the first what they hold."""
    mark, first = sep.encode(), True
    for number, line in enumerate(io.BytesIO(raw), start=1):
        count = line.count(mark)
        if count or line.strip():
            found = []
            if first:
                found = next(csv.reader([line.decode()], delimiter=sep, skipinitialspace=True))
            yield number, count + 1, found
            first = False


def _parsed(raw: bytes, sep: str, path: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Records of any other file, each with the line it starts on."""
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=sep, skipinitialspace=True, strict=True)
    start = 1
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield start, len(cells), cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}, line {start}: not CSV ({error})") from None


def check_target(target: str, table: Table) -> None:
    """Refuse a target that is not a column."""
    columns = [str(column) for column in table.frame.columns]
    if target in columns:
        if len(columns) == 1 and not table.unread:
            raise DataError(f"{table.path}: no column but the target {target!r}")
        return
    shown = ", ".join(columns)
    accepted = f"a column of {table.path}: {shown}"
    if len(columns) == 1:
        accepted += " (dataset.sep says what stands between two cells)"
    elif columns == [str(number) for number in range(1, len(columns) + 1)]:
        accepted += " (a number, from 1, as the first line is a record)"
    elif any(number_in(column) is not None for column in columns):
        accepted += (
            "; where the first line is a record: dataset.header=false, and the column's number, from 1"
        )
    raise ConfigError("dataset.target", target, accepted)


def number_in(text: str) -> float | None:
    """Give the number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None
