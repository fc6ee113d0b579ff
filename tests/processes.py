"""`pate` as a process of its own: started, waited for, and what it left behind.

Most are copies of a process that has imported what a run needs, which takes three seconds of a core.
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

psutil = pytest.importorskip("psutil")  # comes with distributed

__all__ = ["ENV", "MAIN", "PATE", "REPO", "Process", "children_of", "finish", "numbers", "start", "until"]

REPO = Path(__file__).resolve().parent.parent
ENV = {**os.environ, "PYTHONPATH": str(REPO)}
PATE = [sys.executable, "-m", "pate_cli"]
PATIENCE = 300  # seconds: for machines where much goes on beside the tests
MAIN = "import runpy; runpy.run_module('pate_cli', run_name='__main__', alter_sys=True)"

# Copies itself for each request, or tells the exit code of a copy; ends with who asks.
# A shell starts what it puts in the background with SIGINT ignored, as some CI does; nohup, SIGHUP.
_SERVER = """
import json, os, signal, socket, sys
import hydra, joblib.externals.loky, skops.io
import pate_cli.cli, pate_cli.commands.run, pate_cli.engine.workers

server = socket.socket(fileno=int(sys.argv[1]))
while True:
    text, given, *_ = socket.recv_fds(server, 1 << 20, 2)
    if not text:
        os._exit(0)
    asked = json.loads(text)
    if "pid" in asked:
        pid, status = os.waitpid(asked["pid"], os.WNOHANG)
        server.send(json.dumps(os.waitstatus_to_exitcode(status) if pid else None).encode())
    elif pid := os.fork():
        [os.close(each) for each in given]
        server.send(str(pid).encode())
    else:
        break
server.close()
os.setsid()
os.chdir(asked["cwd"])
os.environ.clear()
os.environ.update(asked["env"])
for number, each in enumerate(given, 1):
    os.dup2(each, number)
    os.close(each)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.path[0] = asked["cwd"]
sys.argv[1:] = asked["argv"]
exec(asked["code"])
"""


@functools.cache
def _server() -> socket.socket:
    """Start the process that copies itself."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", _SERVER, str(theirs.fileno())]
    given = {"env": ENV, "pass_fds": [theirs.fileno()], "stdin": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=REPO, **given)
    theirs.close()
    atexit.register(server.wait)
    atexit.register(ours.close)  # before it is waited for
    return ours


def _ask(asked: dict[str, Any], *files: Any) -> Any:
    server = _server()
    socket.send_fds(server, [json.dumps(asked).encode()], [file.fileno() for file in files])
    return json.loads(server.recv(1 << 10))


class Process:
    """A process in a directory and a process group of its own that runs some code, much as a `Popen`."""

    def __init__(self, cwd: Path, *argv: str, code: str = MAIN) -> None:
        self._said = [tempfile.TemporaryFile("w+", encoding="utf-8") for _ in range(2)]  # noqa: SIM115
        asked = {"cwd": str(cwd), "argv": argv, "code": code, "env": {**os.environ, "PYTHONPATH": str(REPO)}}
        self.pid = _ask(asked, *self._said)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, once it has ended."""
        if self.returncode is None:
            self.returncode = _ask({"pid": self.pid})
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, not what it has started."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Wait for its end: stdout, stderr."""
        deadline = time.monotonic() + PATIENCE
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if self.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
        texts = []
        for file in self._said:
            file.seek(0)
            texts.append(file.read())
            file.close()
        assert self.returncode is not None, texts
        return texts[0], texts[1]


def start(cwd: Path, *argv: str, strict: bool = False) -> Process:
    """Start `pate ARGV...` in a directory and a process group of its own; strict: as `python -W error`."""
    errors = "import sys, warnings; sys.warnoptions[:] = ['error']; warnings.simplefilter('error'); "
    return Process(cwd, *argv, code=errors * strict + MAIN)


def finish(process: Process) -> tuple[int, str, str]:
    """Wait for its end: exit code, stdout, stderr. Nothing of its group is left."""
    try:
        out, err = process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode is not None
    return process.returncode, out, err


def until(condition: Callable[[], Any], process: Process | None = None) -> Any:
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
