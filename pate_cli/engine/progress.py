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

_ENOUGH = 0.05
"""Share of the work, after its first piece, from which on that piece no longer counts for the pace."""


@contextlib.contextmanager
def reporting(name: str, what: str, *, lines: bool = True) -> Iterator[Advance]:
    """Show progress while the block runs.

    Parameters
    ----------
    name : str
        What is being done.
    what : str
        What is counted, as "rows".
    lines : bool
        Whether lines are printed where there is no terminal.
    """
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
    pace = _Pace(time.monotonic())
    with Progress(*columns, console=terminal.err(), transient=True) as bar:
        task = bar.add_task(name, total=None, left="")

        def advance(done: float, found: int, total: int) -> None:
            left = pace.left(time.monotonic(), done - found, total - done)
            bar.update(task, completed=done, total=total, left=f", {left} left" if left else "")

        yield advance


class _Lines:
    """Plain lines: the first, the last, and one now and then between them."""

    def __init__(self, name: str, what: str) -> None:
        self._name = name
        self._what = what
        self._pace = _Pace(time.monotonic())
        self._said: float | None = None

    def __call__(self, done: float, found: int, total: int) -> None:
        now, done, first = time.monotonic(), int(done), self._said is None
        left = self._pace.left(now, done - found, total - done)
        if self._said is not None and done < total and now - self._said < _PAUSE:
            return
        self._said = now
        before = f" ({found} from before)" if first and found else ""
        rest = f", {left} left" if left else ""
        line = f"{self._name}: {done}/{total} {self._what} done{before}{rest}"
        terminal.err().print(line, markup=False, soft_wrap=True)


class _Pace:
    """How fast it goes since the first piece of work was done: with that one things are imported."""

    def __init__(self, started: float) -> None:
        self._first = self._begun = (started, 0.0)

    def left(self, now: float, done: float, left: float) -> str:
        """Say how long the rest takes if it goes on like this; empty where that is not known."""
        if left <= 0 or done < 0.005 * (done + left):  # too little is done to tell
            return ""
        if self._first is self._begun and done >= 1:
            self._first = now, done
        enough = done - self._first[1] >= max(1.0, _ENOUGH * (done + left))
        at, had = self._first if enough else self._begun
        seconds = (now - at) / (done - had) * left
        if seconds < 90:
            return f"about {max(1, round(seconds))} s"
        minutes = seconds / 60
        if minutes < 90:
            return f"about {minutes:.1f} min" if minutes < 10 else f"about {round(minutes)} min"
        return f"about {minutes / 60:.1f} h"
