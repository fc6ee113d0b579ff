"""Lessons in memory, the least recently used one dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict

from pate_cli.teachers.kept import Lesson

__all__ = ["Memory"]


class Memory:
    """Lessons by key, of at most `limit` bytes together; safe to use from several threads. PRIVATE.

    Parameters
    ----------
    limit : int
        Bytes.
    """

    def __init__(self, limit: int = 2**26) -> None:
        self._limit = limit
        self._lessons: OrderedDict[str, tuple[Lesson, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._lessons

    def recall(self, key: str) -> Lesson | None:
        """Lesson of a key, if it is still there."""
        with self._lock:
            if key not in self._lessons:
                return None
            self._lessons.move_to_end(key)
            return self._lessons[key][0]

    def keep(self, key: str, lesson: Lesson) -> None:
        """Take a lesson in, and let go of others if there is no room."""
        with self._lock:
            self._drop(key)
            size = lesson.n_bytes
            if size > self._limit:
                return
            self._lessons[key] = lesson, size
            self._size += size
            while self._size > self._limit:
                self._drop(next(iter(self._lessons)))

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._lessons.clear()
            self._size = 0

    def _drop(self, key: str) -> None:
        _, size = self._lessons.pop(key, (None, 0))
        self._size -= size
