"""What the methods are held against: NOT differentially private, any of it.

All are of the common configuration: its student, at the splits every method sees.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pate_cli.compare.limits import FAMILIES, best_model
from pate_cli.compare.methods import EXACT
from pate_cli.engine.parallel import dask, local
from pate_cli.engine.parallel.tasks import single_threaded
from pate_cli.engine.plan import Plan
from pate_cli.engine.progress import Advance
from pate_cli.engine.schedule import Failure, Results, Row
from pate_cli.engine.store import RepeatRecord, RepeatStore
from pate_cli.engine.task import reason
from pate_cli.pipeline import Prepared, Streams, split_of
from pate_cli.report.frame import mean_of
from pate_cli.report.interval import Interval
from pate_cli.students import fit_student
from pate_cli.students.metrics import measure as measured
from pate_cli.types import Answers, PublicPoints

__all__ = ["LIMIT", "TRUE_LABELS", "YARDSTICKS", "Yardstick", "kinds", "measure", "yardsticks"]

ALL_PRIVATE, TRUE_LABELS, MAJORITY = "all private records", "student on true labels", "majority class"
LIMIT = "best model without privacy"

YARDSTICKS = {
    LIMIT: f"the best of {', '.join(FAMILIES)} on all private records, chosen by cross-validated accuracy on "
    "at most 3,000 of them at each split, and fitted on at most 100,000 (a kernel machine: 20,000)",
    ALL_PRIVATE: "the student's learner fitted on all private records with their labels",
    TRUE_LABELS: "the student fitted on all public points with their true labels",
    EXACT: "the student fitted on all public points, each labelled by the exact vote of the teachers",
    MAJORITY: "the largest class of the private records, whatever the point",
}
"""Name and meaning of each, in the order shown."""


_MEASURES = tuple(name for name in YARDSTICKS if name != EXACT)
"""Those that are no runs of the pipeline."""

_KIND = "is "
"""Before the family of the model that is the limit, among the measures of its repeat."""

_WORTH = 6.0
"""Seconds of work left that are worth starting processes for."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """One of `YARDSTICKS` with its numbers.

    Attributes
    ----------
    name : str
    units : list of RepeatRecord
        One a repeat.
    """

    name: str
    units: list[RepeatRecord]

    @property
    def accuracy(self) -> Interval | None:
        """On the test split, as of every method."""
        return self.over("accuracy")

    def over(self, name: str) -> Interval | None:
        """Mean of a measure over repeats, as of every method."""
        return mean_of(self.units, name)


def measure(plan: Plan, work: Path, *, limit: bool, force: bool, advance: Advance) -> list[Failure]:
    """Do what is not yet done of the yardsticks that are no runs of the pipeline.

    Parameters
    ----------
    plan : Plan
        Of `plan_frontier`.
    work : Path
        Directory of the finished repeats; made if absent.
    limit : bool
        Whether `LIMIT` too, which takes seconds a split.
    force : bool
        Do all of it again.
    advance : function
        As `schedule.run` calls it.

    Returns
    -------
    list of Failure
        Where a student could not be fitted.

    Raises
    ------
    OSError
        If a finished repeat cannot be written.
    """
    store = RepeatStore(work.absolute())
    rows = {name: row for name, row in _rows(plan).items() if limit or name != LIMIT}
    exact = next(iter(rows.values()))
    if force:
        for row in rows.values():
            store.forget(row.key, row.repeats)
    left = [
        repeat
        for repeat in range(exact.repeats)
        if any(row.found(store, repeat) is None for row in rows.values())
    ]
    done = found = exact.repeats - len(left)
    advance(done, found, exact.repeats)
    failures = []
    for repeat, units in _spread(exact.prepared, left, tuple(rows)):
        if isinstance(units, str):
            failures.append(Failure("yardsticks", repeat, units))
            continue
        for name, unit in units.items():
            store.write(rows[name].key, unit)
        done += 1
        advance(done, found, exact.repeats)
    return sorted(failures, key=lambda failure: failure.repeat)


def yardsticks(plan: Plan, results: Results, work: Path, *, limit: bool) -> list[Yardstick]:
    """Read what `measure` and the engine left, in the order of `YARDSTICKS`, with `LIMIT` or without."""
    store, rows = RepeatStore(work.absolute()), _rows(plan)
    found = []
    for name in YARDSTICKS:
        if name == LIMIT and not limit:
            continue
        if name == EXACT:
            units = results.units.get(EXACT, [])
        else:
            row = rows[name]
            read = (store.read(row.key, repeat, row.loss) for repeat in range(row.repeats))
            units = [unit for unit in read if unit is not None]
        found.append(Yardstick(name, units))
    return found


def kinds(limit: Yardstick) -> dict[str, int]:
    """Count in how many repeats each family of models was the one chosen, the most frequent first."""
    chosen = (
        name.removeprefix(_KIND)
        for unit in limit.units
        for name in unit.diagnostics
        if name.startswith(_KIND)
    )
    return dict(Counter(chosen).most_common())


def _rows(plan: Plan) -> dict[str, Row]:
    """Each of `_MEASURES` as a row beside that of the exact votes, with the same splits."""
    exact = next(row for row in plan.rows if row.spec.name == EXACT).ready()
    return {
        name: dataclasses.replace(
            exact,
            name=name,
            key=dataclasses.replace(exact.key, config=f"{exact.key.config} {name}"),
        )
        for name in _MEASURES
    }


def _spread(
    run: Prepared, repeats: Sequence[int], names: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, RepeatRecord] | str]]:
    """Do repeats where `compute` says, or here until several processes are sooner done.

    Each comes with its units, or why it has none.
    """
    work = functools.partial(_tried, names=names)
    compute, left = run.config.compute, list(repeats)
    if compute.name == "dask" and left:
        with dask.open_cluster(compute.address, compute.workers) as cluster:
            yield from cluster.spread(work, run, left)
        return
    workers = local.workers(compute.workers)
    while left:
        started = time.perf_counter()
        with single_threaded():  # the same sums in the same order on every machine
            found = work(run, left[0])
        yield left.pop(0), found
        if workers > 1 and len(left) > 1 and (time.perf_counter() - started) * len(left) > _WORTH:
            yield from local.spread(work, run, left, workers)
            return


def _tried(run: Prepared, repeat: int, *, names: tuple[str, ...]) -> dict[str, RepeatRecord] | str:
    try:
        return _repeat(run, repeat, names)
    except Exception as error:  # of this repeat alone: the other tables and methods go on
        return reason(error)


def _repeat(run: Prepared, repeat: int, names: tuple[str, ...]) -> dict[str, RepeatRecord]:
    """Measure some of `_MEASURES` at the split of one repeat."""
    from sklearn.dummy import DummyClassifier

    streams = Streams.of(run.config.seed, repeat)
    split = split_of(run, streams)
    seed = int(streams.student.integers(2**31))
    n_classes, student = run.dataset.n_classes, run.config.student

    def fit(X: Any, y: Any) -> Any:
        return fit_student(
            PublicPoints(X),
            Answers(np.arange(len(y)), y),
            estimator=student.estimator,
            params=student.params,
            unanswered=student.unanswered,
            rng=streams.student,
            n_classes=n_classes,
            seed=seed,
        )

    units = {}
    for name in names:
        started = time.perf_counter()
        kind: dict[str, float | None] = {}
        if name == LIMIT:
            model, family = best_model(split.private.X, split.private.y, n_classes, seed)
            kind = {f"{_KIND}{family}": 1.0}
        elif name == MAJORITY:
            model = DummyClassifier(strategy="prior").fit(split.private.X, split.private.y)
        elif name == ALL_PRIVATE:
            model = fit(split.private.X, split.private.y)
        else:
            model = fit(split.public.X, split.public_labels.y)
        accuracy, others = measured(model, split.test.X, split.test.y, run.dataset.classes)
        units[name] = RepeatRecord(
            repeat=repeat,
            n_teachers=0,
            n_asked=0,
            n_answered=0,
            eps=float("inf"),
            delta=run.delta,
            eps_ex_post=float("inf"),
            accuracy=accuracy,
            seconds=time.perf_counter() - started,
            diagnostics={**kind, **others},
            asked=[],
            unanswered=[],
        )
    return units
