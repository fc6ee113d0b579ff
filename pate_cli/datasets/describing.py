"""The schema of a file, decided by its records, with what its owner must decide and what does not fit.

Of a private file a schema keeps what the records decide whichever of some are left out: then no single one
has decided it. For let the records be dealt to thirteen parts by their content, and let four parts be left
out at a time, so that any two are left out together once. If one record is replaced by another, the two are
in two parts at most, and the decision without these is the same for both files: if each file has thirteen
equal decisions, they have the same one. Else the owner is asked.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from pate_cli.datasets.asking import Ask, Decision, as_list, persons_ask
from pate_cli.datasets.column import Column, Reading, distinct_texts, is_missing
from pate_cli.datasets.column_names import looks_like_unit, names_persons, proposed_bounds
from pate_cli.datasets.dates import EPOCH
from pate_cli.datasets.deciding import decide, point_of
from pate_cli.datasets.distinct import N_PARTS, Cells, kept_parts
from pate_cli.datasets.labels import in_order, spellings
from pate_cli.datasets.names import normal
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, changed, typed
from pate_cli.errors import ConfigError, DataError, count_of, shortened
from pate_cli.types import IntArray

__all__ = ["Described", "Edits", "describe", "may_name_persons", "read_edits"]

Edits = Mapping[str, Mapping[str, Any]]
"""What the owner has decided, by column and key."""

_FEW = 5000
_OF_OWNER = ("persons", "zone")
"""Keys that answer a question, and are none of a column."""


@dataclass(frozen=True)
class Described:
    """A schema, for its file; figures for the owner's screen, by column; questions; and what is refused."""

    schema: Schema
    observed: Mapping[str, Column]  # with the bounds and levels of these records
    missing: Mapping[str, int]
    asked: Sequence[Ask]
    refused: Sequence[tuple[int, str]]
    warnings: Sequence[str] = field(default_factory=tuple)


def describe(
    table: RecordTable,
    *,
    target: str | None = None,
    unit: str | None = None,
    edits: Edits | None = None,
    public: bool = False,
    rows: RecordTable | None = None,
    words: Sequence[str] = (),
    used: bool = False,
    source: str = "",
) -> Described:
    """Decide on all columns of a table, and what of it a schema may hold.

    All of it is written where the table is `public`; else bounds and levels are those of the public `rows`,
    of the edits, or proposals that no record decides. Where columns are `used`, numbers are, even constant.
    """
    edits = edits or {}
    n_records, target_missing = len(table.frame), None
    if target is not None and edits.get(target, {}).get("missing") == "dropped":
        target_missing = "dropped"
        levels = edits.get(target, {}).get("levels")
        table, _ = table.labelled(target, words, levels if isinstance(levels, list) else None)
    asked = [Ask("", key, question, "") for key, question in table.written.asked]
    if not (public or used):  # the name of a column is public
        table, of_few = _of_many(table, {target, unit}, edits)
        asked += of_few
    decisions, point = _decisions(table, target, unit, edits, public, words, used)
    already_asked = {(ask.column, ask.key) for ask in asked}
    written = table.written
    refused, warnings = list(written.refused), list(written.warnings)
    columns, observed, missing = {}, {}, {}
    for name, decision in decisions.items():
        asked += [ask for ask in decision.asked if (name, ask.key) not in already_asked]
        warnings += [f"{name!r}: {warning}" for warning in decision.warnings]
        column = _edited(decision.column, edits.get(name, {}), name)
        entry, reading = column, None
        if column.kind != "ignored":
            reading = column.read(table.frame[name], words, point)
            missing[name] = _n_missing(reading)
            entry = _bounded(column, reading)
            refused += _odd_lines(table, name, column, reading)
        observed[name] = entry
        if name == target:
            continue
        columns[name] = entry if public else _private(name, column, rows, point)
        if reading is not None and not public and (n := columns[name].beyond(reading.values).sum()):
            bounds = f"{columns[name].about} ({columns[name].source})"
            warnings.append(f"{name!r}: {count_of(int(n), 'cell')} beyond {bounds}, to be clipped")
    if unit is None:
        others = [name for name in decisions if name != target and "persons" not in edits.get(name, {})]
        asked_of = {ask.column for ask in asked if ask.key == "persons"}
        for name, distinct in may_name_persons(table, others, asked):
            if name not in asked_of:
                n_named = len(table.frame) - missing.get(name, 0)
                asked.append(persons_ask(name, distinct, n_named, len(table.frame)))
    classes = _classes(observed.get(target or ""), edits.get(target or "", {}), public, rows, target)
    if target is not None:
        if n_dropped := n_records - len(table.frame):
            missing[target] = n_dropped
        asked += _asked_of_target(
            target, observed.get(target), classes, words, 0 if n_dropped else missing.get(target, 0)
        )
    for name, kind in table.unread.items():
        columns[name] = observed[name] = Column("ignored", why=f"holds {kind}")
    form = written.form and {**written.form, "decimal": point}
    schema = Schema(
        columns,
        source,
        target,
        classes,
        unit,
        list(words),
        form,
        rows="public" if public else "private",
        target_missing=target_missing,
        classes_bought=target in observed and observed[target].bought,
    )
    return Described(schema, observed, missing, asked, sorted(set(refused)), warnings)


