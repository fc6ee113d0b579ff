"""Signals: processes that answer Ctrl-C, and the effect of SIGTERM."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from pate_cli.errors import Terminated

__all__ = ["exit_with_parent", "interrupts_ignored", "terminable"]

_WATCH = 1.0
"""Seconds between two looks at whether the process that started this one is still there."""


@contextlib.contextmanager
def interrupts_ignored(*others: signal.Signals) -> Iterator[None]:
    """Start processes within this: they ignore Ctrl-C, which this one answers, and `others` likewise."""
    if threading.current_thread() is not threading.main_thread():  # signals are not ours to set
        yield
        return
    before = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, *others)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM, as batch systems send it, raise Terminated in the main thread, as Ctrl-C does its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)


@cache
def exit_with_parent(parent: int) -> None:
    """Let this worker process end soon after the one that started it, even if that one was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)  # nobody is left to tell

    if os.getpid() != parent:
        threading.Thread(target=watch, daemon=True).start()
