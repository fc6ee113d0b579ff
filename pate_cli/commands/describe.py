"""`pate data describe`: read a file once, say what it holds, and write down what was decided."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pate_cli.commands.own_files import add_format_options, read_table
from pate_cli.commands.printing import print_grid, print_json, print_line
from pate_cli.commands.reporting import say
from pate_cli.datasets.asking import Ask, as_list
from pate_cli.datasets.column import Column, distinct_texts
from pate_cli.datasets.csv_files import refused_lines
from pate_cli.datasets.describing import Described, describe, read_edits
from pate_cli.datasets.labels import classes_of, one_person
from pate_cli.datasets.names import alike, normal
from pate_cli.datasets.reading import RecordTable
from pate_cli.datasets.schema import as_yaml, entry_of
from pate_cli.describe_command import schema_beside
from pate_cli.errors import ConfigError, DataError, InputError, count_of, one_line, shortened
from pate_cli.terminal import check_file, write_output

__all__ = ["add_parser", "main"]

_MOST = 20
_NAMED = 8
"""Columns that a line names."""

_COMMAND = "pate data describe"
_AS_WRITTEN = "# as written, before any edit: "


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the parser of `pate data describe`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "describe", help="what the columns of your file hold; writes a schema, for dataset=FILE.schema.yaml"
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="private, unless --public says otherwise")
    parser.add_argument("--target", metavar="COLUMN", help="the column that holds the class")
    parser.add_argument("--unit", metavar="COLUMN", help="the column that names the person of a record")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument(
        "--public", action="store_true", help="the records are public: their bounds and levels are written"
    )
    whose.add_argument(
        "--rows", type=Path, metavar="PUBLIC", help="take bounds and levels of this public file"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="COLUMN.KEY=VALUE",
        help="decide: kind, low, high, levels, missing, decimal, format, ...",
    )
    parser.add_argument(
        "--missing", action="append", default=[], metavar="TEXT", help="a cell that stands for no value"
    )
    parser.add_argument("--output", type=Path, metavar="FILE.schema.yaml", help="where to write it")
    add_format_options(parser)
    return parser


def main(options: argparse.Namespace) -> int:
    """Describe a file. 0; 2 if something does not fit; 3 if something must be decided."""
    output = options.output or schema_beside(options.file)
    check_file(output, [options.file, *([options.rows] if options.rows else [])])
    if output.is_file() and _edited(output.read_bytes()):
        raise InputError(f"--output {output}: was edited, and would be lost; give another, or move it away")
    table, described = _described(options)
    if not described.refused:
        _write(described, options, output)
    if options.json:
        _print_json(table, described, None if described.refused else output)
    else:
        _print(table, described, options)
    if described.refused:
        refused = refused_lines(options.file, described.refused, table.word)
        if len(described.refused) > len(table.written.refused):
            refused += "; accepted: --set COLUMN.missing=true (such cells are missing), COLUMN.kind=category,"
            refused += " or the file without lines that are no records, as a second header"
        raise DataError(refused)
    if not options.json:
        print_line(f"written to {output}")
        print_line(f"next: {_next(options, described, output)}")
    return 3 if described.asked else 0


def _described(options: argparse.Namespace) -> tuple[RecordTable, Described]:
    """Read the file and decide on its columns; what an option has answered is not asked."""
    typed = {key: name for key in ("target", "unit") if (name := getattr(options, key)) is not None}
    text = {*typed.values(), *map(normal, typed.values())}
    table = read_table(options.file, options, text, keep=True)
    for key, name in typed.items():
        if name not in table.columns:
            setattr(options, key, normal(name))  # as the header is read
        if getattr(options, key) not in table.columns:
            raise ConfigError(f"--{key}", name, table.choices)
    if options.unit is not None and options.unit == options.target:
        raise ConfigError("--unit", options.unit, "another column than --target")
    edits = read_edits(options.set, [*table.columns, *table.unread])
    described = describe(
        table,
        target=options.target,
        unit=options.unit,
        edits=edits,
        public=options.public,
        rows=None if options.rows is None else _public_rows(options, table, text),
        words=[word.strip() for word in options.missing],
    )
    _check(table, described, options)
    warnings, asked = [*described.warnings], [*described.asked]
    if options.unit is not None:
        names = distinct_texts(table.frame[options.unit])[0]
        if pair := one_person(names, table.decimal):
            warnings.append(f"{options.unit!r}: {pair}")
        if "case" not in edits.get(options.unit, {}) and (pair := alike(dict.fromkeys(map(normal, names)))):
            question = f"{pair}: two persons? If they are one, eps and delta hold for a part of one"
            asked.append(Ask(options.unit, "case", question, "kept"))
    answered = {key for key in ("encoding", "sep") if getattr(options, key) is not None}
    answered |= {"header"} if options.no_header else set()
    asked = [ask for ask in asked if ask.key not in answered]
    return table, replace(described, warnings=warnings, asked=asked)


def _write(described: Described, options: argparse.Namespace, output: Path) -> None:
    """Write the schema; counts, cells and words of private records are for the screen alone."""
    schema = replace(described.schema, data=os.path.relpath(options.file, output.parent))
    questions: dict[str, str] = {}
    for ask in described.asked:
        asked_public = f"{ask.question}{_how(ask, schema.form)}"
        place = "target" if ask.column == options.target else ask.column or "format"
        place = place if place in {*schema.columns, "target", "format"} else "columns"
        questions[place] = asked_public if options.public else f"{ask.key}: see {_COMMAND}"
    if not options.public:
        open_ = {ask.column for ask in described.asked if ask.key == "missing"}
        columns = {n: replace(c, missing=None) if n in open_ else c for n, c in schema.columns.items()}
        schema = replace(schema, columns=columns)
    write_output(output, _signed(as_yaml(schema, questions)))


def _check(table: RecordTable, described: Described, options: argparse.Namespace) -> None:
    """Refuse what a run would: classes, persons or columns from which nothing can be learnt."""
    words = described.schema.missing
    if (target := options.target) is not None and not described.observed[target].bought:
        names = described.observed[target].levels or []
        if len(names) < 2:
            texts = distinct_texts(table.frame[target])[0]
            absent = next((text.strip() for text in texts if normal(text) not in {"", *names}), None)
            both = "[A,B]" if absent is None else as_list([*names, absent])
            accepted = f"two classes or more, as --set {shlex.quote(f'{target}.levels={both}')}"
            accepted += "" if absent is None else f" if {shortened(repr(absent))} is one, not a missing label"
            raise ConfigError(f"{target}.levels", names, accepted)
        labels = table.labels(target, words, "--target", declared=names, missing=True, merge_alike=True)
        codes = labels.codes[labels.codes >= 0]
        classes_of(replace(labels, codes=codes), f"{table.path}, column {target!r} (--target)", len(codes))
    if options.unit is not None:
        table.labels(options.unit, words, "--unit", merge_alike=True, distinct=False)
    columns = described.schema.columns
    if target and not any(column.kind != "ignored" for column in columns.values()):
        if not columns:
            raise DataError(f"{options.file}: no column but {target!r}, so none to learn from")
        shown = "; ".join(f"{name!r}: {column.why}" for name, column in columns.items())
        accepted = "--set COLUMN.kind=number, date or category, for one at least"
        raise DataError(f"{options.file}: no column to learn from ({shown}); accepted: {accepted}")


def _signed(text: str) -> str:
    """Text of a schema and a last line by which `_edited` knows it."""
    return f"{text}{_AS_WRITTEN}{hashlib.sha256(text.encode()).hexdigest()[:12]}\n"


def _edited(content: bytes) -> bool:
    """Whether a file is other than this command wrote it."""
    text, _, _ = content.decode(errors="replace").rpartition(_AS_WRITTEN)
    return content != _signed(text).encode()


def _public_rows(options: argparse.Namespace, table: RecordTable, text: set[str]) -> RecordTable:
    """The public file, written as the private one is; its cells as texts, whatever one private cell is."""
    written = table.written.form and {**table.written.form, "decimal": table.decimal}
    rows = read_table(options.rows, options, text | {*table.columns}, written)
    if rows.checksum == table.checksum:
        raise ConfigError(
            "--rows", str(options.rows), "a file of other records; --public says that they are public"
        )
    return rows


def _print(table: RecordTable, described: Described, options: argparse.Namespace) -> None:
    """Print the table, then what was done to the file, what must be decided, and what is refused."""
    written = table.written.form
    how = ""
    if written:
        sign = "tabs" if written["delimiter"] == "\t" else written["delimiter"]
        how = f"; {written['encoding']}, cells apart by {sign}"
        how += f", decimals {table.decimal}"
    print_line(
        f"{table.path}: {count_of(len(table.frame), 'record')}, {count_of(len(table.columns), 'column')}{how}"
    )
    rows = []
    for name, column in described.observed.items():
        holds = "" if column.kind == "ignored" else column.about + (f" {column.unit}" if column.unit else "")
        missing = described.missing.get(name, 0)
        kind = "target" if name == options.target else column.kind
        rows.append(
            (one_line(name), kind, one_line(holds), f"{missing:,}" if missing else "", _decided(column))
        )
    print_grid(("column", "kind", "holds", "missing", "decided"), rows, right=("missing",))
    for notice in described.warnings[:_MOST]:
        print_line(one_line(notice))
    if described.asked and not described.refused:
        print_line("to decide:")
        for ask in described.asked:
            how = _how(ask, described.schema.form)
            print_line(f"  {one_line(ask.column or ask.key)}: {one_line(ask.question)}{how}")
    if described.schema.rows == "private" and not described.refused and (open_ := _open(described)):
        say(f"private, so not in the schema: {open_}")
        print_line("each split's public share has them, or they come")
        print_line("  from a public file: --rows PUBLIC")
        print_line(f"  by hand: {_example(described)}")
        print_line("  paid for: --set COLUMN.levels=private")


def _how(ask: Ask, form: Mapping[str, Any]) -> str:
    """How to answer, in words for the shell."""
    if ask.unit:  # its question says `--unit`
        return f" If not: --set {shlex.quote(ask.answer)}"
    return f"; {_answer(ask, form)}"


def _answer(ask: Ask, form: Mapping[str, Any]) -> str:
    """The option that answers as proposed; `form` is how the file is written."""
    if not ask.column:
        return "--no-header" if ask.key == "header" else f"--encoding {form['encoding']}"
    if ask.unit:
        return f"--unit {shlex.quote(ask.column)}"
    return f"--set {shlex.quote(ask.answer)}"


def _decided(column: Column) -> str:
    """What was decided of a column, in a few words."""
    entry = entry_of(column)
    parts = [str(entry[key]) for key in ("why", "format") if entry.get(key)]
    parts += [f"{key} {entry[key]!r}" for key in ("decimal", "thousands", "empty") if entry.get(key)]
    return ", ".join(parts)


def _buys(described: Described) -> bool:
    """Whether levels or bounds of some columns, or the classes, are to be paid for."""
    return described.schema.classes_bought or any(
        column.bought for column in described.schema.columns.values()
    )


def _open(described: Described) -> str:
    """Columns whose bounds or levels are not in the schema."""
    columns = described.schema.columns
    open_ = {name: column for name, column in columns.items() if not column.bought}
    bounds = [n for n, c in open_.items() if c.is_number and c.low is None]
    levels = [n for n, c in open_.items() if c.kind == "category" and c.levels is None]
    parts = [
        f"{what} of {', '.join(names[:_NAMED])}"
        + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
        for what, names in (("bounds", bounds), ("levels", levels))
        if names
    ]
    if described.schema.target and described.schema.classes is None and not described.schema.classes_bought:
        parts.append("the classes")
    return one_line("; ".join(parts))


def _example(described: Described) -> str:
    """A `--set` for one of these columns."""
    for name, column in described.schema.columns.items():
        if column.is_number and column.low is None:
            return f"--set {shlex.quote(f'{name}.low=0')} --set {shlex.quote(f'{name}.high=100')}"
        if column.kind == "category" and column.levels is None:
            return f"--set {shlex.quote(f'{name}.levels=[...]')}"
    return f"--set {shlex.quote(f'{described.schema.target}.levels=[...]')}"


def _next(options: argparse.Namespace, described: Described, output: Path) -> str:
    """The command to type next."""
    if not described.asked:
        words = ["pate", "plan", f"dataset={output}"] + ["dataset.target=COLUMN"] * (not options.target)
        if options.rows is not None and not _buys(described):
            words.append(f"dataset.public={options.rows}")
        elif not options.public and (_buys(described) or not _open(described)):
            words.append("dataset.public=marginals")
        return shlex.join(words)
    words = ["pate", "data", "describe", str(options.file)]
    for key in ("target", "unit", "rows", "sep", "encoding", "decimal", "output"):
        if (value := getattr(options, key)) is not None:
            words += [f"--{key}", str(value)]
    words += ["--public"] * options.public + ["--no-header"] * options.no_header
    words += [word for text in options.missing for word in ("--missing", text)]
    words += [word for text in options.set for word in ("--set", text)]
    answers = dict.fromkeys(_answer(ask, described.schema.form) for ask in described.asked)
    return " ".join([shlex.join(words), *answers])


def _print_json(table: RecordTable, described: Described, output: Path | None) -> None:
    """Print all of it as JSON."""
    columns: list[dict[str, Any]] = []
    for name, column in described.observed.items():
        if name == described.schema.target:
            continue
        entry = entry_of(column)
        columns.append(
            {
                "name": name,
                "kind": column.kind,
                "low": entry.get("low"),
                "high": entry.get("high"),
                "levels": column.levels if column.kind == "category" else None,
                "missing": described.missing.get(name, 0) if column.kind != "ignored" else None,
                "why": column.why,
                **{key: entry[key] for key in ("unit", "format", "decimal", "thousands") if key in entry},
            }
        )
    if (unit := described.schema.unit) is not None:
        absent = dict.fromkeys(("low", "high", "levels", "missing"))
        columns.append({"name": unit, "kind": "ignored", **absent, "why": "unit"})
    order = {name: at for at, name in enumerate([*table.columns, *table.unread])}
    columns.sort(key=lambda column: order[column["name"]])
    target = described.schema.target
    whole_lines = sum("cells, the" in why for _, why in table.written.refused)
    content: dict[str, Any] = {
        "target": target,
        "classes": described.observed[target].levels if target else None,
        "rows": len(table.frame) + whole_lines,
        "format": _format(table, described),
        "columns": columns,
        "asked": [
            {
                "column": a.column or None,
                "key": a.key,
                "question": a.question,
                "set": a.answer if a.column else None,
            }
            for a in described.asked
        ],
        "refused": [{table.word: line, "why": why} for line, why in described.refused],
        "schema": None if output is None else str(output),
    }
    print_json("data describe", {"table": content["columns"]}, described.warnings, content)


def _format(table: RecordTable, described: Described) -> dict[str, Any]:
    """How the file is written, and how many records have no label."""
    marks: Sequence[str] = [
        _as_written(table, name, column.thousands)
        for name, column in described.observed.items()
        if column.thousands
    ]
    thousands = max(marks, key=marks.count, default=None)
    lines = {
        "comments": "a comment",
        "titles": "above the header",
        "footer": "below the records",
        "units_line": "units",
    }
    skipped = {key: n for key, what in lines.items() if (n := table.written.skipped.get(what))}
    missing = described.missing.get(described.schema.target or "")
    comment = {"comment": "#"} if "comments" in skipped else {}
    return {
        **described.schema.form,
        "header_line": table.written.header_line,
        "thousands": thousands,
        **comment,
        **skipped,
        **({"target_missing": missing} if missing else {}),
    }


def _as_written(table: RecordTable, name: str, mark: str) -> str:
    """What separates thousands, as the file has it: blanks are of several kinds."""
    cells = "".join(map(str, table.frame[name].cat.categories)) if mark == " " else ""
    return next((sign for sign in cells if sign != " " and sign.isspace()), mark)
