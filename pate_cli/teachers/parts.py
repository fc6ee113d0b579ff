"""How many teachers, and which private records each of them sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.types import IntArray

__all__ = ["check_disjoint", "n_teachers", "partition"]


def n_teachers(n_private: int, *, size: int | None, count: int | None) -> int:
    """Say how many teachers there are, from public numbers alone.

    Parameters
    ----------
    n_private : int
        Number of private records.
    size : int or None
        Records a teacher, at least; used where `count` is None.
    count : int or None
        Number of teachers.

    Returns
    -------
    int
        K: `count`, or `n_private // size`, in [1, n_private].

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


def partition(n_records: int, n_teachers: int, rng: np.random.Generator) -> list[IntArray]:
    """Cut records into disjoint random parts that cover them all.

    Which record goes where depends on `rng` and the two sizes alone, never on the records: that is
    why one changed record changes one part.

    Parameters
    ----------
    n_records : int
        Number of private records.
    n_teachers : int
        Number of parts, K, in [1, n_records].
    rng : Generator

    Returns
    -------
    list of ndarray of int64
        K arrays of record indices; their sizes differ by at most one.

    Raises
    ------
    ConfigError
        If there are more teachers than records, or none.
    """
    if not 1 <= n_teachers <= n_records:
        accepted = f"1 to {n_records} teachers (the private records; a teacher needs one)"
        raise ConfigError("teacher.count", n_teachers, accepted)
    return np.array_split(rng.permutation(n_records).astype(np.int64, copy=False), n_teachers)


def check_disjoint(parts: Sequence[IntArray], n_records: int) -> None:
    """Stop the run if two parts share a record, or a part has a record that is not there.

    Parameters
    ----------
    parts : sequence of ndarray of int64
    n_records : int

    Raises
    ------
    RuntimeError
        If the parts are not disjoint. This is our fault, never the user's.
    """
    records = np.concatenate(parts)
    if records.min() < 0 or records.max() >= n_records:
        raise RuntimeError("a part holds a record that does not exist")
    if np.bincount(records, minlength=n_records).max() > 1:
        raise RuntimeError("the parts share a record: every epsilon would be void")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
