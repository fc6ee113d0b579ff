"""Doing the repeats of many rows: teachers once for rows that share them, nothing done twice.

For each repeat and each group of rows with the same teachers: `pipeline.teach` once, then
`pipeline.run_repeat` for each row. Every repeat of a row is kept the moment it is done, so
a run that is killed goes on where it was. A failure is never kept.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.compute import local
from pate_cli.compute.tasks import single_threaded
from pate_cli.reproduce.units import Identity, Unit

if TYPE_CHECKING:
    from pate_cli.pipeline import Prepared
    from pate_cli.reproduce.plan import Plan
    from pate_cli.reproduce.progress import Advance

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
    """One row in one repeat."""

    row: str
    prepared: Prepared
    identity: Identity


@dataclass(frozen=True)
class _Task:
    """One repeat of rows that share their teachers."""

    repeat: int
    jobs: tuple[_Job, ...]


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
    tasks = _tasks(plan, work)
    left = sum(len(task.jobs) for task in tasks)
    done = found = total - left
    advance(done, found, total)
    failures: list[Failure] = []
    workers = _workers(plan, len(tasks))
    with contextlib.closing(_do_all(tasks, work, workers)) as results:
        for n_done, failed in results:
            failures += failed
            done += n_done
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


def _tasks(plan: Plan, work: Path) -> list[_Task]:
    """What is left to do, a repeat of all groups before the next repeat."""
    tasks: list[_Task] = []
    most = max((row.config.repeats for row in plan.ready), default=0)
    for repeat in range(most):
        groups: dict[object, list[_Job]] = {}
        for row in plan.ready:
            key = _identity(row.identity)
            if repeat >= row.config.repeats or Unit.read(work, key, repeat) is not None:
                continue
            if row.prepared is None:
                raise RuntimeError(f"{row.spec.name}: ready, but not prepared")
            groups.setdefault(row.teaching, []).append(_Job(row.spec.name, row.prepared, key))
        tasks += [_Task(repeat, tuple(jobs)) for jobs in groups.values()]
    return tasks


def _do_all(
    tasks: Sequence[_Task], work: Path, workers: int
) -> Generator[tuple[int, list[Failure]], None, None]:
    """How many rows are done now, and which failed: a row at a time, or a task at a time if in parallel."""
    if workers == 1:
        for task in tasks:
            for failure in _do(task, work):
                yield 1, [failure] if failure else []
        return
    for _, result in local.spread(_do_whole, work, tasks, workers):
        yield result


def _do_whole(work: Path, task: _Task) -> tuple[int, list[Failure]]:
    outcomes = list(_do(task, work))
    return len(outcomes), [failure for failure in outcomes if failure]


def _do(task: _Task, work: Path) -> Iterator[Failure | None]:
    """Do the rows of one task, keeping each; gives a failure or None for each row."""
    from pate_cli import pipeline

    with single_threaded():
        teaching = [job.prepared for job in task.jobs if job.prepared.config.mechanism.labeller is not None]
        try:
            # private learners split for themselves, and have no use for teachers
            taught = pipeline.teach(teaching[0], task.repeat) if teaching else None
        except Exception as error:  # without votes there is no row
            yield from (Failure(job.row, task.repeat, _said(error)) for job in task.jobs)
            return
        for job in task.jobs:
            try:
                unit = Unit.of(pipeline.run_repeat(job.prepared, task.repeat, taught))
            except Exception as error:  # this row cannot; the others may
                yield Failure(job.row, task.repeat, _said(error))
                continue
            unit.write(work, job.identity)  # a full disk stops everything
            yield None


def _said(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if type(error).__module__ == "pate_cli.errors" else f"{type(error).__name__}: {text}"


def _identity(key: Identity | None) -> Identity:
    if key is None:
        raise RuntimeError("a row that is ready has an identity")
    return key


def _workers(plan: Plan, n_tasks: int) -> int:
    asked = plan.ready[0].config.compute.workers if plan.ready else 1
    if asked is None and n_tasks < 8:  # starting processes would take longer than a few small tasks
        return 1
    return max(1, min(local.workers(asked), n_tasks))
