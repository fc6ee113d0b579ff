"""A dataset by its content, whatever its name and wherever its files are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pate_cli.types import Dataset, Part

__all__ = ["fingerprint"]


def fingerprint(dataset: Dataset) -> str:
    """SHA-256 (hex) of what the records are: features, class codes, classes, encoder.

    Computed once for a dataset, at about a second for a gigabyte; it goes where the dataset goes.
    """
    kept = vars(dataset)
    if "_fingerprint" not in kept:
        kept["_fingerprint"] = _digest(dataset)
    return str(kept["_fingerprint"])


def _digest(dataset: Dataset) -> str:
    encoder = dataset.encoder and sorted((key, repr(v)) for key, v in dataset.encoder.get_params().items())
    digest = hashlib.sha256(repr((dataset.X.shape, dataset.classes, encoder)).encode())
    held = [dataset.y, *_parts(dataset.X)]
    if dataset.units is not None:
        held.append(dataset.units)
    for name in ("public", "test"):
        file: Part | None = getattr(dataset, name)
        if file is not None:
            digest.update(f"{name} {file.X.shape} {file.y is None}".encode())
            held += [*_parts(file.X), *([] if file.y is None else [file.y])]
    for part in held:
        if isinstance(part, bytes):
            digest.update(f"text {len(part)} ".encode() + part)
        else:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str} {array.shape} ".encode())
            digest.update(array.data)
    return digest.hexdigest()


def _parts(X: Any) -> Iterator[Any]:
    """Arrays and texts that hold all of the features."""
    if isinstance(X, np.ndarray):
        yield X
    elif hasattr(X, "indptr"):
        yield from (X.data, X.indices, X.indptr)
    elif hasattr(X, "shards"):
        yield repr([(shard.checksum, shard.n_records) for shard in X.shards]).encode()
    else:  # a table: numbers as they are, anything else as text that no other value has
        for name, column in X.items():
            yield repr(name).encode("utf-8", "backslashreplace")
            if column.dtype.kind in "biuf":
                yield column.to_numpy()
            elif hasattr(column, "cat"):
                yield repr(column.cat.categories.tolist()).encode("utf-8", "backslashreplace")
                yield column.cat.codes.to_numpy()
            else:
                yield repr(column.tolist()).encode("utf-8", "backslashreplace")
