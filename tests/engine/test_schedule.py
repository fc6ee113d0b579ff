"""Where repeats are done: the numbers do not depend on it, and small jobs start no process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from pate_cli import pipeline
from pate_cli.config.hydra_composition import compose
from pate_cli.engine import schedule, workers
from pate_cli.engine.rows import Row, RowSpec, forget
from pate_cli.engine.store import RepeatStore
from pate_cli.errors import ConfigError
from pate_cli.teachers import NONE_FAILED

SMALL = ["dataset.n_records=1000", "split.public=40", "teacher=linear_svm"]
SMALL += ["features=none", "student=logistic"]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    forget()
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)


def row(*overrides: str, name: str = "run") -> Row:
    return Row.of(compose([*SMALL, *overrides]), RowSpec(name))


@pytest.fixture
def units(tmp_path):
    """Do all repeats of a configuration, nothing of them being done before; their units as they come."""

    def do(*overrides: str, advance: Any = lambda *_: None) -> list[Any]:
        store = RepeatStore(tmp_path / str(len(list(tmp_path.iterdir()))))
        store.directory.mkdir()
        return [done.repeat for done in schedule.do([row(*overrides)], store, advance, strict=True)]

    return do


def numbers(units: Iterable[Any]) -> list[Any]:
    return sorted(
        (dataclasses.replace(unit, seconds=0, student="") for unit in units), key=lambda u: u.repeat
    )


@pytest.fixture
def sent(monkeypatch) -> list[Any]:
    """Tasks sent to worker processes, which are done here, in the wrong order."""
    seen = []

    def instead(_: Any, call: Callable[..., Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        items = list(items)
        seen.extend(items)
        for item in reversed(items):
            yield item, workers._attempt(call, shared.only(item), item, None)

    monkeypatch.setattr(workers.Workers, "spread", instead)
    return seen


@pytest.fixture
def slow(monkeypatch) -> Callable[..., None]:
    """Let each repeat, and each teacher, take so many seconds of a clock that goes on by them alone."""
    now, run_repeat, watched = [0.0], pipeline.run_repeat, schedule.watched
    monkeypatch.setattr(schedule.time, "perf_counter", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    def make(*, repeat: float = 0, teacher: float = 0) -> None:
        def slowly(observer: Callable[[int, int], None]) -> Any:
            return watched(lambda *done: wait(teacher) or observer(*done))

        monkeypatch.setattr(pipeline, "run_repeat", lambda *args: wait(repeat) or run_repeat(*args))
        monkeypatch.setattr(schedule, "watched", slowly)

    return make


@pytest.mark.parametrize(("seconds", "elsewhere"), [(0.01, []), (1, list(range(2, 10)))])
def test_after_two_seconds_the_rest_is_spread(sent, slow, units, seconds, elsewhere):
    expected, told = numbers(units("repeats=10", "compute.workers=1")), []
    slow(repeat=seconds)
    assert numbers(units("repeats=10", advance=lambda *counts: told.append(counts))) == expected
    assert [task.repeat for task in sent] == elsewhere
    done = [each for each, *_ in told]
    assert done == sorted(done)
    assert set(done).issuperset(range(11))


@pytest.mark.parametrize(("repeats", "mechanism"), [(5, "gaussian"), (2, "gaussian"), (2, "active")])
def test_after_two_seconds_the_other_teachers_are_spread(sent, slow, units, repeats, mechanism):
    """Of the first repeat; and of each, where repeats are fewer than workers."""
    overrides, told = [f"repeats={repeats}", f"mechanism={mechanism}"], []
    expected = numbers(units(*overrides, "compute.workers=1"))
    slow(teacher=0.2)  # 40 teachers: 8 s a repeat
    assert numbers(units(*overrides, advance=lambda done, *_: told.append(done))) == expected
    assert told == sorted(told)
    assert any(0 < done < 1 for done in told)  # of teachers the bar is told, too
    trained = [k for task in sent if task.repeat == 0 for k in task.teachers]
    assert 20 < len(trained) < 35  # two seconds after the first part
    assert trained == list(range(40))[-len(trained) :]
    if repeats == 5:
        assert [(task.repeat, task.teachers) for task in sent][-4:] == [(i, None) for i in range(1, 5)]
        return
    assert [k for task in sent if task.repeat == 1 for k in task.teachers] == list(range(40))


def test_a_learner_that_fails_on_every_part_is_told_wherever_it_is_trained(sent, slow, units):
    far = ["teacher.estimator=sklearn.naive_bayes.MultinomialNB"]  # takes no negative numbers
    said = []
    for more in (["compute.workers=1"], [], ["compute.workers=4"]):
        with pytest.raises(ConfigError) as caught:
            units(*far, *more)
        said.append(str(caught.value))
    assert len(sent) == 32
    assert "it failed on every part" in said[0]
    assert said == [said[0]] * 3


@pytest.mark.parametrize("count", [2, 4])  # where tasks are fewer than workers, teachers are spread
def test_a_task_that_loses_its_workers_is_a_failure_and_the_others_go_on(monkeypatch, tmp_path, count):
    def losing(_: Any, call: Callable[..., Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            lost = workers.Attempt(None, ChildProcessError("killed"))
            (name,) = item.rows
            yield item, lost if name == "2" else workers._attempt(call, shared.only(item), item, None)

    monkeypatch.setattr(workers.Workers, "spread", losing)
    rows = [row(f"seed={seed}", f"compute.workers={count}", name=str(seed)) for seed in range(1, 4)]
    results = list(schedule.do(rows, RepeatStore(tmp_path)))
    assert {done.row: done.failure and done.failure.message for done in results} == {
        "1": None,
        "2": "killed",
        "3": None,
    }
    assert len(results) == 3


def test_as_many_workers_as_asked_work_at_once(sent, units):
    units("repeats=3", "compute.workers=3")
    assert [(task.repeat, task.teachers) for task in sent] == [(0, None), (1, None), (2, None)]


@pytest.mark.parametrize("teacher", ["linear_svm", "logistic", "tree"])  # logistic: fitted all at once
def test_teachers_trained_in_parts_are_those_trained_together(teacher):
    run = row(f"teacher={teacher}", "teacher.size=7").prepared  # parts of 7 and 8 records
    whole = pipeline.train(run, 3)
    cuts = schedule._cuts(run.n_teachers, 5)
    split = pipeline.split_of(run, pipeline.Streams.of(run.config.seed, 3))
    parts = [pipeline.train_part(run, 3, cut) for cut in reversed(cuts)]
    together = pipeline.join(run, split, parts)
    np.testing.assert_array_equal(together.votes.counts, whole.votes.counts)
    assert together.votes.n_teachers == whole.votes.n_teachers == 114
    assert together.teacher_accuracy == whole.teacher_accuracy


def test_rows_with_votes_share_a_task_and_the_others_have_one_each(tmp_path):
    """A repeat of a frontier is many tasks then: private learners take long, and workers get one each."""
    given = {"votes": "gaussian", "more": "gnmax", "learner": "noisy_gd", "other": "output_perturbation"}
    rows = [row(f"mechanism={mechanism}", "repeats=2", name=name) for name, mechanism in given.items()]
    _, tasks = schedule._tasks_of(rows, RepeatStore(tmp_path), students=False)
    assert [(task.repeat, task.rows) for task in tasks] == [
        (repeat, names) for names in (("votes", "more"), ("learner",), ("other",)) for repeat in (0, 1)
    ]


def test_what_is_found_is_not_done_again_and_the_student_belongs_to_it(tmp_path):
    three, store = row("repeats=3"), RepeatStore(tmp_path / "store")

    def do() -> list[Any]:
        return list(schedule.do([three], store, students=True))

    first = [dataclasses.replace(done, failures=NONE_FAILED) for done in do()]  # they are told once
    assert do() == first
    assert first[0].student is not None
    (student,) = store.directory.glob("*.skops")
    student.write_bytes(student.read_bytes()[:-1])
    mended = do()
    assert [done.repeat.repeat for done in mended] == [1, 2, 0]  # found, found, done again
    assert numbers(done.repeat for done in mended) == numbers(done.repeat for done in first)
