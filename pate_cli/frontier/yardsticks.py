"""What the methods are held against: NOT differentially private, any of it.

All are of the common configuration: its student, at the splits every method sees.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.engine.finished import Finished, Unit
from pate_cli.engine.parallel.tasks import single_threaded
from pate_cli.engine.plan import Plan
from pate_cli.engine.progress import Advance
from pate_cli.engine.schedule import Failure, Results, Row
from pate_cli.errors import InputError
from pate_cli.frontier.methods import EXACT
from pate_cli.pipeline import Prepared, Streams, split_of
from pate_cli.report.interval import Interval
from pate_cli.reproduce.rows import over
from pate_cli.students import fit_student
from pate_cli.types import Answers, PublicPoints

__all__ = ["YARDSTICKS", "Yardstick", "measure", "yardsticks"]

ALL_PRIVATE, TRUE_LABELS, MAJORITY = "all private records", "student on true labels", "majority class"

YARDSTICKS = {
    ALL_PRIVATE: "the student's learner fitted on all private records with their labels",
    TRUE_LABELS: "the student fitted on all public points with their true labels",
    EXACT: "the student fitted on all public points, each labelled by the exact vote of the teachers",
    MAJORITY: "the largest class of the private records, whatever the point",
}
"""Name and meaning of each, in the order shown."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """One of `YARDSTICKS` with its numbers.

    Attributes
    ----------
    name : str
    units : list of Unit
        One a repeat.
    """

    name: str
    units: list[Unit]

    @property
    def accuracy(self) -> Interval | None:
        """On the test split, as of every method."""
        return over(self.units, "accuracy")


def measure(plan: Plan, work: Path, *, force: bool, advance: Advance) -> list[Failure]:
    """Do what is not yet done of the yardsticks that are no runs of the pipeline.

    Parameters
    ----------
    plan : Plan
        Of `plan_frontier`.
    work : Path
        Directory of the units; made if absent.
    force : bool
        Do all of it again.
    advance : function
        As `engine.run` calls it.

    Returns
    -------
    list of Failure
        Where a student could not be fitted.

    Raises
    ------
    OSError
        If a unit cannot be written.
    """
    store, rows = Finished(work.absolute()), _rows(plan)
    exact = next(iter(rows.values()))
    if force:
        for row in rows.values():
            store.forget(row.identity, row.repeats)
    left = [
        repeat
        for repeat in range(exact.repeats)
        if any(row.found(store, repeat) is None for row in rows.values())
    ]
    done = found = exact.repeats - len(left)
    advance(done, found, exact.repeats)
    failures = []
    for repeat in left:
        try:
            with single_threaded():  # the same sums in the same order on every machine
                units = _repeat(exact.prepared, repeat)
        except InputError as error:
            failures.append(Failure("yardsticks", repeat, str(error)))
            continue
        for name, unit in units.items():
            store.write(rows[name].identity, unit)
        done += 1
        advance(done, found, exact.repeats)
    return failures


def yardsticks(plan: Plan, results: Results, work: Path) -> list[Yardstick]:
    """Read what `measure` and the engine left, in the order of `YARDSTICKS`."""
    store, rows = Finished(work.absolute()), _rows(plan)
    found = []
    for name in YARDSTICKS:
        if name == EXACT:
            units = results.units.get(EXACT, [])
        else:
            row = rows[name]
            read = (store.read(row.identity, repeat) for repeat in range(row.repeats))
            units = [unit for unit in read if unit is not None]
        found.append(Yardstick(name, units))
    return found


def _rows(plan: Plan) -> dict[str, Row]:
    """Each of `_MEASURES` as a row beside that of the exact votes, with the same splits."""
    exact = next(row for row in plan.rows if row.spec.name == EXACT).ready()
    return {
        name: dataclasses.replace(
            exact,
            name=name,
            identity=dataclasses.replace(exact.identity, config=f"{exact.identity.config} {name}"),
        )
        for name in _MEASURES
    }


def _repeat(run: Prepared, repeat: int) -> dict[str, Unit]:
    """Measure each of `_MEASURES` at the split of one repeat."""
    streams = Streams.of(run.config.seed, repeat)
    split = split_of(run, streams)
    seed = int(streams.student.integers(2**31))

    def fit(X: Any, y: Any) -> Any:
        student = run.config.student
        return fit_student(
            PublicPoints(X),
            Answers(np.arange(len(y)), y),
            estimator=student.estimator,
            params=student.params,
            unanswered=student.unanswered,
            rng=streams.student,
            n_classes=run.dataset.n_classes,
            seed=seed,
        )

    units = {}
    for name, predict in _MEASURES.items():
        started = time.perf_counter()
        accuracy = float((predict(split, fit) == split.test.y).mean())
        units[name] = Unit(
            repeat=repeat,
            n_teachers=0,
            n_asked=0,
            n_answered=0,
            eps=float("inf"),
            delta=0.0,
            eps_ex_post=float("inf"),
            eps_odometer=float("inf"),
            accuracy=accuracy,
            seconds=time.perf_counter() - started,
            diagnostics={},
            asked=[],
            unanswered=[],
        )
    return units


def _majority(split: Any, fit: Callable[[Any, Any], Any]) -> Any:
    return np.full(len(split.test.y), np.bincount(split.private.y).argmax())


_MEASURES: dict[str, Callable[[Any, Callable[[Any, Any], Any]], Any]] = {
    ALL_PRIVATE: lambda split, fit: fit(split.private.X, split.private.y).predict(split.test.X),
    TRUE_LABELS: lambda split, fit: fit(split.public.X, split.public_labels.y).predict(split.test.X),
    MAJORITY: _majority,
}
