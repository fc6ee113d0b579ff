"""One task, in this process or a worker: a repeat of the rows that share their teachers."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pate_cli import pipeline
from pate_cli.engine.loaded import LoadedCode, loaded_code
from pate_cli.engine.store import CacheKey, RepeatRecord, RepeatStore
from pate_cli.engine.votes import votes_of
from pate_cli.pipeline import Outcome, PartVotes, Prepared, Streams, Trained
from pate_cli.students import dump_student
from pate_cli.teachers.vote_record import VoteRecord
from pate_cli.types import Split

__all__ = ["Done", "Failure", "Row", "Shared", "Task", "do_some", "do_task", "do_whole", "failures"]
__all__ += ["reason", "split_of_task"]


@dataclass(frozen=True, eq=False)
class Row:
    """One configuration that is ready.

    Attributes
    ----------
    name : str
        Unique among the rows done together.
    prepared : Prepared
    key : CacheKey
    with_student : bool
        Whether the student of the first repeat is wanted, too.
    """

    name: str
    prepared: Prepared
    key: CacheKey
    with_student: bool = False

    @property
    def repeats(self) -> int:
        """Number of repeats asked for."""
        return self.prepared.config.repeats

    @property
    def loss(self) -> tuple[float, float]:
        """(eps, delta) of one repeat."""
        return self.prepared.plan.guarantee.eps, self.prepared.delta

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
        """Find a finished repeat with its student, if wanted; None if either is missing."""
        found = store.find(self.key, repeat, self.loss, student=self.wants_student(repeat))
        return found and Done(self.name, found[0], student=found[1])


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
    """Result of one repeat of one row.

    Attributes
    ----------
    row : str
    unit : RepeatRecord or None
    failure : Failure or None
        Why there is no unit.
    votes : VoteRecord or None
        With the last row of a task that keeps votes, if new. PRIVATE; for the scheduler alone.
    student : bytes or None
        The content of its file, where it is wanted.
    loaded : LoadedCode or None
        Of the process that made the unit.
    warned : tuple of str
        Different warnings of a repeat that was done.
    """

    row: str
    unit: RepeatRecord | None = None
    failure: Failure | None = None
    votes: VoteRecord | None = None
    student: bytes | None = None
    loaded: LoadedCode | None = None
    warned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """One repeat of rows that share their teachers, and the votes of those, where they are known."""

    repeat: int
    rows: tuple[str, ...]
    votes: VoteRecord | None = None


@dataclass(frozen=True)
class Shared:
    """Common to all tasks.

    Attributes
    ----------
    rows : dict of str to Row
        By name.
    store : RepeatStore or None
        None for workers that may not see this disk.
    strict : bool
        Whether an error is raised, and not returned as a failure.
    loaded : LoadedCode
        Of the first process; every worker is to have loaded the same.
    """

    rows: dict[str, Row]
    store: RepeatStore | None
    strict: bool
    loaded: LoadedCode = field(default_factory=loaded_code)

    def only(self, item: Task | tuple[Task, int, int]) -> Shared:
        """Part that one task, or some teachers of one, need."""
        task = item if isinstance(item, Task) else item[0]
        return replace(self, rows={name: self.rows[name] for name in task.rows})

    def asking(self, task: Task) -> list[Prepared]:
        """Runs of a task with votes: private learners split for themselves, and have no use for teachers."""
        runs = (self.rows[name].prepared for name in task.rows)
        return [run for run in runs if run.plan.asks_votes]


def do_whole(shared: Shared, task: Task) -> list[Done]:
    """Do the rows of one task, for a worker that sends back all at once."""
    return list(do_task(shared, task))


def do_some(shared: Shared, item: tuple[Task, int, int]) -> PartVotes:
    """Train the teachers first .. last - 1 of a task."""
    task, first, last = item
    return pipeline.train_part(shared.asking(task)[0], task.repeat, range(first, last))


def do_task(
    shared: Shared, task: Task, train: Callable[[], Trained] | None = None, started: float | None = None
) -> Iterator[Done]:
    """Do the rows of one task, keeping each.

    Parameters
    ----------
    shared : Shared
    task : Task
    train : callable, optional
        Returns the votes, where the teachers are trained already.
    started : float, optional
        When the work on this task began, by `time.perf_counter`.
    """
    started = time.perf_counter() if started is None else started
    asking = shared.asking(task)
    try:
        shared.loaded.check()  # a worker imports learners for itself, perhaps later than we did
        trained = None
        if asking:
            trained = train() if train else pipeline.train(asking[0], task.repeat, task.votes)
    except Exception as error:  # without votes there is no row
        yield from failures(shared, task, error)
        return
    taken = time.perf_counter() - started
    known = -1 if task.votes is None else len(task.votes.ceilings)
    for name in task.rows:
        row = shared.rows[name]
        try:
            run = row.prepared
            votes = trained and replace(trained, split=split_of_task(run, task))  # its budget may be another
            outcome = row.run(task.repeat, votes)
            student = _student(run, outcome) if row.wants_student(task.repeat) else None
            unit = RepeatRecord.of(outcome, taken + outcome.result.seconds, student)
            shared.loaded.check()  # what is imported within a fit, too
            done = Done(name, unit, student=student, loaded=loaded_code(), warned=outcome.warned)
        except Exception as error:  # this row cannot; the others may
            if shared.strict:
                raise
            done = Done(name, failure=Failure.of(name, task.repeat, error))
        if done.unit is not None and shared.store is not None:
            shared.store.write(row.key, done.unit, done.student, done.loaded)  # a full disk stops everything
        if trained and name == task.rows[-1] and asking[0].config.cache and len(trained.ceilings) > known:
            done = replace(done, votes=votes_of(trained))
        yield done


def failures(shared: Shared, task: Task, error: Exception) -> list[Done]:
    """Failure of every row of a task by an exception that is being handled; raised where that is wanted."""
    if shared.strict:
        raise error
    return [Done(name, failure=Failure.of(name, task.repeat, error)) for name in task.rows]


def split_of_task(run: Prepared, task: Task) -> Split:
    """Split the data of a run as its teachers do in this repeat."""
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
