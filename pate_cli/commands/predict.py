"""`pate predict`: label new points with a saved student."""

from __future__ import annotations

import argparse
import csv
import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.commands.own_files import add_format_options, is_parquet, read_table
from pate_cli.datasets.libsvm import parse
from pate_cli.datasets.new_records import training_table
from pate_cli.datasets.reading import texts
from pate_cli.errors import ConfigError, DataError, InputError, one_line
from pate_cli.students import load_student
from pate_cli.terminal import check_file, err, out, write_output
from pate_cli.types import without_tiny

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pate_cli.students import SavedStudent
    from pate_cli.types import FloatArray, IntArray

__all__ = ["main"]

_ROWS = 4096
"""Rows made dense at once, for a student that takes no sparse rows."""


@dataclass(frozen=True, eq=False)
class _Records:
    """New records: features, their labels (None if there are none), names, and what is to be said of them."""

    X: Any
    labels: list[str] | None
    names: list[str] | None = None
    remarks: list[str] = field(default_factory=list)


def main(argv: list[str]) -> int:
    """Run `pate predict`.

    Parameters
    ----------
    argv : list of str
        Arguments after `pate predict`.

    Returns
    -------
    int
        0.

    Raises
    ------
    InputError
        If the model or the data cannot be used, or the output not be written.
    """
    args = _parser().parse_args(argv)
    if args.output is not None:
        check_file(args.output)
    model = load_student(args.model, trust=args.trust)
    records = _numbered(args, model) if model.encoder is None else _table(args, model)
    codes = _codes(model, records.X, args.model, args.data)
    labels = [model.classes[code] for code in codes.tolist()]
    shares = _shares(model, records.X, args.model) if args.proba else None
    lines = labels
    if shares is not None or records.names is not None:
        lines = _rows(model, labels, args.id, records.names, shares)
    if args.output is None:
        # a label comes from the file, and may hold what a terminal obeys
        shown = map(one_line, lines) if out().is_terminal else lines
        out().out("\n".join(shown), highlight=False)
    else:
        write_output(args.output, "".join(f"{line}\n" for line in lines))
    for remark in records.remarks:
        err().print(f"pate: {one_line(remark)}", soft_wrap=True, markup=False)
    known = set(map(_plain, model.classes))
    # Where no label is one the model knows, they are placeholders: there is nothing to compare.
    if records.labels is not None and not known.isdisjoint(records.labels):
        right = sum(_plain(ours) == theirs for ours, theirs in zip(labels, records.labels, strict=True))
        most = max(Counter(records.labels).values())
        text = f"accuracy {right / len(labels):.4f} ({right} of {len(labels)} records); the commonest class"
        text += f" alone has {most / len(labels):.4f}"
        err().print(text, soft_wrap=True, markup=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate predict",
        description="Print the label a saved student gives to each record, one a line; "
        "the accuracy too, on stderr, where the records have labels. With --id or --proba a CSV table.",
        epilog="example: pate predict outputs/.../student.skops new.csv --id name --proba --output labels",
    )
    parser.add_argument("model", metavar="MODEL.skops", type=Path, help="a student saved by `pate run`")
    parser.add_argument(
        "data",
        metavar="DATA",
        type=Path,
        help="a CSV or Parquet file for a student trained on a table, else a LIBSVM file; .bz2, .gz, .xz too",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write here, not to stdout")
    parser.add_argument(
        "--id", metavar="COLUMN", help="column of the table that names a record, written first"
    )
    parser.add_argument("--proba", action="store_true", help="write the probability of each class, too")
    parser.add_argument("--target", metavar="COLUMN", help="column with the labels (default: as in training)")
    add_format_options(parser)
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
    if ".csv" in args.data.suffixes or is_parquet(args.data):
        raise DataError(f"{args.data}: this model was trained on numbered features; accepted: a LIBSVM file")
    for option, why in (("target", "its labels come first on each line"), ("id", "it has no columns")):
        if getattr(args, option) is not None:
            raise ConfigError(f"--{option}", getattr(args, option), f"nothing for a LIBSVM file: {why}")
    X, y, _ = parse(args.data, model.n_features)
    return _Records(X, [_plain(value) for value in y.tolist()])


def _table(args: argparse.Namespace, model: SavedStudent) -> _Records:
    """Records of a CSV or Parquet file, checked against what the model was made of."""
    trained = training_table(model.encoder, str(args.model))
    schema = trained.schema
    named = {option: getattr(args, option) for option in ("target", "id")}
    text = {*schema.of_kind("category"), schema.target, *named.values()} - {None}
    table = read_table(args.data, args, text)
    there = table.columns
    for option, column in named.items():
        if column is not None and column not in there:
            raise ConfigError(f"--{option}", column, f"a column of {args.data}: {', '.join(there)}")
    frame, remarks = trained.read(table)
    target = args.target or (schema.target if schema.target in there else None)
    labels = None if target is None else [_plain(cell) for cell in table.frame[target]]
    names = None if args.id is None else [str(cell) for cell in texts(table.frame[args.id])]
    return _Records(model.encoder.transform(frame), labels, names, remarks)


def _rows(
    model: SavedStudent,
    labels: Sequence[str],
    column: str,
    names: Sequence[str] | None,
    shares: FloatArray | None,
) -> list[str]:
    """Lines of a CSV table: name, label, probability of each class."""
    columns = [] if names is None else [[column, *names]]
    columns.append(["label", *labels])
    if shares is not None:
        for label, share in zip(model.classes, shares.T.tolist(), strict=True):
            columns.append([f"probability.{label}", *(f"{p:.6g}" for p in share)])
    return [_csv_line(cells) for cells in zip(*columns, strict=True)]


def _csv_line(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()


def _codes(model: SavedStudent, X: Any, file: Path, data: Path) -> IntArray:
    """Class codes, shape (m,); a file may be whole and its classifier of no use."""
    import numpy as np

    try:
        codes = _predict(model.student, X)
    except Exception as error:
        raise DataError(f"{file}: cannot label the records of {data} ({error})") from error
    if codes.shape != (X.shape[0],) or (codes < 0).any() or (codes >= len(model.classes)).any():
        raise DataError(f"{file}: gives a code that is not one of its {len(model.classes)} classes")
    return np.asarray(codes)


def _shares(model: SavedStudent, X: Any, file: Path) -> FloatArray:
    """Probability of each class, shape (m, C)."""
    import numpy as np

    from pate_cli.students.metrics import by_class

    parts = [
        by_class(model.student, "predict_proba", part, len(model.classes))
        for part in _parts(model.student, X)
    ]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        raise InputError(
            f"--proba: the student of {file} ({type(model.student).__name__}) gives no probabilities;"
            " accepted: one that does, as student=logistic"
        )
    shares: FloatArray = np.concatenate(found)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise DataError(f"{file}: gives a probability that is not in [0, 1]")
    return shares


def _parts(student: Any, X: Any) -> list[Any]:
    """Rows as the student takes them: sparse ones, or made dense a few at once."""
    import scipy.sparse as sp
    from sklearn.utils import get_tags

    X = without_tiny(X)  # as in training
    if sp.issparse(X) and not get_tags(student).input_tags.sparse:
        return [X[top : top + _ROWS].toarray() for top in range(0, X.shape[0], _ROWS)]
    return [X]


def _predict(student: Any, X: Any) -> IntArray:
    """Class codes, shape (m,)."""
    import numpy as np

    return np.concatenate([np.asarray(student.predict(part)) for part in _parts(student, X)]).astype(np.int64)


def _plain(label: Any) -> str:
    """Label in one form for comparing: "1", "+1" and "1.0" are the same."""
    text = str(label).strip()
    try:
        return repr(float(text))
    except ValueError:
        return text
