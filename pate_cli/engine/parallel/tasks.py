"""What is common to all workers: one task, one BLAS thread, and failures that travel well."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pate_cli import terminal

__all__ = ["MOST_LOSSES", "Done", "Task", "WorkerError", "again_if_lost", "attempt", "single_threaded"]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741 - of an item
T = TypeVar("T")

Task: TypeAlias = Callable[[S, I], T]
"""What to do with what all tasks share and one item; a function of a module, so that it can be sent."""

MOST_LOSSES = 3
"""Workers lost one after the other, without a result between them, before we stop trying."""


class WorkerError(RuntimeError):
    """What went wrong in a worker, if the exception itself cannot be sent; or its traceback, as a cause."""


@dataclass(frozen=True)
class Done(Generic[T]):
    """What a task left: a result, or the exception and its traceback.

    Returned and never raised in the worker: Dask would log a raised one, and it may quote a record.
    """

    number: int
    result: T | None
    error: Exception | None = None
    trace: str = ""

    def open(self) -> T:
        """Give the result, or raise what was raised in the worker."""
        if self.error is not None:
            raise self.error from WorkerError(f"in a worker:\n{self.trace}")
        return self.result  # type: ignore[return-value]


def attempt(task: Task[S, I, T], shared: S, item: I, number: int) -> Done[T]:
    """Do one task, with a number to know it by, in a worker."""
    try:
        with single_threaded():
            return Done(number, task(shared, item))
    except Exception as error:
        return Done(number, None, _sendable(error), traceback.format_exc())


def single_threaded() -> Any:
    """One BLAS thread within this: the same sums in the same order, and cores shared by repeats alone."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _sendable(error: Exception) -> Exception:
    try:
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            return error
    except Exception:
        pass
    return WorkerError(f"{type(error).__name__}: {error}")


def again_if_lost(
    once: Callable[[dict[int, I]], Iterable[Done[T]]],
    items: Iterable[I],
    lost: type[Exception] | tuple[type[Exception], ...],
) -> Iterator[tuple[I, T]]:
    """Results of all items, doing those again that were lost with a worker.

    Parameters
    ----------
    once : callable
        Tries these items, by number, and raises one of `lost` where a worker died.
    items : iterable
    lost : type of exception, or several

    Raises
    ------
    ChildProcessError
        After `MOST_LOSSES` losses without a result between them.
    """
    left, losses = dict(enumerate(items)), 0
    while left:
        results = once(left.copy())
        try:
            for done in results:
                item, losses = left.pop(done.number), 0
                yield item, done.open()
        except lost as error:
            losses += 1
            if losses == MOST_LOSSES:
                raise ChildProcessError(
                    f"a worker process was killed {MOST_LOSSES} times in a row, with {len(left)} left to do "
                    "(out of memory? compute.workers=1 needs least)"
                ) from error
            terminal.err().print("a worker process was killed; what it did is done again", style="dim")
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()
