"""Doing the repeats of many rows: teachers once for rows that share them, nothing done twice.

For each repeat and each group of rows with the same teachers: `pipeline.train` once, then
`pipeline.run_repeat` for each row. Every repeat of a row is kept the moment it is done, so
a run that is killed goes on where it was; on a Dask cluster, whose workers may have other disks,
the moment it comes back. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.engine.finished import Identity, Unit
from pate_cli.engine.parallel import local
from pate_cli.engine.parallel.tasks import single_threaded

if TYPE_CHECKING:
    from pate_cli.engine.cache import Lesson
    from pate_cli.engine.plan import Plan, PlannedRow
    from pate_cli.engine.progress import Advance
    from pate_cli.pipeline import Prepared

__all__ = ["Failure", "Results", "run"]

_OLD = 3600.0
"""Seconds after which a temporary file is nobody's."""


@dataclass(frozen=True)
class Failure:
    """Why a repeat of a row gave no numbers."""

    row: str
    repeat: int
    message: str


@dataclass(frozen=True)
class Results:
    """What there is after the work.

    Attributes
    ----------
    units : dict of str to list of Unit
        For each row that is ready, by its name: its repeats in order; those that failed are not there.
    failures : list of Failure
    """

    units: dict[str, list[Unit]]
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class _Job:
    """One row."""

    prepared: Prepared
    identity: Identity


@dataclass(frozen=True)
class _Shared:
    """What all tasks share: the rows by name, and where units go; None if that is not for workers."""

    jobs: dict[str, _Job]
    work: Path | None


@dataclass(frozen=True)
class _Task:
    """One repeat of rows that share their teachers, and what those left, where that is known."""

    repeat: int
    rows: tuple[str, ...]
    lesson: Lesson | None = None


@dataclass(frozen=True)
class _Done:
    """One row of a task: its unit or why there is none; with the last, what teachers left, if new."""

    row: str
    unit: Unit | None = None
    failure: Failure | None = None
    lesson: Lesson | None = None


def run(plan: Plan, work: Path, *, force: bool, advance: Advance) -> Results:
    """Do what is not yet done of the rows that are ready.

    Parameters
    ----------
    plan : Plan
    work : Path
        Directory of the units; made if absent.
    force : bool
        Do all of it again.
    advance : function
        Called with how many repeats of rows are done, how many of them before, and how many there are.

    Raises
    ------
    InputError
        If a cluster does not answer.
    OSError
        If a unit cannot be written.
    """
    work = work.absolute()  # worker processes kept from before may stand elsewhere
    _sweep(work)
    total = sum(row.config.repeats for row in plan.ready)
    if force:
        for row in plan.ready:
            for repeat in range(row.config.repeats):
                _identity(row.identity).file(work, repeat).unlink(missing_ok=True)
    jobs = {row.spec.name: _job(row) for row in plan.ready}
    tasks = _tasks(plan, jobs, work)
    left = sum(len(task.rows) for task in tasks)
    done = found = total - left
    advance(done, found, total)
    failures: list[Failure] = []
    if tasks:
        with contextlib.closing(_do_all(plan, jobs, tasks, work)) as results:
            for one in results:
                failures += [one.failure] if one.failure else []
                done += 1
                advance(done, found, total)
    units = {
        row.spec.name: [
            unit
            for repeat in range(row.config.repeats)
            if (unit := Unit.read(work, _identity(row.identity), repeat)) is not None
        ]
        for row in plan.ready
    }
    order = {row.spec.name: index for index, row in enumerate(plan.rows)}
    return Results(units, sorted(failures, key=lambda failure: (order[failure.row], failure.repeat)))


def _sweep(work: Path) -> None:
    """Remove what killed runs left half written; what is young may be another run's at this moment."""
    for path in work.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _OLD:
                path.unlink()


def _job(row: PlannedRow) -> _Job:
    if row.prepared is None:
        raise RuntimeError(f"{row.spec.name}: ready, but not prepared")
    return _Job(row.prepared, _identity(row.identity))


def _tasks(plan: Plan, jobs: Mapping[str, _Job], work: Path) -> list[_Task]:
    """What is left to do, a repeat of all groups before the next repeat."""
    tasks: list[_Task] = []
    most = max((row.config.repeats for row in plan.ready), default=0)
    for repeat in range(most):
        groups: dict[object, list[str]] = {}
        for row in plan.ready:
            name = row.spec.name
            if repeat < row.config.repeats and Unit.read(work, jobs[name].identity, repeat) is None:
                groups.setdefault(row.teaching, []).append(name)
        tasks += [_Task(repeat, tuple(rows)) for rows in groups.values()]
    return tasks


