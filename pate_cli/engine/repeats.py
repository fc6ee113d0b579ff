"""Where the repeats of a run are done: here, on the cores of this machine, or on a Dask cluster.

The numbers do not depend on it: each repeat has its own random streams, and each teacher its own part
and seed, wherever it is trained.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any, TypeAlias

from pate_cli.engine.parallel import local
from pate_cli.engine.parallel.tasks import single_threaded

if TYPE_CHECKING:
    from pate_cli.engine.cache import Lesson
    from pate_cli.engine.votes import Shelf
    from pate_cli.pipeline import Outcome, Prepared, Trained
    from pate_cli.teachers import Failures
    from pate_cli.types import IntArray

__all__ = ["check", "outcomes"]

_START = 2.0
"""Seconds it takes to start processes: what does not save more is done here."""

_GLANCE = 0.5
"""Seconds of training teachers that tell how long the others will take."""

_Tell: TypeAlias = Callable[[float], None]
"""Told how many repeats are done; a repeat half done counts half."""

_Spread: TypeAlias = Callable[[Any, Any, Iterable[Any]], Iterator[tuple[Any, Any]]]


def check(run: Prepared) -> None:
    """Refuse a place of work that is not there, before anything is written.

    Raises
    ------
    InputError
    """
    if run.config.compute.name == "dask":
        from pate_cli.engine.parallel import dask

        dask.check(run.config.compute.address)


def outcomes(
    run: Prepared, tell: _Tell = lambda _: None, shelf: Shelf | None = None
) -> Generator[Outcome, None, None]:
    """Do all repeats; outcomes as they come.

    Parameters
    ----------
    run : Prepared
    tell : callable
        Told how many repeats are done, in between, too.
    shelf : Shelf, optional
        Lessons known, and where new ones are kept; left out, a new one.

    Raises
    ------
    InputError
        If a fit shows what no check could foresee, or a cluster does not answer.
    ChildProcessError
        If workers are lost again and again.
    """
    from pate_cli.engine.votes import Shelf

    shelf = shelf or Shelf()
    compute, left = run.config.compute, list(range(run.config.repeats))
    if compute.name == "dask":
        from pate_cli.engine.parallel import dask

        with dask.open_cluster(compute.address, compute.workers) as cluster:
            few = len(left) < cluster.count
            yield from _elsewhere(run, left, shelf, cluster.spread, cluster.count, tell, by_teachers=few)
        return
    workers = local.workers(compute.workers)
    by_teachers = False
    if compute.workers is None or len(left) < workers or workers == 1:
        watch = _Watch(workers, left, tell)
        yield from _here(run, left, shelf, watch)
        by_teachers = watch.teachers_take_long and len(left) < workers
    if left:
        spread = partial(local.spread, workers=workers)
        yield from _elsewhere(run, left, shelf, spread, workers, tell, by_teachers=by_teachers)


class _Handover(Exception):
    """The rest is done sooner by several processes."""


class _Watch:
    """Tells what a run done here will take, from what it took so far."""

    def __init__(self, workers: int, left: list[int], tell: _Tell) -> None:
        self.teachers_take_long = False
        self._workers = workers
        self._left = left
        self._done = 0
        self._tell = tell
        self._times: list[float] = []
        self._first: tuple[float, int] | None = None  # when the first teacher of this repeat was ready
        self._told = 0.0

    def teacher(self, done: int, total: int) -> None:
        """Hand over if the teachers still to come would take too long here."""
        now = time.perf_counter()
        if self._first is None or done <= self._first[1]:  # a learner may train again
            self._first = now, done
            return
        if now - self._told > 0.1:
            self._told = now
            self._tell(self._done + done / total)
        elapsed = now - self._first[0]
        if self._workers > 1 and elapsed > _GLANCE:
            each = elapsed / (done - self._first[1])
            here = each * (total - done + total * (len(self._left) - 1))
            there = each * total * len(self._left) / self._workers
            if here > there + _START:
                self.teachers_take_long = True
                raise _Handover

    def repeat(self, seconds: float) -> bool:
        """Whether to hand over the repeats left, now that one took so long."""
        self._done += 1
        self._first = None
        self._tell(self._done)
        self._times.append(seconds)
        if len(self._times) == 1 and seconds < _START:  # a first repeat imports things
            return False
        here = min(self._times) * len(self._left)
        return here > here / max(1, min(self._workers, len(self._left))) + _START


def _here(run: Prepared, left: list[int], shelf: Shelf, watch: _Watch) -> Generator[Outcome, None, None]:
    """Do repeats in this process, taking them off `left`, until several processes are better."""
    from pate_cli.teachers import watched

    while left:
        started = time.perf_counter()
        try:
            with watched(watch.teacher), single_threaded():
                outcome, lesson = _one(run, (left[0], shelf.recall(run, left[0])))
        except _Handover:
            return
        shelf.keep(run, left.pop(0), lesson)
        yield outcome
        if watch.repeat(time.perf_counter() - started):
            return


def _elsewhere(
    run: Prepared,
    left: Sequence[int],
    shelf: Shelf,
    spread: _Spread,
    workers: int,
    tell: _Tell,
    *,
    by_teachers: bool,
) -> Generator[Outcome, None, None]:
    """Spread repeats over workers; where they are too few for all workers, spread the teachers of each."""
    from pate_cli.engine.votes import run_taught

    before = run.config.repeats - len(left)
    known = any(shelf.has(run, repeat) for repeat in left)
    if not by_teachers or known or not run.plan.asks_votes:  # which is not made of votes
        asked = [(repeat, shelf.recall(run, repeat)) for repeat in left]
        for number, ((repeat, _), (outcome, lesson)) in enumerate(spread(_one, run, asked), start=1):
            shelf.keep(run, repeat, lesson)
            tell(before + number)
            yield outcome
        return
    cuts = _cuts(run.n_teachers, 2 * -(-workers // len(left)))
    started = time.perf_counter()
    gathered: dict[int, dict[int, tuple[IntArray, int, Failures]]] = {repeat: {} for repeat in left}
    items = [(repeat, first, last) for repeat in left for first, last in cuts]
    for number, ((repeat, first, _), part) in enumerate(spread(_some_teachers, run, items), start=1):
        tell(before + number / len(cuts))
        gathered[repeat][first] = part
        if len(gathered[repeat]) == len(cuts):
            parts = list(gathered.pop(repeat).values())
            with single_threaded():
                outcome, lesson = run_taught(run, repeat, _taught(run, repeat, parts))
            shelf.keep(run, repeat, lesson)
            seconds = time.perf_counter() - started
            yield replace(outcome, result=replace(outcome.result, seconds=seconds))


def _cuts(n: int, parts: int) -> list[tuple[int, int]]:
    """Cut 0 .. n-1 into nearly equal runs, as (first, last + 1)."""
    parts = min(n, parts)
    ends = [n * k // parts for k in range(parts + 1)]
    return list(pairwise(ends))


def _one(run: Prepared, item: tuple[int, Lesson | None]) -> tuple[Outcome, Lesson | None]:
    from pate_cli.engine.votes import run_repeat

    return run_repeat(run, *item)


def _some_teachers(run: Prepared, item: tuple[int, int, int]) -> tuple[IntArray, int, Failures]:
    """Train the teachers first .. last - 1 of a repeat. PRIVATE.

    Returns
    -------
    counts : ndarray of int64, shape (m, C)
        Of their votes on the public points.
    right : int
        Of their votes on the test split; not differentially private.
    failures : Failures
        Of these teachers: whether the learner failed on all parts is for whoever has all of them.
    """
    import numpy as np

    from pate_cli.pipeline import Streams, _train

    repeat, first, last = item
    split, ensemble = _train(run, Streams.of(run.config.seed, repeat), range(first, last), strict=False)
    on_test, y = ensemble.votes(split.test.X).counts, split.test.y
    votes, failures = ensemble.votes_and_failures(split.public.X)
    return votes.counts, int(on_test[np.arange(len(y)), y].sum()), failures


def _taught(run: Prepared, repeat: int, parts: Sequence[tuple[IntArray, int, Failures]]) -> Trained:
    """Give what `pipeline.train` would, from parts that make up all teachers."""
    from pate_cli.pipeline import Streams, Trained, split_of
    from pate_cli.types import Votes

    split = split_of(run, Streams.of(run.config.seed, repeat))
    reduce(add, (failures for _, _, failures in parts)).check()
    counts: IntArray = sum(counts for counts, _, _ in parts)  # type: ignore[assignment]
    right = sum(right for _, right, _ in parts)
    return Trained(split, Votes(counts, run.n_teachers), right / len(split.test.y) / run.n_teachers)
