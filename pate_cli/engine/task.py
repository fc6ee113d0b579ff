"""One task, in this process or a worker: a repeat of the rows that share their teachers."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pate_cli import pipeline
from pate_cli.config import RunConfig
from pate_cli.engine.loaded import LoadedCode, loaded_code
from pate_cli.engine.store import CacheKey, RepeatRecord, RepeatStore
from pate_cli.pipeline import Outcome, PartVotes, Prepared, Streams, Trained
from pate_cli.students import dump_student
from pate_cli.teachers import VoteRecord
from pate_cli.types import Split

__all__ = ["Done", "Failure", "Row", "Shared", "Task", "do_task", "failures", "reason", "work"]


@dataclass(frozen=True, eq=False)
class Row:
    """One configuration that has passed every check before training."""

    name: str  # unique among the rows done together
    prepared: Prepared
    key: CacheKey
    with_student: bool = False  # whether the student of the first repeat is wanted, too

    @property
    def config(self) -> RunConfig:
        """The checked configuration."""
        return self.prepared.config

    @property
    def label(self) -> str:
        """Dataset and mechanism, for the name of a directory."""
        return f"{self.config.dataset.name}-{self.config.mechanism.label}"

    def wants_student(self, repeat: int) -> bool:
        """Whether the student of a repeat is wanted."""
        return self.with_student and repeat == 0

    def run(self, repeat: int, trained: Trained | None = None) -> Outcome:
        """Do one repeat; warnings, as of the student's learner, are in the outcome."""
        with warnings.catch_warnings(record=True) as caught:
            outcome = pipeline.run_repeat(self.prepared, repeat, trained)
        texts = (f"{one.category.__name__}: {one.message}".splitlines()[0].rstrip(":") for one in caught)
        return replace(outcome, warned=tuple(dict.fromkeys(texts)))

    def found(self, store: RepeatStore, repeat: int) -> Done | None:
        """Find a finished repeat with its student, if wanted; None unless it states our guarantee."""
        found = store.find(self.key, repeat, student=self.wants_student(repeat))
        promised = (repeat, self.prepared.plan.guarantee.eps, self.prepared.delta)
        if found is None or (found[0].repeat, found[0].eps, found[0].delta) != promised:
            return None
        return Done(self.name, found[0], student=found[1])


@dataclass(frozen=True)
class Failure:
    """Why a repeat of a row has no numbers; with the traceback unless the message is for the user."""

    row: str
    repeat: int
    message: str
    trace: str = ""

    @classmethod
    def of(cls, row: str, repeat: int, error: Exception) -> Failure:
        """Failure by an exception that is being handled."""
        return cls(row, repeat, reason(error), "" if _is_for_the_user(error) else traceback.format_exc())


@dataclass(frozen=True)
class Done:
    """Result of one repeat of one row."""

    row: str
    unit: RepeatRecord | None = None
    failure: Failure | None = None  # why there is no unit
    votes: VoteRecord | None = None  # PRIVATE: with the last row of a task that keeps votes, if new
    student: bytes | None = None  # the content of its file, where it is wanted
    loaded: LoadedCode | None = None  # of the process that made the unit
    warned: tuple[str, ...] = ()  # different warnings of a repeat that was done


@dataclass(frozen=True)
class Task:
    """One repeat of rows that share their teachers, or of that only the training of some teachers."""

    repeat: int
    rows: tuple[str, ...]
    votes: VoteRecord | None = None  # of the teachers, where an earlier command kept them
    teachers: range | None = None  # where only these are to be trained


@dataclass(frozen=True)
class Shared:
    """Common to all tasks."""

    rows: dict[str, Row]
    store: RepeatStore | None  # None for workers that may not see this disk
    strict: bool  # whether an error is raised, and not returned as a failure
    loaded: LoadedCode = field(default_factory=loaded_code)  # of the first process; workers have the same

    def only(self, task: Task) -> Shared:
        """Part that one task needs."""
        return replace(self, rows={name: self.rows[name] for name in task.rows})

    def voting(self, task: Task) -> Prepared | None:
        """Run whose teachers vote for all rows of a task; None for a mechanism that uses no such votes."""
        run = self.rows[task.rows[0]].prepared
        return run if run.plan.asks_votes else None


