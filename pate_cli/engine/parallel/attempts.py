"""Attempts at a task in a worker: one BLAS thread, errors that can be sent, a second try if it is lost."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from pate_cli import terminal

__all__ = ["Attempt", "Call", "WorkerError", "attempt", "single_threaded", "two_tries"]

S = TypeVar("S")
I = TypeVar("I")  # noqa: E741 - of an item
T = TypeVar("T")

Call: TypeAlias = Callable[[S, I], T]
"""Function of what all tasks share and one item; of a module, so that it can be sent."""

_LOST = "the worker process was killed, twice (out of memory? compute.workers=1 needs least)"


class WorkerError(RuntimeError):
    """Error in a worker that cannot be sent itself; or its traceback, as a cause."""


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """Result of a task, or the exception and its traceback.

    Returned and never raised in the worker: Dask would log a raised one, and it may quote a record.
    """

    number: int
    result: T | None
    error: Exception | None = None
    trace: str = ""

    def open(self) -> T:
        """Return the result, or raise what was raised in the worker; ChildProcessError if it was lost."""
        if self.error is not None:
            raise self.error from (WorkerError(f"in a worker:\n{self.trace}") if self.trace else None)
        return self.result  # type: ignore[return-value]


def attempt(task: Call[S, I, T], shared: S, item: I, number: int) -> Attempt[T]:
    """Do one task, with a number to know it by, in a worker."""
    try:
        with single_threaded():
            return Attempt(number, task(shared, item))
    except Exception as error:
        return Attempt(number, None, _sendable(error), traceback.format_exc())


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


def two_tries(
    once: Callable[[Iterator[tuple[int, I]]], Generator[Attempt[T], None, None]],
    items: Iterable[I],
    lost: type[Exception] | tuple[type[Exception], ...],
) -> Iterator[tuple[I, Attempt[T]]]:
    """Try all items; those that were sent when a worker is lost are tried again, each alone.

    Parameters
    ----------
    once : callable
        Tries numbered items, taken a few at a time, and raises one of `lost` where a worker died.
    items : iterable
    lost : type of exception, or several

    Yields
    ------
    item, Attempt
        With a ChildProcessError if its worker was lost a second time.
    """
    left = dict(enumerate(items))
    again: list[int] = []
    while left:
        again = [number for number in again if number in left]
        sent: list[int] = []
        results = once(_noted({number: left[number] for number in again[:1] or left}, sent))
        try:
            for done in results:
                yield left.pop(done.number), done
        except lost:
            if again:
                yield left.pop(again[0]), Attempt(again[0], None, ChildProcessError(_LOST))
            else:
                again = sent
                terminal.err().print("a worker process was killed; what it did is done again", style="dim")
        finally:
            results.close()


def _noted(items: dict[int, I], sent: list[int]) -> Iterator[tuple[int, I]]:
    """Numbers and items, each number noted as it is taken."""
    for number, item in items.items():
        sent.append(number)
        yield number, item
