"""Schedules repeats of rows; teachers that rows share are trained once, and finished repeats are skipped.

A run is one row, a sweep a row for each job, a frontier one for each method and eps, a recipe its own. A
task is one repeat of the rows that share their teachers: votes once, then each row.

Where the work is done: the first two seconds in this process, then in one process a core; with
`compute.workers`, or on a Dask cluster, all of it in those workers. Tasks are spread, or the teachers of
each where tasks are fewer than workers. The numbers do not depend on it: each repeat has its own random
streams, and each teacher its own part and seed, wherever it is trained.

A repeat is kept the moment it is done (on a cluster, whose workers may have other disks, the moment it
comes back), so a killed command goes on where it was. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli import pipeline, terminal
from pate_cli.engine.progress import Advance
from pate_cli.engine.store import RepeatRecord, RepeatStore
from pate_cli.engine.task import (
    Done,
    Failure,
    Row,
    Shared,
    Task,
    do_some,
    do_task,
    do_whole,
    failures,
    split_of_task,
)
from pate_cli.engine.votes import VoteStore, vote_key
from pate_cli.engine.workers import Workers, open_workers, single_threaded
from pate_cli.pipeline import PartVotes, Trained
from pate_cli.teachers import watched

if TYPE_CHECKING:
    from pate_cli.engine.plan import Plan

__all__ = ["Done", "Failure", "Results", "Row", "do", "run"]

_START = 2.0
"""Seconds of work in this process before others are started, which takes about as long."""

_CUTS = 8
"""Number of tasks that a worker's share of the teachers is cut into: none waits long for the last one."""

_TICK = 0.1
"""Least seconds between two reports of how many teachers of a repeat are trained."""


@dataclass(frozen=True)
class Results:
    """Finished repeats and failures.

    Attributes
    ----------
    units : dict of str to list of RepeatRecord
        For each row that is ready, by its name: its repeats in order, without those that failed.
    failures : list of Failure
    """

    units: dict[str, list[RepeatRecord]]
    failures: list[Failure] = field(default_factory=list)


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
    with contextlib.closing(do(rows, store, advance)) as results:
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
    advance: Advance = lambda *_: None,
    *,
    strict: bool = False,
) -> Generator[Done, None, None]:
    """Do what is not yet done of rows: first what is found, then the rest as it comes.

    Parameters
    ----------
    rows : sequence of Row
        All with one `compute`.
    store : RepeatStore
    advance : function
        Called with how many repeats of rows are done, how many of them before, and how many there are; one
        half done counts half.
    strict : bool
        Whether an error in a repeat is raised, and ends it all.

    Raises
    ------
    InputError
        If a cluster does not answer; if `strict`, also if a fit shows what no check could foresee.
    OSError
        If a finished repeat cannot be written.
    ChildProcessError
        If `strict`, and a task has lost two workers.
    """
    total = sum(row.repeats for row in rows)
    found, tasks = _sorted_out(rows, store)
    advance(len(found), len(found), total)
    yield from found
    if tasks:
        shared = Shared({row.name: row for row in rows}, store, strict)
        warned = Counter[str]()
        for done in _Work(shared, advance, len(found), total).do(tasks):
            warned.update(done.warned)
            yield done
        for text, repeats in warned.items():
            line = f"pate: warned in {repeats} of {total} repeats: {text}"
            terminal.err().print(line, markup=False, soft_wrap=True)


def _sorted_out(rows: Sequence[Row], store: RepeatStore) -> tuple[list[Done], list[Task]]:
    """Repeats that are done already, and tasks for the others, a row's one after the other."""
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:  # one without teachers shares nothing: a group by itself
        groups[vote_key(row.prepared) if row.prepared.plan.asks_votes else row.name].append(row)
    found, tasks = [], []
    for group in groups.values():
        for repeat in range(max(row.repeats for row in group)):
            names = []
            for row in group:
                if repeat < row.repeats:
                    done = row.found(store, repeat)
                    found += [done] if done else []
                    names += [] if done else [row.name]
            tasks += [Task(repeat, tuple(names))] if names else []
    return found, tasks


