import os
import random
import signal
from pathlib import Path

import pytest
from processes import REPO, finish, start, until

from pate_cli.commands import reproduce
from pate_cli.config import recipes
from pate_cli.errors import InputError

SLOW = """\
title: A recipe with some work in it
source: nowhere
shows: That it goes on.
kind: runs
repeats: 3
figure: {panels: [{x: eps}], measures: [accuracy]}
rows:
  - name: "{mechanism} {eps}"
    method: "{mechanism}"
    for: {mechanism: [gaussian, active], eps: [0.5, 1, 2]}
    overrides:
      - dataset.n_records=20000
      - split.public=120
      - "mechanism={mechanism}"
      - "eps={eps}"
    printed: {accuracy: 0.9, ci: 0.01}
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """An empty directory to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def slow(outside):
    (outside / "slow").mkdir()
    (outside / "slow" / "recipe.yaml").write_text(SLOW)
    return outside


@pytest.fixture
def some_data(monkeypatch, request):
    """The real data where there is some: what is missing is shown as missing."""
    for place in (os.environ.get("PATE_DATA"), REPO / "data", REPO.parent / "shared" / "data"):
        if place and (Path(place) / "mushrooms").exists():
            monkeypatch.setenv("PATE_DATA", str(Path(place).resolve()))


def files(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def test_list_names_every_recipe(capsys):
    assert reproduce.main(["--list"]) == 0
    said = capsys.readouterr().out
    for name in recipes.names():
        assert f"{name}: " in said
    assert {"table3", "table4", "svt-vs-gaussian", "selection-overlap", "figure-voting-student"} <= set(
        recipes.names()
    )


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["table5"], "table5: no such recipe; there are: "),
        ([], "no recipe; there are: "),
        (["repeats=3"], "repeats=3: the recipe comes first"),
        (["table4", "repeats=x"], "repeats"),
        (["table4", "dataset=[iris]"], "dataset: got 'iris'"),
        (
            ["table3", "dataset=[iris]"],
            "dataset: got ['iris']; accepted: a list of 1 or more, each mushroom, a9a",
        ),
        (["table1", "repaets=3"], "repaets: no such parameter of table1"),
        (["table4", "--list"], "--list: takes no recipe"),
        (["table4", "--output", "file"], "--output file: is a file"),
    ],
)
def test_wrong_input_is_one_line_and_writes_nothing(outside, argv, message, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(outside))
    (outside / "file").write_text("")
    with pytest.raises(InputError) as error:
        reproduce.main(argv)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert [path.name for path in outside.iterdir()] == ["file"]


NEED_DATA = ("figure3", "table4")
RUNS = ("figure-voting-student", "selection-overlap", "svt-vs-gaussian", "table4")
STUDIES = ("example2", "figure1")  # all of them run in tests/studies
TRIED = (*RUNS, *STUDIES, "figure3", "table3")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.real_data if name in NEED_DATA else ()) for name in TRIED],
)
def test_recipes_run_quickly(name, outside, some_data, request, capsys):
    if name in NEED_DATA:
        request.getfixturevalue("real_data")
    # workers are tried below; each takes seconds to start
    few = ["compute.workers=1"] * (name in RUNS) + ["dataset=[synthetic]"] * (name == "figure-voting-student")
    assert reproduce.main([name, "--quick", *few]) == 0
    written = files(outside / "outputs" / "reproduce" / f"{name}-quick")
    assert {"table.csv", "table.md", "table.tex", "figure.png", "figure.svg", "report.html"} <= written.keys()
    assert all(written.values())
    assert len(written["table.csv"].splitlines()) > 1
    said = capsys.readouterr()
    assert "written to outputs/reproduce" in said.err
    assert "failed" not in said.out
    assert "rows failed" not in said.err


def test_a_row_that_fails_is_shown_and_done_again(slow, capsys):
    """More neighbours than the active learner has labels: no check can foresee it."""
    neighbours = ["student.estimator=sklearn.neighbors.KNeighborsClassifier", "split.budget=30"]
    argv = ["./slow", "repeats=1", "eps=[1]", "compute.workers=1", *neighbours]
    assert reproduce.main([*argv, "student.params.n_neighbors=35"]) == 1
    said = capsys.readouterr()
    assert "active 1: 1 of 1 repeats failed: student.estimator: got" in said.err
    directory = slow / "outputs" / "reproduce" / "slow"
    assert b"gaussian 1,,synthetic,gaussian,ok" in (directory / "table.csv").read_bytes()
    assert b"active 1,,synthetic,active,failed" in (directory / "table.csv").read_bytes()
    assert len(list((directory / ".finished").glob("*.json"))) == 1
    assert reproduce.main([*argv, "student.params.n_neighbors=35"]) == 1
    assert reproduce.main([*argv, "student.params.n_neighbors=1"]) == 0


def test_force_does_it_again(slow, capsys):
    argv = ["./slow", "repeats=1", "eps=[1]", "compute.workers=1"]
    assert reproduce.main(argv) == 0
    directory = slow / "outputs" / "reproduce" / "slow"
    before = files(directory)
    times = {path.name: path.stat().st_mtime_ns for path in (directory / ".finished").iterdir()}
    assert reproduce.main(argv) == 0
    assert "2/2 repeats of 2 rows done (2 from before)" in capsys.readouterr().err
    assert {path.name: path.stat().st_mtime_ns for path in (directory / ".finished").iterdir()} == times
    assert reproduce.main([*argv, "--force"]) == 0
    assert "from before" not in capsys.readouterr().err
    after = {path.name: path.stat().st_mtime_ns for path in (directory / ".finished").iterdir()}
    assert after.keys() == times.keys()
    assert all(after[name] > times[name] for name in times)
    assert files(directory) == before


def test_killed_at_any_moment_it_goes_on_to_the_same_end(slow, capsys):
    argv = ["./slow", "compute.workers=2"]
    assert reproduce.main(["./slow", "compute.workers=1", "--output", "whole"]) == 0
    moments = random.Random(3)
    killed = start(slow, "reproduce", *argv, "--output", "killed")
    least = moments.randint(1, 9)
    until(lambda: len(list((slow / "killed" / ".finished").glob("*.json"))) >= least, killed)
    os.kill(killed.pid, signal.SIGKILL)
    assert finish(killed)[0] == -signal.SIGKILL
    assert not (slow / "killed" / "table.csv").exists()
    assert 0 < len(list((slow / "killed" / ".finished").glob("*.json"))) < 18
    capsys.readouterr()
    assert reproduce.main([*argv, "--output", "killed"]) == 0
    assert "from before)" in capsys.readouterr().err
    assert files(slow / "killed") == files(slow / "whole")


def test_interrupted_it_says_so(slow):
    argv = ["./slow", "compute.workers=2"]
    process = start(slow, "reproduce", *argv)
    work = slow / "outputs" / "reproduce" / "slow" / ".finished"
    until(lambda: len(list(work.glob("*.json"))) >= 3, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "pate: interrupted"
    assert "Traceback" not in err
    assert not (work.parent / "table.csv").exists()
