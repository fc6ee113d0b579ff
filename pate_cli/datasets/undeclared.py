"""Schema of a run that declares none: decided by the public file, or by the one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pate_cli.datasets.asking import Ask
from pate_cli.datasets.describing import Described, describe
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import Schema, typed
from pate_cli.datasets.three_files import TableOptions
from pate_cli.describe_command import AUTO
from pate_cli.errors import DataError

__all__ = ["undeclared"]


def undeclared(
    private: RecordTable,
    public: RecordTable | None,
    target: str,
    unit: str | None,
    options: TableOptions,
) -> tuple[Schema, Sequence[Ask], Sequence[str]]:
    """The schema that a public file decides, or the one file; refuses what its owner has to decide."""
    table = private if public is None else public
    described = describe(
        table,
        target=target,
        unit=None if unit == AUTO else unit,
        edits=_edits(table, private, target, options),
        public=public is not None,
        words=options.words,
        used=public is None,
        source="of each split's public share" if public is None else f"inferred from {public.path.name}",
    )
    _check_refused(table, described)
    chosen = dict(described.schema.columns)
    words_of_texts = [
        ask
        for ask in described.asked
        if ask.key == "missing" and (ask.column == target or chosen[ask.column].kind == "category")
    ]
    asked = [ask for ask in described.asked if not ask.safe and ask not in words_of_texts]
    if asked:
        shown = "; ".join(f"{repr(ask.column) if ask.column else ask.key}: {ask.question}" for ask in asked)
        raise DataError(f"{table.path}: to decide: {shown}; accepted: {_accepted(asked[0], table, target)}")
    safe = [f"{ask.column!r}: {ask.question}" for ask in described.asked if ask.safe and ask.key != "persons"]
    warnings = [text for text in (*described.warnings, *safe) if not text.startswith(f"{target!r}: ")]
    classes = None
    if public is None:  # a private file decides no word, which is a category of its own, and no bounds
        for name in {ask.column for ask in words_of_texts} - {target}:
            chosen[name] = replace(chosen[name], missing=None)
        columns = {n: replace(column, low=None, high=None, source=None) for n, column in chosen.items()}
    else:
        columns = {n: replace(column, source=public.path.name) for n, column in chosen.items()}
        if len(described.schema.classes or ()) > 1:
            classes = described.schema.classes
    schema = replace(described.schema, columns=columns, rows="private", classes=classes, target_missing=None)
    return schema, described.asked, warnings


def _edits(
    table: RecordTable, private: RecordTable, target: str, options: TableOptions
) -> dict[str, dict[str, Any]]:
    """What the options decide of the columns of a table; what the private file does not have is not used."""
    edits: dict[str, dict[str, Any]] = {}
    kinds = {"number": options.numeric, "category": options.categories, "ignored": options.drop}
    for kind, names in kinds.items():
        for name in names or ():
            edits.setdefault(name, {})["kind"] = kind
    for name in options.numeric or ():
        edits[name]["missing"] = True
    unused = {*table.columns} - {*private.columns, target}
    if options.columns:
        unused |= {*table.columns} - {*options.columns, target}
    return edits | {name: {"kind": "ignored"} for name in unused}


def _check_refused(table: RecordTable, described: Described) -> None:
    """Refuse cells that do not fit (DataError), with the options that would do."""
    if not described.refused:
        return
    line, why = described.refused[0]
    not_shown = f"; and {len(described.refused) - 1} more cells" if len(described.refused) > 1 else ""
    name, cell = _named_cell(why)
    accepted = f"{typed('numeric', name)} (such cells are missing), {typed('missing', cell)}, "
    accepted += f"{typed('categories', name)} or {typed('drop', name)}"
    raise DataError(f"{table.path}, {table.word} {line}: column {why}; accepted: {accepted}{not_shown}")


def _named_cell(why: str) -> tuple[str, str]:
    """Column and cell of a refusal: 'lab' has '5x', no number."""
    name, _, cell_and_reason = why.partition(" has ")
    return name[1:-1], cell_and_reason.rpartition(", no ")[0][1:-1]


def _accepted(ask: Ask, table: RecordTable, target: str) -> str:
    """Options that answer a question, or the command that asks for them."""
    describe_it = f"pate data describe {table.path} --target {target}"
    if not ask.column:
        return f"dataset.{ask.key}=..., or {describe_it}, which writes a schema"
    if ask.key == "missing":
        import yaml

        words = yaml.load(ask.value, yaml.BaseLoader)
        return f"{typed('missing', *words)}, {typed('categories', ask.column)} or {typed('drop', ask.column)}"
    kinds = f"{typed('numeric', ask.column)}, {typed('categories', ask.column)}, {typed('drop', ask.column)}"
    if ask.key == "decimal":
        return f"""'dataset.decimal=","' or dataset.decimal=., {kinds}"""
    return f"{kinds}, or {describe_it}, which asks and writes a schema"
