"""`pate predict`: label new points with a saved student."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli.console import err, out
from pate_cli.datasets.libsvm import read_libsvm
from pate_cli.datasets.tabular import read_table
from pate_cli.errors import ConfigError, DataError, one_line
from pate_cli.students import load_student
from pate_cli.writing import check_file, write_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pate_cli.students import SavedStudent
    from pate_cli.types import IntArray

__all__ = ["main"]

_ROWS = 4096
"""Rows made dense at once, for a student that takes no sparse rows."""


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
    labels: list[str] | None
    if args.output is not None:
        check_file(args.output)
    model = load_student(args.model, trust=args.trust)
    if model.encoder is None:
        X, labels = _numbered(args.data, model, args.target)
    else:
        X, labels = _table(args.data, model, args.target or model.meta.get("target"), args.sep)
    codes = _codes(model, X, args.model, args.data)
    lines = [model.classes[code] for code in codes.tolist()]
    if args.output is None:
        # a label comes from the file, and may hold what a terminal obeys
        shown = map(one_line, lines) if out().is_terminal else lines
        out().out("\n".join(shown), highlight=False)
    else:
        write_output(args.output, "".join(f"{line}\n" for line in lines))
    known = set(map(_plain, model.classes))
    # Where no label is one the model knows, they are placeholders: there is nothing to compare.
    if labels is not None and not known.isdisjoint(labels):
        right = sum(_plain(line) == label for line, label in zip(lines, labels, strict=True))
        text = f"accuracy {right / len(lines):.4f} ({right} of {len(lines)} records)"
        err().print(text, soft_wrap=True, markup=False)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pate predict",
        description="Print the label a saved student gives to each record, one a line; "
        "the accuracy too, on stderr, where the records have labels.",
        epilog="example: pate predict outputs/.../student.skops new.libsvm --output labels.txt",
    )
    parser.add_argument("model", metavar="MODEL.skops", type=Path, help="a student saved by `pate run`")
    parser.add_argument(
        "data",
        metavar="DATA",
        type=Path,
        help="a LIBSVM file, or a CSV file for a student trained on a table; .bz2, .gz, .xz too",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the labels here, not to stdout")
    parser.add_argument("--target", metavar="COLUMN", help="column of the CSV file that holds the labels")
    parser.add_argument("--sep", help="separator of the CSV file (default: found in its first line)")
    parser.add_argument(
        "--trust",
        metavar="TYPE",
        action="append",
        default=[],
        help="a further type the model may hold, by its exact name: mypackage.MyClassifier; its code is run",
    )
    return parser


def _numbered(path: Path, model: SavedStudent, target: str | None) -> tuple[Any, list[str]]:
    """Features and labels of a LIBSVM file."""
    if ".csv" in path.suffixes:
        raise DataError(f"{path}: this model was trained on numbered features; accepted: a LIBSVM file")
    if target is not None:
        raise ConfigError("--target", target, "nothing for a LIBSVM file: its labels come first on each line")
    X, y = read_libsvm(path, model.n_features)
    return X, [_plain(value) for value in y.tolist()]


def _table(
    path: Path, model: SavedStudent, target: str | None, sep: str | None
) -> tuple[Any, list[str] | None]:
    """Features and labels (None if there are none) of a CSV file."""
    if ".csv" not in path.suffixes:
        raise DataError(f"{path}: this model was trained on a table; accepted: a .csv file with a header")
    import pandas as pd

    text = read_table(path, sep)
    columns, numbers = _columns(model.encoder)
    missing = [column for column in columns if column not in text.columns]
    if missing:
        raise DataError(f"{path}: no column {', '.join(map(repr, missing))}, which the model was trained on")
    labels = None
    if target is not None:
        if target not in text.columns:
            raise ConfigError("--target", target, f"a column of {path}: {', '.join(map(str, text.columns))}")
        labels = [_plain(cell) for cell in text[target]]
    cells = {name: _as_numbers(text[name], path) if name in numbers else text[name] for name in columns}
    return model.encoder.transform(pd.DataFrame(cells, index=text.index)), labels


def _columns(encoder: Any) -> tuple[list[str], set[str]]:
    """Columns the encoder was fitted on, and those of them it scales; the others hold categories."""
    named = {name: list(map(str, columns)) for name, _, columns in encoder.transformers_}
    scaled = {*named.get("numbers", []), *named.get("declared", [])}
    return [str(column) for column in encoder.feature_names_in_], scaled


def _as_numbers(column: Any, path: Path) -> Any:
    """Cells of a column as float64."""
    import numpy as np
    import pandas as pd

    values = pd.to_numeric(column.str.strip(), errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        place = f"{path}, line {column.index[bad[0]]}"
        raise DataError(f"{place}: numeric column {column.name!r} has {column.iloc[bad[0]]!r}")
    return values


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


def _predict(student: Any, X: Any) -> IntArray:
    """Class codes, shape (m,)."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.utils import get_tags

    parts: Sequence[Any] = [X]
    if sp.issparse(X) and not get_tags(student).input_tags.sparse:
        parts = [X[top : top + _ROWS].toarray() for top in range(0, X.shape[0], _ROWS)]
    return np.concatenate([np.asarray(student.predict(part)) for part in parts]).astype(np.int64)


def _plain(label: Any) -> str:
    """Label in one form for comparing: "1", "+1" and "1.0" are the same."""
    text = str(label).strip()
    try:
        return repr(float(text))
    except ValueError:
        return text
