from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pate_cli.commands.table import main
from pate_cli.errors import InputError
from pate_cli.report import Interval, RunRecord, store, write_record


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for index, (dataset, eps) in enumerate([("mushroom", 0.5), ("mushroom", 1.0), ("a9a", float("inf"))]):
        one = RunRecord(
            status="ok",
            dataset=dataset,
            mechanism="gaussian",
            config={"dataset": dataset, "eps": eps},
            n_teachers=64,
            n_answered=16.2,
            n_asked=163.0,
            eps=eps,
            delta=1e-4,
            eps_ex_post=eps,
            accuracy=Interval(0.9252, 0.0031, 30),
        )
        write_record(tmp_path / "runs" / str(index), one)
    return tmp_path / "runs"


def refused(capsys: pytest.CaptureFixture[str], *argv: Any) -> str:
    with pytest.raises(InputError) as caught:
        main([str(word) for word in argv])
    assert capsys.readouterr().out == ""
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_console_by_default(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(runs)]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("0.9252 ± 0.0031") == 3
    assert "∞" in shown.out
    assert shown.err == ""


def test_runs_written_when_there_was_an_odometer_are_still_read(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(runs), "--format", "csv"]) == 0
    now = capsys.readouterr().out
    for path in runs.rglob("result.json"):
        old = {**json.loads(path.read_text()), "eps_odometer": 1.25}
        old["notes"]["eps_odometer"] = "mean over repeats"
        path.write_text(json.dumps(old))
        (path.parent / "repeats.csv").write_text("repeat,eps_ex_post,eps_odometer\n0,1.0,1.25\n")
    assert main([str(runs), "--format", "csv"]) == 0
    assert capsys.readouterr() == (now, "")


def test_csv_on_stdout_is_not_wrapped(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(runs), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["dataset"], row["eps"]) for row in rows] == [
        ("a9a", "inf"),
        ("mushroom", "0.5"),
        ("mushroom", "1.0"),
    ]


@pytest.mark.parametrize(("form", "sign"), [("markdown", "|---|---|---:|"), ("latex", "\\toprule")])
def test_other_formats_on_stdout(
    runs: Path, capsys: pytest.CaptureFixture[str], form: str, sign: str
) -> None:
    assert main([str(runs), "--format", form]) == 0
    assert sign in capsys.readouterr().out


def test_several_files_by_extension(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["t.csv", "t.md", "t.TEX"]
    assert main([str(runs), *(word for name in names for word in ("--output", str(tmp_path / name)))]) == 0
    assert capsys.readouterr().out == ""
    starts = [(tmp_path / name).read_text(encoding="utf-8").split(maxsplit=1)[0] for name in names]
    assert starts[0].startswith("dataset,mechanism,")
    assert starts[1:] == ["|", "%"]


def test_the_format_decides_for_an_unknown_extension(runs: Path, tmp_path: Path) -> None:
    assert main([str(runs), "--format", "console", "--output", str(tmp_path / "t.txt")]) == 0
    assert "0.9252 ± 0.0031" in (tmp_path / "t.txt").read_text(encoding="utf-8")


def test_one_run_and_one_file_are_paths_too(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(runs / "0" / "result.json"), str(runs / "1")]) == 0
    assert capsys.readouterr().out.count("0.9252 ± 0.0031") == 2


def test_a_missing_path_is_named(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(tmp_path / "nowhere") in refused(capsys, runs, tmp_path / "nowhere")


def test_a_directory_without_runs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert f"{empty}: no run found" in refused(capsys, empty, "--output", tmp_path / "t.csv")
    assert not (tmp_path / "t.csv").exists()


def test_only_corrupt_records_are_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "result.json").write_text("{")
    message = refused(capsys, tmp_path)
    assert str(tmp_path / "result.json") in message
    assert "not valid JSON" in message


