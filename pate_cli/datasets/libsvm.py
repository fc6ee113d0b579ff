"""Files in LIBSVM's sparse text format: `label index:value index:value ...`, a record a line.

Indices are counted from 1, or from 0 where that is said: no record decides what those of others mean.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from pate_cli.checks import Or, Whole, option
from pate_cli.datasets.encodings import as_utf8, marked
from pate_cli.datasets.labels import NUMBER, Labels, number_in
from pate_cli.datasets.reading import read_bytes
from pate_cli.datasets.three_files import FileOptions, LoadedFile, dataset_of
from pate_cli.errors import DataError
from pate_cli.types import Dataset

__all__ = ["Options", "load", "load_file", "raw_file"]

_MAX_INDEX = 2**31 - 1
_MOST_UNASKED = 2**24
"""Columns taken from the indices alone: each model holds a number a column, and an index may be a slip."""

_RECORD = re.compile(
    rf"\s*+(?:({NUMBER})(?:\s++qid:[0-9]++)?(?:\s++[0-9]++:{NUMBER})*+\s*+)?(?:#.*)?".encode(), re.DOTALL
)
"""A line. scikit-learn, which reads the numbers, takes 1_0, inf, +1 for an index, and any qid."""


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=libsvm`; `n_features=None` is the largest index (of the public file, if any)."""

    n_features: int | None = option(None, Or("null", Whole(1, _MAX_INDEX)))
    first_index: int = option(1, Whole(0, 1))


def load(name: str, options: Options) -> Dataset:
    """Load a LIBSVM file, or three."""
    where, *others = options.paths("a LIBSVM file")
    first, n_features = options.first_index, options.n_features
    private = raw_file(where)
    public, test = (None if path is None else raw_file(path) for path in others)
    if public is not None:
        public = _with_columns(public, n_features, first)
        n_features = int(public.X.shape[1])
    private = _with_columns(private, n_features, first)
    test = None if test is None else _with_columns(test, int(private.X.shape[1]), first)
    return dataset_of(
        name,
        options.classes,
        private,
        public,
        test,
        width_from_private=n_features is None,
        first_index=first,
    )


def load_file(path: Path, n_features: int | None = None, first_index: int = 1) -> LoadedFile:
    """Read one file, of `n_features` columns or as many as it has."""
    return _with_columns(raw_file(path), n_features, first_index)


def raw_file(path: Path) -> LoadedFile:
    """Read a file with its indices as column numbers; a record's place is the line that it stands on."""
    from sklearn.datasets import load_svmlight_file

    def place(row: int) -> str:
        numbers = (number for number, fields in _lines(_read(path)[0]) if fields)
        return f"{path}, line {next(islice(numbers, row, None), 0)}"

    content, checksum = _read(path)
    names: dict[bytes, int] = {}
    codes: list[int] = []
    for line in io.BytesIO(content):
        if (record := _RECORD.fullmatch(line)) is None:
            raise DataError(f"{path}{_explain(content)}")
        if record[1]:
            codes.append(names.setdefault(record[1], len(names)))
    if not codes:
        raise DataError(f"{path}: empty, no records in it")
    try:
        X, y = load_svmlight_file(io.BytesIO(content), zero_based=True)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path}{_explain(content) or f': not LIBSVM ({error})'}") from None
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise DataError(f"{path}{_explain(content)}")
    labels = Labels([name.decode() for name in names], np.array(codes))
    return LoadedFile(path, X, labels, checksum, place)


def _read(path: Path) -> tuple[bytes, str]:
    """Content, in UTF-8 where a byte order mark says what it is, and checksum of a file."""
    content, checksum = read_bytes(path)
    if b"\r" in content and b"\n" not in content:
        raise DataError(f"{path}: lines end in a carriage return alone; accepted: line feeds")
    encoding = marked(content)
    return content if encoding is None else as_utf8(content, path, encoding), checksum


def _with_columns(file: LoadedFile, n_features: int | None, first: int) -> LoadedFile:
    """Bring a raw file to its columns; refuses an index beyond them, or beyond 2^24 if no number is given."""
    import scipy.sparse as sp

    X = file.X
    if first and (zero := X.indices == 0).any():
        at = int(np.searchsorted(X.indptr, int(np.argmax(zero)), side="right")) - 1
        accepted = "indices from 1 (a run with dataset.first_index=0 counts from 0)"
        raise DataError(f"{file.place(at)}: index 0; accepted: {accepted}")
    width, most = X.shape[1] - first, n_features or _MOST_UNASKED
    if width > most:
        at = int(np.argmax(X.indices >= most + first))
        where = file.place(int(np.searchsorted(X.indptr, at, side="right")) - 1)
        accepted = f"{most} features accepted (dataset.n_features in a run)"
        raise DataError(f"{where}: index '{X.indices[at]}' is more than the {accepted}")
    if not (n_features or width):
        raise DataError(f"{file.path}: no record has a feature (index:value)")
    shape = (X.shape[0], n_features or width)
    return replace(file, X=sp.csr_matrix((X.data, X.indices - first, X.indptr), shape=shape))


def _lines(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number of each line and its fields, without comments (#)."""
    for number, line in enumerate(io.BytesIO(content), start=1):
        yield number, [field.decode("ascii", "replace") for field in line.split(b"#", 1)[0].split()]


def _explain(content: bytes) -> str:
    """Name the first bad line of a file, as nothing else does; empty if none is found."""
    problems = ((number, _problem(*fields)) for number, fields in _lines(content) if fields)
    return next((f", line {number}: {problem}" for number, problem in problems if problem), "")


def _problem(label: str, *pairs: str) -> str:
    if not _is_finite(label):
        return f"label {_short(label)} is not a finite number"
    last = -1
    for number, pair in enumerate(pairs):
        index, _, value = pair.partition(":")
        if number == 0 and index == "qid" and value.isdecimal():
            continue
        if not (index.isdecimal() and _is_finite(value)):
            return f"{_short(pair)} is not index:value, a whole and a finite number"
        if not last < int(index) <= _MAX_INDEX:
            return f"index {_short(index)} after index {last}; indices must increase, up to {_MAX_INDEX}"
        last = int(index)
    return ""


def _is_finite(text: str) -> bool:
    number = number_in(text)
    return number is not None and math.isfinite(number)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
