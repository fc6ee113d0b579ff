"""A sweep is killed: the same command again does only what is missing, and ends in the same table."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import processes
import pytest
from processes import finish, start, until

from pate_cli.cli import main

SWEEP = [
    *(
        "run",
        "-m",
        "dataset.n_records=1500",
        "split.public=60",
        "teacher=tree",
        "features=none",
        "student=logistic",
        "compute.workers=1",
    ),
    *("mechanism=gaussian,svt", "eps=6", "repeats=4"),
]


def units(cwd: Path) -> dict[str, tuple[int, bytes]]:
    """Finished repeats: when each was written, and what it holds."""
    return {
        path.name: (path.stat().st_mtime_ns, path.read_bytes())
        for path in (cwd / "outputs/.finished").glob("*.json")
    }


def last(cwd: Path) -> Path:
    """Directory of the last sweep."""
    return max((cwd / "outputs").glob("2*/*"))


def numbers(cwd: Path) -> list[list[dict[str, str]]]:
    """Every row of those, but for the seconds."""
    return [processes.numbers(path.parent) for path in sorted(last(cwd).glob("*/repeats.csv"))]


def table(cwd: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["table", str(last(cwd)), "--format", "csv"]) == 0
    return capsys.readouterr().out


def test_killed_twice_a_sweep_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    monkeypatch.chdir(whole)
    assert main(SWEEP) == 0
    assert [len(job) for job in numbers(whole)] == [4, 4]
    done: dict[str, tuple[int, bytes]] = {}
    for least in (2, 5):
        process = start(killed, *SWEEP)
        until(lambda least=least: len(units(killed)) >= least, process)
        os.killpg(process.pid, signal.SIGKILL)
        assert finish(process)[0] == -signal.SIGKILL
        # it is not taken for a finished one
        assert main(["table", str(last(killed))]) == 0
        shown = " ".join("".join(capsys.readouterr()).split())
        assert "killed: synthetic, " in shown
        assert "its process is gone" in shown
        assert main(["list", str(last(killed)), "--json"]) == 0
        (entry,) = json.loads(capsys.readouterr().out)["tables"]["table"]
        assert entry["repeats_done"] == sum(len(job) for job in numbers(killed))
        assert done.items() <= units(killed).items()  # nothing that was there was done again
        done = units(killed)
        assert len(done) < 8
    monkeypatch.chdir(killed)
    capsys.readouterr()
    assert main(SWEEP) == 0
    said = f"pate: {len(done)} of 8 repeats were done before; --force does them anew\n"
    assert said in capsys.readouterr().err
    assert done.items() <= units(killed).items()
    assert units(killed).keys() == units(whole).keys()
    assert numbers(killed) == numbers(whole)
    assert table(killed, capsys) == table(whole, capsys)
    assert len(list(last(killed).glob("*/student.skops"))) == 2
