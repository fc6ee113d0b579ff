"""Schedules repeats of rows; teachers that rows share are trained once, and finished repeats are skipped.

A run is one row, a sweep a row for each job, a frontier one for each method and eps, a recipe its own. A
task is one repeat of the rows that share their teachers: votes once, then each row.

Where the work is done: for two seconds in this process, then in one process a core; with `compute.workers`,
on a Dask cluster, or with learners of other packages, all of it in those workers. What is done at a time is
a task, or some teachers of one: of the first, so that two seconds do not become minutes, and of each where
tasks are fewer than workers. The numbers do not depend on it: each repeat has its own random streams, and
each teacher its own part and seed, wherever it is trained.

A repeat is kept the moment it is done (on a cluster, whose workers may have other disks, the moment it
comes back), so a killed command goes on where it was. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from pate_cli import pipeline, terminal
from pate_cli.engine.loaded import LoadedCode, loaded_code
from pate_cli.engine.progress import Advance
from pate_cli.engine.rows import Row
from pate_cli.engine.store import RepeatRecord, RepeatStore, vote_key
from pate_cli.engine.workers import Workers, open_workers
from pate_cli.errors import InputError
from pate_cli.plugins import contained, named
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.teachers import NONE_FAILED, Failures, watched
from pate_cli.threads import one_thread

__all__ = ["Done", "Failure", "Results", "do", "reason", "run"]

_START = 2.0
"""Seconds of work in this process before others are started, which takes about as long."""

_CUTS = 8
"""Number of tasks that a worker's share of the teachers is cut into: none waits long for the last one."""

_TICK = 0.1
"""Least seconds between two reports of how many teachers of a repeat are trained."""

_FOR_THE_USER = (InputError, OSError)  # their message says enough: wrong input, a full disk


@dataclass(frozen=True)
class Failure:
    """Why a repeat of a row has no numbers; with the traceback unless the message is for the user."""

    row: str
    repeat: int
    message: str
    trace: str = ""


@dataclass(frozen=True)
class Done:
    """Result of one repeat of one row."""

    row: str
    repeat: RepeatRecord | None = None
    failure: Failure | None = None  # why there is no repeat
    student: bytes | None = None  # the content of its file, where it is wanted
    warned: tuple[str, ...] = ()  # different warnings of a repeat that was done
    failures: Failures = NONE_FAILED  # of its teachers
    loaded: LoadedCode | None = None  # of the process that made it

    def write(self, table: RepeatsFile, row: str) -> None:
        """Add it to a table that grows, under the name that the row has there."""
        if self.repeat:
            table.add(row, self.repeat.repeat, self.repeat)
        elif self.failure:
            table.add(row, self.failure.repeat, self.failure.message)
        table.grow()


@dataclass(frozen=True)
class Results:
    """Finished repeats and failures."""

    repeats: dict[str, list[RepeatRecord]]  # of each row, by its name: in order, without those that failed
    failures: list[Failure] = field(default_factory=list)


def run(
    rows: Sequence[Row],
    work: Path,
    *,
    force: bool,
    advance: Advance,
    table: RepeatsFile | None = None,
    prefix: str = "",
) -> Results:
    """Do rows that are ready, all of them again with `force`.

    Finished repeats are kept in the directory `work`, and added to a `table`, in which names of rows begin
    with `prefix`. Raises what `do` raises.
    """
    store = RepeatStore(work.absolute())
    store.sweep()
    if force:
        for row in rows:
            store.forget(row.key, row.config.repeats)
    repeats: dict[str, list[RepeatRecord]] = {row.name: [] for row in rows}
    failures = []
    with contextlib.closing(do(rows, store, advance)) as results:
        for done in results:
            if table:
                done.write(table, prefix + done.row)
            failures += [done.failure] if done.failure else []
            repeats[done.row] += [done.repeat] if done.repeat else []
    order = {row.name: index for index, row in enumerate(rows)}
    return Results(
        {name: sorted(records, key=lambda repeat: repeat.repeat) for name, records in repeats.items()},
        sorted(failures, key=lambda failure: (order[failure.row], failure.repeat)),
    )


def do(
    rows: Sequence[Row],
    store: RepeatStore,
    advance: Advance = lambda *_: None,
    *,
    strict: bool = False,
    students: bool = False,
) -> Generator[Done, None, None]:
    """Yield finished repeats from the store, then run the missing ones, of rows with one `compute`.

    `advance` is called with how many repeats of rows are done, how many of them before, and how many there
    are; one half done counts half. With `students`, that of each first repeat comes, too. An error in a
    repeat, or that a task has lost two workers, is returned as its failure; raised if `strict`. InputError
    if a cluster does not answer; OSError if a finished repeat cannot be written, or a cluster is lost.
    """
    total = sum(row.config.repeats for row in rows)
    finished, tasks = _tasks_of(rows, store, students=students)
    advance(len(finished), len(finished), total)
    yield from finished
    if tasks:
        shared = _Shared({row.name: row for row in rows}, strict, students)
        warned, failures = Counter[str](), NONE_FAILED
        for done in _Work(shared, store, advance, len(finished), total).do(tasks):
            warned.update(done.warned)
            failures += done.failures
            yield done
        lines = [f"warned in {repeats} of {total} repeats: {text}" for text, repeats in warned.items()]
        for line in filter(None, (*lines, str(failures))):
            terminal.notice(line)