def test_a_corrupt_record_is_reported_beside_the_table(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "1" / "result.json").write_text("{")
    assert main([str(runs)]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("0.9252 ± 0.0031") == 2
    assert shown.err.startswith("left out: ")
    assert str(runs / "1" / "result.json") in shown.err


def test_left_out_runs_are_said_where_csv_cannot(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "copy").mkdir()
    (runs / "copy" / "result.json").write_bytes((runs / "0" / "result.json").read_bytes())
    assert main([str(runs), "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 4
    assert "1 other run" in shown.err


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("t.pdf", [], ".csv, .md, .tex, .html"),
        ("t.csv", ["--format", "latex"], "--format says latex"),
        ("absent/t.csv", [], "no directory"),
        ("runs", ["--format", "csv"], "is a directory"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_is_written(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, more: list[str], said: str
) -> None:
    good = tmp_path / ("good.tex" if "latex" in more else "good.csv")
    message = refused(capsys, runs, "--output", good, "--output", tmp_path / name, *more)
    assert said in message
    assert str(tmp_path / name) in message
    assert not good.exists()


def test_a_full_disk_is_said_in_a_line(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    assert "No space left on device" in refused(capsys, runs, "--output", tmp_path / "t.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


@pytest.mark.parametrize("argv", [[], ["x", "--format", "pdf"]])
def test_argparse_exits_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "pate table" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "95% confidence" in " ".join(capsys.readouterr().out.split())


def changed(run: Path, **values: Any) -> None:
    file = run / "result.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "1" / "result.json").unlink()
    os.mkfifo(runs / "1" / "result.json")
    assert main([str(runs)]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("0.9252 ± 0.0031") == 2
    assert shown.err == f"left out: {runs / '1' / 'result.json'}: not a regular file\n"
    assert "not a regular file" in refused(capsys, runs / "1" / "result.json")


def test_an_empty_path_is_not_the_current_directory(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs)
    assert refused(capsys, "").startswith("'': no path; give the directory of a run")
    assert main(["."]) == 0


@pytest.mark.parametrize("form", ["console", "csv", "markdown", "latex", "html"])
def test_a_record_cannot_steer_the_terminal(
    runs: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    evil = "x\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
    changed(runs / "0", dataset=evil, mechanism=evil, config_hash=evil, status="error", message=evil)
    changed(runs / "1", schema_version=evil)
    (runs / "2" / "result.json").rename(runs / "2" / "kept")
    (runs / f"named{chr(27)}[2J").mkdir()
    (runs / f"named{chr(27)}[2J" / "result.json").write_text("{")
    assert main([str(runs), "--format", form]) == 0
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert text
        assert [sign for sign in text if not sign.isprintable() and sign != "\n"] == []
    assert "x1b" in shown.out


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"accuracy": {"mean": 5, "ci95": 0.1, "n": 3}}, "accuracy: expected an object with mean in [0, 1]"),
        ({"accuracy": {"mean": 0.5, "ci95": -1, "n": 3}}, "accuracy: "),
        ({"accuracy": {"mean": 0.5, "ci95": 6.5, "n": 2}}, "accuracy: "),
        ({"accuracy": {"mean": 0.5, "ci95": 0.1, "n": 0}}, "accuracy: "),
        ({"accuracy": {"mean": -0.1, "ci95": None, "n": 1}}, "accuracy: "),
        ({"n_teachers": -1}, "n_teachers: expected an integer of at least 0"),
        ({"n_asked": -1}, "n_asked: expected a number of at least 0"),
        (
            {"diagnostics": {"ceiling": 7}},
            "diagnostics: expected an object of numbers, the ceiling",
        ),
    ],
)
def test_numbers_that_cannot_be_are_no_record(
    runs: Path, capsys: pytest.CaptureFixture[str], values: dict[str, Any], named: str
) -> None:
    changed(runs / "0", **values)
    message = refused(capsys, runs / "0")
    assert f"{runs / '0' / 'result.json'}: not the record of a run: {named}" in message
