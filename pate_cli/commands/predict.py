"""`pate predict`: label new points with a saved student."""

from __future__ import annotations

import argparse
import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import Real, take
from pate_cli.commands.own_files import add_format_options, read_table
from pate_cli.commands.printing import add_output_options, print_json
from pate_cli.commands.reporting import say
from pate_cli.datasets import kind_of
from pate_cli.datasets.column import distinct_texts
from pate_cli.datasets.labels import Labels, identity
from pate_cli.datasets.libsvm import load_file
from pate_cli.datasets.names import shown
from pate_cli.datasets.new_records import read_new, training_schema
from pate_cli.errors import ConfigError, DataError, InputError, count_of, one_line
from pate_cli.results.listing import find
from pate_cli.results.tables import Head, Table
from pate_cli.students import load_student
from pate_cli.terminal import check_file, err, notice, out, write_output

if TYPE_CHECKING:
    from pate_cli.students import SavedStudent

__all__ = ["main"]


_RARE = 0.2
"""Share of the second class below which accuracy says little."""

_MOST = 15  # labels of the summary


@dataclass(frozen=True, eq=False)
class _Records:
    """New records: features or the rows of a table, labels and names (None if there are none), warnings."""

    X: Any
    labels: Labels | None
    names: list[str] | None = None
    warnings: list[str] = field(default_factory=list)


def main(argv: list[str]) -> int:
    """Run `pate predict`."""
    args = _parser().parse_args(argv)
    if args.json and args.output is not None:
        raise InputError("--json: not with --output; give one of them")
    args.model = find(str(args.model))
    if args.output is not None:
        check_file(args.output, [args.model, args.model / "student.skops", args.data])
    if args.threshold is not None:
        take("--threshold", args.threshold, Real(0, 1, closed_below=True))
    if args.model.is_dir():
        args.model /= "student.skops"
    model = load_student(args.model, trust=args.trust)
    if args.threshold is not None and len(model.classes) != 2:
        accepted = f"nothing for the {len(model.classes)} classes of {args.model}: it is for two"
        raise ConfigError("--threshold", args.threshold, accepted)
    records = _numbered(args, model) if model.encoder is None else _table(args, model)
    labels, shares = _predicted(args, model, records)
    measured = None
    if records.labels is not None:
        measured = _accuracy(model.classes, labels, records.labels, args.threshold is not None)
    columns = _columns(model, labels, args.id, records.names, shares)
    if args.json:
        heads, *rows = zip(*columns, strict=True)
        lines = [dict(zip(heads, row, strict=True)) for row in rows]
        print_json("predict", {"table": lines}, [*records.warnings, *filter(None, [measured])])
        return 0
    text = _text(columns)
    if args.output is not None:
        write_output(args.output, text)
        if out().is_terminal:  # a script reads nothing here
            _summary(args, labels)
    elif out().is_terminal:  # labels come from the file, and may hold control characters
        out().out("\n".join(map(one_line, text.rstrip("\n").split("\n"))), highlight=False)
    else:
        out().out(text, end="", highlight=False)
    for text in records.warnings:
        notice(one_line(text))
    if measured:
        err().print(one_line(measured), soft_wrap=True, markup=False)
    return 0


def _summary(args: argparse.Namespace, labels: Sequence[str]) -> None:
    """Say how many records have which label, where these are written to a file."""
    counts = Counter(labels).most_common(_MOST)
    say(one_line(f"Labels of {count_of(len(labels), 'record')} of {args.data} are in {args.output}."))
    out().print()
    columns = [Head("label", numeric=False), Head("records"), Head("%")]
    cells = [[one_line(label), f"{n:,}", f"{100 * n / len(labels):.1f}"] for label, n in counts]
    Table(columns, cells).show(quiet=True)


def _accuracy(classes: Sequence[str], ours: list[str], theirs: Labels, thresholded: bool) -> str:
    """Accuracy on the records that have labels, and how rare cases, or those at a threshold, are found.

    Empty where none of the labels is a class, as with placeholders.
    """
    written = {identity(name.casefold()): name for name in classes}
    for name in theirs.names:
        if name not in classes and (spelt := written.get(identity(name.casefold()))):
            other = f"the label {shown(name)} is {shown(spelt)} in the training"
            return f"pate: no accuracy: {other}; accepted: the same form"
    if set(classes).isdisjoint(theirs.names):
        return ""
    pairs = [(a, theirs.names[code]) for a, code in zip(ours, theirs.codes, strict=True) if code >= 0]
    right, n = sum(a == b for a, b in pairs), len(pairs)
    most = max(Counter(b for _, b in pairs).values())
    text = f"accuracy {right / n:.4f} ({right:,} of {count_of(n, 'record')}); "
    text += f"the commonest class alone has {most / n:.4f}"
    case = classes[-1]
    true = sum(b == case for _, b in pairs)
    if len(classes) == 2 and (thresholded or true < _RARE * n):
        hits, predicted = pairs.count((case, case)), sum(a == case for a, _ in pairs)
        text += f"; {case!r}: recall {hits} of {true}, precision {hits} of {predicted}"
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate predict",
        description="Print the label a saved student gives to each record, one a line; "
        "the accuracy too, on stderr, where the records have labels. With --id or --proba a CSV table.",
        epilog="example: pate predict outputs/.../student.skops new.csv --id name --proba --output out.csv",
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=Path,
        help="a student saved by `pate run`, student.skops, or its folder, or a name or id of pate list",
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        type=Path,
        help="CSV, JSON lines or Parquet for a student of a table, else LIBSVM; .bz2, .gz, .xz too",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write here, not to stdout")
    parser.add_argument(
        "--id", metavar="COLUMN", help="column of the table that names a record, written first"
    )
    parser.add_argument("--proba", action="store_true", help="write the probability of each class, too")
    parser.add_argument(
        "--threshold",
        metavar="T",
        type=float,
        help="of two classes, label a record with the second where its probability is at least T",
    )
    parser.add_argument("--target", metavar="COLUMN", help="column with the labels (default: as in training)")
    add_format_options(parser)
    add_output_options(parser, quiet=False)
    parser.add_argument(
        "--trust",
        metavar="TYPE",
        action="append",
        default=[],
        help="a further type the model may hold, by its exact name: mypackage.MyClassifier; its code is run",
    )
    return parser