@dataclass(frozen=True)
class _Task:
    """One repeat of rows that share their teachers, or of that only the training of some teachers."""

    repeat: int
    rows: tuple[str, ...]
    teachers: range | None = None  # where only these are to be trained


@dataclass(frozen=True)
class _Shared:
    """Common to all tasks."""

    rows: dict[str, Row]
    strict: bool  # whether an error is raised, and not returned as a failure
    students: bool
    store: RepeatStore | None = None  # of workers, where they see the disk: they keep a row when it is done
    loaded: LoadedCode = field(default_factory=loaded_code)  # of the first process; workers have the same

    def only(self, task: _Task) -> _Shared:
        """Part that one task needs."""
        return replace(self, rows={name: self.rows[name] for name in task.rows})

    def voting(self, task: _Task) -> pipeline.Prepared | None:
        """Run whose teachers vote for all rows of a task; None for a mechanism that uses no such votes."""
        run = self.rows[task.rows[0]].prepared
        return run if run.mechanism.asks_votes else None


def _tasks_of(rows: Sequence[Row], store: RepeatStore, *, students: bool) -> tuple[list[Done], list[_Task]]:
    """Repeats that are done already, and tasks for the others, a row's one after the other."""
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in rows:  # one without teachers shares nothing: a group by itself
        groups[vote_key(row.prepared) if row.prepared.mechanism.asks_votes else row.name].append(row)
    finished, tasks = [], []
    for group in groups.values():
        for repeat in range(max(row.config.repeats for row in group)):
            names = []
            for row in group:
                if repeat < row.config.repeats:
                    done = _found(row, repeat, store, student=students and repeat == 0)
                    finished += [done] if done else []
                    names += [] if done else [row.name]
            tasks += [_Task(repeat, tuple(names))] if names else []
    return finished, tasks


def _found(row: Row, repeat: int, store: RepeatStore, *, student: bool) -> Done | None:
    """Find a finished repeat with its student, if wanted; None unless it states our guarantee."""
    finished = store.find(row.key, repeat, student=student)
    if finished is None:
        return None
    (record, content), guarantee = finished, row.prepared.whole.guarantee
    if (record.repeat, record.eps, record.delta) != (repeat, guarantee.eps, guarantee.delta):
        return None
    return Done(row.name, record, student=content)


