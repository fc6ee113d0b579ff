"""Arrays in NumPy's format: an .npz file with `X` (numbers, a row a record) and `y`, or three."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.datasets.labels import encode_parts
from pate_cli.datasets.libsvm import open_bytes
from pate_cli.datasets.options import FileOptions
from pate_cli.errors import DataError
from pate_cli.types import Dataset, Part

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=npz`."""


def load(name: str, options: Options) -> Dataset:
    """Load arrays; the public file needs no `y`.

    Raises
    ------
    DataError
        If a file is missing, no .npz file, or its arrays do not fit; names the file and the row.
    """
    where = options.private_path("an .npz file")
    private = _read(where, labelled=True)
    public = None if options.public is None else _read(options.public, labelled=False)
    test = None if options.test is None else _read(options.test, labelled=True)
    held = (private, public, test)
    for file in held:
        if file is not None and file[1].shape[1] != private[1].shape[1]:
            raise DataError(
                f"{file[0]}: X has {file[1].shape[1]} columns, that of {where} {private[1].shape[1]}"
            )

    def place(part: int, row: int) -> str:
        file = held[part]
        return f"{file and file[0]}, row {row}"

    codes, classes, from_private = encode_parts(
        [file and file[2] for file in held],
        [str(file[0]) if file else None for file in held],
        options.classes,
        place,
    )

    def part(file: Any, y: Any) -> Part | None:
        return None if file is None else Part(file[1], y, file[3])

    return Dataset(
        name=name,
        X=private[1],
        y=codes[0],
        classes=classes,
        checksum=private[3],
        source=str(where),
        public=part(public, codes[1]),
        test=part(test, codes[2]),
        classes_from_private=from_private,
    )


def _read(path: str | Path, *, labelled: bool) -> tuple[Path, Any, Any, str]:
    """Path, X, y (None where there is none) and checksum of a file."""
    where, digest = Path(path).expanduser(), hashlib.sha256()
    with open_bytes(where, digest) as stream:
        raw = stream.read()
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"] if "y" in arrays.files else None
    except (ValueError, OSError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(f"{where}: not an .npz file with X and y ({' '.join(str(error).split())})") from None
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise DataError(f"{where}: X is {X.dtype} of shape {X.shape}; numbers are needed, a row a record")
    if y is None and labelled:
        raise DataError(f"{where}: no y in it, the class of each record")
    if y is not None and (y.shape != X.shape[:1] or y.dtype.kind not in "biufU"):
        raise DataError(f"{where}: y is {y.dtype} of shape {y.shape}; a class of each row of X is needed")
    X = np.ascontiguousarray(X, dtype=np.float64)
    for what, values in (("X", X), ("y", y)):
        if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise DataError(f"{where}, row {row}: {what} holds {values[row]}; finite numbers are needed")
    if y is not None:
        y = y.astype(np.float64) if y.dtype.kind != "U" else y
    return where, X, y, digest.hexdigest()