def _do_all(
    plan: Plan, jobs: dict[str, _Job], tasks: Sequence[_Task], work: Path
) -> Generator[_Done, None, None]:
    """Do all tasks where `compute` says; what becomes of each row, as it comes."""
    compute = plan.ready[0].config.compute
    shelf = _Votes(jobs)
    tasks = [shelf.recalled(task) for task in tasks]
    workers = _workers(compute.workers, len(tasks))
    if compute.name == "dask":
        from pate_cli.engine.parallel import dask

        with dask.open_cluster(compute.address, compute.workers) as cluster:
            for task, results in cluster.spread(_do_whole, _Shared(jobs, None), tasks):
                for one in results:
                    if one.unit is not None:
                        one.unit.write(work, jobs[one.row].identity)
                    shelf.keep(task, one.lesson)
                    yield one
        return
    shared = _Shared(jobs, work)
    if workers == 1:
        for task in tasks:
            for one in _do(shared, task):
                shelf.keep(task, one.lesson)
                yield one
        return
    for task, results in local.spread(_do_whole, shared, tasks, workers):
        for one in results:
            shelf.keep(task, one.lesson)
            yield one


class _Votes:
    """Votes that are kept on disk, where `cache=true` says so. PRIVATE."""

    def __init__(self, jobs: Mapping[str, _Job]) -> None:
        from pate_cli.engine.votes import Shelf

        self._jobs = jobs
        self._shelf = Shelf()

    def recalled(self, task: _Task) -> _Task:
        run = self._run(task)
        return task if run is None else replace(task, lesson=self._shelf.recall(run, task.repeat))

    def keep(self, task: _Task, lesson: Lesson | None) -> None:
        if lesson is not None and (run := self._run(task)) is not None:
            self._shelf.keep(run, task.repeat, lesson)

    def _run(self, task: _Task) -> Prepared | None:
        """First row of a task that has votes to keep."""
        runs = (run for run in _teaching(self._jobs, task) if run.config.cache)
        return next(runs, None)


def _teaching(jobs: Mapping[str, _Job], task: _Task) -> list[Prepared]:
    """Rows with votes: private learners split for themselves, and have no use for teachers."""
    runs = (jobs[row].prepared for row in task.rows)
    return [run for run in runs if run.plan.asks_votes]


def _do_whole(shared: _Shared, task: _Task) -> list[_Done]:
    return list(_do(shared, task))


def _do(shared: _Shared, task: _Task) -> Iterator[_Done]:
    """Do the rows of one task, keeping each."""
    from pate_cli import pipeline
    from pate_cli.engine.votes import lesson_of

    with single_threaded():
        teaching = _teaching(shared.jobs, task)
        try:
            for row in task.rows:  # a worker imports learners for itself, perhaps later than we did
                shared.jobs[row].identity.check()
            taught = pipeline.train(teaching[0], task.repeat, task.lesson) if teaching else None
        except Exception as error:  # without votes there is no row
            yield from (_Done(row, failure=Failure(row, task.repeat, _said(error))) for row in task.rows)
            return
        known = len(task.lesson.ceilings) if task.lesson else -1
        for row in task.rows:
            job = shared.jobs[row]
            unit = failure = None
            try:
                unit = Unit.of(pipeline.run_repeat(job.prepared, task.repeat, taught))
                job.identity.check()  # what is imported within a fit, too, is what its name says
            except Exception as error:  # this row cannot; the others may
                unit, failure = None, Failure(row, task.repeat, _said(error))
            if unit is not None and shared.work is not None:
                unit.write(shared.work, job.identity)  # a full disk stops everything
            new = taught is not None and row == task.rows[-1] and len(taught.ceilings) > known
            yield _Done(row, unit, failure, lesson_of(taught) if new and taught else None)


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if type(error).__module__ == "pate_cli.errors" else f"{type(error).__name__}: {text}"


def _identity(key: Identity | None) -> Identity:
    if key is None:
        raise RuntimeError("a row that is ready has an identity")
    return key


def _workers(asked: int | None, n_tasks: int) -> int:
    if asked is None and n_tasks < 8:  # starting processes would take longer than a few small tasks
        return 1
    return max(1, min(local.workers(asked), n_tasks))