def _asked_of_target(
    target: str, column: Column | None, classes: Sequence[str] | None, words: Sequence[str], n_missing: int
) -> Iterator[Ask]:
    """Questions on records without a label, and on labels that may stand for none."""
    if n_missing:
        question = f"{count_of(n_missing, 'record')} without a label: leave out? Then it is not"
        question += " protected whether a record has one"
        yield Ask(target, "missing", question, "dropped")
    if column is not None and classes is None and not column.bought:
        every = column.levels or []
        if odd := [level for level in every if is_missing(level, words)]:  # a run takes it for none
            question = f"{', '.join(odd)}: a class? Then all classes are declared"
            yield Ask(target, "levels", question, as_list(every), safe=True)


def _of_many(
    table: RecordTable, known: Collection[str | None], edits: Edits
) -> tuple[RecordTable, list[Ask]]:
    """A table without the keys of JSON that too few records have to be named, and questions about these.

    A key is a column, or one of lists, where it is whichever records are left out.
    """
    if not table.keys:
        return table, []
    left_out, asked, dealt = set[str](), list[Ask](), _dealt(marks_of(table))
    for name, states in table.keys.items():
        if name in known:
            continue
        by_part = np.bincount(3 * dealt + states, minlength=3 * N_PARTS).reshape(-1, 3)
        roles = {_role(by_part)} | {_role(by_part[kept]) for kept in map(kept_parts, range(N_PARTS))}
        kind = edits.get(name, {}).get("kind")
        if "absent" in roles and kind in (None, "ignored"):
            left_out.add(name)
        if len(roles) > 1 and kind is None:
            what = "a key of few records" if "absent" in roles else "a few records decide: cells, or lists"
            asked.append(Ask(name, "kind", what, "ignored"))
    unread = {name: kind for name, kind in table.unread.items() if name not in left_out}
    frame = table.frame.drop(columns=[name for name in table.frame if name in left_out])
    return replace(table, frame=frame, unread=unread), asked


def _role(by_part: IntArray) -> str:
    """What a key is of some records, by how many of each part have nothing, a cell or a list."""
    _, cells, lists = by_part.sum(axis=0)
    return "absent" if cells + lists < 2 else "lists" if lists >= cells else "cells"


def _decisions(
    table: RecordTable,
    target: str | None,
    unit: str | None,
    edits: Edits,
    public: bool,
    words: Sequence[str],
    used: bool,
) -> tuple[dict[str, Decision], str]:
    """Decision on each column, by all records; of a private table asked where a part decides otherwise."""
    marks = None if public else _dealt(marks_of(table))
    cells, usual, in_text = {}, table.written.decimal or ".", bool(table.written.form)
    for name in [name for name in table.columns if name != unit]:
        decided = {k: v for k, v in edits.get(name, {}).items() if (name, k) != (target, "missing")}
        decided |= {"persons": True} if unit else {}
        written = table.written.units.get(name, ""), table.has_row_names(name)
        cells[name] = Cells(name, table.frame[name], decided, words, *written, used, usual, marks)
    every = list(cells.values())
    point = point_of(every, None, usual, in_text)
    whole = {name: decide(of_column, None, point, target=name == target) for name, of_column in cells.items()}
    if marks is None:
        return whole, point[0]
    parts = range(N_PARTS)
    points = [point_of(every, part, usual, in_text) for part in parts]
    for name, decision in whole.items():
        of_column = cells[name]
        if used and name != target and decision.column.kind != "ignored":
            _warn_if_idle(of_column, point, decision)
        if name == target or (of_column.surely_number and len(set(points)) == 1):
            continue
        others = [decide(of_column, part, at).column for part, at in zip(parts, points, strict=True)]
        _ask_if_parts_differ(name, decision, others, edits.get(name, {}))
    return whole, point[0]


