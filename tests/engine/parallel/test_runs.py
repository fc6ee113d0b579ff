"""Whole runs as processes: killed, terminated, and with a killed worker; nothing wrong is ever read back."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")  # comes with distributed

REPO = Path(__file__).resolve().parents[3]
SMALL = ["dataset.n_records=1500", "split.public=60", "teacher=tree"]
SAID = "pate: {found} of {wanted} repeats were done before"
REPEATS = "repeats=60"  # long enough to be killed half-way


def start(cwd: Path, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pate_cli", *argv],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=150)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


def table(cwd: Path, where: str) -> str:
    _, out, err = finish(start(cwd, "table", where))
    return " ".join((out + err).split())


def status(run: Path) -> tuple[str, str | None]:
    record = json.loads((run / "result.json").read_text())
    return record["status"], record["message"]


def numbers(run: Path) -> list[dict[str, str]]:
    with open(run / "repeats.csv", newline="") as file:
        return [{key: cell for key, cell in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def at_work(process: subprocess.Popen[str], run: Path) -> list[Any]:
    """Wait for the first repeat; the worker processes."""
    until(lambda: (run / "repeats.csv").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "popen_loky" in " ".join(child.cmdline()):
                found.append(child)
    return found


def gone(processes: list[Any]) -> bool:
    return not any(process.is_running() and process.status() != "zombie" for process in processes)


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[dict[str, str]]:
    """Numbers of some repeats, done in one process."""
    where = tmp_path_factory.mktemp("one")
    run = start(where, "run", *SMALL, REPEATS, "compute.workers=1", "hydra.run.dir=out")
    assert finish(run)[0] == 0
    return numbers(where / "out")


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


def test_a_killed_run_is_not_taken_for_a_finished_one(tmp_path, expected):
    argv = ["run", *SMALL, "compute.workers=2", "hydra.run.dir=out"]
    run = start(tmp_path, *argv, "repeats=200")
    below = at_work(run, tmp_path / "out")
    run.kill()
    run.communicate()
    until(lambda: gone(below))
    done = numbers(tmp_path / "out")  # whole rows, as they would have been
    assert done
    assert all(row == expected[int(row["repeat"])] for row in done if int(row["repeat"]) < len(expected))
    assert status(tmp_path / "out")[0] == "running"
    shown = table(tmp_path, "out")
    assert "running: synthetic, gaussian, eps 1" in shown
    assert "still goes on, or was killed" in shown
    # and the same run in the same place goes on
    kept = [int(path.stem.rpartition("-")[2]) for path in (tmp_path / "out/.finished").glob("*.json")]
    wanted = max(kept) + 2
    code, _, err = finish(start(tmp_path, *argv, f"repeats={wanted}"))
    assert (code, err.splitlines()[0].split(";")[0]) == (0, SAID.format(found=len(kept), wanted=wanted))
    assert len(numbers(tmp_path / "out")) == wanted
    again = min(wanted, len(expected))
    assert numbers(tmp_path / "out")[:again] == expected[:again]


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_is_answered_as_ctrl_c_is(tmp_path, workers):
    """To all processes, as batch systems send it."""
    run = start(tmp_path, "run", *SMALL, "repeats=200", f"compute.workers={workers}", "hydra.run.dir=out")
    below = at_work(run, tmp_path / "out")
    assert len(below) == (2 if workers == 2 else 0)
    os.killpg(run.pid, signal.SIGTERM)
    code, out, err = finish(run)
    assert (code, err) == (143, "written to out\npate: terminated\n")
    done = len(numbers(tmp_path / "out"))
    assert 1 <= done < 200
    assert status(tmp_path / "out") == ("interrupted", f"interrupted after {done} of 200 repeats")
    assert f"interrupted after {done} of 200 repeats" in " ".join(out.split())
    assert gone(below)
