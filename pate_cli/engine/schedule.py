"""Schedules repeats of rows; teachers that rows share are trained once, and finished repeats are skipped.

A run is one row, a sweep a row for each job, a frontier one for each method and eps, a recipe its own. A
task is one repeat of the rows that share their teachers: votes once, then each row.

Where the work is done: for two seconds in this process, then in one process a core; with `compute.workers`,
or on a Dask cluster, all of it in those workers. Tasks are spread, or the teachers of each where tasks are
fewer than workers. The numbers do not depend on it: each repeat has its own random streams, and each teacher
its own part and seed, wherever it is trained.

A repeat is kept the moment it is done (on a cluster, whose workers may have other disks, the moment it
comes back), so a killed command goes on where it was. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pate_cli import terminal
from pate_cli.engine.progress import Advance
from pate_cli.engine.store import RepeatRecord, RepeatStore, VoteStore, vote_key
from pate_cli.engine.task import Done, Failure, Row, Shared, Task, do_task, failures, work
from pate_cli.engine.workers import Workers, open_workers, single_threaded
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
    """Finished repeats and failures."""

    units: dict[str, list[RepeatRecord]]  # of each row, by its name: in order, without those that failed
    failures: list[Failure] = field(default_factory=list)


def run(plan: Plan, work: Path, *, force: bool, advance: Advance) -> Results:
    """Do the rows of a plan that are ready, all of them again with `force`.

    Finished repeats are kept in the directory `work`. Raises what `do` raises.
    """
    store = RepeatStore(work.absolute())
    store.sweep()
    rows = [row.ready() for row in plan.ready]
    if force:
        for row in rows:
            store.forget(row.key, row.config.repeats)
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
    """Do what is not yet done of rows with one `compute`: first what is found, then the rest as it comes.

    `advance` is called with how many repeats of rows are done, how many of them before, and how many there
    are; one half done counts half. An error in a repeat, or that a task has lost two workers, is returned as
    its failure; raised if `strict`. InputError if a cluster does not answer; OSError if a finished repeat
    cannot be written, or a cluster is lost.
    """
    total = sum(row.config.repeats for row in rows)
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
        for repeat in range(max(row.config.repeats for row in group)):
            names = []
            for row in group:
                if repeat < row.config.repeats:
                    done = row.found(store, repeat)
                    found += [done] if done else []
                    names += [] if done else [row.name]
            tasks += [Task(repeat, tuple(names))] if names else []
    return found, tasks


class _Late(BaseException):
    """Ends the work in this process: the rest is for the workers."""


class _Work:
    """Does the tasks of one command, and keeps their results."""

    def __init__(self, shared: Shared, advance: Advance, found: int, total: int) -> None:
        self._shared = shared
        self._votes = VoteStore()
        self._advance = advance
        self._found, self._total = found, total
        self._done = found
        self._told = self._most = 0.0

    def do(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Do all tasks where `compute` says."""
        left = [self._recalled(task) for task in tasks]
        compute = next(iter(self._shared.rows.values())).config.compute
        with open_workers(compute) as workers:
            if workers.here and (workers.count == 1 or compute.workers is None):
                yield from self._here(left, alone=workers.count == 1)
            if left:
                yield from self._spread(left, workers)

    def _here(self, left: list[Task], *, alone: bool) -> Generator[Done, None, None]:
        """Do tasks in this process, taking them off `left`; unless it is `alone`, for two seconds.

        The time counts from a first teacher or task on, as that one imports things. A task that is late
        before its votes are counted is left to the workers as a whole.
        """
        deadline: float | None = None
        begun = False  # whether a row of the task is finished: it would be done twice

        def check_time() -> None:
            nonlocal deadline
            now = time.perf_counter()
            deadline = deadline or now + _START
            if now > deadline and not alone and not begun:
                raise _Late

        def trained(done: int, of: int) -> None:
            self._ticked(done, of)
            check_time()

        with contextlib.suppress(_Late):
            while left:
                with watched(trained), single_threaded():
                    for done in self._received(left[0], do_task(self._shared, left[0])):
                        begun = True
                        yield done
                left.pop(0)
                begun = False
                check_time()

    def _spread(self, left: Sequence[Task], workers: Workers) -> Generator[Done, None, None]:
        """Spread tasks over workers, or the teachers of each where tasks are fewer."""
        started, items = time.perf_counter(), list[Task]()
        parts: dict[Task, list[Any]] = {}  # votes of some of the teachers of a task
        cuts: dict[Task, list[range]] = {}
        for task in left:
            run = self._shared.voting(task)
            if run and task.votes is None and len(left) < workers.count:
                cuts[task] = _cuts(run.n_teachers, -(-_CUTS * workers.count // len(left)))
                parts[task] = []
            items += [replace(task, teachers=cut) for cut in cuts[task]] if task in cuts else [task]
        shared = self._shared if workers.here else replace(self._shared, store=None)
        for item, attempt in workers.spread(work, shared, items):
            task, whole = replace(item, teachers=None), item.teachers is None
            try:
                result: Any = attempt.open()
            except Exception as error:
                if whole and not isinstance(error, ChildProcessError):
                    raise
                if whole or parts.pop(task, None) is not None:
                    yield from self._received(task, failures(shared, task, error))
                continue
            if whole:
                yield from self._received(task, result, written=workers.here)
            elif task in parts:  # none of them has failed
                parts[task].append(result)
                self._tell(sum(len(votes) / len(cuts[other]) for other, votes in parts.items()))
                if len(parts[task]) == len(cuts[task]):
                    with single_threaded():
                        results = do_task(self._shared, task, parts.pop(task), started)
                        yield from self._received(task, results)

    def _received(self, task: Task, results: Iterable[Done], *, written: bool = True) -> Iterator[Done]:
        """Write results that are not on disk yet, and count them."""
        for done in results:
            run = self._shared.voting(task)
            if run and done.votes is not None:
                self._votes.write(run, task.repeat, done.votes)
            if not written and done.unit is not None and self._shared.store is not None:
                key = self._shared.rows[done.row].key
                self._shared.store.write(key, done.unit, done.student, done.loaded)
            self._done += 1
            self._tell(0)
            yield replace(done, votes=None, loaded=None)

    def _recalled(self, task: Task) -> Task:
        """The task with its votes, if an earlier command kept them."""
        run = self._shared.voting(task)
        return replace(task, votes=self._votes.read(run, task.repeat)) if run and run.config.cache else task

    def _ticked(self, done: int, of: int) -> None:
        """Progress callback, one call per trained teacher; there may be thousands a second."""
        if (now := time.perf_counter()) - self._told > _TICK:
            self._told = now
            self._tell(done / of)

    def _tell(self, more: float) -> None:
        self._most = max(self._most, self._done + more)  # a task that was late is begun again
        self._advance(self._most, self._found, self._total)


def _cuts(n: int, parts: int) -> list[range]:
    """Cut 0 .. n-1 into nearly equal ranges."""
    parts = min(n, parts)
    return [range(*cut) for cut in pairwise(n * k // parts for k in range(parts + 1))]
