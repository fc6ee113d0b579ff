"""Schema of a table: its columns of numbers with their bounds, of categories, and those not used.

It is public: declared in a YAML file, or proposed from public records.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pate_cli.checks import Flag, Listed, OneOf, Or, Real, known, listed, option, read_options, take
from pate_cli.datasets.labels import identity, number_in
from pate_cli.datasets.reading import Counts, RecordTable, has_value, read_bytes, texts
from pate_cli.datasets.three_files import Cell
from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.types import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PLAIN_NUMBERS", "ColumnSchema", "Schema", "as_yaml", "has_decimal_comma"]
__all__ += ["not_a_number", "read_schema", "typed"]

PLAIN_NUMBERS = "plain numbers, without units and without separators of thousands"
_NO_CODE = "the model has no code for a missing number in it"
_NO_SCALE = ("scale", None)
_FEW = 10
"""Texts from which on a column without a number is refused as another one, of new records."""
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_KEYS = {
    "numeric": ("low", "high", "missing", "scale"),
    "category": ("values", "missing"),
    "ignored": ("why",),
}


@dataclass(frozen=True)
class ColumnSchema:
    """Kind of one column, with its bounds or categories.

    Numbers beyond `low` and `high` are clipped; a cell that is none of `values` has the code of an unseen
    category. Where these are None, public records decide. `missing` values may have a code of their own.
    `scale` is the one on which generated points are spread over the bounds (`generated.Generated`).
    """

    kind: str = option("numeric", OneOf(tuple(_KEYS)))
    low: float | None = option(None, Or("null", Real(-math.inf)))
    high: float | None = option(None, Or("null", Real(-math.inf)))
    values: list[str] | None = option(None, Or("null", Listed(Cell(empty=True))))
    missing: bool = option(False, Flag())
    why: str | None = option(None, Or("null", Cell("a few words")))
    scale: str | None = option(None, Or("null", OneOf(("linear", "asinh"))))

    @property
    def about(self) -> str:
        """Bounds, categories or reason, for people."""
        if self.kind == "numeric":
            return "any number" if self.low is None else f"{self.low:g} to {self.high:g}"
        if self.kind == "category":
            return "any text" if self.values is None else listed(self.values, 8)
        return self.why or ""

    def plain(self) -> dict[str, Any]:
        """Its entry in a YAML file."""
        fields = {key: getattr(self, key) for key in _KEYS[self.kind]}
        return {"kind": self.kind} | {
            key: value for key, value in fields.items() if (key, value) != _NO_SCALE
        }


@dataclass(frozen=True)
class Schema:
    """Columns of a table, and the source of this schema, for people. PUBLIC."""

    columns: Mapping[str, ColumnSchema]
    source: str
    target: str | None = None
    classes: list[str] | None = None

    def of_kind(self, kind: str) -> list[str]:
        """Names of the columns of a kind, in order."""
        return [name for name, column in self.columns.items() if column.kind == kind]

    def plain(self) -> dict[str, Any]:
        """Content of its YAML file."""
        columns = {name: column.plain() for name, column in self.columns.items()}
        return {"target": self.target, "classes": self.classes, "columns": columns}

    def apply(self, table: RecordTable, words: Collection[str], *, new: bool = False) -> pd.DataFrame:
        """Bring the columns that are used into their types: float64 (NaN where missing), or texts.

        `words` are cells that stand for a missing value, beside `MISSING` in columns of numbers. Records are
        `new` to a trained model, or those of a run; messages say what a user of `pate predict` may do.
        """
        import pandas as pd

        used = {name: column for name, column in self.columns.items() if column.kind != "ignored"}
        if absent := [name for name in used if name not in table.frame.columns]:
            whose = "the model was trained on" if new else f"the schema has ({self.source})"
            raise DataError(f"{table.path}: no column {', '.join(map(repr, absent))}, which {whose}")
        cells = {
            name: _category(texts(table.frame[name]), column, words)
            if column.kind == "category"
            else _numbers(table, name, column, words, new)
            for name, column in used.items()
        }
        return pd.DataFrame(cells, index=table.frame.index)

    def brief(self) -> str:
        """All columns in one line, for people."""
        parts = []
        for kind, singular, several in (
            ("numeric", "number", "numbers"),
            ("category", "category", "categories"),
        ):
            if names := self.of_kind(kind):
                shown = listed([self._shown(name) for name in names])
                parts.append(f"{len(names)} {singular if len(names) == 1 else several} ({shown})")
        if ignored := self.of_kind("ignored"):
            parts.append(f"not used {listed([self._shown(name) for name in ignored])}")
        return f"schema ({self.source}): " + "; ".join(parts)

    def _shown(self, name: str) -> str:
        column = self.columns[name]
        if column.kind == "ignored":
            name = name or "''"
            return f"{name}: {column.why}" if column.why else name
        bounds = "" if column.low is None else f" {column.low:g} to {column.high:g}"
        values = "" if column.values is None else f" {len(column.values)}"
        return name + bounds + values + (" or missing" if column.missing else "")


def read_schema(path: str | Path) -> Schema:
    """Read a YAML file that declares a schema; an error names the file and the key."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Scalars are texts as they stand (01012, yes, 2020-01-01), and null is None."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:null", re.compile("(~|null|Null|NULL|)$"), ["~", *"nN", ""]
    )
    where = Path(path).expanduser()
    try:
        content = yaml.load(read_bytes(where)[0], Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{where}{at}: not YAML ({getattr(error, 'problem', None) or 'malformed'})") from None
    if not isinstance(content, dict) or not isinstance(content.get("columns"), dict):
        raise DataError(f"{where}: not a schema; accepted: columns, as `pate data describe` writes them")
    try:
        known("", content, ("columns", "target", "classes"))
        columns = {str(name): _read_column(str(name), keys) for name, keys in content["columns"].items()}
        classes = take("classes", content.get("classes"), Or("null", Listed(Cell("a label"), 2)))
    except InputError as error:
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


def _read_column(name: str, given: object) -> ColumnSchema:
    key = f"columns.{name}"
    if not isinstance(given, dict):
        raise ConfigError(key, given, "a mapping with kind: numeric, category or ignored")
    values = {str(key): _plain_value(str(key), value) for key, value in given.items()}
    column = read_options(ColumnSchema, values, f"{key}.")
    low, high = column.low, column.high
    if (low is None) != (high is None) or (low is not None and high is not None and low >= high):
        raise ConfigError(f"{key}.low, high", [low, high], "two numbers, the lower one first, or null twice")
    if column.values is not None and len(set(column.values)) < len(column.values):
        raise ConfigError(f"{key}.values", column.values, "categories that are all different")
    return column


def _plain_value(key: str, value: Any) -> Any:
    """Bounds as numbers, true and false; anything else as it stands."""
    if isinstance(value, str) and key in ("low", "high"):
        return value if (number := number_in(value)) is None else number
    return {"true": True, "false": False}.get(value, value) if key == "missing" else value


def _numbers(
    table: RecordTable, name: str, column: ColumnSchema, words: Collection[str], new: bool
) -> FloatArray:
    """Cells of a column of numbers; refuses the first text, missing number or infinity that does not fit.

    Where missing numbers have a code, a text among numbers is one of them; of few new records all may be.
    """
    values, counts = table.numbers(name, words)
    among = counts.n_numbers > 0 or (new and counts.n_others < _FEW)
    if counts.first is not None and not (column.missing and among):
        message = _another_column if new else not_a_number
        raise DataError(message(table, name, counts))
    bad = np.isinf(values) | (np.isnan(values) & (not column.missing))
    if not bad.any():
        return np.asarray(values)
    row = int(np.argmax(bad))
    cell, why = table.cell(name, row), "a finite number is needed"
    if np.isnan(values[row]):
        code = f"{typed('missing', cell)} gives such cells a code of their own (missing: true in a schema)"
        why = _NO_CODE if new else f"{why}; {code}"
    raise DataError(f"{table.place(row)}: numeric column {name!r} has {cell!r}; {why}")


def _another_column(table: RecordTable, name: str, found: Counts) -> str:
    """Message on texts in a column that held numbers in the training."""
    row = found.first or 0
    cell, why = table.cell(name, row), _NO_CODE
    if found.n_numbers < found.n_others:
        some = found.n_numbers + found.n_others
        why = f"{found.n_others} of {some} cells are no numbers: is this the same column?"
    comma = "; --decimal , where a comma stands before decimals" if "," in cell else ""
    return f"{table.place(row)}: numeric column {name!r} has {cell!r}; {why}{comma}"


def _category(cells: Any, column: ColumnSchema, words: Collection[str]) -> Any:
    """Set cells that hold no value to the empty text, where those are told apart."""
    import pandas as pd

    if not words and column.values is None:
        return cells
    keep = set(column.values or ())
    declared = {identity(value): value for value in reversed(column.values or ())}
    names = [
        text if text in keep else declared.get(identity(text), text) if has_value(text, words) else ""
        for text in map(str, cells.categories)
    ]
    distinct, codes = np.unique(np.array(names, dtype=object), return_inverse=True)
    return pd.Categorical.from_codes(codes[cells.codes], pd.Index(distinct, dtype=object))


def has_decimal_comma(text: str) -> bool:
    """Whether a text is a number once its comma is taken for a decimal point."""
    return text.count(",") == 1 and number_in(text.strip().replace(",", ".")) is not None


def not_a_number(table: RecordTable, name: str, found: Counts, *, among: bool | None = None) -> str:
    """Message on a text in a column of numbers; `among` cells that are numbers as they stand."""
    among = found.n_numbers > 0 if among is None else among
    row = found.first or 0
    cell = table.cell(name, row)
    what = f"numbers and {cell!r}" if among else f"texts that look like numbers, as {cell!r}"
    accepted = []
    if has_decimal_comma(cell):
        accepted.append("'dataset.decimal=\",\"' if the comma stands before decimals")
    elif not among:
        accepted.append(PLAIN_NUMBERS)
    if among:
        accepted += [f"{typed('numeric', name)} (such cells are missing)", typed("missing", cell)]
    accepted.append(f"{typed('categories', name)} or {typed('drop', name)}")
    return f"{table.place(row)}: column {name!r} holds {what}; accepted: {', '.join(accepted)}"


def typed(key: str, *values: str) -> str:
    """Option with a list as a user types it, quoted for the shell and for Hydra where a value needs it."""
    if all(_PLAIN.fullmatch(value) for value in values):
        return f"dataset.{key}=[{','.join(values)}]"
    words = ['"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values]
    return shlex.quote(f"dataset.{key}=[{','.join(words)}]")