class _Work:
    """Does the tasks of one command, and keeps their results."""

    def __init__(self, shared: Shared, advance: Advance, found: int, total: int) -> None:
        self._shared = shared
        self._votes = VoteStore()
        self._advance = advance
        self._found, self._total = found, total
        self._done = found
        self._told = 0.0
        self._deadline: float | None = None  # when the rest is spread, by time.perf_counter
        self._begun: dict[Task, tuple[int, list[PartVotes]]] = {}  # by task: trained teachers

    def do(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Do all tasks where `compute` says."""
        left = [self._recalled(task) for task in tasks]
        compute = next(iter(self._shared.rows.values())).prepared.config.compute
        with open_workers(compute) as workers:
            if workers.here and (workers.count == 1 or compute.workers is None):
                yield from self._here(left, workers.count)
            if left:
                yield from self._spread(left, workers)

    def _here(self, left: list[Task], workers: int) -> Generator[Done, None, None]:
        """Do tasks in this process, taking them off `left`; for two seconds where there are workers."""
        while left and not self._is_late():
            task, started, train = left[0], time.perf_counter(), None
            with watched(self._ticked), single_threaded():
                if workers > 1:
                    train = self._first_teachers(task)
                    if task in self._begun:
                        return
                yield from self._received(task, do_task(self._shared, task, train, started))
            left.pop(0)
            if workers > 1:
                self._start_clock()

    def _first_teachers(self, task: Task) -> Callable[[], Trained] | None:
        """Train teachers of a task in growing slices until it is late; what is begun is left in `_begun`.

        Returns
        -------
        callable or None
            Returns the votes; None if not all teachers are trained.
        """
        asking = self._shared.asking(task)
        if task.votes is not None or not asking:
            return None
        run, parts, done = asking[0], list[PartVotes](), 0
        with contextlib.suppress(Exception):  # `do_task` meets it again, and reports it
            split = split_of_task(run, task)
            while done < run.n_teachers:
                if self._is_late():
                    self._begun[task] = (done, parts)
                    return None
                only = range(done, min(run.n_teachers, max(1, 2 * done)))
                parts.append(pipeline.train_part(run, task.repeat, only, split))
                done = only.stop
                self._start_clock()
            return partial(pipeline.join, run, split, parts)
        return None

    def _start_clock(self) -> None:
        """Start the clock, unless it runs: after a first task or teacher, which imports things."""
        self._deadline = self._deadline or time.perf_counter() + _START

    def _is_late(self) -> bool:
        return self._deadline is not None and time.perf_counter() > self._deadline

    def _spread(self, left: Sequence[Task], workers: Workers) -> Generator[Done, None, None]:
        """Spread tasks over workers, or the teachers of each where tasks are fewer."""
        shared = self._shared if workers.here else replace(self._shared, store=None)
        few = len(left) < workers.count
        parted = [
            task
            for task in left
            if task in self._begun or (few and task.votes is None and shared.asking(task))
        ]
        whole = [task for task in left if task not in parted]
        for task, attempt in workers.spread(do_whole, shared, whole) if whole else ():
            try:
                results = attempt.open()
            except ChildProcessError as error:
                results = failures(shared, task, error)
            yield from self._received(task, results, written=workers.here)
        if parted:
            yield from self._by_teachers(shared, parted, workers)

    def _by_teachers(
        self, shared: Shared, tasks: Sequence[Task], workers: Workers
    ) -> Generator[Done, None, None]:
        """Spread the teachers of each task; its rows are done here once all have voted."""
        started = time.perf_counter()
        gathered: dict[Task, list[PartVotes]] = {}
        wanted, items = {}, []
        for task in tasks:
            first, gathered[task] = self._begun.pop(task, (0, []))
            cuts = _cuts(first, shared.asking(task)[0].n_teachers, -(-_CUTS * workers.count // len(tasks)))
            wanted[task] = len(gathered[task]) + len(cuts)
            items += [(task, *cut) for cut in cuts]
        for (task, *_), attempt in workers.spread(do_some, shared, items):
            if task not in gathered:
                continue  # it has failed
            try:
                gathered[task].append(attempt.open())
            except Exception as error:
                del gathered[task]
                yield from self._received(task, failures(shared, task, error))
                continue
            self._tell(sum(len(parts) / wanted[task] for task, parts in gathered.items()))
            if len(gathered[task]) == wanted[task]:
                run = shared.asking(task)[0]
                train = partial(pipeline.join, run, split_of_task(run, task), gathered.pop(task))
                with single_threaded():
                    yield from self._received(task, do_task(self._shared, task, train, started))

    def _received(self, task: Task, results: Iterable[Done], *, written: bool = True) -> Iterator[Done]:
        """Keep results that are not kept yet, and count."""
        for done in results:
            if done.votes is not None:
                self._votes.keep(self._shared.asking(task)[0], task.repeat, done.votes)
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
        """Progress callback, one call per trained teacher; there may be thousands a second."""
        if (now := time.perf_counter()) - self._told > _TICK:
            self._told = now
            self._tell(done / of)

    def _tell(self, more: float) -> None:
        self._advance(self._done + more, self._found, self._total)


def _cuts(first: int, n: int, parts: int) -> list[tuple[int, int]]:
    """Cut first .. n-1 into nearly equal runs, as (first, last + 1)."""
    parts = min(n - first, parts)
    return list(pairwise(first + (n - first) * k // parts for k in range(parts + 1)))
