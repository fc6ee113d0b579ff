"""Sparse records that were parsed once, as a binary file that is checked, then mapped into memory.

A file is named by the SHA-256 of the source it was parsed from, and holds the SHA-256 of what it holds: one
that is of another source, cut short or changed in a byte is not used, and the source is parsed again. Worker
processes map the same pages; nothing is copied to them. Files may hold private records, so they are their
owner's alone, in a directory that nobody else can enter.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pate_cli.types import FloatArray
from pate_cli.writing import write_file

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["keep", "place", "recall"]

_MAGIC = b"pate parsed records 1\n"
_HEAD = 4096
"""Bytes before the first array: the magic, and what follows it as JSON."""

_ARRAYS = ("data", "indices", "indptr", "labels")


def place() -> Path:
    """Directory of the files: `parsed` in the user's cache."""
    import pooch

    return Path(pooch.os_cache("pate")) / "parsed"


def recall(source: str, n_features: int | None) -> tuple[sp.csr_matrix, FloatArray] | None:
    """Give the records parsed from a source; None if there are none that can be relied on.

    Parameters
    ----------
    source : str
        SHA-256 (hex) of the bytes of the source.
    n_features : int or None
        As it was asked of the parser.

    Returns
    -------
    X : csr_matrix of float64, shape (n, d)
        Its arrays are mapped from the file, read only.
    y : ndarray of float64, shape (n,)
    """
    import scipy.sparse as sp

    path = _path(source, n_features)
    try:
        if not _is_ours(path.parent):
            return None
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        head = bytes(whole[:_HEAD])
        if not head.startswith(_MAGIC):
            return None
        said = json.loads(head[len(_MAGIC) :].rstrip(b"\0"))
        sound = hashlib.sha256(whole[_HEAD:].data).hexdigest() == said["sha256"]
        if not sound or said["source"] != source or said["n_features"] != n_features:
            return None
        held, at = {}, _HEAD
        for name in _ARRAYS:
            dtype, length = np.dtype(said["dtypes"][name]), said["lengths"][name]
            held[name] = np.memmap(path, dtype=dtype, mode="r", offset=at, shape=(length,))
            at += _padded(length * dtype.itemsize)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    X = sp.csr_matrix((held["data"], held["indices"], held["indptr"]), shape=tuple(said["shape"]), copy=False)
    # scipy has made plain arrays of them, which are copied to each worker process; these are mapped there
    X.data, X.indices, X.indptr = held["data"], held["indices"], held["indptr"]
    X.has_sorted_indices = X.has_canonical_format = True  # as the parser gives them; else scipy would look
    return X, np.array(held["labels"])


def keep(source: str, n_features: int | None, X: sp.csr_matrix, y: FloatArray) -> bool:
    """Write records down for `recall`; False where that cannot be done, which is no error.

    Parameters
    ----------
    source, n_features
        As of `recall`.
    X : csr_matrix of float64, shape (n, d)
    y : ndarray of float64, shape (n,)
    """
    arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "labels": y}
    body = b"".join(_bytes(array) for array in arrays.values())
    said: dict[str, Any] = {
        "source": source,
        "n_features": n_features,
        "sha256": hashlib.sha256(body).hexdigest(),
        "shape": list(X.shape),
        "dtypes": {name: array.dtype.str for name, array in arrays.items()},
        "lengths": {name: len(array) for name, array in arrays.items()},
    }
    head = _MAGIC + json.dumps(said).encode()
    path = _path(source, n_features)
    with contextlib.suppress(OSError):
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if _is_ours(path.parent):
            write_file(path, head.ljust(_HEAD, b"\0") + body, sync=False, permissions=0o600)
            return True
    return False


def _path(source: str, n_features: int | None) -> Path:
    return place() / f"{source}-{n_features or 'all'}.csr"


def _is_ours(directory: Path) -> bool:
    """Whether a directory is there, is no link, and its owner, who we are, is the only one to enter it."""
    status = os.lstat(directory)
    owner = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return stat.S_ISDIR(status.st_mode) and owner and not stat.S_IMODE(status.st_mode) & 0o077


def _padded(size: int) -> int:
    return -(-size // 64) * 64


def _bytes(array: Any) -> bytes:
    content = np.ascontiguousarray(array).tobytes()
    return content.ljust(_padded(len(content)), b"\0")
