"""What the columns of a table hold: declared in a YAML file, or inferred from public records.

A schema is public. It says which columns hold numbers, between which bounds, which hold categories, and
which are not used; whatever is made of private records is made by it alone.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import Flag, Listed, OneOf, Or, Real, known, option, read_options
from pate_cli.datasets.labels import texts_of
from pate_cli.datasets.options import Cell, ColumnName
from pate_cli.datasets.reading import as_text, number_in
from pate_cli.errors import ConfigError, DataError

if TYPE_CHECKING:
    import pandas as pd

    from pate_cli.datasets.reading import Table

__all__ = [
    "MISSING",
    "NEARLY_ALL",
    "Column",
    "Schema",
    "as_yaml",
    "has_decimal_comma",
    "listed",
    "not_a_number",
    "numbers",
    "read_schema",
    "said",
    "typed",
]

MISSING = ("", "na", "n/a", "nan", "null", "?")
"""Cells that hold no number, in small letters."""

NEARLY_ALL = 0.9
"""Share of the cells of a column: as many numbers, and the others are taken for slips."""

_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_KINDS = ("numeric", "category", "ignored")


@dataclass(frozen=True)
class Column:
    """What one column holds.

    Attributes
    ----------
    kind : {"numeric", "category", "ignored"}
    low, high : float or None
        Bounds of numbers: what is beyond is clipped. None for none; then public records scale it.
    values : list of str or None
        Categories; any other cell has the code of an unseen one. None for those of the public records.
    missing : bool
        Whether a missing value has a code of its own.
    why : str or None
        Why a column is not used, for people.
    """

    kind: str = option("numeric", OneOf(_KINDS))
    low: float | None = option(None, Or("null", Real(-math.inf)))
    high: float | None = option(None, Or("null", Real(-math.inf)))
    values: list[str] | None = option(None, Or("null", Listed(Cell())))
    missing: bool = option(False, Flag())
    why: str | None = option(None, Or("null", ColumnName("a few words")))

    @property
    def about(self) -> str:
        """Say for people what it holds."""
        if self.kind == "numeric":
            return "any number" if self.low is None else f"{self.low:g} to {self.high:g}"
        if self.kind == "category":
            return "any text" if self.values is None else listed(self.values, 8)
        return self.why or ""

    def plain(self) -> dict[str, Any]:
        """Give what a YAML file says of it."""
        fields = {"kind": self.kind}
        keys = {"numeric": ("low", "high", "missing"), "category": ("values", "missing"), "ignored": ("why",)}
        return fields | {key: getattr(self, key) for key in keys[self.kind]}


@dataclass(frozen=True)
class Schema:
    """What the columns of a table hold. PUBLIC.

    Attributes
    ----------
    columns : dict of str to Column
    source : str
        Where it is from, for people.
    target : str or None
    classes : list of str or None
        Labels, if it declares them.
    """

    columns: Mapping[str, Column]
    source: str
    target: str | None = None
    classes: list[str] | None = None

    def of_kind(self, kind: str) -> list[str]:
        """Names of the columns of a kind, in order."""
        return [name for name, column in self.columns.items() if column.kind == kind]

    def plain(self) -> dict[str, Any]:
        """Give its content as a YAML file holds it."""
        return {
            "target": self.target,
            "classes": self.classes,
            "columns": {name: column.plain() for name, column in self.columns.items()},
        }

    def with_choices(
        self, *, numeric: Sequence[str], categories: Sequence[str], drop: Collection[str], coded: bool
    ) -> Schema:
        """Change it by what was chosen on the command line; `coded` gives every number a code for missing."""
        columns = dict(self.columns)
        for name in numeric:
            was = columns[name]
            columns[name] = replace(was if was.kind == "numeric" else Column("numeric"), missing=True)
        for name in categories:
            columns[name] = columns[name] if columns[name].kind == "category" else Column("category")
        for name in drop:
            columns[name] = Column("ignored", why="left out")
        if coded:
            for name, column in columns.items():
                columns[name] = replace(column, missing=column.missing or column.kind == "numeric")
        return replace(self, columns=columns)

    def apply(self, table: Table, words: Collection[str]) -> pd.DataFrame:
        """Bring the columns that are used into their types.

        Parameters
        ----------
        table : Table
        words : collection of str
            Cells that stand for a missing value, beside those of `MISSING` in columns of numbers.

        Returns
        -------
        DataFrame
            float64 for numbers, NaN where missing; a category of texts else.

        Raises
        ------
        DataError
            Naming a column that is not there, or the first cell that its column does not take.
        """
        import pandas as pd

        used = [name for name, column in self.columns.items() if column.kind != "ignored"]
        absent = [name for name in used if name not in table.frame.columns]
        if absent:
            shown = ", ".join(map(repr, absent))
            raise DataError(f"{table.path}: no column {shown}, which the schema has ({self.source})")
        cells = {name: _typed(table, name, self.columns[name], words) for name in used}
        return pd.DataFrame(cells, index=table.frame.index)

    def brief(self) -> str:
        """Say in one line what there is."""
        parts = []
        words = {"numeric": ("number", "numbers"), "category": ("category", "categories")}
        for kind, (one, several) in words.items():
            names = self.of_kind(kind)
            if names:
                word = one if len(names) == 1 else several
                parts.append(f"{len(names)} {word} ({listed([self._shown(name) for name in names])})")
        whys = {name: self.columns[name].why for name in self.of_kind("ignored")}
        ignored = [f"{name}: {why}" if why else name for name, why in whys.items()]
        if ignored:
            parts.append(f"not used {listed(ignored)}")
        return f"schema ({self.source}): " + "; ".join(parts)

    def _shown(self, name: str) -> str:
        column = self.columns[name]
        bounds = "" if column.low is None else f" {column.low:g} to {column.high:g}"
        values = "" if column.values is None else f" {len(column.values)}"
        return name + bounds + values + (" or missing" if column.missing else "")


def read_schema(path: str | Path) -> Schema:
    """Read a YAML file that declares a schema.

    Raises
    ------
    DataError
        If it is missing, not YAML, or not a schema; names the file and the key.
    """
    import yaml

    where = Path(path).expanduser()
    try:
        content = yaml.safe_load(where.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{where}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: cannot be read ({error})") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{where}{at}: not YAML ({getattr(error, 'problem', None) or 'malformed'})") from None
    if not isinstance(content, dict) or not isinstance(content.get("columns"), dict):
        raise DataError(f"{where}: not a schema; accepted: columns, as `pate data describe` writes them")
    try:
        known("", content, ("columns", "target", "classes"))
        columns = {str(name): _read_column(str(name), given) for name, given in content["columns"].items()}
        classes = content.get("classes")
        if classes is not None:
            try:
                classes = Listed(ColumnName("a label"), 2).take(classes)
            except ValueError:
                raise ConfigError("classes", classes, "a list of 2 or more labels") from None
    except Exception as error:
        raise DataError(f"{where}: {error}") from None
    target = content.get("target")
    return Schema(columns, f"declared in {where.name}", None if target is None else str(target), classes)


def as_yaml(schema: Schema) -> str:
    """Text of a file that `read_schema` reads."""
    import yaml

    head = (
        "# Which columns a run uses, and what they hold. Read it, edit it, give it back (dataset.schema=)\n"
        "# numeric: clipped to low and high; category: any other text has the code of an unseen one;\n"
        "# missing: whether a missing value has a code; ignored: not used. All that stands here is public.\n"
    )
    return head + str(yaml.safe_dump(schema.plain(), sort_keys=False, allow_unicode=True, width=100))


def _read_column(name: str, given: object) -> Column:
    prefix = f"columns.{name}."
    if not isinstance(given, dict):
        raise ConfigError(f"columns.{name}", given, "a mapping with kind: numeric, category or ignored")
    column = read_options(Column, {str(key): value for key, value in given.items()}, prefix)
    low, high = column.low, column.high
    if (low is None) != (high is None) or (low is not None and high is not None and low >= high):
        raise ConfigError(
            f"{prefix}low, high", [low, high], "two numbers, the lower one first, or null twice"
        )
    if column.values is not None and len(set(column.values)) < len(column.values):
        raise ConfigError(f"{prefix}values", column.values, "categories that are all different")
    return column


@dataclass(frozen=True)
class Found:
    """What the cells of a column are: how many numbers, missing ones and others; the first of the others."""

    n_numbers: int
    n_missing: int
    n_others: int
    first: int | None


def numbers(cells: pd.Series, words: Collection[str], decimal: str = ".") -> tuple[Any, Found]:
    """Read a column as numbers, each cell by itself: what it is does not depend on the other cells.

    Parameters
    ----------
    cells : Series
        A column of a `Table`.
    words : collection of str
        Cells that stand for a missing value.
    decimal : {".", ","}
        As of the `Table`.

    Returns
    -------
    values : ndarray of float64, shape (n,)
        NaN where there is none.
    Found
    """
    import pandas as pd

    sentinels = [number for word in words if (number := number_in(_pointed(word, decimal))) is not None]
    if not hasattr(cells, "cat"):
        values = cells.to_numpy(dtype=np.float64)
        if sentinels:
            values = np.where(np.isin(values, sentinels), np.nan, values)
        n_missing = int(np.count_nonzero(np.isnan(values)))
        return values, Found(len(values) - n_missing, n_missing, 0, None)
    # each text is looked at once, however often it occurs
    texts = pd.Series(cells.cat.categories, dtype=object).map(str)
    missing = np.array([not said(text, words, numeric=True) for text in texts], dtype=bool)
    plain = texts.str.strip().mask(missing, "").map(lambda text: _pointed(text, decimal))
    each: Any = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64, copy=True)
    missing |= np.isin(each, sentinels)
    each[missing] = np.nan
    at = cells.cat.codes.to_numpy()
    others = (np.isnan(each) & ~missing)[at]
    first = int(np.argmax(others)) if others.any() else None
    n_absent, n_others = int(np.count_nonzero(missing[at])), int(np.count_nonzero(others))
    return each[at], Found(len(at) - n_absent - n_others, n_absent, n_others, first)


def _pointed(text: str, decimal: str) -> str:
    """A number with a point before its decimals; where a comma stands there, a point is none of a number."""
    return text if decimal == "." else text.replace(".", "?").replace(decimal, ".")


def said(text: str, words: Collection[str], *, numeric: bool = False) -> bool:
    """Whether a cell holds a value."""
    plain = str(text).strip()
    return bool(plain) and plain not in words and not (numeric and plain.lower() in MISSING)


def _typed(table: Table, name: str, column: Column, words: Collection[str]) -> Any:
    cells = table.frame[name]
    if column.kind == "category":
        return _category(cells, column, words)
    values, found = numbers(cells, words, table.decimal)
    if found.first is not None and not (column.missing and found.n_numbers):
        raise DataError(not_a_number(table, name, found.first, among=found.n_numbers > 0))
    finite = np.isfinite(values) | (np.isnan(values) & column.missing)
    if not finite.all():
        row = int(np.argmax(~finite))
        held = cells.iloc[row]
        held = "" if isinstance(held, float) and math.isnan(held) else str(held)
        code = f"; {typed('missing', held)} gives such cells a code of their own (missing: true in a schema)"
        code = "" if np.isinf(values[row]) else code
        raise DataError(
            f"{table.place(row)}: numeric column {name!r} has {held!r}; a finite number is needed{code}"
        )
    return values


def _category(cells: pd.Series, column: Column, words: Collection[str]) -> Any:
    import pandas as pd

    if not hasattr(cells, "cat"):  # all of them numbers, and yet categories
        held = cells.to_numpy(dtype=np.float64)
        texts = np.full(len(held), "", dtype=object)
        texts[~np.isnan(held)] = texts_of(held[~np.isnan(held)])
        return as_text(pd.Series(texts))
    if not words and column.values is None:
        return cells.array
    keep = set(column.values or ())
    names = [text if text in keep or said(text, words) else "" for text in map(str, cells.cat.categories)]
    found, codes = np.unique(np.array(names, dtype=object), return_inverse=True)
    return pd.Categorical.from_codes(codes[cells.cat.codes.to_numpy()], pd.Index(found, dtype=object))


def has_decimal_comma(text: str) -> bool:
    """Whether a text is a number once its comma is taken for a decimal point."""
    return text.count(",") == 1 and number_in(text.strip().replace(",", ".")) is not None


def not_a_number(table: Table, name: str, row: int, *, among: bool = True) -> str:
    """Say what to do with a cell of a column of numbers that is none; `among` others that are numbers."""
    held = str(table.frame[name].iloc[row])
    more = ""
    if has_decimal_comma(held):
        more = "'dataset.decimal=\",\"' if the comma stands before decimals, "
    what = f"numbers and {held!r}" if among else f"texts that look like numbers, as {held!r}"
    if among:
        more += f"{typed('numeric', name)} (such cells are missing), {typed('missing', held)}, "
    elif not more:
        more = "plain numbers, without units and without separators of thousands, "
    return (
        f"{table.place(row)}: column {name!r} holds {what}; accepted: {more}{typed('categories', name)} or"
        f" {typed('drop', name)}"
    )


def typed(key: str, *values: str) -> str:
    """Write a list for the command line: in quotes, of the shell and within, where one is no plain word."""
    if all(_PLAIN.fullmatch(value) for value in values):
        return f"dataset.{key}=[{','.join(values)}]"
    words = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return shlex.quote(f"dataset.{key}=[{','.join(words)}]")


def listed(names: Sequence[str], most: int = 6) -> str:
    """Name the first few, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