class _Work:
    """Does the tasks of one command, and keeps their results."""

    def __init__(
        self, shared: _Shared, store: RepeatStore, advance: Advance, done_before: int, total: int
    ) -> None:
        self._shared, self._store = shared, store
        self._advance = advance
        self._found, self._total = done_before, total
        self._done = done_before
        self._last_report = self._progress = 0.0
        self._cut: dict[_Task, int] = {}  # number of parts that the teachers of a task are cut into
        self._parts: dict[_Task, list[Any]] = {}  # votes of those that are trained
        self._began = time.perf_counter()

    def do(self, tasks: Sequence[_Task]) -> Generator[Done, None, None]:
        """Do all tasks where `compute` says."""
        compute = next(iter(self._shared.rows.values())).config.compute
        with open_workers(compute) as workers:
            ours = not any(row.foreign for row in self._shared.rows.values())  # else they may end a process
            alone = workers.here and workers.count == 1
            begin = workers.here and not alone and ours and compute.workers is None
            items = deque[_Task]()
            for task in tasks:
                few = len(tasks) < workers.count or (begin and task is tasks[0])
                items.extend([task] if alone or not few else self._cut_up(task, workers.count, len(tasks)))
            if alone or begin:
                yield from self._here(items, math.inf if alone else _START)
            if items:
                yield from self._spread(items, workers)

    def _cut_up(self, task: _Task, n_workers: int, n_tasks: int) -> list[_Task]:
        """Cut the teachers of a task into parts, where they vote."""
        run = self._shared.voting(task)
        if run is None:
            return [task]
        cuts = _cuts(run.n_teachers, -(-_CUTS * n_workers // min(n_tasks, n_workers)))
        self._cut[task], self._parts[task] = len(cuts), []
        return [replace(task, teachers=cut) for cut in cuts]

    def _here(self, items: deque[_Task], seconds: float) -> Generator[Done, None, None]:
        """Do items in this process, taking them off, until so many seconds after the first, which imports."""
        deadline = math.inf
        while items and time.perf_counter() < deadline:
            item = items.popleft()
            share = 1 / self._cut.get(replace(item, teachers=None), 1)
            with watched(partial(self._ticked, self._n_partial(), share)), one_thread():
                if item.teachers is None:
                    yield from self._received(item, _do_task(self._shared, item))
                else:
                    yield from self._joined(item, partial(_work, self._shared, item))
            deadline = min(deadline, time.perf_counter() + seconds)

    def _spread(self, items: Iterable[_Task], workers: Workers) -> Generator[Done, None, None]:
        """Spread items over workers."""
        shared = replace(self._shared, store=self._store) if workers.here else self._shared
        for item, attempt in workers.spread(_work, shared, items):
            if item.teachers is not None:
                yield from self._joined(item, attempt.open)
                continue
            try:
                result = attempt.open()
            except ChildProcessError as error:
                yield from self._received(item, _failures(self._shared, item, error))
            else:
                yield from self._received(item, cast("list[Done]", result), written=workers.here)

    def _joined(self, item: _Task, votes: Callable[[], Any]) -> Iterator[Done]:
        """Take the votes of some teachers; with the last of a task do its rows."""
        task = replace(item, teachers=None)
        if task not in self._parts:  # another part has failed
            return
        try:
            self._parts[task].append(votes())
        except Exception as error:
            del self._parts[task]
            yield from self._received(task, _failures(self._shared, task, error))
            return
        self._tell(self._n_partial())
        if len(self._parts[task]) == self._cut[task]:
            with one_thread():
                parts = self._parts.pop(task)
                yield from self._received(task, _do_task(self._shared, task, parts, self._began))

    def _received(self, task: _Task, results: Iterable[Done], *, written: bool = False) -> Iterator[Done]:
        """Write results that are not on disk yet, and count them."""
        for done in results:
            if done.repeat is not None and not written:
                key = self._shared.rows[done.row].key
                self._store.write(key, done.repeat, done.student, done.loaded)  # a full disk stops everything
            self._done += 1
            self._tell(0)
            yield replace(done, loaded=None)

    def _n_partial(self) -> float:
        """Tasks that are done in part, as a number of tasks."""
        return sum(len(votes) / self._cut[task] for task, votes in self._parts.items())

    def _ticked(self, before: float, share: float, done: int, of: int) -> None:
        """Progress callback, one call per trained teacher; there may be thousands a second."""
        if (now := time.perf_counter()) - self._last_report > _TICK:
            self._last_report = now
            self._tell(before + share * done / of)

    def _tell(self, half_done: float) -> None:
        self._progress = max(self._progress, self._done + half_done)  # it never goes back
        self._advance(self._progress, self._found, self._total)


def _cuts(n: int, parts: int) -> list[range]:
    """Cut 0 .. n-1 into nearly equal ranges."""
    parts = min(n, parts)
    return [range(*cut) for cut in pairwise(n * k // parts for k in range(parts + 1))]


def _work(shared: _Shared, task: _Task) -> list[Done] | pipeline.PartVotes:
    """Do a task in a worker, which sends back the results of all its rows, or the votes of some teachers."""
    run = shared.voting(task)
    if task.teachers is None or run is None:
        return list(_do_task(shared, task))
    shared.loaded.check()
    return pipeline.train_part(run, task.repeat, task.teachers)


def _do_task(
    shared: _Shared, task: _Task, parts: Sequence[pipeline.PartVotes] = (), started: float | None = None
) -> Iterator[Done]:
    """Do the rows of one task; `parts` are the votes of all teachers, trained from `started` on."""
    started = time.perf_counter() if started is None else started
    run, trained = shared.voting(task), None
    try:
        shared.loaded.check()  # a worker imports learners for itself, perhaps later than we did
        if run and parts:
            trained = pipeline.join(run, _split(run, task), parts)
        elif run:
            with contained():
                trained = pipeline.train(run, task.repeat)
    except Exception as error:  # without votes there is no row
        yield from _failures(shared, task, error)
        return
    taken = time.perf_counter() - started
    for name in task.rows:
        row = shared.rows[name]
        try:
            # its budget may differ from that of the first row
            votes = trained and replace(trained, split=_split(row.prepared, task))
            with contained():
                outcome = row.run(task.repeat, votes)
                student = row.student(outcome) if shared.students and task.repeat == 0 else None
            record = RepeatRecord.of(outcome, taken + outcome.result.seconds, student)
            shared.loaded.check()  # what is imported within a fit, too
            done = Done(name, record, None, student, outcome.warned, outcome.failures, loaded=loaded_code())
        except Exception as error:  # this row cannot; the others may
            (done,) = _failures(shared, replace(task, rows=(name,)), error)
        if done.repeat is not None and shared.store is not None:
            shared.store.write(row.key, done.repeat, done.student, done.loaded)
        yield done


def _split(run: pipeline.Prepared, task: _Task) -> Any:
    return pipeline.split_of(run, pipeline.Streams.of(run.config.seed, task.repeat))


def _failures(shared: _Shared, task: _Task, error: Exception) -> list[Done]:
    """Failure of every row of a task by an exception that is being handled; raised where that is wanted."""
    error = named(error)
    if shared.strict:
        raise error
    trace = "" if isinstance(error, _FOR_THE_USER) else traceback.format_exc()
    return [Done(name, failure=Failure(name, task.repeat, reason(error), trace)) for name in task.rows]


def reason(error: Exception) -> str:
    """Message of an error on one line, with its type unless it is meant for the user."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return text if isinstance(error, _FOR_THE_USER) else f"{type(error).__name__}: {text}"
