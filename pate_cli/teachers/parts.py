"""Number of teachers, and disjoint parts of the private records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.types import IntArray, PrivateRecords

__all__ = ["check_disjoint", "deal", "n_teachers", "partition", "partition_blocks"]


def n_teachers(n_private: int, *, size: int | None, count: int | None) -> int:
    """Number of teachers, K in [1, n_private]: `count`, or as many as have `size` records each.

    Raises `ConfigError` if there would be no teacher, or one without a record.
    """
    key, value = ("teacher.size", size) if count is None else ("teacher.count", count)
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= n_private:
        raise ConfigError(key, value, f"an integer from 1 to {n_private} (the private records)")
    return n_private // value if count is None else int(value)


def deal(private: PrivateRecords, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """K disjoint random parts of the private records, as record numbers; a person's records share a part."""
    if private.blocks is None:
        parts = partition(private.n_persons, n_teachers, rng)
    else:
        parts = partition_blocks(private.blocks, n_teachers, rng)
    check_disjoint(parts, private.n_persons)
    if private.persons is None:
        return parts
    starts = np.searchsorted(private.persons, np.arange(private.n_persons + 1))
    parts = [np.concatenate([np.arange(starts[u], starts[u + 1]) for u in part]) for part in parts]
    check_disjoint(parts, private.n_records)
    return parts


def partition(n_records: int, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut records into disjoint random parts that cover them all; sizes differ by at most one.

    Where a record goes depends on `rng` and the two sizes alone, so one changed record changes one part.
    """
    if not 1 <= n_teachers <= n_records:
        accepted = f"1 to {n_records} teachers (the private records; a teacher needs one)"
        raise ConfigError("teacher.count", n_teachers, accepted)
    return np.array_split(rng.permutation(n_records).astype(np.int64, copy=False), n_teachers)


def partition_blocks(blocks: IntArray, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut records that lie in blocks, as in files, into disjoint random parts, none across two blocks.

    Each block gets teachers by its size, at least one. Where a record goes depends on `rng`, the sizes of the
    blocks and K alone, so one replaced record changes one part, as in `partition`; the sizes are taken as
    public, as the number of records is. A teacher learns from one block only: from one month, or hospital.
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
