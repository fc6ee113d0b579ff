"""Digest of the multiset of a dataset's records: the same however the records are written down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.datasets.column import is_missing
from pate_cli.datasets.labels import identity
from pate_cli.types import Dataset

__all__ = ["record_digests"]

_Codes = NDArray[np.uint64]

_ROWS = 2**14
"""Records in memory at a time."""

_NAN = 0x7FC00000
_TEXT = 1 << 63  # of no code of a number
_LANES = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03))


def record_digests(dataset: Dataset, salts: Sequence[str]) -> list[str]:
    """Digest of the private records and their labels under each salt (hex); hex.

    It is the same for the same records in another order, with their columns in another order or under other
    names, in a sparse or a dense form, and to the seven digits that all formats keep; the label is a column
    as any other, and the persons are left out. Columns are known by their cells. The records' keyed hashes
    (BLAKE2b, 512 bits) are added modulo 2^512: nothing is kept of a single record, and only who has the salt
    and all other records can test a guess at one.
    """
    columns = np.zeros(dataset.n_features + 1, dtype=np.uint64)
    for _, _, column, code in _cells(dataset):
        np.add.at(columns, column, _mixed(code))
    columns = _mixed(columns)
    keys = [bytes.fromhex(salt) for salt in salts]
    sums = [0] * len(salts)
    for n_rows, row, column, code in _cells(dataset):
        records = np.zeros((n_rows, len(_LANES)), dtype=np.uint64)
        for lane, constant in enumerate(_LANES):
            np.add.at(records[:, lane], row, _mixed(columns[column] ^ _mixed(code + constant)))
        for number, key in enumerate(keys):
            for record in records:
                hashed = hashlib.blake2b(record.tobytes(), key=key, digest_size=64).digest()
                sums[number] += int.from_bytes(hashed, "big")
    whole = [(total % 2**512).to_bytes(64, "big") for total in sums]
    return [
        hashlib.blake2b(total, key=key, digest_size=32).hexdigest()
        for total, key in zip(whole, keys, strict=True)
    ]


def _cells(dataset: Dataset) -> Iterator[tuple[int, Any, Any, _Codes]]:
    """Number of records, and row, column and code of each cell that is not 0, of a few records at a time."""
    X: Any = dataset.X
    classes = np.array([_code_of(name) for name in dataset.labels or dataset.classes], dtype=np.uint64)
    coders = [_coder(cells) for _, cells in X.items()] if hasattr(X, "iloc") else []
    for start in range(0, dataset.n_records, _ROWS):
        rows = slice(start, min(start + _ROWS, dataset.n_records))
        part = np.stack([coder(rows) for coder in coders], axis=1) if coders else _coded(X[rows])
        row, column = part.nonzero()
        code = np.asarray(part[row, column]).ravel()
        labels = classes[dataset.y[rows]]
        label_row = labels.nonzero()[0]
        yield (
            rows.stop - start,
            np.concatenate([row, label_row]),
            np.concatenate([column, np.full(len(label_row), dataset.n_features)]),
            np.concatenate([code, labels[label_row]]),
        )


def _coder(cells: Any) -> Callable[[slice], _Codes]:
    """Function that codes some cells of a table's column."""
    if not hasattr(cells, "cat"):
        return lambda rows: _coded(cells.iloc[rows].to_numpy(dtype=np.float64))
    names = np.array([_code_of(text) for text in cells.cat.categories], dtype=np.uint64)
    return lambda rows: names[cells.cat.codes.to_numpy()[rows]]


def _coded(numbers: Any) -> Any:
    """Code an array or a sparse matrix of numbers: their bits as float32, with one zero and one NaN."""
    if hasattr(numbers, "tocsr"):
        sums = numbers.tocsr()
        return type(sums)((_coded(sums.data), sums.indices, sums.indptr), shape=sums.shape)
    with np.errstate(all="ignore"):
        single = np.asarray(numbers).astype(np.float32) + np.float32(0)
    codes: _Codes = single.view(np.uint32).astype(np.uint64)
    codes[np.isnan(single)] = _NAN
    return codes


def _code_of(text: Any) -> int:
    """Code a text: as the number that it is, or by its hash."""
    plain = identity(str(text))
    if isinstance(plain, Decimal):
        return int(_coded([float(plain)])[0])
    if is_missing(str(plain)):
        return _NAN
    hashed = hashlib.sha256(str(plain).encode("utf-8", "replace")).digest()
    return int.from_bytes(hashed[:8], "big") | _TEXT


def _mixed(codes: _Codes) -> _Codes:
    """Mix bits (the finaliser of SplitMix64), so that sums of codes are sums of random numbers."""
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
