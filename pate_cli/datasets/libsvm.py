"""Files in LIBSVM's sparse text format: `label index:value index:value ...`, a record a line."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from pate_cli.checks import Or, Whole, option
from pate_cli.datasets.labels import encode_parts
from pate_cli.datasets.options import FileOptions
from pate_cli.errors import DataError
from pate_cli.types import Dataset, FloatArray, Part

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Options", "load", "open_bytes", "parse", "read_libsvm"]

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

    def readall(self) -> bytes:
        content: bytes = self._file.readall()  # at once, where it would be 8 KB at a time
        self._digest.update(content)
        return content

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def open_bytes(path: Path, digest: Any = None) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing .bz2, .gz and .xz, and .zip with one file in it.

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
        if path.suffix == ".zip":
            yield _unzipped(path, digest)
            return
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
    except (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile):
        raise DataError(f"{path}: the compressed file is cut short or damaged") from None
    except OSError as error:
        if error.strerror is None:  # not from the system: gzip and bz2 say "not my format" so
            raise DataError(f"{path}: not a {path.suffix} file, or damaged") from None
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _unzipped(path: Path, digest: Any) -> IO[bytes]:
    """Give the one file of an archive."""
    data = path.read_bytes()
    if digest is not None:
        digest.update(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        members = [member for member in members if not member.startswith("__MACOSX/")]  # macOS adds these
        if len(members) != 1:
            raise DataError(f"{path}: holds {len(members)} files; accepted: an archive of one")
        return io.BytesIO(archive.read(members[0]))


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
    """Load any file in LIBSVM's format, or three.

    Labels of a public file that are none of the classes are placeholders: it is taken as unlabelled.

    Raises
    ------
    ConfigError
        If no file is named.
    DataError
        If a file is missing, empty, malformed, or holds one class; names file and line.
    """
    where = options.private_path("a LIBSVM file")
    n_features, public = options.n_features, None
    if options.public is not None:
        public = _read(options.public, n_features)
        n_features = public.X.shape[1]
    try:
        private = _read(where, n_features)
    except DataError as error:
        if public is None or options.n_features is not None or "features accepted" not in str(error):
            raise
        raise DataError(f"{error}; the public file has so many, dataset.n_features says how many") from None
    held = options.test is not None
    test = _read(str(options.test), private.X.shape[1]) if held else None
    if public is not None and not np.isin(public.labels, private.labels).any():
        public = replace(public, labels=None)
    y, classes, from_private = encode_parts(
        [file.labels if file else None for file in (private, public, test)],
        [str(where), options.public, options.test],
        options.classes,
        lambda part, row: _label_place((private, public, test)[part], row),
    )
    return Dataset(
        name=name,
        X=private.X,
        y=y[0],
        classes=classes,
        checksum=private.checksum,
        source=str(where),
        public=None if public is None else Part(public.X, y[1], public.checksum),
        test=None if test is None else Part(test.X, y[2], test.checksum),
        classes_from_private=from_private,
    )


@dataclass(frozen=True, eq=False)
class _File:
    path: Path
    X: Any
    labels: Any
    checksum: str


def _read(path: str | Path, n_features: int | None) -> _File:
    where = Path(path).expanduser()
    return _File(where, *parse(where, n_features))


def parse(path: Path, n_features: int | None = None) -> tuple[sp.csr_matrix, FloatArray, str]:
    """Read as `read_libsvm` does; gives the SHA-256 (hex) of the file's bytes, too.

    Raises
    ------
    DataError
        As `read_libsvm`; if a single record uses index 0, which would decide what all indices mean.
    """
    digest = hashlib.sha256()
    X, y = read_libsvm(path, n_features, digest)
    if np.count_nonzero(X.indices == 0) == 1 and (line := _first_with_0(path)):
        accepted = "index 0 in no record, or in two (0:0 is one), as where indices are counted from 0"
        raise DataError(f"{path}, line {line}: the only index 0; accepted: {accepted}")
    return X, y, digest.hexdigest()


def _label_place(file: _File | None, row: int) -> str:
    """Name the line of a record: lines without one are not counted as records."""
    if file is None:
        raise RuntimeError("a label of no file")
    with open_bytes(file.path) as stream:
        lines = (number for number, raw in enumerate(stream, start=1) if raw.split(b"#", 1)[0].strip())
        return f"{file.path}, line {next(islice(lines, row, None), 0)}"


def _first_with_0(path: Path) -> int:
    """Number of the first line whose indices begin with 0; 0 if there is none."""
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            pairs = [field for field in raw.split(b"#", 1)[0].split()[1:] if not field.startswith(b"qid:")]
            if pairs and int(pairs[0].partition(b":")[0]) == 0:
                return number
    return 0


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
