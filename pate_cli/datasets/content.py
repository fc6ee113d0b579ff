"""Fingerprint of a dataset by its content alone, not its name or the places of its files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pate_cli.types import Dataset

__all__ = ["fingerprint"]


def fingerprint(dataset: Dataset) -> str:
    """SHA-256 (hex) of the records: features, class codes, classes, encoder. Computed once for a dataset."""
    kept = vars(dataset)
    if "_fingerprint" not in kept:
        kept["_fingerprint"] = _digest(dataset)
    return str(kept["_fingerprint"])


def _digest(dataset: Dataset) -> str:
    encoder = dataset.encoder and sorted((key, repr(v)) for key, v in dataset.encoder.get_params().items())
    names = dataset.labels or dataset.classes
    digest = hashlib.sha256(repr((dataset.X.shape, names, encoder)).encode())
    arrays: list[Any] = [dataset.y, *_arrays(dataset.X), dataset.persons]
    parts: tuple[tuple[str, Any], ...] = (("public", dataset.public), ("test", dataset.test))
    for name, file in parts:
        if file is not None:
            digest.update(f"{name} {file.X.shape} {file.y is None}".encode())
            arrays += [*_arrays(file.X), file.y]
            if hasattr(file, "made"):  # points that each split makes
                digest.update(repr((file.columns, file.marginals, file.n_points, file.target)).encode())
    for array in arrays:
        if array is not None:
            digest.update(f"{array.dtype.str} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _arrays(X: Any) -> Iterator[Any]:
    """Arrays that hold all of the features."""
    if isinstance(X, np.ndarray):
        yield X
    elif hasattr(X, "indptr"):
        yield from (X.data, X.indices, X.indptr)
    elif hasattr(X, "shards"):
        yield np.array([shard.checksum for shard in X.shards])
    else:
        import pandas as pd

        yield np.array([f"{name} {dtype.kind}" for name, dtype in X.dtypes.items()])
        for _, column in X.items():
            yield pd.util.hash_pandas_object(column, index=False).to_numpy()
