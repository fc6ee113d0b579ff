"""Votes in memory, the least recently used one dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict

from pate_cli.teachers.kept import KeptVotes

__all__ = ["Memory"]


class Memory:
    """Votes by key, of at most `limit` bytes together; safe to use from several threads. PRIVATE.

    Parameters
    ----------
    limit : int
        Bytes.
    """

    def __init__(self, limit: int = 2**26) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, tuple[KeptVotes, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def recall(self, key: str) -> KeptVotes | None:
        """Votes of a key, if it is still there."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: str, votes: KeptVotes) -> None:
        """Take votes in, and let go of others if there is no room."""
        with self._lock:
            self._drop(key)
            size = votes.n_bytes
            if size > self._limit:
                return
            self._kept[key] = votes, size
            self._size += size
            while self._size > self._limit:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        _, size = self._kept.pop(key, (None, 0))
        self._size -= size
