"""Arrays in NumPy's format: an .npz file with `X` (numbers, a row a record) and `y`."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pate_cli.datasets.labels import Labels
from pate_cli.datasets.reading import read_bytes
from pate_cli.datasets.signatures import other_format
from pate_cli.datasets.three_files import FileOptions, LoadedFile, dataset_of
from pate_cli.datasets.unpacking import check_members
from pate_cli.errors import DataError
from pate_cli.types import Dataset

__all__ = ["Options", "load"]


@dataclass(frozen=True)
class Options(FileOptions):
    """Options of `dataset=npz`."""


def load(name: str, options: Options) -> Dataset:
    """Load an .npz file, or three; the public one needs no `y`."""
    where, *others = options.paths("an .npz file")
    private = _read(where)
    public, test = (None if path is None else _read(path) for path in others)
    n_columns = private.X.shape[1]
    for file in (private, public, test):
        if file is not None and file.X.shape[1] != n_columns:
            raise DataError(f"{file.path}: X has {file.X.shape[1]} columns, that of {where} {n_columns}")
        if file is not None and file.labels is None and file is not public:
            raise DataError(f"{file.path}: no y in it, the class of each record")
    return dataset_of(name, options.classes, private, public, test)


def _read(path: Path) -> LoadedFile:
    content, checksum = read_bytes(path)
    if not content.startswith(b"PK"):  # an archive, of arrays
        accepted = "an .npz file with X and y, as np.savez(FILE, X=X, y=y) writes"
        raise DataError(f"{path}: {other_format(content) or 'no arrays of NumPy'}; accepted: {accepted}")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            check_members(arrays.zip, len(content))
            if "X" not in arrays.files:
                raise DataError(f"it holds {', '.join(arrays.files) or 'nothing'}; accepted: X and y")
            X, y = arrays["X"], arrays["y"] if "y" in arrays.files else None
        if y is not None and y.dtype.kind == "S":
            y = np.char.decode(y, "utf-8")
        y = y[:, 0] if y is not None and y.ndim == 2 and y.shape[1] == 1 else y
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except MemoryError:
        raise DataError(f"{path}: its arrays do not fit into memory") from None
    except (ValueError, OSError, EOFError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        message = " ".join(str(error).split())
        if "pickle" in message:
            message = "an array of objects; accepted: numbers, or y.astype(str)"
        raise DataError(f"{path}: not an .npz file with X and y ({message})") from None
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size:
        raise DataError(f"{path}: X is {X.dtype} of shape {X.shape}; numbers are needed, a row a record")
    if y is not None and (y.shape != X.shape[:1] or y.dtype.kind not in "biufU"):
        raise DataError(f"{path}: y is {y.dtype} of shape {y.shape}; a class of each row of X is needed")
    X = np.ascontiguousarray(X, dtype=np.float64)
    for what, values in (("X", X), ("y", y)):
        if values is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise DataError(f"{path}, row {row}: {what} holds {values[row]}; finite numbers are needed")

    def place(row: int) -> str:
        return f"{path}, row {row}"

    labels = None
    if y is not None:
        labels = Labels.of(y.astype(np.int64) if y.dtype.kind == "b" else y)
    return LoadedFile(path, X, labels, checksum, place)
