"""Files are replaced whole; devices, pipes and what links lead to are written into."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from written import write_run

from pate_cli import cli
from pate_cli.errors import InputError
from pate_cli.results import Interval, RunRecord
from pate_cli.students import save_student
from pate_cli.terminal import check_directory, check_file, write_file, write_output

AUDIT = ["audit", "mechanism=svt", "mechanism.cutoff=2", "delta=0.01", "--runs", "1000", "--queries", "20"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A run, a student and data for it."""
    monkeypatch.chdir(tmp_path)
    accuracy = Interval(0.9, 0.01, 3)
    write_run("run", RunRecord(status="ok", dataset="a9a", mechanism="svt", config={}, accuracy=accuracy))
    student = DecisionTreeClassifier().fit(np.eye(2), [0, 1])
    save_student("s.skops", student, classes=("no", "yes"), n_features=2, encoder=None, meta={})
    Path("data").write_text("1 1:1\n")
    return tmp_path


COMMANDS = {
    "predict": ["predict", "s.skops", "data"],
    "table": ["table", "run", "--format", "csv"],
    "audit": AUDIT,
}
STARTS = {"predict": "no\n", "table": "dataset,mechanism,", "audit": "{\n"}


def run(command: str, output: object) -> int:
    return cli.main([*COMMANDS[command], "--output", str(output)])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_is_followed_and_stays_one(command, place):
    Path("real").mkdir()
    Path("there").symlink_to("real/file")
    Path("dangling").symlink_to("real/new")
    Path("real/file").write_text("old")
    Path("real/file").chmod(0o640)
    for name, target in (("there", "real/file"), ("dangling", "real/new")):
        assert run(command, name) == 0
        assert Path(name).is_symlink()
        assert Path(target).read_text().startswith(STARTS[command])
    assert stat.S_IMODE(Path("real/file").stat().st_mode) == 0o640
    assert sorted(path.name for path in Path("real").iterdir()) == ["file", "new"]


def test_a_pipe_is_written_into(place):
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    assert run("table", "pipe") == 0
    reader.join(30)
    assert got
    assert got[0].startswith(STARTS["table"])
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_stays_one(command, place, capsys):
    # by links: where this fails, it is a link that is lost and not the machine's device
    for device, code in (("/dev/null", 0), ("/dev/full", 2)):
        Path("device").unlink(missing_ok=True)
        Path("device").symlink_to(device)
        assert run(command, "device") == code
        assert Path("device").is_symlink()
        assert stat.S_ISCHR(os.stat(device).st_mode)
    assert "pate: --output device: cannot be written: No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_standard_output_goes_where_the_shell_sent_it(kind, place):
    Path("stdout").symlink_to("/dev/stdout")
    argv = [sys.executable, "-m", "pate_cli", *COMMANDS["table"], "--output", "stdout"]
    if kind == "pipe":
        said = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=300).stdout
    else:
        Path("log").write_text("kept\n")
        with open("log", "a") as log:
            subprocess.run(argv, check=True, stdout=log, timeout=300)
        said = Path("log").read_text()
        assert said.startswith("kept\n")
        said = said.removeprefix("kept\n")
    assert said.startswith(STARTS["table"])
    assert len(said.splitlines()) == 2
    assert Path("stdout").is_symlink()


def test_a_descriptor_is_written_into(place):
    read, write = os.pipe()
    check_file(Path(f"/dev/fd/{write}"))
    write_file(f"/dev/fd/{write}", "hello")
    os.close(write)
    with os.fdopen(read) as pipe:
        assert pipe.read() == "hello"


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        *((command, "absent/file", "there is no directory absent; make it first") for command in COMMANDS),
        ("table", "absent/more/file", "there is no directory absent/more; make it first"),
        ("table", "run", "is a directory; give a file"),
        ("table", "data/file", "cannot be written: Not a directory"),
        ("table", "loop", "cannot be written: Too many levels of symbolic links"),
        ("table", "/proc/file", "cannot be written"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(command, name, said, place, capsys, monkeypatch):
    Path("loop").symlink_to("loop")
    Path("s.skops").write_text("not looked at yet")
    monkeypatch.setattr("pate_cli.results.repeats.find_repeats", lambda _: pytest.fail("worked"))
    monkeypatch.setattr("pate_cli.audit.audit", lambda *_, **__: pytest.fail("worked"))
    before = sorted(Path().iterdir())
    assert run(command, name) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"pate: --output {name}: {said}")
    assert message.count("\n") == 1
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("argv", "name", "said"),
    [
        ("reproduce table4 --quick", "absent/folder", "there is no directory absent; make it first"),
        ("reproduce table4 --quick", "taken", "table.csv in it is a directory; give another place"),
        ("frontier --repeats 2", "data", "is a file; give a directory"),
        ("frontier --repeats 2", "data/folder", "cannot be written: Not a directory"),
        ("frontier --repeats 2", "/proc/folder", "cannot be written"),
    ],
)
def test_a_folder_that_cannot_be_written_is_said_before_the_work(
    argv, name, said, place, capsys, monkeypatch
):
    Path("taken/table.csv").mkdir(parents=True)
    monkeypatch.setattr("pate_cli.engine.schedule.run", lambda *_, **__: pytest.fail("worked"))
    monkeypatch.setattr("pate_cli.engine.baselines.measure", lambda *_, **__: pytest.fail("worked"))
    before = sorted(Path().rglob("*"))
    assert cli.main([*argv.split(), "--output", name]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"pate: --output {name}: {said}")
    assert message.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_a_default_place_may_be_made_with_those_above_it(place):
    check_directory(Path("outputs/frontier/a9a"), parents=True)
    assert not Path("outputs").exists()
    with pytest.raises(InputError, match=r"--output data/x: .*Not a directory"):
        check_directory(Path("data/x"), parents=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_is_kept_from_writing_stays_as_it_is(place):
    Path("kept").write_text("old")
    Path("kept").chmod(0o444)
    for check in (check_file, lambda path: write_output(path, "new")):
        with pytest.raises(InputError, match="--output kept: cannot be written: Permission denied"):
            check(Path("kept"))
    assert Path("kept").read_text() == "old"


def test_an_error_names_the_file_and_not_the_temporary_one(place, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_file("new", "text")
    assert caught.value.filename == "new"
    assert sorted(path.name for path in Path().iterdir()) == ["data", "run", "s.skops"]
