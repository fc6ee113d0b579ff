"""Files in LIBSVM's sparse text format: `label index:value index:value ...`, a record a line."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pate_cli.checks import Or, Whole, option
from pate_cli.datasets.reading import read_bytes
from pate_cli.datasets.three_files import FileOptions, LoadedFile, dataset_of, plain_label, texts_of
from pate_cli.errors import DataError
from pate_cli.types import Dataset, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Options", "load", "load_file", "parse", "without_placeholders"]

_MAX_INDEX = 2**31 - 1
_MOST_UNASKED = 2**24
"""Columns taken from the indices alone: each model holds a number a column, and an index may be a slip."""


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=libsvm`.

    Attributes
    ----------
    n_features : int or None
        Number of columns; None for the largest index in the file, in the public one if there is one.
    """

    n_features: int | None = option(None, Or("null", Whole(1, _MAX_INDEX)))


def load(name: str, options: Options) -> Dataset:
    """Load a LIBSVM file, or three.

    Raises
    ------
    DataError
        If a file is missing, empty, malformed, or holds one class; names file and line.
    """
    where, public_path, test_path = options.paths("a LIBSVM file")
    public = None if public_path is None else load_file(public_path, options.n_features)
    n_features = options.n_features if public is None else public.X.shape[1]
    private = load_file(where, n_features)
    test = None if test_path is None else load_file(test_path, private.X.shape[1])
    return dataset_of(
        name, options.classes, private, without_placeholders(public, private, options.classes), test
    )


def load_file(path: Path, n_features: int | None = None) -> LoadedFile:
    """Read one file, see `parse`; a record's place is the line that it stands on."""

    def place(row: int) -> str:
        numbers = (number for number, fields in _lines(read_bytes(path)[0]) if fields)
        return f"{path}, line {next(islice(numbers, row, None), 0)}"

    return LoadedFile(path, *parse(path, n_features), place)


def without_placeholders(
    public: LoadedFile | None, private: LoadedFile, declared: Sequence[str] | None
) -> LoadedFile | None:
    """Drop the labels of public points where none is a class: the format needs some.

    Classes are those declared, so that no private record decides it; else the labels of private records.
    """
    if public is None:
        return None
    known = (
        texts_of(np.unique(private.labels)) if declared is None else [plain_label(one) for one in declared]
    )
    if set(known) & set(texts_of(np.unique(public.labels))):
        return public
    return replace(public, labels=None)


def parse(path: Path, n_features: int | None = None) -> tuple[sp.csr_matrix, FloatArray, str]:
    """Read one file.

    Parameters
    ----------
    path : Path
        May be compressed, see `read_bytes`.
    n_features : int or None
        Number of columns; None for the largest index found, up to 2^24.

    Returns
    -------
    X : csr_matrix of float64, shape (n, d)
        Indices counted from 1, or from 0 if the file uses 0.
    y : ndarray of float64, shape (n,)
    checksum : str
        SHA-256 (hex) of the file's bytes.

    Raises
    ------
    DataError
        If the file is missing, empty, malformed, or holds NaN or infinity; or if a single record uses index
        0, which would decide what all indices mean. Names file and line.
    """
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    content, checksum = read_bytes(path)
    try:
        X, y = load_svmlight_file(io.BytesIO(content), n_features=n_features)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path}{_explain(content, n_features) or f': not LIBSVM ({error})'}") from None
    if len(y) == 0:
        raise DataError(f"{path}: empty, no records in it")
    if X.nnz == 0:
        raise DataError(f"{path}: no record has a feature (index:value)")
    too_wide = n_features is None and X.shape[1] > _MOST_UNASKED
    if too_wide or not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        problem = _explain(content, n_features)
        if problem or not too_wide:
            raise DataError(f"{path}{problem or ': NaN or infinity in it'}")
    if np.count_nonzero(X.indices == 0) == 1:
        for number, fields in _lines(content):
            pairs = [field for field in fields[1:] if not field.startswith("qid:")]
            if pairs and int(pairs[0].partition(":")[0]) == 0:
                accepted = "index 0 in no record, or in two (0:0 is one), as where indices are counted from 0"
                raise DataError(f"{path}, line {number}: the only index 0; accepted: {accepted}")
    return sp.csr_matrix(X), y, checksum


def _lines(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """Number of each line and its fields, without what follows #."""
    for number, line in enumerate(io.BytesIO(content), start=1):
        yield number, [field.decode("ascii", "replace") for field in line.split(b"#", 1)[0].split()]


def _explain(content: bytes, n_features: int | None) -> str:
    """Name the first bad line of a file that scikit-learn has refused without one; empty if none is found."""
    for number, fields in _lines(content):
        if fields and (problem := _problem(fields, n_features)):
            return f", line {number}: {problem}"
    return ""


def _problem(fields: list[str], n_features: int | None) -> str:
    label, *pairs = fields
    if ":" in label:
        return f"no label before {_short(label)}"
    if not _is_finite(label):
        return f"label {_short(label)} is not a finite number"
    last = -1
    for pair in pairs[1:] if pairs and pairs[0].startswith("qid:") else pairs:
        index, colon, value = pair.partition(":")
        if not colon or not index.isdecimal():
            return f"{_short(pair)} is not index:value"
        if not _is_finite(value):
            return f"feature {_short(index)} has the value {_short(value)}, not a finite number"
        if int(index) <= last:
            return f"index {_short(index)} after index {last}; indices must increase"
        last = int(index)
        if last > (n_features or _MOST_UNASKED):
            most = f"{n_features or _MOST_UNASKED} features accepted"
            return f"index {_short(index)} is more than the {most} (dataset.n_features in a run)"
    return ""


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
