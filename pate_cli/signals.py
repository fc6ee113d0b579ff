"""Signals: who answers Ctrl-C, and when; the effect of SIGTERM and SIGHUP."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from pate_cli.errors import Terminated

__all__ = ["exit_with_parent", "held", "interrupts_held", "start_joblib", "terminable"]

_WATCH = 1.0
"""Seconds between two looks at whether the process that started this one is still there."""


@contextlib.contextmanager
def held(*numbers: signal.Signals) -> Iterator[None]:
    """Answer these signals at the end of this. If they were ignored they would be lost."""
    if threading.current_thread() is not threading.main_thread():  # signals are not ours to set
        yield
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in numbers}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def interrupts_held(*others: signal.Signals) -> Iterator[None]:
    """Start processes within this: they never see Ctrl-C, SIGHUP and `others`.

    This process answers a signal that comes meanwhile at the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    from multiprocessing import resource_tracker  # not imported by what starts no process

    hidden = (signal.SIGINT, signal.SIGHUP, *others)
    with held(*hidden):  # signals are process-wide: another thread may be told
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, hidden)  # new processes inherit it
        try:
            resource_tracker.ensure_running()  # multiprocessing's, which unblocks them when it starts
            signal.pthread_sigmask(signal.SIG_BLOCK, hidden)
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def start_joblib() -> None:
    """Start the process in which joblib tidies up, before joblib does.

    A terminal that closes would end it, and its successor print a traceback for each thing it never saw.
    """
    from joblib.externals.loky.backend import resource_tracker

    with interrupts_held():
        resource_tracker.ensure_running()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise Terminated in the main thread, as Ctrl-C raises KeyboardInterrupt.

    One that is ignored, as under `nohup`, stays so. A terminal that closes takes no more messages.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: Any) -> None:
        if number == signal.SIGHUP:
            _leave_terminal()
        raise Terminated(number)

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for each, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, stop)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def _leave_terminal() -> None:
    """Send what is printed nowhere, but to a file or a pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    terminal = sys.modules.get("pate_cli.terminal")  # not imported by what prints no more than a help
    for number in terminal.OUTSIDE if terminal else (1, 2):
        if stat.S_ISCHR(os.fstat(number).st_mode):
            os.dup2(nowhere, number)
    os.close(nowhere)


@cache
def exit_with_parent(parent: int) -> None:
    """Let this worker process end soon after the one that started it, even if that one was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)  # nobody is left to tell

    if os.getpid() != parent:
        threading.Thread(target=watch, daemon=True).start()
