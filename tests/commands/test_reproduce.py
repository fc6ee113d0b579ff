import csv
import os
import signal
from pathlib import Path

import pytest
from processes import REPO, finish, start, until

from pate_cli.commands import reproduce
from pate_cli.engine import recipes

SLOW = """\
title: A recipe with some work in it
source: nowhere
shows: That it goes on.
kind: runs
settings: [features=none, student=logistic]
repeats: 3
figure: {panels: [{x: eps}], measures: [accuracy]}
rows:
  - name: "{mechanism} {eps}"
    method: "{mechanism}"
    for: {mechanism: [gaussian, active], eps: [0.5, 1, 2]}
    overrides:
      - dataset.n_records=6000
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
    """Content of the files; the table of repeats without its lines, which have wall times."""
    found = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return found | {name: found[name].splitlines()[0] for name in {"repeats.csv"} & found.keys()}


def words(directory, column):
    """Verdicts or sizes of the data sets of table 3."""
    lines = (directory / "table.csv").read_text().splitlines()
    return {row["dataset"]: row[column] for row in csv.DictReader(lines)}


def test_sizes_that_were_not_counted_are_missing(outside, monkeypatch, real_data, capsys):
    monkeypatch.setenv("PATE_DATA", str(outside))
    (outside / "mushrooms").symlink_to(real_data / "mushrooms")
    assert reproduce.main(["table3"]) == 0
    said = " ".join("".join(capsys.readouterr()).split())
    found = {"mushroom": "agrees", "a9a": "not run", "real-sim": "not run"}
    assert words(outside / "outputs/reproduce/table3", "verdict") == found
    assert words(outside / "outputs/reproduce/table3", "n_records") | {"mushroom": ""} == dict.fromkeys(
        found, ""
    )
    page = (outside / "outputs/reproduce/table3/report.html").read_text(encoding="utf-8")
    assert "real-sim.bz2 (https://" in page
    assert "2 not run" in said
    assert reproduce.main(["table3", "--quick"]) == 0  # there is no smaller version of it
    found = {"mushroom": "too few runs", "a9a": "not run", "real-sim": "not run"}
    assert words(outside / "outputs/reproduce/table3-quick", "verdict") == found
    page = (outside / "outputs/reproduce/table3-quick/report.html").read_text()
    assert "quick run. every size is the printed one" in page


def test_list_names_every_recipe(capsys):
    assert reproduce.main(["--list"]) == 0
    said = capsys.readouterr().out
    for name in recipes.names():
        assert f"{name}: " in said
    assert {"table3", "table4", "svt-vs-gaussian", "selection-overlap", "figure-voting-student"} <= set(
        recipes.names()
    )


NEED_DATA = ("figure3", "table4")
TRIED = {  # all studies run in tests/experiments
    "figure-voting-student": ["dataset=[synthetic]", "split.private=1200", "split.public=30"],
    "selection-overlap": ["dataset=[synthetic,mushroom]"],
    "svt-vs-gaussian": ["dataset=[mushroom]"],
    "table4": ["dataset=[mushroom]"],
    "figure1": [],
    "figure3": [],
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.real_data if name in NEED_DATA else ()) for name in TRIED],
)
def test_recipes_run_quickly(name, outside, some_data, request, capsys):
    if name in NEED_DATA:
        request.getfixturevalue("real_data")
    assert reproduce.main([name, "--quick", *TRIED[name]]) == 0
    written = files(outside / "outputs" / "reproduce" / f"{name}-quick")
    assert {"table.csv", "verdicts.csv", "figure.png", "figure.svg", "report.html"} <= written.keys()
    assert all(written.values())
    assert len(written["table.csv"].splitlines()) > 1
    said = capsys.readouterr()
    assert "written to outputs/reproduce" in said.err
    assert "failed" not in said.out
    assert "rows broke off" not in said.err


def test_a_row_that_fails_is_shown_and_done_again(slow, capsys):
    """More neighbours than the active learner has labels: no check can foresee it."""
    neighbours = ["student.estimator=sklearn.neighbors.KNeighborsClassifier", "split.budget=30"]
    argv = ["./slow", "repeats=1", "eps=[1]", "compute.workers=1", *neighbours]
    directory = slow / "outputs" / "reproduce" / "slow"
    finished = lambda: {path.name: path.stat().st_mtime_ns for path in (directory / ".finished").iterdir()}  # noqa: E731
    for _ in range(2):
        assert reproduce.main([*argv, "student.params.n_neighbors=35"]) == 1
        assert "active 1: 1 of 1 repeats failed: student.estimator: got" in capsys.readouterr().err
    table = (directory / "table.csv").read_bytes()
    assert b"gaussian 1,,synthetic,gaussian,ok" in table
    assert b"active 1,,synthetic,active,failed" in table
    assert len(finished()) == 1
    # what is done is done again with --force only
    argv.append("student.params.n_neighbors=1")
    assert reproduce.main(argv) == 0
    before, times = files(directory), finished()
    capsys.readouterr()
    assert reproduce.main(argv) == 0
    assert "2/2 repeats of 2 rows done (2 from before)" in capsys.readouterr().err
    assert finished() == times
    assert reproduce.main([*argv, "--force"]) == 0
    assert "from before" not in capsys.readouterr().err
    after = finished()
    assert after.keys() == times.keys()
    ours = [name for name in after if after[name] > times[name]]
    assert len(ours) == 2
    assert files(directory) == before


def test_interrupted_it_says_so(slow):
    process = start(slow, "reproduce", "./slow", "compute.workers=1")  # with two: tests/engine/test_runs.py
    work = slow / "outputs" / "reproduce" / "slow" / ".finished"
    until(lambda: len(list(work.glob("*.json"))) >= 3, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "pate: interrupted"
    assert "Traceback" not in err
    assert not (work.parent / "table.csv").exists()
