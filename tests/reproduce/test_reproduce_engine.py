import dataclasses
import pickle

import pytest

from pate_cli import pipeline
from pate_cli.engine import schedule, workers
from pate_cli.engine.store import RepeatRecord


def run(plan, work, *, force=False):
    said = []
    results = schedule.run(plan.ready, work, force=force, advance=lambda *counts: said.append(counts))
    return results, [counts for counts in said if counts[0] == int(counts[0])]  # without those between


def numbers(results):
    """Everything but the time it took."""
    return {
        name: [dataclasses.replace(unit, seconds=0.0) for unit in units]
        for name, units in results.repeats.items()
    }


@pytest.fixture
def calls(monkeypatch):
    """Count training and running."""
    counts = {"train": 0, "run_repeat": 0}

    def counting(name, real):
        def counted(*args):
            counts[name] += 1
            return real(*args)

        return counted

    for name in counts:
        monkeypatch.setattr(pipeline, name, counting(name, getattr(pipeline, name)))
    return counts


def test_teachers_are_shared_and_nothing_is_done_twice(plan_of, tmp_path, calls):
    plan = plan_of("compute.workers=1")
    first, said = run(plan, tmp_path / "work")
    assert calls == {"train": 3, "run_repeat": 12}
    assert said[0] == (0, 0, 12)
    assert said[-1] == (12, 0, 12)
    again, said = run(plan_of("compute.workers=1"), tmp_path / "work")
    assert calls == {"train": 3, "run_repeat": 12}
    assert said == [(12, 12, 12)]
    assert again == first
    more, said = run(plan_of("compute.workers=1", "repeats=4"), tmp_path / "work")
    assert calls == {"train": 4, "run_repeat": 16}
    assert [len(units) for units in more.repeats.values()] == [4] * 4
    forced, _ = run(plan, tmp_path / "work", force=True)
    assert calls == {"train": 7, "run_repeat": 28}
    assert numbers(forced) == numbers(first)


@pytest.fixture
def elsewhere(monkeypatch):
    """Do what is sent to workers here, as it comes out of a message; real ones: tests/engine/test_runs.py."""
    sent = []

    def spread(_, call, shared, items):
        for item in items:
            call, part, item = pickle.loads(pickle.dumps((call, shared.only(item), item)))
            sent.append(item)
            yield item, workers._attempt(call, part, item, None)

    monkeypatch.setattr(workers.Workers, "spread", spread)
    return sent


def test_sharing_teachers_and_the_number_of_workers_change_no_number(plan_of, tmp_path, elsewhere):
    plan = plan_of("compute.workers=1", "repeats=2")
    results, _ = run(plan, tmp_path / "one")
    assert elsewhere == []
    two, said = run(plan_of("compute.workers=2", "repeats=2"), tmp_path / "two")
    assert len(elsewhere) >= 2
    assert numbers(results) == numbers(two)
    assert said[-1] == (8, 0, 8)
    for row in plan.ready:
        alone = [RepeatRecord.of(pipeline.run_repeat(row.prepared, repeat), 0.0) for repeat in range(2)]
        kept = results.repeats[row.spec.name]
        assert [unit.accuracy for unit in kept] == [unit.accuracy for unit in alone]
        assert [unit.asked for unit in kept] == [unit.asked for unit in alone]


def test_a_failure_is_told_and_not_kept(plan_of, tmp_path, monkeypatch):
    plan = plan_of("compute.workers=1")
    whole, _ = run(plan, tmp_path / "whole")
    real = pipeline.run_repeat

    def fails(prepared, repeat, trained=None):
        if prepared.config.mechanism.name == "active" and repeat == 1:
            raise ZeroDivisionError("no luck")
        return real(prepared, repeat, trained)

    monkeypatch.setattr(pipeline, "run_repeat", fails)
    results, said = run(plan, tmp_path / "work")
    assert [(f.row, f.repeat, f.message) for f in results.failures] == [
        ("active 4", 1, "ZeroDivisionError: no luck")
    ]
    assert [unit.repeat for unit in results.repeats["active 4"]] == [0, 2]
    assert said[-1] == (12, 0, 12)
    monkeypatch.undo()
    mended, said = run(plan, tmp_path / "work")
    assert said[0] == (11, 11, 12)
    assert not mended.failures
    assert numbers(mended) == numbers(whole)