def _numbered(args: argparse.Namespace, model: SavedStudent) -> _Records:
    """Records of a LIBSVM file."""
    if ".csv" in args.data.name.lower() or kind_of(args.data) != "libsvm":
        raise DataError(f"{args.data}: this model was trained on numbered features; accepted: a LIBSVM file")
    for option, why in (("target", "its labels come first on each line"), ("id", "it has no columns")):
        if getattr(args, option) is not None:
            raise ConfigError(f"--{option}", getattr(args, option), f"nothing for a LIBSVM file: {why}")
    first_index = 1 if model.first_index is None else model.first_index
    file = load_file(args.data, model.n_features, first_index)
    return _Records(file.X, file.labels)


def _table(args: argparse.Namespace, model: SavedStudent) -> _Records:
    """Records of a CSV or Parquet file, checked against the training table."""
    schema = training_schema(model.encoder, str(args.model))
    named = {option: getattr(args, option) for option in ("target", "id")}
    text = {*schema.texts, schema.target, *named.values()} - {None}
    table = read_table(args.data, args, text, schema.form)
    columns = table.columns
    for option, column in named.items():
        if column is not None and column not in columns:
            raise ConfigError(f"--{option}", column, f"a column of {args.data}: {', '.join(columns)}")
    frame, warnings = read_new(schema, table)
    target = args.target or (schema.target if schema.target in columns else None)
    labels = (
        None
        if target is None
        else table.labels(
            target, schema.missing, "--target", declared=model.classes, missing=True, merge_alike=True
        )
    )
    names = None
    if args.id is not None:
        each, codes = distinct_texts(table.frame[args.id])
        names = [each[code] for code in codes]
    return _Records(
        frame, labels, names, [f"{args.data}: {done}" for done in table.written.warnings] + warnings
    )


def _predicted(
    args: argparse.Namespace, model: SavedStudent, records: _Records
) -> tuple[list[str], list[list[float]] | None]:
    """Label of each record, and with `--proba` the probability of each class."""
    option = "--proba" if args.proba else "--threshold" if args.threshold is not None else ""
    try:
        X = records.X if model.encoder is None else model.encoder.transform(records.X)
        codes = model.codes(X)
        shares = model.probabilities(X) if option else None
    except Exception as error:  # the file is whole, and its classifier of no use
        raise DataError(f"{args.model}: cannot label the records of {args.data} ({error})") from error
    if option and shares is None:
        raise InputError(
            f"{option}: the student of {args.model} ({type(model.student).__name__}) gives no probabilities;"
            " accepted: one that does, as student=logistic"
        )
    if shares is not None and args.threshold is not None:
        codes = (shares[:, 1] >= args.threshold).astype(np.int64)
        first, second = model.classes
        notice(f"{second!r} where its probability is at least {args.threshold:g}, else {first!r}")
    labels = [model.classes[code] for code in codes.tolist()]
    return labels, shares.tolist() if shares is not None and args.proba else None


def _columns(
    model: SavedStudent, labels: list[str], id: str, names: list[str] | None, shares: list[list[float]] | None
) -> list[list[Any]]:
    """Columns, each with its head: names and probabilities of the classes where asked for, and labels."""
    columns: list[list[Any]] = [] if names is None else [[id, *names]]
    columns.append(["label", *labels])
    if shares is not None:
        for code, name in enumerate(model.classes):
            columns.append([f"probability.{name}", *(row[code] for row in shares)])
    return columns


def _text(columns: Sequence[Sequence[Any]]) -> str:
    """A label a line, or a CSV table of several columns; numbers with six digits."""
    if len(columns) == 1:
        return "".join(f"{' '.join(label.splitlines())}\n" for label in columns[0][1:])
    shown = [[f"{cell:.6g}" if isinstance(cell, float) else cell for cell in column] for column in columns]
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(zip(*shown, strict=True))
    return buffer.getvalue()
