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
REPEATS = "repeats=12"


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


def test_a_killed_worker_loses_no_result_and_sigterm_is_answered_as_ctrl_c_is(tmp_path, expected):
    """One run for both, as processes take long to start; SIGTERM goes to all, as batch systems send it."""
    out = tmp_path / "out"
    run = start(tmp_path, "run", *SMALL, "repeats=300", "compute.workers=2", "hydra.run.dir=out")
    workers = at_work(run, out)
    assert len(workers) == 2
    workers[0].kill()  # both were at work
    until(lambda: len(numbers(out)) >= 12, run)
    below = children_of(run.pid, "popen_loky")
    assert below
    os.killpg(run.pid, signal.SIGTERM)
    code, said, err = finish(run)
    assert code == 143
    assert err.splitlines()[-2:] == ["written to out", "pate: terminated"]
    assert "a worker process was killed; what it did is done again" in err
    found = {row["repeat"]: row for row in numbers(out)}
    done = len(found)
    assert done < 300
    assert status(out) == ("interrupted", f"interrupted after {done} of 300 repeats")
    assert f"interrupted after {done} of 300 repeats" in " ".join(said.split())
    assert all(found.get(row["repeat"], row) == row for row in expected)
    assert len(found.keys() & {row["repeat"] for row in expected}) >= 10
    assert gone(below)
