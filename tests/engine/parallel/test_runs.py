"""Whole runs as processes: terminated, and with a killed worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from processes import children_of, finish, numbers, start, until

from pate_cli.cli import main

SMALL = ["dataset.n_records=1500", "split.public=60", "teacher=tree"]
REPEATS = "repeats=12"  # long enough to be killed half-way


def status(run: Path) -> tuple[str, str | None]:
    record = json.loads((run / "result.json").read_text())
    return record["status"], record["message"]


def at_work(process: subprocess.Popen[str], run: Path) -> list[Any]:
    """Wait for the first repeat; the worker processes."""
    until((run / "repeats.csv").exists, process)
    return children_of(process.pid, "popen_loky")


def gone(processes: list[Any]) -> bool:
    return not any(process.is_running() and process.status() != "zombie" for process in processes)


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[dict[str, str]]:
    """Numbers of some repeats, done in one process."""
    out = tmp_path_factory.mktemp("one") / "out"
    assert main(["run", *SMALL, REPEATS, "compute.workers=1", f"hydra.run.dir={out}"]) == 0
    return numbers(out)


def test_a_killed_worker_loses_no_result(tmp_path, expected):
    run = start(tmp_path, "run", *SMALL, REPEATS, "compute.workers=2", "hydra.run.dir=out")
    workers = at_work(run, tmp_path / "out")
    assert len(workers) == 2
    workers[0].kill()  # both were at work
    code, _, err = finish(run)
    assert (code, err.splitlines()[-1]) == (0, "written to out")
    assert "a worker process was killed; what it did is done again" in err
    assert numbers(tmp_path / "out") == expected
    assert status(tmp_path / "out") == ("ok", None)


def test_sigterm_is_answered_as_ctrl_c_is(tmp_path):
    """To all processes, as batch systems send it."""
    run = start(tmp_path, "run", *SMALL, "repeats=200", "compute.workers=2", "hydra.run.dir=out")
    below = at_work(run, tmp_path / "out")
    assert len(below) == 2
    os.killpg(run.pid, signal.SIGTERM)
    code, out, err = finish(run)
    assert (code, err) == (143, "written to out\npate: terminated\n")
    done = len(numbers(tmp_path / "out"))
    assert 1 <= done < 200
    assert status(tmp_path / "out") == ("interrupted", f"interrupted after {done} of 200 repeats")
    assert f"interrupted after {done} of 200 repeats" in " ".join(out.split())
    assert gone(below)
