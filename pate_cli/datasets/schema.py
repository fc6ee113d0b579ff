"""Schema of a table: how its file is written, and what its columns hold.

It is public: declared in a YAML file, or decided by public records. A schema of a private file holds kinds,
which no one record decides, and how most lines are written: between two forms that as many have, one may.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pate_cli.checks import Listed, OneOf, Or, known, listed, option, read_options, read_values, take
from pate_cli.datasets.column import Column, Reading
from pate_cli.datasets.dates import as_date
from pate_cli.datasets.labels import number_in
from pate_cli.datasets.names import normal
from pate_cli.datasets.reading import RecordTable, read_bytes
from pate_cli.datasets.three_files import Cell
from pate_cli.describe_command import AUTO
from pate_cli.errors import ConfigError, DataError, InputError, shortened
from pate_cli.terminal import typed_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ASK", "Schema", "as_yaml", "certified", "changed", "read_schema", "schema_of", "typed"]

ASK = "# ASK"
"""What stands behind a line of a schema that its owner must decide on."""

_FORM = ("encoding", "delimiter", "quote", "decimal", "header", "titles", "footer", "comments", "thousands")
_HEAD = ("data", "rows", "target", "target_missing", "classes", "unit", "missing")
_NULLS = ("target", "classes", "unit")
_OLD = {"numeric": "number"}
_PRIVATE = "private"
_ALWAYS = {"number": ("low", "high"), "date": ("low", "high"), "category": ("levels",), "ignored": ("why",)}
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")
_WORDS = ("true", "false", "null", "nan", "inf")  # no texts to Hydra
_NAME = Or("null", Cell("the name of a column"))


@dataclass(frozen=True)
class Schema:
    """Columns of a table, its format, and the source of this schema, for people. PUBLIC.

    With `target_missing` records without a label are left out. A run's guarantee is then for neighbours with
    equally many labelled records, so whether a record has a label is not protected.
    """

    columns: Mapping[str, Column]
    source: str
    target: str | None = option(None, _NAME)
    classes: list[str] | None = option(None, Or("null", Listed(Cell("a label; or private, to be bought"), 2)))
    unit: str | None = option(AUTO, _NAME)  # auto: not decided; None: each record by itself
    missing: Sequence[str] = option((), Listed(Cell(empty=True), 0))  # in all columns, beside the built-in
    form: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = option(None, Or("null", Cell("the private file's path, from that of the schema")))
    rows: str = option("private", OneOf(("private", "public")))  # whose records decided
    target_missing: str | None = option(None, Or("null", OneOf(("dropped",))))  # left out without a label
    classes_bought: bool = False  # `classes: private`: they are paid for by the run

    def of_kind(self, *kinds: str) -> list[str]:
        """Names of the columns of some kinds, in order."""
        return [name for name, column in self.columns.items() if column.kind in kinds]

    @property
    def numbers(self) -> list[str]:
        """Names of the columns of numbers and dates."""
        return self.of_kind("number", "date")

    @property
    def texts(self) -> set[str]:
        """Columns whose cells are needed as they are written."""
        plain = {
            n for n, c in self.columns.items() if c.kind == "number" and c.is_plain and c.decimal is None
        }
        return {*self.columns} - plain - {*self.of_kind("ignored")}

    def plain(self) -> dict[str, Any]:
        """Content of its YAML file."""
        head: dict[str, Any] = {"version": 2, **{key: getattr(self, key) for key in _HEAD}}
        head |= {"missing": [*self.missing], "format": dict(self.form)}
        head |= {"classes": _PRIVATE} if self.classes_bought else {}
        head |= {} if self.unit != AUTO else {"unit": ""}
        kept = {key: value for key, value in head.items() if value or (value is None and key in _NULLS)}
        return kept | {"columns": {name: entry_of(column) for name, column in self.columns.items()}}

    def read(self, table: RecordTable, *, new: bool = False) -> tuple[pd.DataFrame, dict[str, Reading]]:
        """Bring the columns that are used into their types: float64 (NaN where missing), or texts.

        Records are `new` to a trained model, or those of a run. DataError lists the cells that do not fit.
        """
        import pandas as pd

        used = {name: column for name, column in self.columns.items() if column.kind != "ignored"}
        if absent := [name for name in used if name not in table.frame.columns]:
            whose = "the model was trained on" if new else f"the schema has ({self.source})"
            raise DataError(f"{table.path}: no column {', '.join(map(repr, absent))}, which {whose}")
        readings = {name: c.read(table.frame[name], self.missing, table.decimal) for name, c in used.items()}
        self._refuse(table, readings, new)
        return pd.DataFrame({n: r.values for n, r in readings.items()}, index=table.frame.index), readings

    def _refuse(self, table: RecordTable, readings: Mapping[str, Reading], new: bool) -> None:
        """Refuse cells that are no numbers, all at once; they are missing where that is declared."""
        odd: list[tuple[int, str]] = []
        for name, reading in readings.items():
            declared = self.columns[name].missing
            if reading.odd is not None and declared is not True:
                wrong = np.isnan(reading.values) if declared is False else reading.odd
                odd += [(int(row), name) for row in np.flatnonzero(wrong)]
        if not odd:
            return
        odd.sort()
        row, name = odd[0]
        column, cell = self.columns[name], table.cell(name, row)
        others = [
            f"{table.word} {table.frame.index[r]} {n!r}: {shortened(repr(table.cell(n, r)))}"
            for r, n in odd[1:20]
        ]
        also_odd = f"; also {'; '.join(others)}" if others else ""
        also_odd += f"; and {len(odd) - 20} more" if len(odd) > 20 else ""
        accepted = "a number" if column.kind == "number" else f"a date ({column.format or 'y-m-d'})"
        if new:
            of = sum(other == name for _, other in odd)
            accepted += f" ({of} of {len(table.frame)} cells are none)" if of > 1 else ""
            mark, word = (".", "point") if table.decimal == "," else (",", "comma")
            accepted += f"; --decimal {mark} where a {word} stands before decimals" if mark in cell else ""
        else:
            accepted += f", or {typed('missing', cell)} (such cells are missing), {typed('numeric', name)}"
            accepted += f" (all such), {typed('categories', name)} or {typed('drop', name)}"
        raise DataError(
            f"{table.place(row)}: column {name!r} has {shortened(repr(cell))}; accepted: {accepted}{also_odd}"
        )

    def brief(self) -> str:
        """All columns in one line, for people."""
        parts = []
        for kind, several in {"number": "numbers", "date": "dates", "category": "categories"}.items():
            if names := self.of_kind(kind):
                shown = listed([self._shown(name) for name in names])
                parts.append(f"{len(names)} {kind if len(names) == 1 else several} ({shown})")
        if ignored := self.of_kind("ignored"):
            parts.append(f"not used {listed([self._shown(name) for name in ignored])}")
        return f"schema ({self.source}): " + "; ".join(parts)

    def _shown(self, name: str) -> str:
        column = self.columns[name]
        if column.kind == "ignored":
            name = name or "''"
            return f"{name}: {column.why}" if column.why else name
        bounds = "" if column.low is None else f" {column.about}"
        values = "" if column.levels is None else f" {len(column.levels)}"
        return name + bounds + values


def entry_of(column: Column) -> dict[str, Any]:
    """Entry of a column in a YAML file."""
    entry: dict[str, Any] = {"kind": column.kind}
    for column_field in fields(Column):
        key, value = column_field.name, getattr(column, column_field.name)
        if key == "kind" or (value is None and key not in _ALWAYS[column.kind]):
            continue
        if key == "bought":
            entry |= {"levels": "private"} if value and column.levels is None and column.low is None else {}
            continue
        if key in ("low", "high") and column.kind == "date" and value is not None:
            value = as_date(value)
        if key == "answers":
            key, value = "missing", {"not": value}
        entry["from" if key == "source" else key] = value
    return entry


def certified(column: Column) -> dict[str, Any]:
    """Entry of a column in a certificate, with the origin of its bounds or levels."""
    open_ = column.levels is None if column.kind == "category" else column.low is None
    return {**entry_of(column), "from": "public share" if open_ else column.source or "declared"}


def read_schema(path: str | Path) -> Schema:
    """Read a YAML file that declares a schema, of version 1 or 2; an error names the file and the key."""
    import yaml

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Scalars are texts as they stand (01012, yes, 2020-01-01), and null is None."""

        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:null", re.compile("(~|null|Null|NULL|)$"), ["~", *"nN", ""]
    )
    where = typed_path(path)
    raw = read_bytes(where)[0]
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
        if ASK in line and (question := line.partition(ASK)[2].strip()):
            accepted = f"the line as you decide, without {ASK} ...; or --set of pate data describe"
            raise DataError(f"{where}, line {number}: to decide: {question}; accepted: {accepted}")
    try:
        content = yaml.load(raw, Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise DataError(f"{where}{at}: not YAML ({getattr(error, 'problem', None) or 'malformed'})") from None
    if not isinstance(content, dict) or not isinstance(content.get("columns"), dict):
        raise DataError(f"{where}: not a schema; accepted: columns, as `pate data describe` writes them")
    try:
        return schema_of(content, f"declared in {where.name}")
    except InputError as error:
        raise DataError(f"{where}: {error}") from None


def schema_of(content: Mapping[str, Any], source: str) -> Schema:
    """Schema of the content of its file, whose scalars may be texts."""
    known("", content, ("version", *_HEAD, "format", "columns"))
    columns = {str(name): _read_column(str(name), keys) for name, keys in content["columns"].items()}
    version = take("version", str(content.get("version", 1)), OneOf(("1", "2")))
    if version == "1":  # a missing number was refused
        columns = {n: replace(c, missing=bool(c.missing)) if c.is_number else c for n, c in columns.items()}
    form = content.get("format") or {}
    known("format", form, _FORM)
    if "header" in form:
        form = {**form, "header": {"true": True, "false": False}.get(form["header"], form["header"])}
    bought = content.get("classes") == _PRIVATE
    head = {key: value for key, value in content.items() if value is not None or key == "unit"}
    values = read_values(Schema, head | {"classes": None} if bought else head, "")
    return Schema(columns, source, form=form, classes_bought=bought, **values)


def as_yaml(schema: Schema, asked: Mapping[str, str] | None = None) -> str:
    """Text of a file that `read_schema` reads; `asked` are questions by column."""
    import yaml

    def one(value: Any) -> str:
        text = yaml.safe_dump(
            value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=2**30
        )
        return str(text).removesuffix("...\n").strip()

    asked = dict(asked or {})
    lines = [
        "# How a file is written, and what its columns hold: edit it; dataset=THIS_FILE. It is public.",
        "# Numbers and dates are clipped to low and high; other texts are unseen levels; where null, public",
        "# records decide. missing: further words for a missing value; from: whence bounds or levels are.",
    ]
    content = schema.plain()
    columns = content.pop("columns")
    for key, value in content.items():
        lines.append(f"{key}: {one(value)}" + (f"  {ASK} {asked.pop(key)}" if key in asked else ""))
    lines.append("columns:" + (f"  {ASK} {asked.pop('columns')}" if "columns" in asked else ""))
    for name, entry in columns.items():
        question = asked.get(name)
        key = name if _PLAIN.fullmatch(name) and one(name) == name else json.dumps(name, ensure_ascii=False)
        lines.append(f"  {key}: {one(entry)}" + (f"  {ASK} {question}" if question else ""))
    return "\n".join(lines) + "\n"


def _read_column(name: str, entry: object) -> Column:
    key = f"columns.{name}"
    if not isinstance(entry, dict):
        raise ConfigError(key, entry, "a mapping with kind: number, date, category or ignored")
    return changed(Column(), {str(k): v for k, v in entry.items()}, key)


def changed(column: Column, edits: Mapping[str, Any], key: str) -> Column:
    """A column with other keys, as a YAML file or `--set` has them: scalars may be texts."""
    values = {column_field.name: getattr(column, column_field.name) for column_field in fields(Column)}
    for name, value in edits.items():
        name = {"values": "levels", "from": "source"}.get(name, name)
        if name == "levels" and value in (_PRIVATE, [_PRIVATE]):  # the latter of --set
            name, value = "bought", True
        if name == "kind":
            value = _OLD.get(value, value)
        elif name in ("low", "high") and isinstance(value, str):
            value = value if (number := number_in(value)) is None else number
        elif name == "missing" and isinstance(value, dict):
            known(f"{key}.missing", value, ("not",))
            name, value = "answers", value["not"]
        elif name == "missing":
            value = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
        values[name] = value
    read = read_options(Column, values, f"{key}.")
    low, high = read.low, read.high
    if (low is None) != (high is None) or (low is not None and high is not None and low >= high):
        raise ConfigError(f"{key}.low, high", [low, high], "two numbers, the lower one first, or null twice")
    if read.levels is not None and len(set(map(normal, read.levels))) < len(read.levels):
        raise ConfigError(f"{key}.levels", read.levels, "categories that are all different")
    if read.bought and (low is not None or read.levels is not None):
        accepted = "levels and bounds left out"
        raise ConfigError(f"{key}.levels", "private", accepted)
    return replace(read, missing=True) if read.bought else read


def typed(key: str, *values: str) -> str:
    """Option with a list as a user types it, quoted for the shell and for Hydra where a value needs it."""
    values = tuple(map(shortened, values))  # a longer one is not typed by anyone
    if all(_PLAIN.fullmatch(value) and value.lower() not in _WORDS for value in values):
        return f"dataset.{key}=[{','.join(values)}]"
    from hydra.core.override_parser.types import Quote, QuotedString

    words = [re.sub(r"(\\*)\$\{", r"\1\1\\${", value) for value in values]
    words = [QuotedString(word, Quote.double).with_quotes() for word in words]
    return shlex.quote(f"dataset.{key}=[{','.join(words)}]")
