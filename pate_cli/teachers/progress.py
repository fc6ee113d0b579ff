"""How far an ensemble is, for a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["tick", "watched"]

_WATCH: ContextVar[Callable[[int, int], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Callable[[int, int], None]) -> Iterator[None]:
    """Call `watch(done, total)` after each teacher trained within this."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def tick(done: int, total: int) -> None:
    """Say that `done` of `total` teachers are trained."""
    watch = _WATCH.get()
    if watch is not None:
        watch(done, total)
