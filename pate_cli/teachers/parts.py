"""The number of teachers, and the disjoint parts of the private records that they learn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.types import IntArray, PrivateRecords

__all__ = ["check_disjoint", "deal", "n_teachers", "partition", "partition_blocks"]


def n_teachers(n_private: int, *, size: int | None, count: int | None) -> int:
    """Number of teachers, K in [1, n_private]: `count`, or else that of `size` records each, at least.

    Raises
    ------
    ConfigError
        If there would be no teacher, or a teacher without a record.

    Examples
    --------
    >>> n_teachers(6_499, size=20, count=None), n_teachers(39_073, size=100, count=None)
    (324, 390)
    """
    if count is not None:
        if not _is_whole(count) or not 1 <= count <= n_private:
            accepted = f"an integer from 1 to {n_private} (the private records; a teacher needs one)"
            raise ConfigError("teacher.count", count, accepted)
        return int(count)
    if not _is_whole(size) or not 1 <= size <= n_private:  # type: ignore[operator]
        accepted = f"an integer from 1 to {n_private} (the private records)"
        raise ConfigError("teacher.size", size, accepted)
    return n_private // size  # type: ignore[operator]


def deal(private: PrivateRecords, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Deal the private records out: K disjoint arrays of record numbers, all of one person in one of them."""
    if private.blocks is None:
        parts = partition(private.n_units, n_teachers, rng)
    else:
        parts = partition_blocks(private.blocks, n_teachers, rng)
    check_disjoint(parts, private.n_units)
    if private.units is None:
        return parts
    starts = np.searchsorted(private.units, np.arange(private.n_units + 1))
    parts = [np.concatenate([np.arange(starts[u], starts[u + 1]) for u in part]) for part in parts]
    check_disjoint(parts, private.n_records)
    return parts


def partition(n_records: int, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut records into disjoint random parts that cover them all.

    Which record goes where depends on `rng` and the two sizes alone, never on the records: that is
    why one changed record changes one part. Sizes of parts differ by at most one.
    """
    if not 1 <= n_teachers <= n_records:
        accepted = f"1 to {n_records} teachers (the private records; a teacher needs one)"
        raise ConfigError("teacher.count", n_teachers, accepted)
    return np.array_split(rng.permutation(n_records).astype(np.int64, copy=False), n_teachers)


def partition_blocks(blocks: IntArray, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut records that lie in blocks, as in files, into disjoint random parts, none across two blocks.

    Each block gets teachers by its size, at least one, and its records are dealt to them by `partition`.
    Which record goes where depends on `rng`, the sizes of the blocks and the number of teachers alone, never
    on what a record holds. So two data sets that differ in one record, replaced where it lies, give the same
    parts, and that record is in one of them: the guarantee of every mechanism on votes holds as it does for
    `partition`. The sizes of the blocks are taken as public, as the number of records is. What is lost is
    not privacy but mixing: a teacher sees one block only, and if a block is unlike the others, as a month or
    a hospital may be, so is its teacher.

    Parameters
    ----------
    blocks : ndarray of int64, shape (b,)
        Number of records in each block; records are numbered through all of them.
    n_teachers : int
        K, at least the number of blocks with records and at most the number of records.
    rng : Generator
    """
    sizes = np.asarray(blocks, dtype=np.int64)
    full = int(np.count_nonzero(sizes))
    if not full <= n_teachers <= sizes.sum():
        accepted = f"{full} to {sizes.sum()} teachers (a file has one or more)"
        raise ConfigError("teacher.count", n_teachers, accepted)
    counts = np.minimum(sizes, np.maximum(1, sizes * n_teachers // sizes.sum()))
    while counts.sum() != n_teachers:  # at most once a block; the first of several that are alike
        share = sizes / np.maximum(counts, 1)
        if counts.sum() < n_teachers:
            counts[np.argmax(np.where(counts < sizes, share, -np.inf))] += 1
        else:
            counts[np.argmin(np.where(counts > 1, share, np.inf))] -= 1
    starts = np.cumsum(sizes) - sizes
    return [
        start + part
        for start, size, count in zip(starts.tolist(), sizes.tolist(), counts.tolist(), strict=True)
        if count
        for part in partition(size, count, rng)
    ]


def check_disjoint(parts: Sequence[IntArray], n_records: int) -> None:
    """Stop the run if two parts share a record, or a part has a record that is not there."""
    records = np.concatenate(parts)
    if records.min() < 0 or records.max() >= n_records:
        raise RuntimeError("a part holds a record that does not exist")
    if np.bincount(records, minlength=n_records).max() > 1:
        raise RuntimeError("the parts share a record: every epsilon would be void")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