def work(shared: Shared, task: Task) -> list[Done] | PartVotes:
    """Do a task in a worker, which sends back the results of all its rows, or the votes of some teachers."""
    run = shared.voting(task)
    if task.teachers is None or run is None:
        return list(do_task(shared, task))
    shared.loaded.check()
    return pipeline.train_part(run, task.repeat, task.teachers)


def do_task(
    shared: Shared, task: Task, parts: Sequence[PartVotes] = (), started: float | None = None
) -> Iterator[Done]:
    """Do the rows of one task, keeping each.

    `parts` are the votes of all teachers, where they are trained already; `started` is then when that began,
    by `time.perf_counter`.
    """
    started = time.perf_counter() if started is None else started
    run, trained = shared.voting(task), None
    try:
        shared.loaded.check()  # a worker imports learners for itself, perhaps later than we did
        if run and parts:
            trained = pipeline.join(run, _split(run, task), parts)
        elif run:
            trained = pipeline.train(run, task.repeat, task.votes)
    except Exception as error:  # without votes there is no row
        yield from failures(shared, task, error)
        return
    taken = time.perf_counter() - started
    known = -1 if task.votes is None else len(task.votes.ceilings)
    for name in task.rows:
        row = shared.rows[name]
        try:
            # its budget may differ from that of the first row
            votes = trained and replace(trained, split=_split(row.prepared, task))
            outcome = row.run(task.repeat, votes)
            student = _student(row.prepared, outcome) if row.wants_student(task.repeat) else None
            unit = RepeatRecord.of(outcome, taken + outcome.result.seconds, student)
            shared.loaded.check()  # what is imported within a fit, too
            done = Done(name, unit, student=student, loaded=loaded_code(), warned=outcome.warned)
        except Exception as error:  # this row cannot; the others may
            if shared.strict:
                raise
            done = Done(name, failure=Failure.of(name, task.repeat, error))
        if done.unit is not None and shared.store is not None:
            shared.store.write(row.key, done.unit, done.student, done.loaded)  # a full disk stops everything
        if run and trained and name == task.rows[-1] and run.config.cache and len(trained.ceilings) > known:
            counts = np.array(trained.votes.counts)  # a copy: joblib may have lent a file
            done = replace(done, votes=VoteRecord(counts, trained.teacher_accuracy, trained.ceilings))
        yield done


def failures(shared: Shared, task: Task, error: Exception) -> list[Done]:
    """Failure of every row of a task by an exception that is being handled; raised where that is wanted."""
    if shared.strict:
        raise error
    return [Done(name, failure=Failure.of(name, task.repeat, error)) for name in task.rows]


def _split(run: Prepared, task: Task) -> Split:
    return pipeline.split_of(run, Streams.of(run.config.seed, task.repeat))


def _student(run: Prepared, outcome: Outcome) -> bytes:
    """Content of the file of a student."""
    guarantee = run.plan.guarantee
    return dump_student(
        outcome.student,
        classes=run.dataset.classes,
        n_features=getattr(outcome.student, "n_features_in_", run.dataset.n_features),
        encoder=outcome.encoder,
        meta={"dataset": run.dataset.name, "eps": guarantee.eps, "delta": guarantee.delta},
        first_index=run.dataset.first_index,
    )


def reason(error: Exception) -> str:
    """Message of an error on one line, with its type unless it is meant for the user."""
    text = " ".join(str(error).split())
    return text if _is_for_the_user(error) else f"{type(error).__name__}: {text}"


def _is_for_the_user(error: Exception) -> bool:
    return type(error).__module__ == "pate_cli.errors" or isinstance(error, OSError)
