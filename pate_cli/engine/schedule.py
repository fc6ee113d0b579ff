"""The one scheduler: repeats of rows, teachers once for the rows that share them, nothing done twice.

A run is one row, a frontier has a row for each method and eps, a recipe its own. A task is one repeat of
the rows that share their teachers: votes once, then each row. Tasks are done in this process as long as
that is sooner done, else by worker processes or on a Dask cluster; where tasks are too few for the workers,
the teachers of each are spread. The numbers do not depend on it: each repeat has its own random streams,
and each teacher its own part and seed, wherever it is trained.

Every repeat of a row is kept the moment it is done (on a cluster, whose workers may have other disks, the
moment it comes back), so what is killed goes on where it was. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pate_cli import pipeline
from pate_cli.config import RunConfig
from pate_cli.engine.loaded import loaded_code
from pate_cli.engine.parallel import dask, local
from pate_cli.engine.parallel.tasks import single_threaded
from pate_cli.engine.progress import Advance
from pate_cli.engine.store import RepeatRecord, RepeatStore
from pate_cli.engine.task import Done, Failure, Row, Shared, Task, do_some, do_task, do_whole, split_of_task
from pate_cli.engine.vote_store import VoteStore, vote_directory
from pate_cli.pipeline import PartVotes, Trained
from pate_cli.teachers import watched

if TYPE_CHECKING:
    from pate_cli.engine.plan import Plan

__all__ = ["Done", "Failure", "Results", "Row", "check_places", "do", "run"]

_START = 2.0
"""Seconds it takes to start processes: what does not save more is done here."""

_LOOK = 0.5
"""Seconds of training teachers that tell how long the others will take."""

_IMPORTS = 5.0
"""Seconds that the first teachers may take by what they import."""

_SLICES = 64
"""That teachers are cut into while nothing is known of how long they take."""

_CUTS = 8
"""That a worker gets the teachers in: none is to wait long for the last one."""

_TICK = 0.1
"""Least seconds between two words on how far the teachers of a repeat are."""

_Spread: TypeAlias = Callable[[Any, Any, Iterable[Any]], Iterator[tuple[Any, Any]]]
"""`local.spread` or `dask.Workers.spread`."""


@dataclass(frozen=True)
class Results:
    """What there is after the work.

    Attributes
    ----------
    units : dict of str to list of RepeatRecord
        For each row that is ready, by its name: its repeats in order; those that failed are not there.
    failures : list of Failure
    """

    units: dict[str, list[RepeatRecord]]
    failures: list[Failure] = field(default_factory=list)


def check_places(configs: Iterable[RunConfig]) -> None:
    """Refuse a place of work or of votes that is not there, before anything is written.

    Raises
    ------
    InputError
    """
    for cache, compute in dict.fromkeys((config.cache, config.compute) for config in configs):
        if cache:
            vote_directory().check()
        if compute.name == "dask":
            dask.check(compute.address)


def run(plan: Plan, work: Path, *, force: bool, advance: Advance) -> Results:
    """Do what is not yet done of the rows of a plan that are ready.

    Parameters
    ----------
    plan : Plan
    work : Path
        Directory of the finished repeats; made if absent.
    force : bool
        Do all of it again.
    advance : function
        Called with how many repeats of rows are done, how many of them before, and how many there are.

    Raises
    ------
    InputError
        If a cluster does not answer.
    OSError
        If a finished repeat cannot be written.
    """
    store = RepeatStore(work.absolute())
    store.sweep()
    rows = [row.ready() for row in plan.ready]
    if force:
        for row in rows:
            store.forget(row.key, row.repeats)
    units: dict[str, list[RepeatRecord]] = {row.name: [] for row in rows}
    failures = []
    with contextlib.closing(do(rows, store, VoteStore(), advance)) as results:
        for done in results:
            failures += [done.failure] if done.failure else []
            units[done.row] += [done.unit] if done.unit else []
    order = {row.name: index for index, row in enumerate(rows)}
    return Results(
        {name: sorted(found, key=lambda unit: unit.repeat) for name, found in units.items()},
        sorted(failures, key=lambda failure: (order[failure.row], failure.repeat)),
    )


def do(
    rows: Sequence[Row],
    store: RepeatStore,
    votes: VoteStore,
    advance: Advance = lambda *_: None,
    *,
    strict: bool = False,
) -> Generator[Done, None, None]:
    """Do what is not yet done of rows: first what is found, then the rest as it comes.

    Parameters
    ----------
    rows : sequence of Row
        The first one says where the work is done.
    store : RepeatStore
    votes : VoteStore
        Votes known, and where new ones are kept.
    advance : function
        Called with how many repeats of rows are done, how many of them before, and how many there are; one
        half done counts half.
    strict : bool
        Whether what goes wrong in a repeat is raised, and ends it all.

    Raises
    ------
    InputError
        If a cluster does not answer; if `strict`, also if a fit shows what no check could foresee.
    OSError
        If a finished repeat cannot be written.
    ChildProcessError
        If workers are lost again and again.
    """
    total = sum(row.repeats for row in rows)
    found, tasks = _sorted_out(rows, store)
    advance(len(found), len(found), total)
    yield from found
    if tasks:
        shared = Shared({row.name: row for row in rows}, store, strict, loaded_code())
        yield from _Work(shared, votes, advance, len(found), total).do(tasks)


def _sorted_out(rows: Sequence[Row], store: RepeatStore) -> tuple[list[Done], list[Task]]:
    """What is done already, and what is left: a repeat of all groups before the next repeat."""
    found, tasks = [], []
    for repeat in range(max((row.repeats for row in rows), default=0)):
        groups: dict[Hashable, list[str]] = defaultdict(list)
        for row in rows:
            if repeat < row.repeats:
                done = row.found(store, repeat)
                if done is None:  # a row without teachers shares nothing: a task by itself
                    votes = row.prepared.plan.asks_votes
                    key = pipeline.teaching_key(row.prepared.config) if votes else row.name
                    groups[key].append(row.name)
                else:
                    found.append(done)
        tasks += [Task(repeat, tuple(names)) for names in groups.values()]
    return found, tasks


class _Work:
    """Doing the tasks of one command: where, and what becomes of what comes back."""

    def __init__(self, shared: Shared, votes: VoteStore, advance: Advance, found: int, total: int) -> None:
        self._shared = shared
        self._votes = votes
        self._advance = advance
        self._found, self._total = found, total
        self._done = found
        self._told = 0.0
        self._begun: dict[Task, tuple[int, list[PartVotes]]] = {}  # by task: trained teachers

    def do(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Do all tasks where `compute` says."""
        left = [self._recalled(task) for task in tasks]
        compute = next(iter(self._shared.rows.values())).prepared.config.compute
        if compute.name == "dask":
            shared = replace(self._shared, store=None)
            with dask.open_cluster(compute.address, compute.workers) as cluster:
                few = len(left) < cluster.count
                yield from self._elsewhere(shared, left, cluster.spread, cluster.count, by_teachers=few)
            return
        workers = local.workers(compute.workers)
        by_teachers = False
        if compute.workers is None or len(left) < workers or workers == 1:
            by_teachers = yield from self._here(left, workers)
        if left:
            spread = partial(local.spread, workers=workers)
            helped = partial(spread, helping=True)
            yield from self._elsewhere(
                self._shared, left, spread, workers, by_teachers=by_teachers, helped=helped
            )

    def _here(self, left: list[Task], workers: int) -> Generator[Done, None, bool]:
        """Do tasks in this process, taking them off `left`, until several processes are sooner done.

        Returns
        -------
        bool
            Whether teachers take long and tasks are few, so that the teachers of each are to be spread.
        """
        seconds: list[float] = []
        timed: set[tuple[str, ...]] = set()
        while left:
            task, started, train = left[0], time.perf_counter(), None
            with watched(self._ticked), single_threaded():
                if workers > 1 and task.rows not in timed:
                    timed.add(task.rows)
                    train = self._first_teachers(task, len(left), workers)
                    if task in self._begun:
                        return len(left) < workers
                yield from self._received(task, do_task(self._shared, task, train, started))
            left.pop(0)
            seconds.append(time.perf_counter() - started)
            if len(seconds) == 1 and seconds[0] < _START:  # a first task imports things
                continue
            each = seconds[1:] or seconds
            here = sum(each) / len(each) * len(left)
            if here > here / max(1, min(workers, len(left))) + _START:
                break
        return False

    def _first_teachers(self, task: Task, n_left: int, workers: int) -> Callable[[], Trained] | None:
        """Train teachers of a task slice by slice: all, unless the clock says that it would take long.

        Where workers would save more time with the teachers of all tasks than it takes to start them, what
        is trained is left in `_begun`.

        Returns
        -------
        callable or None
            Gives what they left; None if they are not all trained.
        """
        asking = self._shared.asking(task)
        if task.votes is not None or not asking:
            return None
        run, parts, done, spent = asking[0], list[PartVotes](), 0, 0.0
        with contextlib.suppress(Exception):  # `do_task` meets it again, and says it
            split = split_of_task(run, task)
            n = run.n_teachers
            size = -(-n // _SLICES)
            while done < n:
                only = range(done, min(n, done + size))
                started = time.perf_counter()
                parts.append(pipeline.train_part(run, task.repeat, only, split))
                seconds, done = time.perf_counter() - started, only.stop
                spent += seconds
                each = seconds / len(only)  # by this slice alone: the first one imports things
                here, there = each * (n * n_left - done), each * n * n_left / workers
                if here <= there + _START:
                    size = n  # the rest at once
                elif done < n and spent > (_LOOK if len(parts) > 1 else _IMPORTS):
                    self._begun[task] = (done, parts)
                    return None
            return partial(pipeline.join, run, split, parts)
        return None

    def _elsewhere(
        self,
        shared: Shared,
        left: Sequence[Task],
        spread: _Spread,
        workers: int,
        *,
        by_teachers: bool,
        helped: _Spread | None = None,
    ) -> Generator[Done, None, None]:
        """Spread tasks over workers, or the teachers of each task that is made of votes nobody has."""
        parted = [
            task
            for task in left
            if task in self._begun or (by_teachers and task.votes is None and shared.asking(task))
        ]
        whole = [task for task in left if task not in parted]
        for task, results in spread(do_whole, shared, whole) if whole else ():
            yield from self._received(task, results, written=shared.store is not None)
        if parted:
            yield from self._by_teachers(shared, parted, helped or spread, workers)

    def _by_teachers(
        self, shared: Shared, tasks: Sequence[Task], spread: _Spread, workers: int
    ) -> Generator[Done, None, None]:
        """Spread the teachers of each task; its rows are done here once all have voted."""
        started = time.perf_counter()
        gathered: dict[Task, list[PartVotes]] = {}
        wanted, items = {}, []
        for task in tasks:
            first, gathered[task] = self._begun.pop(task, (0, []))
            cuts = _cuts(first, shared.asking(task)[0].n_teachers, -(-_CUTS * workers // len(tasks)))
            wanted[task] = len(gathered[task]) + len(cuts)
            items += [(task, *cut) for cut in cuts]
        for (task, *_), part in spread(do_some, shared, items):
            gathered[task].append(part)
            self._tell(sum(len(parts) / wanted[task] for task, parts in gathered.items()))
            if len(gathered[task]) == wanted[task]:
                run = shared.asking(task)[0]
                train = partial(pipeline.join, run, split_of_task(run, task), gathered.pop(task))
                with single_threaded():
                    yield from self._received(task, do_task(self._shared, task, train, started))

    def _received(self, task: Task, results: Iterable[Done], *, written: bool = True) -> Iterator[Done]:
        """Keep what is not kept yet, and count."""
        for done in results:
            if done.votes is not None:
                self._votes.keep(self._shared.asking(task), task.repeat, done.votes)
            if not written and done.unit is not None and self._shared.store is not None:
                key = self._shared.rows[done.row].key
                self._shared.store.write(key, done.unit, done.student, done.loaded)
            self._done += 1
            self._tell(0)
            yield replace(done, votes=None, loaded=None)

    def _recalled(self, task: Task) -> Task:
        asking = self._shared.asking(task)
        return replace(task, votes=self._votes.recall(asking[0], task.repeat)) if asking else task

    def _ticked(self, done: int, of: int) -> None:
        """Be told of a teacher that is trained; there may be thousands a second."""
        if (now := time.perf_counter()) - self._told > _TICK:
            self._told = now
            self._tell(done / of)

    def _tell(self, more: float) -> None:
        self._advance(self._done + more, self._found, self._total)


def _cuts(first: int, n: int, parts: int) -> list[tuple[int, int]]:
    """Cut first .. n-1 into nearly equal runs, as (first, last + 1)."""
    parts = min(n - first, parts)
    return list(pairwise(first + (n - first) * k // parts for k in range(parts + 1)))
