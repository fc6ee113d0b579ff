"""Any CSV file with a named target column."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets.labels import encode_labels
from pate_cli.datasets.libsvm import open_bytes
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["encoder_for", "load_csv", "read_table"]

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})


def load_csv(name: str, *, path: str | Path | None, target: str | int | None, sep: str) -> Dataset:
    r"""Load a CSV file with a header line.

    A column is numeric if every cell that is not missing is a number; any other
    column holds categories, and an empty cell is a category of its own. The schema
    (columns, which of them are numeric, the classes) is read from the whole file and
    taken as public. Category lists, means and scales are not: `encoder` learns them
    from the public split alone.

    Parameters
    ----------
    name : str
    path : str or Path
        May end in .bz2, .gz or .xz.
    target : str
        Column that holds the class.
    sep : str
        One character; "\t" may be typed for a tab.

    Raises
    ------
    ConfigError
        If an option is not accepted.
    DataError
        If the file cannot be used; names file, column and line.
    """
    if not path:
        raise ConfigError("dataset.path", path, "the path of a CSV file")
    if target is None or target == "":
        raise ConfigError("dataset.target", target, "the name of the column that holds the class")
    where = Path(path).expanduser()
    digest = hashlib.sha256()
    text = read_table(where, sep, digest)
    target = str(target)
    if target not in text.columns:
        columns = ", ".join(map(str, text.columns))
        raise ConfigError("dataset.target", target, f"a column of {where}: {columns}")
    if len(text.columns) == 1:
        raise DataError(f"{where}: no column but the target {target!r} (dataset.sep is {sep!r})")
    y, classes = encode_labels(_target(text[target], where), f"{where}, column {target!r}")
    X = _typed(text.drop(columns=target), where)
    return Dataset(
        name, X, y, classes, checksum=digest.hexdigest(), source=str(where), encoder=encoder_for(X)
    )


def read_table(path: Path, sep: str = ",", digest: Any = None) -> pd.DataFrame:
    """Read a CSV file with a header, every cell as text; `digest` is as of `libsvm.open_bytes`.

    Returns
    -------
    DataFrame of str
        Its index is the line of the file each record starts on.

    Raises
    ------
    ConfigError
        If `sep` is not one character.
    DataError
        If the file is missing, empty, not text, or its lines do not have as many cells as its header.
    """
    import pandas as pd

    sep = _separator(sep)
    with open_bytes(path, digest) as stream:
        raw = stream.read()
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 text") from None
    records = _records(content, sep, path)
    start, header = next(records, (1, []))
    if not header:
        raise DataError(f"{path}: empty, no header line in it")
    twice = {column for column in header if header.count(column) > 1}
    if twice:
        raise DataError(f"{path}, line {start}: the column {min(twice)!r} occurs twice")
    # Not pandas.read_csv: it fills short lines without a word, and does not know on which line a record is.
    lines, rows = [], []
    for line, cells in records:
        if len(cells) != len(header):
            raise DataError(f"{path}, line {line}: {len(cells)} cells, the header has {len(header)}")
        lines.append(line)
        rows.append(cells)
    if not rows:
        raise DataError(f"{path}: no records after the header line")
    return pd.DataFrame(rows, columns=header, index=lines, dtype=object)


def encoder_for(X: pd.DataFrame) -> Any:
    """Unfitted encoder: one-hot for categories (unknown ones are all zeros), standard scale for numbers.

    Returns
    -------
    ColumnTransformer
        Gives a csr_matrix if there is a category column, else an ndarray.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [column for column in X.columns if X[column].dtype == np.float64]
    categories = [column for column in X.columns if column not in set(numbers)]
    return ColumnTransformer(
        [
            ("numbers", StandardScaler(), numbers),
            ("categories", OneHotEncoder(handle_unknown="ignore"), categories),
        ],
        sparse_threshold=1.0,
    )


def _separator(sep: Any) -> str:
    if sep == "\\t":
        return "\t"
    if not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n':
        raise ConfigError("dataset.sep", sep, "one character, such as , or ; or \\t")
    return sep


def _numeric(column: pd.Series) -> tuple[Any, Any]:
    """Values of a column (None if it holds categories, NaN where missing), and which cells are missing."""
    import pandas as pd

    missing = column.str.strip().str.lower().isin(_MISSING).to_numpy()
    values = np.full(len(column), np.nan)
    try:
        values[~missing] = pd.to_numeric(column[~missing].str.strip()).to_numpy(dtype=np.float64)
    except ValueError:
        return None, missing
    return (None if missing.all() else values), missing


def _typed(text: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Numeric columns as float64, the others as they are."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in text.columns:
        values, _ = _numeric(text[name])
        if values is not None:
            _refuse(~np.isfinite(values), text[name], path, "numeric column", "a finite number is needed")
        columns[name] = text[name] if values is None else values
    return pd.DataFrame(columns, index=text.index)


def _target(column: pd.Series, path: Path) -> Any:
    values, missing = _numeric(column)
    _refuse(missing if values is None else ~np.isfinite(values), column, path, "target", "a class is needed")
    return column.str.strip().to_numpy(dtype=str) if values is None else values


def _refuse(bad: Any, column: pd.Series, path: Path, what: str, needed: str) -> None:
    """Name the first bad cell of a column, if there is one."""
    if bad.any():
        row = int(np.argmax(bad))
        place = f"{path}, line {column.index[row]}"
        raise DataError(f"{place}: {what} {column.name!r} has {column.iloc[row]!r}; {needed}")


def _records(content: str, sep: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold cells, header first, each with the number it starts on."""
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=sep, skipinitialspace=True, strict=True)
    start = 1
    try:
        for cells in reader:
            if len(cells) > 1 or "".join(cells).strip():
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}, line {start}: not CSV ({error})") from None