def _warn_if_idle(cells: Cells, point: tuple[str, bool], decision: Decision) -> None:
    """Say that a column is used of which a description would make nothing."""
    idle = decide(replace(cells, used=False), None, point).column
    if idle.kind == "ignored":
        hardly = f"used, though there is hardly anything to learn from it ({idle.why})"
        decision.warnings.append(f"{hardly}; {typed('drop', cells.name)} leaves it out")


def _ask_if_parts_differ(
    name: str, decision: Decision, others: Sequence[Column], edits: Mapping[str, Any]
) -> None:
    """Ask for what some part of the records decides otherwise: else a few would decide."""
    ours = _kept(decision.column)
    keys = ("kind", "decimal", "thousands", "unit", "format", "answers", "why")
    open_ = [key for key in keys if ("kind" if key == "why" else key) not in edits]
    pairs = ((key, getattr(other, key)) for other in map(_kept, others) for key in open_)
    for key, other in pairs:
        if (our := getattr(ours, key)) == other:
            continue
        question = f"a few records decide: {key} {our} or {other}"
        key, value = ("kind", "ignored") if key == "why" else (key, our)
        if all(ask.key != key for ask in decision.asked):
            decision.asked.append(Ask(name, key, question, "" if value is None else str(value)))
        return


def _kept(column: Column) -> Column:
    """What of a decision may be written of a private file; words for missing are asked for."""
    return replace(column, missing=None)


def marks_of(table: RecordTable) -> IntArray:
    """A number of each record, made of its cells alone."""
    if table.marks is not None:
        return np.asarray(table.marks)
    total = np.zeros(len(table.frame), dtype=np.int64)
    for name in table.columns:
        texts, codes = distinct_texts(table.frame[name])
        total += np.array([zlib.crc32(text.encode("utf-8", "replace")) for text in texts])[codes]
    return total


def _dealt(marks: IntArray) -> IntArray:
    """Number of the part of each record; equal ones of few are dealt to all parts, one after another."""
    import pandas as pd

    rank = pd.Series(marks).groupby(marks).cumcount().to_numpy() if len(marks) <= _FEW else 0
    return np.asarray((marks + rank) % N_PARTS)


def _edited(column: Column, edits: Mapping[str, Any], name: str) -> Column:
    """A decision with what the owner said of the column."""
    decided = _of_column(edits)
    if "missing" in decided and not decided["missing"]:
        decided["missing"] = None
    if column.kind == "ignored" and not ({"kind"} & {*decided}):
        decided = {}
    if decided.keys() & {"low", "high", "levels"}:
        decided["source"] = "hand"
    return changed(column, decided, name) if decided else column


def _of_column(edits: Mapping[str, Any]) -> dict[str, Any]:
    """Edits that are entries of a column in the schema; the others answer a question."""
    kept = {key: value for key, value in edits.items() if key not in _OF_OWNER and value != "dropped"}
    return kept if kept.get("empty") != "missing" else {k: v for k, v in kept.items() if k != "empty"}


def _n_missing(reading: Reading) -> int:
    """Number of cells without a value; those that are refused are none of them."""
    if reading.odd is None:
        return int((reading.values == "").sum())
    return int((np.isnan(reading.values) & ~reading.odd).sum())


def _bounded(column: Column, reading: Reading) -> Column:
    """A column with the bounds or levels of the cells that were read, where it has none."""
    if column.is_number:
        if column.low is not None or not len(reading.values) or np.isnan(reading.values).all():
            return column
        low, high = float(np.nanmin(reading.values)), float(np.nanmax(reading.values))
        low, high = (math.floor(low), math.floor(high)) if column.kind == "date" else (low, high)
        return replace(column, low=low, high=high if high > low else low + 1)
    if column.kind != "category" or column.levels is not None:
        return column
    return replace(column, levels=merged(reading.values, kept=column.case == "kept"))


