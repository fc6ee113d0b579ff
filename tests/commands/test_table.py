"""`pate table`: its formats, its files, and records that cannot be read."""

from __future__ import annotations

import csv
import io
import json
import os

import pytest
from written import write_run

from pate_cli.commands.table import main
from pate_cli.errors import InputError
from pate_cli.results import Interval, RunRecord
from pate_cli.results import record as record_module


@pytest.fixture
def runs(tmp_path):
    """Three runs, one without privacy."""
    for index, (dataset, eps) in enumerate([("mushroom", 0.5), ("mushroom", 1.0), ("a9a", float("inf"))]):
        numbers = {"n_teachers": 64, "n_answered": 16.2, "n_asked": 163.0, "delta": 1e-4, "eps_ex_post": eps}
        one = RunRecord(
            status="ok",
            dataset=dataset,
            mechanism="gaussian",
            config={"dataset": dataset, "eps": eps},
            eps=eps,
            accuracy=Interval(0.9252, 0.0031, 30),
            **numbers,
        )
        write_run(tmp_path / "runs" / str(index), one)
    return tmp_path / "runs"


@pytest.fixture
def shown(capsys):
    """Call `pate table`: stdout and stderr."""

    def call(*argv):
        assert main(list(map(str, argv))) == 0
        return capsys.readouterr()

    return call


def refused(capsys, *argv):
    with pytest.raises(InputError) as caught:
        main([str(word) for word in argv])
    assert capsys.readouterr().out == ""
    assert "\n" not in str(caught.value)
    return str(caught.value)


def changed(run, **values):
    file = run / "result.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_console_by_default_of_directories_and_files(runs, shown):
    out, err = shown(runs)
    assert out.count("0.9252 ± 0.0031") == 3
    assert "∞" in out
    assert err == ""
    assert shown(runs / "0" / "result.json", runs / "1").out.count("0.9252 ± 0.0031") == 2


def test_other_formats_on_stdout_and_in_files(runs, tmp_path, shown):
    table = shown(runs, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table.out)))
    expected = [("a9a", "inf"), ("mushroom", "0.5"), ("mushroom", "1.0")]
    assert [(row["dataset"], row["eps"]) for row in rows] == expected
    assert "|---|---|---:|" in shown(runs, "--format", "markdown").out
    assert "\\toprule" in shown(runs, "--format", "latex").out
    names = ["t.csv", "t.md", "t.TEX"]
    assert shown(runs, *(word for name in names for word in ("--output", tmp_path / name))).out == ""
    starts = [(tmp_path / name).read_text(encoding="utf-8").split(maxsplit=1)[0] for name in names]
    assert starts[0].startswith("dataset,mechanism,")
    assert starts[1:] == ["|", "%"]
    shown(runs, "--format", "console", "--output", tmp_path / "t.txt")
    assert "0.9252 ± 0.0031" in (tmp_path / "t.txt").read_text(encoding="utf-8")
    # runs written when there was an odometer are still read
    for path in runs.rglob("result.json"):
        changed(path.parent, eps_odometer=1.25)
    assert shown(runs, "--format", "csv") == table
    # what CSV has no place for is on stderr
    (runs / "copy").mkdir()
    for name in ("result.json", "repeats.csv"):
        (runs / "copy" / name).write_bytes((runs / "0" / name).read_bytes())
    out, err = shown(runs, "--format", "csv")
    assert (len(out.splitlines()), "1 other row" in err) == (4, True)


def test_paths_without_runs_are_named(runs, tmp_path, capsys, monkeypatch):
    assert str(tmp_path / "nowhere") in refused(capsys, runs, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path / 'empty'}: no run found" in refused(capsys, tmp_path / "empty")
    monkeypatch.chdir(runs)  # which an empty path is not
    assert refused(capsys, "").startswith("'': no path; give the directory of a run")
    assert main(["."]) == 0


@pytest.mark.parametrize("spoilt", ["not JSON", "a pipe"])
def test_a_record_that_cannot_be_read_is_reported_beside_the_table(runs, capsys, shown, spoilt):
    path, said = runs / "1" / "result.json", "line 1: not valid JSON"
    if spoilt == "not JSON":
        path.write_text("{")
    else:
        path.unlink()
        os.mkfifo(path)  # which is not waited for
        said = "not a regular file"
    out, err = shown(runs)
    assert out.count("0.9252 ± 0.0031") == 2
    assert err.startswith(f"left out: {path}: {said}")
    assert f"{path}: {said}" in refused(capsys, path)


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("t.pdf", [], ".csv, .md, .tex"),
        ("t.csv", ["--format", "latex"], "--format says latex"),
        ("absent/t.csv", [], "no directory"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_is_written(runs, tmp_path, capsys, name, more, said):
    good = tmp_path / ("good.tex" if "latex" in more else "good.csv")
    message = refused(capsys, runs, "--output", good, "--output", tmp_path / name, *more)
    assert said in message
    assert str(tmp_path / name) in message
    assert not good.exists()


def test_a_full_disk_is_said_in_a_line(runs, tmp_path, capsys, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record_module.os, "fsync", full)
    assert "No space left on device" in refused(capsys, runs, "--output", tmp_path / "t.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize("form", ["console", "csv", "markdown", "latex"])
def test_a_record_cannot_steer_the_terminal(runs, shown, form):
    evil = "x\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
    changed(runs / "0", dataset=evil, mechanism=evil, config_hash=evil, status="error", message=evil)
    changed(runs / "1", schema_version=evil)
    (runs / f"named{chr(27)}[2J").mkdir()
    (runs / f"named{chr(27)}[2J" / "result.json").write_text("{")
    texts = shown(runs, "--format", form)
    for text in texts:
        assert text
        assert [sign for sign in text if not sign.isprintable() and sign != "\n"] == []
    assert "x1b" in texts.out
