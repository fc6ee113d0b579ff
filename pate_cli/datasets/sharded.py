"""Features that stay in their files, one file in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pate_cli.errors import DataError, InputError
from pate_cli.types import IntArray, without_tiny

__all__ = ["Shard", "ShardedFeatures"]


@dataclass(frozen=True)
class Shard:
    """One file of records.

    Attributes
    ----------
    path : Path
        Absolute: workers may stand elsewhere.
    checksum : str
        SHA-256 (hex) of its bytes when it was first read.
    n_records : int
    """

    path: Path
    checksum: str
    n_records: int


class ShardedFeatures:
    """Rows of features in several files, in the order of the files; `X[rows]` reads those it needs.

    Only the file read last is kept in memory. What is read is compared with the checksum of the first
    reading, so that a file that is changed meanwhile ends the run.

    Parameters
    ----------
    shards : tuple of Shard
    n_features : int
    sparse : bool
        Whether `X[rows]` is a csr_matrix; else an ndarray.
    read : callable
        From the path of a shard to its features and its checksum; a function that can be sent to workers.
    index : ndarray of int64, optional
        Rows that these are of all rows of the shards, ascending; all if left out.
    """

    def __init__(
        self,
        shards: tuple[Shard, ...],
        n_features: int,
        sparse: bool,
        read: Callable[[Path], tuple[Any, str]],
        index: IntArray | None = None,
    ) -> None:
        self.shards = shards
        self.sparse = sparse
        self._read = read
        self._index = index
        self._ends = np.cumsum([shard.n_records for shard in shards])
        self.shape = (int(self._ends[-1]) if index is None else len(index), n_features)
        self._last: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise InputError(
            "dataset=shards: this would need all records at once; mechanisms of teachers' votes do not"
        )

    def take(self, index: IntArray) -> ShardedFeatures:
        """Give some of the rows, ascending, without reading them."""
        if self._index is not None or (np.diff(index) <= 0).any():
            raise ValueError("rows of all shards, ascending, are taken once")
        return ShardedFeatures(self.shards, self.shape[1], self.sparse, self._read, index)

    @property
    def blocks(self) -> IntArray:
        """Number of these rows in each shard."""
        if self._index is None:
            return np.diff(self._ends, prepend=0)
        return np.diff(np.searchsorted(self._index, self._ends), prepend=0)

    def __getitem__(self, rows: Any) -> Any:
        rows = np.arange(self.shape[0])[rows] if isinstance(rows, slice) else np.asarray(rows)
        at = rows if self._index is None else self._index[rows]
        of = np.searchsorted(self._ends, at, side="right")
        order = np.argsort(of, kind="stable")
        found = []
        for shard in np.unique(of).tolist():
            mine = at[order[of[order] == shard]]
            found.append(self._loaded(shard)[mine - (self._ends[shard - 1] if shard else 0)])
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        if self.sparse:
            return sp.csr_matrix(sp.vstack(found, format="csr")[back] if found else (0, self.shape[1]))
        return np.concatenate(found)[back] if found else np.zeros((0, self.shape[1]))

    def _loaded(self, number: int) -> Any:
        if self._last is None or self._last[0] != number:
            self._last = None  # not two of them in memory
            shard = self.shards[number]
            X, checksum = self._read(shard.path)
            if checksum != shard.checksum:
                raise DataError(f"{shard.path}: has changed while it was used; start again")
            self._last = (number, without_tiny(X))
        return self._last[1]