def merged(texts: Any, *, kept: bool = False) -> list[str]:
    """Levels of a category: texts that differ in capitals alone are one, the most frequent."""
    counts = {str(text): int(n) for text, n in texts.value_counts().items() if text and n}
    return list(in_order(counts if kept else spellings(counts).values()))


def _private(name: str, column: Column, rows: RecordTable | None, point: str) -> Column:
    """An entry without what private records decide."""
    if column.kind == "ignored" or column.source == "hand":
        return column
    if rows is not None and name in rows.columns:
        read = column.read(rows.frame[name], (), point)
        return replace(_bounded(column, read), source=rows.path.name)
    today = float(dt.date.today().toordinal() - EPOCH)
    if bounds := proposed_bounds(name, column, today):
        return replace(column, low=bounds[0], high=bounds[1], source="proposal")
    return column


def _odd_lines(table: RecordTable, name: str, column: Column, reading: Reading) -> Iterator[tuple[int, str]]:
    """Line of each cell that is refused: neither a number nor missing."""
    if reading.odd is not None and column.missing is not True:
        for row in np.flatnonzero(reading.odd).tolist():
            cell = shortened(repr(normal(table.cell(name, row))))
            yield int(table.frame.index[row]), f"{name!r} has {cell}, no {column.kind}"


def may_name_persons(
    table: RecordTable, names: Sequence[str], asked: Sequence[Ask]
) -> Iterator[tuple[str, int]]:
    """Columns that may name persons, of more than one record each; and how many."""
    repeats, n = {ask.column for ask in asked if ask.key == "persons"}, len(table.frame)
    for name in filter(looks_like_unit, names):
        distinct = int(table.frame[name].nunique())
        if 2 < distinct < n and (names_persons(name) or name in repeats or distinct > n // 10):
            yield name, distinct


def _classes(
    column: Column | None,
    edits: Mapping[str, Any],
    public: bool,
    rows: RecordTable | None,
    target: str | None,
) -> list[str] | None:
    """Classes that a schema may hold."""
    if column is None or column.kind != "category" or column.bought:
        return None
    if public or "levels" in edits:
        return column.levels
    if rows is not None and target in rows.columns:
        levels = _bounded(replace(column, levels=None), column.read(rows.frame[target])).levels
        return levels if levels and len(levels) > 1 else None
    return None


def read_edits(texts: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read what `--set COLUMN.KEY=VALUE` says, of the columns of a file."""
    edits: dict[str, dict[str, Any]] = {}
    accepted = "COLUMN.KEY=VALUE, as age.high=120 or ward.levels=[north,south]"
    for typed_text in texts:
        tried = [typed_text, normal(typed_text)]  # as the header is read
        fits = [
            (name, text) for text in tried for name in names if re.match(re.escape(name) + r"\.\w+=", text)
        ]
        if not fits:
            raise ConfigError("--set", typed_text, f"{accepted}; columns: {', '.join(map(repr, names))}")
        name, text = max(fits, key=lambda fit: len(fit[0]))
        key, _, value = text[len(name) + 1 :].partition("=")
        entry: Any = value
        if value.startswith("[") and value.endswith("]"):
            import yaml

            try:
                read = yaml.load(value, yaml.BaseLoader)
            except yaml.YAMLError:
                raise ConfigError("--set", text, accepted) from None
            entry = [str(item) for item in read]
        elif key in ("levels", "missing", "answers") and value not in ("dropped", "true", "false"):
            entry = [value]
        edits.setdefault(name, {})[key] = entry
    allowed = {key.name for key in fields(Column)} - {"why", "source", "bought"} | {*_OF_OWNER}
    for name, keys in edits.items():
        if strange := {*keys} - allowed:
            raise ConfigError(
                "--set", f"{name}.{min(strange)}", f"{name}. and one of {', '.join(sorted(allowed))}"
            )
        try:
            changed(Column(), {k: v for k, v in _of_column(keys).items() if k not in ("low", "high")}, name)
        except DataError as error:
            raise ConfigError("--set", name, str(error)) from None
    return edits
