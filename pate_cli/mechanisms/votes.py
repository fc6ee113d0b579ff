"""The two functions of a vote that the mechanisms rest on, and their sensitivity."""

from __future__ import annotations

import numpy as np

from pate_cli.types import FloatArray, IntArray

__all__ = ["distance_to_instability", "lead", "majority", "max_distance"]


def majority(counts: IntArray | FloatArray) -> IntArray:
    """Class with the most votes; a tie goes to the highest class code.

    Parameters
    ----------
    counts : ndarray of shape (m, C)

    Returns
    -------
    ndarray of int64, shape (m,)

    Notes
    -----
    For two classes this is ``1(votes for class 1 >= K/2)``, as LZCW21 Algorithms 1 and 2 say.
    """
    n_classes = counts.shape[1]
    if n_classes == 2:  # the same, without sorting out more than two
        return (counts[:, 1] >= counts[:, 0]).astype(np.int64)
    winners: IntArray = (n_classes - 1 - np.argmax(counts[:, ::-1], axis=1)).astype(np.int64)
    return winners


def distance_to_instability(counts: IntArray) -> IntArray:
    """``max(0, ceil((n1 - n2)/2) - 1)``, n1 and n2 the two largest counts of each row.

    Parameters
    ----------
    counts : ndarray of int64, shape (m, C)

    Returns
    -------
    ndarray of int64, shape (m,)
        In votes. If positive, no change of one vote changes the majority.

    Notes
    -----
    Sensitivity 1: one moved vote changes ``n1 - n2`` by at most 2. BTT18's ``n1 - n2 - 1``
    has sensitivity 2 and must not be used with these constants.
    """
    dist: IntArray = np.maximum(0, (lead(counts) + 1) // 2 - 1)
    return dist


def lead(counts: IntArray) -> IntArray:
    """Votes of the largest count less those of the second, shape (m,)."""
    top = np.partition(counts, -2, axis=1)[:, -2:]
    found: IntArray = top[:, 1] - top[:, 0]
    return found


def max_distance(n_teachers: int) -> int:
    """Distance to instability of a unanimous vote, in votes."""
    return max(0, -(-n_teachers // 2) - 1)
