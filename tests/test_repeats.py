"""Where repeats are done: the numbers do not depend on it, and small jobs start no process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.config.composition import compose
from pate_cli.engine import execution, repeats
from pate_cli.engine.parallel import local

SMALL = ["dataset.n_records=1000", "split.public=40", "teacher=linear_svm"]


@pytest.fixture(autouse=True)
def _fresh():
    execution.forget()


def prepared(*overrides: str) -> Any:
    return execution.checked(compose([*SMALL, *overrides])).prepared


def numbers(outcomes: Iterable[Any]) -> list[Any]:
    results = sorted((outcome.result for outcome in outcomes), key=lambda result: result.repeat)
    return [repr(dataclasses.replace(result, seconds=0)) for result in results]


@pytest.fixture
def spread(monkeypatch) -> list[tuple[str, list[Any]]]:
    """Tasks that would go to worker processes are done here, in the wrong order; what was sent is noted."""
    seen = []

    def instead(task: Callable[..., Any], shared: Any, items: Iterable[Any], workers: int) -> Iterator[Any]:
        items = list(items)
        seen.append((task.__name__, items))
        for item in reversed(items):
            yield item, task(shared, item)

    monkeypatch.setattr(local, "spread", instead)
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    return seen


@pytest.fixture
def clock(monkeypatch) -> Callable[[float], None]:
    """A clock that only goes on when told to."""
    now = [0.0]
    monkeypatch.setattr(repeats.time, "perf_counter", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def slow(
    monkeypatch: pytest.MonkeyPatch, wait: Callable[[float], None], *, repeat: float, teacher: float
) -> None:
    """Let each repeat, and each teacher, take so many seconds of that clock."""
    run_repeat, tick = pipeline.run_repeat, pipeline.teachers.ensemble.tick

    def slower(*args: Any) -> Any:
        wait(repeat)
        return run_repeat(*args)

    def ticked(*args: int) -> None:
        wait(teacher)
        tick(*args)

    monkeypatch.setattr(pipeline, "run_repeat", slower)
    monkeypatch.setattr(pipeline.teachers.ensemble, "tick", ticked)


def test_a_fast_job_is_done_here(monkeypatch, spread, clock):
    slow(monkeypatch, clock, repeat=0.1, teacher=0)
    assert len(list(repeats.outcomes(prepared("repeats=20")))) == 20
    assert spread == []  # 18 repeats of 0.1 s: two seconds are not saved


def test_a_slow_first_repeat_alone_decides_nothing_if_it_is_short(monkeypatch, spread, clock):
    """It imports what the others need."""
    seconds = iter([1.9] + [0.05] * 11)
    run_repeat = pipeline.run_repeat
    monkeypatch.setattr(pipeline, "run_repeat", lambda *args: clock(next(seconds)) or run_repeat(*args))
    assert len(list(repeats.outcomes(prepared("repeats=12")))) == 12
    assert spread == []


def test_long_repeats_are_spread_once_one_is_done(monkeypatch, spread, clock):
    expected = numbers(repeats.outcomes(prepared("repeats=5", "compute.workers=1")))
    slow(monkeypatch, clock, repeat=3, teacher=0)
    told = []
    assert numbers(repeats.outcomes(prepared("repeats=5"), told.append)) == expected
    assert spread == [("_one", [(repeat, None) for repeat in (1, 2, 3, 4)])]
    assert [done for done in told if done >= 1] == [1, 2, 3, 4, 5]


def test_long_teachers_are_seen_within_the_first_repeat(monkeypatch, spread, clock):
    slow(monkeypatch, clock, repeat=0, teacher=0.2)  # 40 teachers: 8 s a repeat
    list(repeats.outcomes(prepared("repeats=5")))
    assert spread == [("_one", [(repeat, None) for repeat in range(5)])]


@pytest.mark.parametrize("mechanism", ["gaussian", "active"])
def test_teachers_are_spread_where_repeats_are_few(monkeypatch, spread, clock, mechanism):
    overrides = ["repeats=2", f"mechanism={mechanism}"]
    expected = numbers(repeats.outcomes(prepared(*overrides, "compute.workers=1")))
    slow(monkeypatch, clock, repeat=0, teacher=0.2)
    assert numbers(repeats.outcomes(prepared(*overrides))) == expected
    ((task, items),) = spread
    assert task == "_some_teachers"
    for repeat in (0, 1):  # every teacher once
        mine = sorted((first, last) for number, first, last in items if number == repeat)
        assert len(mine) == 4
        assert [k for first, last in mine for k in range(first, last)] == list(range(40))


def test_as_many_workers_as_asked_work_at_once(spread):
    list(repeats.outcomes(prepared("repeats=3", "compute.workers=3")))
    assert spread == [("_one", [(0, None), (1, None), (2, None)])]


def test_a_bar_is_told_of_teachers_too(monkeypatch, clock):
    slow(monkeypatch, clock, repeat=0, teacher=0.2)
    told = []
    list(repeats.outcomes(prepared("compute.workers=1"), told.append))
    assert told == sorted(told)
    assert 0 < told[0] < 0.1
    assert told[-1] == 1
    assert len(told) > 30


@pytest.mark.parametrize("teacher", ["linear_svm", "logistic", "tree"])  # logistic: fitted all at once
def test_teachers_trained_in_parts_are_those_trained_together(teacher):
    run = prepared(f"teacher={teacher}", "teacher.size=7")  # parts of 7 and 8 records
    whole = pipeline.train(run, 3)
    cuts = repeats._cuts(run.n_teachers, 5)
    assert len(cuts) == 5
    together = repeats._taught(run, 3, [repeats._some_teachers(run, (3, *cut)) for cut in cuts])
    np.testing.assert_array_equal(together.votes.counts, whole.votes.counts)
    assert together.votes.n_teachers == whole.votes.n_teachers == 114
    assert together.teacher_accuracy == whole.teacher_accuracy
    np.testing.assert_array_equal(together.split.public.X, whole.split.public.X)


def test_teachers_trained_again_in_one_repeat_are_timed_anew(monkeypatch):
    """Boosting trains all teachers once a round, perhaps all at once: the same number is ready again."""
    monkeypatch.setattr("pate_cli.engine.repeats._GLANCE", 0.0)
    watch = repeats._Watch(2, [0], lambda _: None)
    for _ in range(3):
        watch.teacher(10, 10)
