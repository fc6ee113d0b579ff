"""Where repeats are done: the numbers do not depend on it, and small jobs start no process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.config.composition import compose
from pate_cli.engine import execution, schedule
from pate_cli.engine import workers as pool
from pate_cli.engine.store import RepeatStore
from pate_cli.errors import ConfigError

SMALL = ["dataset.n_records=1000", "split.public=40", "teacher=linear_svm"]


@pytest.fixture(autouse=True)
def _fresh():
    execution.forget()


def row(*overrides: str, name: str = "run") -> schedule.Row:
    run = execution.checked(compose([*SMALL, *overrides]))
    return schedule.Row(name, run.prepared, run.key, with_student=True)


@pytest.fixture
def units(tmp_path):
    """Do all repeats of a configuration, nothing of them being done before; their units as they come."""

    def do(*overrides: str, advance: Any = lambda *_: None) -> list[Any]:
        store = RepeatStore(tmp_path / str(len(list(tmp_path.iterdir()))))
        store.directory.mkdir()
        return [done.unit for done in schedule.do([row(*overrides)], store, advance, strict=True)]

    return do


def numbers(units: Iterable[Any]) -> list[Any]:
    return sorted(
        (dataclasses.replace(unit, seconds=0, student="") for unit in units), key=lambda u: u.repeat
    )


def sent(spread: list[tuple[str, list[Any]]]) -> list[tuple[str, list[int]]]:
    """What went to workers: the task, and the repeats."""
    return [(name, [item.repeat for item in items]) for name, items in spread]


@pytest.fixture
def spread(monkeypatch) -> list[tuple[str, list[Any]]]:
    """Tasks that would go to worker processes are done here, in the wrong order; what was sent is noted."""
    seen = []

    def instead(_: Any, task: Callable[..., Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        items = list(items)
        seen.append((task.__name__, items))
        for item in reversed(items):
            yield item, pool._attempt(task, shared.only(item), item, None)

    monkeypatch.setattr(pool._Pool, "spread", instead)
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    return seen


@pytest.fixture
def clock(monkeypatch) -> Callable[[float], None]:
    """A clock that only goes on when told to."""
    now = [0.0]
    monkeypatch.setattr(schedule.time, "perf_counter", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def slow(
    monkeypatch: pytest.MonkeyPatch, wait: Callable[[float], None], *, repeat: float, teacher: float
) -> None:
    """Let each repeat, and each teacher, take so many seconds of that clock."""
    run_repeat, watched = pipeline.run_repeat, schedule.watched

    def slower(*args: Any) -> Any:
        wait(repeat)
        return run_repeat(*args)

    def slowly(observer: Callable[[int, int], None]) -> Any:
        return watched(lambda *done: wait(teacher) or observer(*done))

    monkeypatch.setattr(pipeline, "run_repeat", slower)
    monkeypatch.setattr(schedule, "watched", slowly)


@pytest.mark.parametrize(
    ("seconds", "elsewhere"),
    [
        ([0.1] * 20, []),
        ([1] * 20, list(range(3, 20))),  # after two seconds the rest is spread
    ],
)
def test_two_seconds_of_repeats_are_done_here(monkeypatch, spread, clock, units, seconds, elsewhere):
    expected = numbers(units("repeats=20", "compute.workers=1"))
    run_repeat, passing, told = pipeline.run_repeat, iter(seconds), []
    monkeypatch.setattr(pipeline, "run_repeat", lambda *args: clock(next(passing)) or run_repeat(*args))
    assert numbers(units("repeats=20", advance=lambda *counts: told.append(counts))) == expected
    assert sent(spread) == ([("do_whole", elsewhere)] if elsewhere else [])
    assert [done for done, *_ in told] == sorted(done for done, *_ in told)
    assert {done for done, *_ in told}.issuperset(range(21))


def test_long_teachers_are_seen_within_the_first_repeat(monkeypatch, spread, clock, units):
    expected = numbers(units("repeats=5", "compute.workers=1"))
    slow(monkeypatch, clock, repeat=0, teacher=0.2)  # 40 teachers: 8 s a repeat
    assert numbers(units("repeats=5")) == expected
    (whole, (task, items)) = spread
    assert sent([whole]) == [("do_whole", [1, 2, 3, 4])]
    assert task == "do_some"  # what is left of the one that was begun
    assert {item[0].repeat for item in items} == {0}
    assert [k for _, first, last in items for k in range(first, last)] == list(range(16, 40))


@pytest.mark.parametrize("mechanism", ["gaussian", "active"])
def test_teachers_are_spread_where_repeats_are_few(monkeypatch, spread, clock, mechanism, units):
    overrides = ["repeats=2", f"mechanism={mechanism}"]
    expected = numbers(units(*overrides, "compute.workers=1"))
    slow(monkeypatch, clock, repeat=0, teacher=0.2)
    assert numbers(units(*overrides)) == expected
    ((task, items),) = spread
    assert task == "do_some"
    for repeat in (0, 1):  # every teacher once
        mine = sorted((first, last) for task, first, last in items if task.repeat == repeat)
        assert len(mine) == 16  # eight for each of four workers, and two tasks
        begun = 16 if repeat == 0 else 0  # those that are trained are not trained again
        assert [k for first, last in mine for k in range(first, last)] == list(range(begun, 40))


def test_a_learner_that_fails_on_every_part_is_told_wherever_it_is_trained(monkeypatch, spread, clock, units):
    far = ["teacher.estimator=sklearn.naive_bayes.MultinomialNB"]  # takes no negative numbers
    said = []
    for workers, teacher in ((1, 0), (None, 0), (None, 0.2)):  # whole, in slices, elsewhere
        with monkeypatch.context() as patch:
            slow(patch, clock, repeat=0, teacher=teacher)
            with pytest.raises(ConfigError) as caught:
                units(*far, *([f"compute.workers={workers}"] if workers else []))
        said.append(str(caught.value))
    assert len(spread) == 1
    assert "it failed on every part" in said[0]
    assert said == [said[0]] * 3


@pytest.mark.parametrize("count", [2, 4])  # where tasks are fewer than workers, teachers are spread
def test_a_task_that_loses_its_workers_is_a_failure_and_the_others_go_on(monkeypatch, tmp_path, count):
    def losing(_: Any, task: Callable[..., Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            lost = pool.Attempt(None, ChildProcessError("killed"))
            (name,) = shared.only(item).rows
            yield item, lost if name == "2" else pool._attempt(task, shared.only(item), item, None)

    monkeypatch.setattr(pool._Pool, "spread", losing)
    rows = [row(f"seed={seed}", f"compute.workers={count}", name=str(seed)) for seed in range(1, 4)]
    results = list(schedule.do(rows, RepeatStore(tmp_path)))
    assert {done.row: done.failure and done.failure.message for done in results} == {
        "1": None,
        "2": "killed",
        "3": None,
    }
    assert len(results) == 3


def test_as_many_workers_as_asked_work_at_once(spread, units):
    units("repeats=3", "compute.workers=3")
    assert sent(spread) == [("do_whole", [0, 1, 2])]
    spread.clear()
    units("repeats=1", "compute.workers=3")
    ((task, items),) = spread
    assert (task, len(items)) == ("do_some", 24)


@pytest.mark.parametrize("workers", [["compute.workers=1"], []])
def test_a_bar_is_told_of_teachers_too(monkeypatch, clock, workers, units):
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    slow(monkeypatch, clock, repeat=0, teacher=0.05 if not workers else 0.2)
    told = []
    units(*workers, advance=lambda done, *_: told.append(done))
    assert told == sorted(told)
    assert told[0] == 0
    assert any(0 < done < 0.1 for done in told)
    assert told[-1] == 1
    assert len(told) > 15


@pytest.mark.parametrize("teacher", ["linear_svm", "logistic", "tree"])  # logistic: fitted all at once
def test_teachers_trained_in_parts_are_those_trained_together(teacher):
    run = row(f"teacher={teacher}", "teacher.size=7").prepared  # parts of 7 and 8 records
    whole = pipeline.train(run, 3)
    cuts = [(0, 20), *schedule._cuts(20, run.n_teachers, 4)]
    assert len(cuts) == 5
    split = pipeline.split_of(run, pipeline.Streams.of(run.config.seed, 3))
    parts = [pipeline.train_part(run, 3, range(*cut)) for cut in reversed(cuts)]
    together = pipeline.join(run, split, parts)
    np.testing.assert_array_equal(together.votes.counts, whole.votes.counts)
    assert together.votes.n_teachers == whole.votes.n_teachers == 114
    assert together.teacher_accuracy == whole.teacher_accuracy
    np.testing.assert_array_equal(together.split.public.X, whole.split.public.X)


def test_rows_with_votes_share_a_task_and_the_others_have_one_each(tmp_path):
    """A repeat of a frontier is many tasks then: private learners take long, and workers get one each."""
    given = {"votes": "gaussian", "more": "gnmax", "learner": "noisy_gd", "other": "output_perturbation"}
    rows = [row(f"mechanism={mechanism}", "repeats=2", name=name) for name, mechanism in given.items()]
    _, tasks = schedule._sorted_out(rows, RepeatStore(tmp_path))
    assert [(task.repeat, task.rows) for task in tasks] == [
        (repeat, names) for names in (("votes", "more"), ("learner",), ("other",)) for repeat in (0, 1)
    ]


def test_what_is_found_is_not_done_again_and_the_student_belongs_to_it(tmp_path, units):
    three, store = row("repeats=3"), RepeatStore(tmp_path / "store")

    def do() -> list[Any]:
        return list(schedule.do([three], store, strict=True))

    first = do()
    again = do()
    assert again == first
    assert again[0].student is not None
    (student,) = store.directory.glob("*.skops")
    student.write_bytes(student.read_bytes()[:-1])
    mended = do()
    assert [done.unit.repeat for done in mended] == [1, 2, 0]  # found, found, done again
    assert numbers(done.unit for done in mended) == numbers(done.unit for done in first)
    student.unlink()
    assert [done.unit.repeat for done in do()] == [1, 2, 0]
