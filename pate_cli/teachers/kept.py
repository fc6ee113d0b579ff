"""One entry: the votes of one repeat and a few figures, and their form as bytes.

The form is a line of magic, a SHA-256 of all that follows, a header in JSON and the counts as they
are in memory. The header holds the whole key, so that a file under another entry's name is
noticed. No pickle: reading a file runs nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pate_cli.types import IntArray

__all__ = ["Damaged", "KeptVotes", "decode", "encode"]

_MAGIC = b"pate votes 1\n"
_DIGEST = 32
_LENGTH = 8
_COUNTS = np.dtype("<i8")


class Damaged(ValueError):
    """Bytes that are not the entry they should be."""


@dataclass(frozen=True, repr=False, eq=False)
class KeptVotes:
    """What the teachers of one repeat leave. PRIVATE.

    Unlike `pate_cli.types.Votes` it can be pickled: it is what goes between the worker processes of
    one run, and into the cache.

    Attributes
    ----------
    counts : ndarray of int64, shape (m, C)
        How many teachers chose each class.
    teacher_accuracy : float
        Mean over teachers, on the test split. Not differentially private.
    ceilings : dict of str to float
        Accuracy of a student on the exact votes, by student, as far as known. Not differentially private.
    """

    counts: IntArray
    teacher_accuracy: float
    ceilings: dict[str, float] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """Memory it takes, roughly."""
        return self.counts.nbytes + 200 * (len(self.ceilings) + 1)

    def fits(self, n_queries: int, n_classes: int, n_teachers: int) -> bool:
        """Whether it can be the votes of `n_teachers` on `n_queries` points."""
        return (
            self.counts.shape == (n_queries, n_classes)
            and bool((self.counts >= 0).all())
            and bool((self.counts.sum(axis=1) == n_teachers).all())
        )

    def __repr__(self) -> str:
        return f"KeptVotes(n_queries={self.counts.shape[0]}, n_classes={self.counts.shape[1]})"


def encode(key: str, votes: KeptVotes, loaded: Mapping[str, Any]) -> bytes:
    """Bytes of an entry.

    Parameters
    ----------
    key : str
        All that decides the numbers, but for other code than this package's.
    votes : KeptVotes
    loaded : mapping of str to plain values
        That code.
    """
    counts = np.ascontiguousarray(votes.counts, dtype=_COUNTS)
    header = {
        "key": key,
        "loaded": loaded,
        "shape": counts.shape,
        "teacher_accuracy": votes.teacher_accuracy,
        "ceilings": votes.ceilings,
    }
    text = json.dumps(header, allow_nan=False).encode()
    body = len(text).to_bytes(_LENGTH, "big") + text + counts.tobytes()
    return _MAGIC + hashlib.sha256(body).digest() + body


def decode(content: bytes, key: str) -> tuple[KeptVotes, dict[str, Any]]:
    """Read an entry back, with the code that was loaded.

    Raises
    ------
    Damaged
        If a byte is not what was written, or it is the entry of another key.
    """
    start = len(_MAGIC) + _DIGEST
    body = memoryview(content)[start:]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != content[len(_MAGIC) : start]:
        raise Damaged("cut short or changed")
    header, end = _header(content)
    try:
        if header["key"] != key:
            raise Damaged("the entry of something else")
        shape = tuple(int(size) for size in header["shape"])
        if len(shape) != 2 or math.prod(shape) * _COUNTS.itemsize != len(content) - end:
            raise Damaged("of a wrong size")
        counts = np.frombuffer(content, dtype=_COUNTS, offset=end).reshape(shape).astype(np.int64)
        ceilings = {str(name): float(value) for name, value in header["ceilings"].items()}
        votes = KeptVotes(counts, float(header["teacher_accuracy"]), ceilings)
        return votes, {"sources": header["loaded"]["sources"], "packages": header["loaded"]["packages"]}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Damaged(f"not an entry ({error})") from None


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    """Header, and where it ends."""
    start = len(_MAGIC) + _DIGEST + _LENGTH
    end = start + int.from_bytes(content[start - _LENGTH : start], "big")
    try:
        header = json.loads(content[start:end])
    except (ValueError, RecursionError):
        raise Damaged("no header") from None
    if end > len(content) or not isinstance(header, dict):
        raise Damaged("no header")
    return header, end
