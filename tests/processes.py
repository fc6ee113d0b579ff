"""`pate` as a process of its own: started, waited for, and what it left behind."""

from __future__ import annotations

import contextlib
import csv
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

__all__ = ["ENV", "PATE", "REPO", "children_of", "finish", "numbers", "start", "until"]

REPO = Path(__file__).resolve().parent.parent
ENV = {**os.environ, "PYTHONPATH": str(REPO)}
PATE = [sys.executable, "-m", "pate_cli"]
PATIENCE = 300  # seconds: for machines where much goes on beside the tests


def start(cwd: Path, *argv: str, command: list[str] = PATE) -> subprocess.Popen[str]:
    """Start `pate ARGV...` in a directory and a process group of its own."""
    return subprocess.Popen(
        [*command, *argv],
        cwd=cwd,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_answer_signals,
    )


def _answer_signals() -> None:
    """A shell starts what it puts in the background with SIGINT ignored, as some CI does; nohup, SIGHUP."""
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for its end: exit code, stdout, stderr. Nothing of its group is left."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, out, err


def until(condition: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """Wait until something holds, and give it; `process` is to live on meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            if process is not None:
                process.kill()
            said = finish(process) if process else ()  # and no pipe of it is left open
            raise AssertionError(f"{'it ended' if ended else 'waited too long'}: {said}")
        time.sleep(0.02)
    return found


def children_of(pid: int, word: str) -> list[Any]:
    """Processes below `pid` with a word in their command line."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if word in " ".join(child.cmdline()):
                found.append(child)
    return found


def numbers(run: Path) -> list[dict[str, str]]:
    """Every cell of a run's `repeats.csv`, but for the seconds and what was typed."""
    with open(run / "repeats.csv", newline="") as file:
        done = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    typed = ("seconds", "overrides")
    return [{key: cell for key, cell in row.items() if key not in typed} for row in done]
