"""How far the work is: one live bar on a terminal, plain lines otherwise."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from pate_cli import terminal

__all__ = ["Advance", "reporting"]

Advance: TypeAlias = Callable[[float, int, int], None]
"""Called with (done, of which found done before, in all); what is half done counts half."""

_PAUSE = 10.0
"""Least seconds between two plain lines."""


@contextlib.contextmanager
def reporting(name: str, what: str, *, lines: bool = True) -> Iterator[Advance]:
    """Show progress under a name while the block runs, counting `what`, as "rows"; or by lines, if wanted."""
    if multiprocessing.parent_process() is not None:  # jobs side by side would write over each other's bar
        yield lambda *_: None
    elif terminal.err().is_terminal:
        with _bar(name, what) as advance:
            yield advance
    else:
        yield _Lines(name, what) if lines else lambda *_: None


@contextlib.contextmanager
def _bar(name: str, what: str) -> Iterator[Advance]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(what + "{task.fields[left]}"),
    )
    started = time.monotonic()
    with Progress(*columns, console=terminal.err(), transient=True) as bar:
        task = bar.add_task(name, total=None, left="")

        def advance(done: float, done_before: int, total: int) -> None:
            left = time_left(time.monotonic() - started, done - done_before, total - done)
            bar.update(task, completed=done, total=total, left=f", {left} left" if left else "")

        yield advance


class _Lines:
    """Plain lines: the first, the last, and one now and then between them."""

    def __init__(self, name: str, what: str) -> None:
        self._name = name
        self._what = what
        self._started = time.monotonic()
        self._said: float | None = None

    def __call__(self, done: float, done_before: int, total: int) -> None:
        now, done, first = time.monotonic(), int(done), self._said is None
        left = time_left(now - self._started, done - done_before, total - done)
        if self._said is not None and done < total and now - self._said < _PAUSE:
            return
        self._said = now
        before = f" ({done_before} from before)" if first and done_before else ""
        remaining = f", {left} left" if left else ""
        line = f"{self._name}: {done}/{total} {self._what} done{before}{remaining}"
        terminal.err().print(line, markup=False, soft_wrap=True)


def time_left(taken: float, done: float, left: float) -> str:
    """Estimate of the remaining time; empty where unknown."""
    if left <= 0 or done < 0.005 * (done + left):  # too little is done to tell
        return ""
    seconds = taken / done * left
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = seconds / 60
    if minutes < 90:
        return f"about {minutes:.1f} min" if minutes < 10 else f"about {round(minutes)} min"
    return f"about {minutes / 60:.1f} h"
