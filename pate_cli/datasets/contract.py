"""What a `Dataset` is, so that one of somebody's loader can be refused before a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from pate_cli.datasets.labels import identity
from pate_cli.types import Dataset

__all__ = ["fault"]


def fault(data: Any) -> str:
    """What is wrong with what a loader returned, first thing first; empty of a whole `Dataset`."""
    if not isinstance(data, Dataset):
        return f"no Dataset but {type(data).__name__}"
    return next(_faults(data), "")


def _faults(data: Dataset) -> Iterator[str]:
    names = data.labels or data.classes
    identities = [identity(name) for name in names if isinstance(name, str) and name]
    if len(identities) < len(names):
        yield "a class without a name"
    if len(set(identities)) < len(names):
        yield "two classes of one name, or of names that are equal as numbers"
    yield from _features(data.X, data.encoder)
    yield from _codes(data.y, data.n_records, len(names))
    if data.classes_from_private and len(np.unique(data.y)) < 2:  # else one record would decide it
        yield "records of one class alone"
    if not all(isinstance(text, str) and text for text in (data.checksum, data.source)):
        yield "no checksum, or no source, which are texts"
    if (data.persons is None) != (data.person_column is None):
        yield "persons without a name, or a name without persons"
    if (persons := data.persons) is not None:
        if not (isinstance(persons, np.ndarray) and persons.dtype.kind in "iu"):
            yield "persons is no array of whole numbers"
        elif persons.shape != (data.n_records,) or persons.min() < 0 or not np.bincount(persons).all():
            yield "persons are not numbered from 0 without a gap"
    for name, part in (("public", data.public), ("test", data.test)):
        if part is None:
            continue
        if part.X.shape[1:] != data.X.shape[1:]:
            yield f"{name}: other columns"
        if part.checksum == data.checksum:
            yield f"{name}: the private file"
        yield from (f"{name}: {text}" for text in _features(part.X, data.encoder))
        if part.y is not None:
            yield from (f"{name}: {text}" for text in _codes(part.y, part.n_records, len(names), least=-1))
    warnings = data.warnings
    if not all(text and "\n" not in text for text in warnings):
        yield "a warning that is not one line"
    if not set(data.public_warnings) <= set(warnings):
        yield "a warning of a release that an experiment has not"


def _codes(y: Any, n: int, n_classes: int, least: int = 0) -> Iterator[str]:
    if not (isinstance(y, np.ndarray) and y.dtype == np.int64 and y.shape == (n,)):
        yield f"y is no int64 array of {n:,} class codes"
    elif n and not (y.min() >= least and y.max() < n_classes):
        yield f"y has a code beyond 0 to {n_classes - 1}"


def _features(X: Any, encoder: Any) -> Iterator[str]:
    if len(getattr(X, "shape", ())) != 2:
        yield "X is no array of two dimensions"
    elif sp.issparse(X) and X.format != "csr":
        yield f"X is a sparse matrix of format {X.format}, not csr"
    elif hasattr(X, "dtypes"):
        if encoder is None:
            yield "X is a table, and there is no encoder"
    elif not hasattr(X, "shards"):
        values = X.data if sp.issparse(X) else X
        # rows of a np.matrix multiply otherwise, and a masked array has numbers where it has none
        if type(values) not in (np.ndarray, np.memmap) or values.dtype.kind not in "biuf":
            yield "X is no array of numbers, csr_matrix or DataFrame"
        elif not np.isfinite(values).all():
            yield "X has numbers that are not finite"
