"""Files in LIBSVM's sparse text format: `label index:value index:value ...`, a record a line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pate_cli.datasets import files
from pate_cli.datasets.labels import encode_labels
from pate_cli.datasets.options import is_whole
from pate_cli.datasets.registry import ENTRIES
from pate_cli.errors import ConfigError, DataError
from pate_cli.types import Dataset, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["load_file", "load_known", "open_bytes", "read_libsvm"]

_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_MAX_INDEX = 2**31 - 1
_MOST_UNASKED = 2**24
"""Columns taken from the indices alone: each model holds a number a column, and an index may be a slip."""
_CHUNK = 2**20


class _Tapped(io.RawIOBase):
    """A file whose bytes, as they stand in it, go into a digest while they are read."""

    def __init__(self, file: io.RawIOBase, digest: Any) -> None:
        self._file = file
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        n = self._file.readinto(buffer)
        self._digest.update(memoryview(buffer)[: n or 0])
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def open_bytes(path: Path, digest: Any = None) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing .bz2, .gz and .xz.

    Parameters
    ----------
    path : Path
    digest : hashlib object, optional
        Is given all bytes of the file, as they stand in it, in the one time that it is read: what it says in
        the end is of these records, whatever becomes of the file meanwhile.

    Raises
    ------
    DataError
        If it is missing, unreadable, or its compressed stream is cut short or damaged;
        also when that only shows while reading.
    """
    try:
        if digest is None:
            with _OPENERS.get(path.suffix, open)(path, "rb") as stream:
                yield stream
            return
        with io.BufferedReader(_Tapped(open(path, "rb", buffering=0), digest), _CHUNK) as whole:
            opener = _OPENERS.get(path.suffix)
            with opener(whole, "rb") if opener else nullcontext(whole) as stream:
                yield stream
            while whole.read(_CHUNK):  # what a decompressor has left
                pass
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (EOFError, lzma.LZMAError, zlib.error):
        raise DataError(f"{path}: the compressed file is cut short or damaged") from None
    except OSError as error:
        if error.strerror is None:  # not from the system: gzip and bz2 say "not my format" so
            raise DataError(f"{path}: not a {path.suffix} file, or damaged") from None
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def read_libsvm(
    path: Path, n_features: int | None = None, digest: Any = None
) -> tuple[sp.csr_matrix, FloatArray]:
    """Read one file, features and labels as they stand in it.

    Parameters
    ----------
    path : Path
        May end in .bz2, .gz or .xz.
    n_features : int or None
        Number of columns; None for the largest index found, up to 2^24.
    digest : hashlib object, optional
        As of `open_bytes`.

    Returns
    -------
    X : csr_matrix of float64, shape (n, d)
        Indices counted from 1, or from 0 if the file uses 0.
    y : ndarray of float64, shape (n,)

    Raises
    ------
    DataError
        If the file is missing, empty, malformed or holds NaN or infinity; names file and line.
    """
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    try:
        with open_bytes(path, digest) as stream:
            X, y = load_svmlight_file(stream, n_features=n_features)
    except (ValueError, OverflowError) as error:
        raise DataError(_explain(path, n_features) or f"{path}: not a LIBSVM file ({error})") from None
    if n_features is None and X.shape[1] > _MOST_UNASKED and (problem := _explain(path, None)):
        raise DataError(problem)
    if len(y) == 0:
        raise DataError(f"{path}: empty, no records in it")
    if X.nnz == 0:
        raise DataError(f"{path}: no record has a feature (index:value)")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise DataError(_explain(path, n_features) or f"{path}: NaN or infinity in it")
    return sp.csr_matrix(X), y


def load_known(name: str) -> Dataset:
    """Load `mushroom`, `a9a` (training and test file joined) or `real-sim`.

    Their sizes are in `pate_cli.datasets.registry.ENTRIES`.

    Raises
    ------
    DataError
        If a file is not the official one, missing and cannot be downloaded, or changes while it is read.
    """
    import scipy.sparse as sp

    entry = ENTRIES[name]
    found = files.require(entry)
    parts = []
    for file in found:
        digest = hashlib.sha256()
        parts.append(read_libsvm(file.path, entry.n_features, digest))
        file.check(digest.hexdigest())
    y, classes = encode_labels(np.concatenate([y for _, y in parts]), name)
    return Dataset(
        name=name,
        X=sp.vstack([X for X, _ in parts], format="csr") if len(parts) > 1 else parts[0][0],
        y=y,
        classes=classes,
        checksum=files.joint_digest([file.sha256 for file in found]),
        source=f"{entry.source}: {', '.join(str(file.path) for file in found)}",
    )


def load_file(name: str, *, path: str | Path | None, n_features: int | None) -> Dataset:
    """Load any file in LIBSVM's format.

    Parameters
    ----------
    name : str
    path : str or Path
        May end in .bz2, .gz or .xz.
    n_features : int or None
        Number of columns; None for the largest index in the file, up to 2^24.

    Raises
    ------
    ConfigError
        If `path` or `n_features` is not accepted.
    DataError
        If the file is missing, empty, malformed, or holds one class; names file and line.
    """
    if not path:
        raise ConfigError("dataset.path", path, "the path of a LIBSVM file")
    if n_features is not None and (not is_whole(n_features) or not 1 <= n_features <= _MAX_INDEX):
        raise ConfigError("dataset.n_features", n_features, "a whole number of at least 1, or null")
    where = Path(path).expanduser()
    digest = hashlib.sha256()
    X, labels = read_libsvm(where, n_features, digest)
    y, classes = encode_labels(labels, str(where))
    return Dataset(name, X, y, classes, checksum=digest.hexdigest(), source=str(where))


def _explain(path: Path, n_features: int | None) -> str:
    """Find the first bad line, for a file the library has refused; empty if none is found."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            fields = raw.split(b"#", 1)[0].split()
            problem = _line_problem([field.decode("ascii", "replace") for field in fields], n_features)
            if problem:
                return f"{path}, line {number}: {problem}"
    return ""


def _line_problem(fields: list[str], n_features: int | None) -> str:
    if not fields:
        return ""
    label, *pairs = fields
    if ":" in label:
        return f"no label before {_short(label)}"
    if not math.isfinite(_number(label)):
        return f"label {_short(label)} is not a finite number"
    last = -1
    for pair in pairs[1:] if pairs and pairs[0].startswith("qid:") else pairs:
        index, colon, value = pair.partition(":")
        if not colon or not index.isdecimal():
            return f"{_short(pair)} is not index:value"
        if not math.isfinite(_number(value)):
            return f"feature {_short(index)} has the value {_short(value)}, not a finite number"
        if int(index) <= last:
            return f"index {_short(index)} after index {last}; indices must increase"
        last = int(index)
        most = n_features or _MOST_UNASKED
        if last > most:
            more = "" if n_features else "; if there are as many, set dataset.n_features"
            return f"index {_short(index)} is more than the {most} features accepted{more}"
    return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
