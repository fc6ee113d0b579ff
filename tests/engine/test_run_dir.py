"""The files of a run while it goes on, and when it goes wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pate_cli import pipeline, terminal
from pate_cli.config.hydra_composition import compose
from pate_cli.engine import rows, run_dir, schedule
from pate_cli.errors import InputError
from pate_cli.results import record as record_module
from pate_cli.results import repeats_file
from pate_cli.results.repeats_file import RepeatsFile
from pate_cli.students import load_student

SMALL = ["dataset.n_records=1000", "split.public=40", "compute.workers=1"]
FULL = OSError(28, "No space left on device")


@pytest.fixture(autouse=True)
def _fresh(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows.forget()


def execute(*overrides: str, sweep: bool = False, into: str = "run") -> Path:
    """Run into a directory, of which an earlier run in it has left no repeats to be found."""
    Path(into).mkdir(exist_ok=True)
    finished = Path(f"{into}-{len(list(Path().iterdir()))}").absolute()
    job = rows.Row.of(compose([*SMALL, *overrides]))
    run_dir.execute({Path(into): job}, finished, sweep=sweep, command=["pate", "run"])
    return Path(into)


def result(run: Path) -> dict[str, Any]:
    return json.loads((run / "result.json").read_text())


def outcome(run: Path) -> tuple[str, str | None]:
    return result(run)["status"], result(run)["message"]


def repeats(run: Path) -> list[dict[str, str]]:
    with open(run / "repeats.csv", newline="") as file:
        return [row | {"seconds": ""} for row in csv.DictReader(file) if row["status"] == "ok"]


def fail_at(monkeypatch: pytest.MonkeyPatch, repeat: int, error: BaseException) -> None:
    run_repeat = pipeline.run_repeat

    def failing(run: Any, number: int, *trained: Any) -> Any:
        if number == repeat:
            raise error
        return run_repeat(run, number, *trained)

    monkeypatch.setattr(pipeline, "run_repeat", failing)


def test_a_run_leaves_its_three_files_in_the_order_of_its_repeats(monkeypatch):
    """Whichever was done first; and those of an earlier run in the same place are gone."""
    run = execute("repeats=2")
    assert sorted(path.name for path in run.iterdir()) == ["repeats.csv", "result.json", "student.skops"]
    assert outcome(run) == ("ok", None)
    expected, first = repeats(run), load_student(run / "student.skops")
    assert [row["repeat"] for row in expected] == ["0", "1"]
    assert first.classes == ("-1", "1")
    do = schedule.do
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "do", lambda *a, **more: (each for each in reversed(list(do(*a, **more)))))
        execute("repeats=2")
    assert repeats(run) == expected
    again = load_student(run / "student.skops").student.classifier
    assert (again.coef_ == first.student.classifier.coef_).all()
    fail_at(monkeypatch, 0, RuntimeError("no"))
    execute("repeats=2")
    assert sorted(path.name for path in run.iterdir()) == ["result.json"]


def test_the_record_says_running_before_the_first_repeat(monkeypatch):
    seen = []
    monkeypatch.setattr(pipeline, "run_repeat", lambda *_: seen.append(result(Path("run"))) or 1 / 0)
    execute()
    assert [(record["status"], record["accuracy"]) for record in seen] == [("running", None)]
    # what is public and fixed is there already
    assert (seen[0]["n_teachers"], seen[0]["eps"], seen[0]["delta"]) == (40, 1.0, 1 / 800)


def test_repeats_are_written_as_they_finish(monkeypatch):
    """The first at once, then as often as the clock allows."""
    clock = iter([10.0, 10.0, 10.5, 10.9, 11.0, 11.0])
    written = []
    write = RepeatsFile.write
    monkeypatch.setattr(repeats_file.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(
        RepeatsFile, "write", lambda table: write(table) or written.append(len(repeats(Path("run"))))
    )
    execute("repeats=5")
    # asked at 10 (written), 10.5, 10.9, 11 (written); and at the end
    assert written == [1, 4, 5]


def test_interrupted(monkeypatch):
    fail_at(monkeypatch, 2, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        execute("repeats=4")
    assert outcome(Path("run")) == ("interrupted", "interrupted after 2 of 4 repeats")
    assert len(repeats(Path("run"))) == result(Path("run"))["accuracy"]["n"] == 2


@pytest.mark.parametrize(("sweep", "done"), [(False, 1), (True, 2)])
def test_our_fault_is_recorded_and_shown(monkeypatch, capsys, sweep, done):
    """In a sweep the other repeats of the job are done."""
    fail_at(monkeypatch, 1, RuntimeError("lost a sock"))
    run = execute("repeats=3", sweep=sweep)
    err = capsys.readouterr().err
    assert err.startswith("Traceback")
    assert "in failing" in err
    assert outcome(run) == ("error", "RuntimeError: lost a sock")
    assert len(repeats(run)) == done


@pytest.mark.parametrize("error", [InputError("too many socks"), FULL])
def test_the_user_s_to_mend_is_raised_but_in_a_sweep(monkeypatch, capsys, error):
    fail_at(monkeypatch, 0, error)
    with pytest.raises(type(error)):
        execute()
    assert result(Path("run"))["status"] == "error"
    assert outcome(execute(sweep=True, into="job")) == ("error", str(error))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("module", [record_module, run_dir])
def test_a_full_disk_is_said_even_if_it_cannot_be_recorded(monkeypatch, module):
    def full(*_: Any, **__: Any) -> None:
        raise FULL

    monkeypatch.setattr(module, "write_file", full)
    with pytest.raises(OSError, match="No space left"):
        execute()


def test_jobs_are_scheduled_together_and_final_as_they_end(monkeypatch, fits, capsys):
    """Three share their teachers, though not the budget; one of them fails; another job cannot work."""
    configs = [["eps=1"], ["eps=2", "split.budget=20"], ["eps=4", "mechanism=active"], ["seed=1"]]
    configs += [["mechanism=svt", "eps=0.001"]]
    jobs = {Path(str(n)): rows.Row.of(compose([*SMALL, *more])) for n, more in enumerate(configs)}
    for path in jobs:
        path.mkdir()
    run_repeat, seen = pipeline.run_repeat, []

    def watched(run: Any, number: int, *trained: Any) -> Any:
        seen.append([result(path)["status"] for path in jobs if (path / "result.json").exists()])
        if run.config.eps == 2:
            raise InputError("lost a sock")
        return run_repeat(run, number, *trained)

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "run_repeat", watched)
        accuracies = run_dir.execute(jobs, Path("store").absolute(), sweep=True, command=["pate"])
    statuses = ["ok", "error", "ok", "ok"]
    assert seen == [[*statuses[:n], "infeasible"] for n in range(4)]
    assert [result(path)["status"] for path in jobs] == [*statuses, "infeasible"]
    assert [accuracy is None for accuracy in accuracies] == [False, True, False, False, True]
    assert len(fits) == 2
    assert capsys.readouterr().err == ""
    alone = execute("eps=4", "mechanism=active", into="alone")
    assert result(alone)["accuracy"] == result(Path("2"))["accuracy"]


@pytest.mark.parametrize("shown", [False, True])
def test_a_bar_on_a_terminal_only(monkeypatch, shown):
    page = io.StringIO()
    monkeypatch.setattr(terminal, "err", lambda: Console(file=page, force_terminal=shown, width=80))
    execute("repeats=2")
    assert ("synthetic-gaussian eps=1" in page.getvalue()) is ("2/2" in page.getvalue()) is shown
    assert bool(page.getvalue()) is shown


def test_forget_reads_files_again():
    lines = "".join(f"{i % 2} 1:{i}\n" for i in range(40))
    raw = compose(["dataset=libsvm", "dataset.path=x", "split.public=4", "teacher.size=8"])
    for times in (1, 2):
        Path("x").write_text(lines * times)
        rows.forget()
        assert rows.Row.of(raw).prepared.dataset.n_records == 40 * times


def test_what_is_missing_is_counted():
    execute(into="jobs")
    (Path("jobs") / "1").mkdir()
    (Path("jobs") / "1" / "result.json").write_text("{")
    (unreadable, lost), any_record = run_dir.ended(Path("jobs").absolute(), n_jobs=3)
    assert any_record
    assert "not valid JSON" in unreadable
    assert lost == "2 of 3 jobs did not finish"
