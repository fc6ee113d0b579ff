"""The cores of this machine, by joblib's worker processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pate_cli.engine.parallel.attempts import Attempt, Call, attempt, two_tries
from pate_cli.engine.parallel.signals import die_with, interrupts_ignored

__all__ = ["spread", "workers"]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741 - of an item
T = TypeVar("T")


def workers(asked: int | None) -> int:
    """Number of processes: as asked, else one for each core that this process may use.

    A process that is itself a worker (of `hydra/launcher=joblib`) starts no others.
    """
    if multiprocessing.parent_process() is not None:
        return 1
    if asked is not None:
        return asked
    if os.environ.get("SUBMITIT_EXECUTOR") == "local":  # which starts all jobs of a sweep at once
        return 1
    from joblib import cpu_count

    cores = int(cpu_count())
    allotted = os.environ.get("SLURM_CPUS_PER_TASK", "")  # not every Slurm binds a job to its cores
    return min(cores, int(allotted)) if allotted.isdigit() and int(allotted) else cores


def spread(
    task: Call[S, I, T], shared: S, items: Iterable[I], workers: int
) -> Iterator[tuple[I, Attempt[T]]]:
    """Do `task(shared, item)` for each item in worker processes; pairs of item and attempt as they come.

    Large arrays in `shared` are mapped into the workers' memory, not copied; where `shared` has a method
    `only`, `shared.only(item)` is sent in its place. Workers are kept for the next call. They do not see
    Ctrl-C, and end with this process, however that ends.
    """
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    def once(left: Iterator[tuple[int, I]]) -> Generator[Attempt[T], None, None]:
        from joblib import Parallel, delayed

        only = getattr(shared, "only", lambda _: shared)
        calls = (delayed(_attempt)(task, only(item), item, number, os.getpid()) for number, item in left)
        with interrupts_ignored(signal.SIGTERM):  # the new processes inherit it: we alone answer
            results = Parallel(n_jobs=max(2, workers), return_as="generator_unordered")(calls)
        try:
            for result in results:  # noqa: UP028 - `yield from` would close it before `finally` does
                yield result
        finally:
            with warnings.catch_warnings(), _silent_manager():
                warnings.simplefilter("ignore")  # who stops early knows that work is left
                results.close()

    return two_tries(once, items, TerminatedWorkerError)


@contextmanager
def _silent_manager() -> Iterator[None]:
    """Say nothing of joblib's own thread, which may look for work that was withdrawn: a KeyError."""
    told = threading.excepthook

    def unless_withdrawn(raised: threading.ExceptHookArgs) -> None:
        if raised.exc_type is not KeyError or "ExecutorManager" not in type(raised.thread).__name__:
            told(raised)

    threading.excepthook = unless_withdrawn
    try:
        yield
    finally:
        threading.excepthook = told


def _attempt(task: Call[S, I, T], shared: S, item: I, number: int, parent: int) -> Attempt[T]:
    die_with(parent)
    return attempt(task, shared, item, number)
