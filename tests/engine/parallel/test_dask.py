"""Repeats on a Dask cluster, through the command line: the same numbers, whatever happens to a worker."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pate_cli.cli import main
from pate_cli.engine import execution
from pate_cli.engine.parallel import dask
from pate_cli.errors import ConfigError

psutil = pytest.importorskip("psutil")  # comes with distributed
pytest.importorskip("distributed")

REPO = Path(__file__).resolve().parents[3]
SMALL = ["dataset.n_records=1500", "split.public=60", "teacher=tree"]
REPEATS = "repeats=15"  # long enough to be killed half-way
ENV = {**os.environ, "PYTHONPATH": str(REPO)}


def start(cwd: Path, *argv: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", *argv],
        cwd=cwd,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def pate(cwd: Path, out: str, *argv: str) -> subprocess.Popen[str]:
    return start(cwd, "pate_cli", "run", *SMALL, *argv, f"hydra.run.dir={out}")


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        err = process.communicate(timeout=120)[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, err


def numbers(run: Path) -> list[dict[str, str]]:
    with open(run / "repeats.csv", newline="") as file:
        return [{key: cell for key, cell in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 120
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def first_repeat(process: subprocess.Popen[str], run: Path) -> None:
    until(lambda: (run / "repeats.csv").exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def workers_of(process: Any) -> list[Any]:
    """Worker processes below a process: those that Dask started by multiprocessing."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[dict[str, str]]:
    """Numbers of some repeats, done in one process."""
    where = tmp_path_factory.mktemp("local")
    assert finish(pate(where, "out", REPEATS, "compute.workers=1")) == (0, "written to out\n")
    return numbers(where / "out")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[tuple[str, Any]]:
    """A scheduler and two worker processes; address, and the process that keeps the workers."""
    where = tmp_path_factory.mktemp("cluster")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m"]
    scheduler = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", "file"]
    worker = ["--scheduler-file", "file", "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
    worker += ["--memory-limit", "0", "--local-directory", str(where)]
    with contextlib.ExitStack() as stack:
        for name, arguments in (("scheduler", scheduler), ("worker", worker)):
            process = subprocess.Popen(
                [*command, f"distributed.cli.dask_{name}", *arguments],
                cwd=where,
                env=ENV,
                start_new_session=True,
                **quiet,
            )
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        address = json.loads(until(lambda: (where / "file").exists() and (where / "file").read_text()))
        until(lambda: len(workers_of(process)) == 2)
        yield address["address"], process


def test_the_same_numbers_on_a_cluster_that_is_there(tmp_path, cluster, expected):
    run = pate(tmp_path, "out", "repeats=4", "compute=dask", f"compute.address={cluster[0]}")
    assert finish(run) == (0, "written to out\n")
    assert numbers(tmp_path / "out") == expected[:4]


def test_teachers_are_spread_where_repeats_are_few(tmp_path, cluster, expected):
    run = pate(tmp_path, "out", "repeats=1", "compute=dask", f"compute.address={cluster[0]}")
    assert finish(run) == (0, "written to out\n")
    assert numbers(tmp_path / "out") == expected[:1]


def test_a_killed_worker_of_a_cluster_of_our_own_loses_no_result(tmp_path, expected):
    run = pate(tmp_path, "out", REPEATS, "compute=dask", "compute.workers=2")
    first_repeat(run, tmp_path / "out")
    assert json.loads((tmp_path / "out/result.json").read_text())["status"] == "running"
    workers = workers_of(run)
    assert len(workers) == 2
    workers[0].kill()  # SIGKILL; both were at work
    code, err = finish(run)
    assert (code, err.splitlines()[-1]) == (0, "written to out")
    assert numbers(tmp_path / "out") == expected
    assert not any(worker.is_running() for worker in workers)


def test_the_workers_of_a_killed_run_end(tmp_path):
    run = pate(tmp_path, "out", "repeats=200", "compute=dask", "compute.workers=2")
    first_repeat(run, tmp_path / "out")
    workers = workers_of(run)
    run.kill()
    finish_by = time.monotonic() + 60
    while any(worker.is_running() for worker in workers):
        assert time.monotonic() < finish_by
        time.sleep(0.1)
    run.communicate()
    assert json.loads((tmp_path / "out/result.json").read_text())["status"] == "running"


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = main(["run", *SMALL, "compute=dask", *argv])
    return code, capsys.readouterr().err


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dask, "_PATIENCE", 0.5)
    code, err = call(capsys, "compute.address=tcp://127.0.0.1:9")
    assert code == 2
    assert err.startswith("pate: compute.address: got 'tcp://127.0.0.1:9'; accepted: a Dask scheduler that ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_dask_is_an_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dask, "find_spec", lambda _: None)
    execution.forget()
    expected = "pate: compute=dask: Dask is not installed; pip install distributed cryptography\n"
    assert call(capsys) == (2, expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["compute.address=node1"], "compute.address: got 'node1'; accepted: a scheduler as tcp://HOST:PORT"),
        (["compute.address=8786"], "compute.address: got 8786"),
        (["compute.address=tcp://node1:8786", "compute.workers=2"], "compute.workers: got 2; accepted: null"),
        (["compute.workers=0"], "compute.workers: got 0"),
        (["release=true"], "compute: got 'dask'; accepted: local with release=true"),
        (["compute=local", "compute.address=tcp://node1:8786"], "compute.address: no such key"),
    ],
)
def test_wrong_values(tmp_path, monkeypatch, capsys, arguments, named):
    monkeypatch.chdir(tmp_path)
    code, err = call(capsys, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"pate: {named}")
    assert list(tmp_path.iterdir()) == []


class Client:
    """A cluster of one worker."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def wait_for_workers(self, *_: Any, **__: Any) -> None:
        if self.found is None:
            raise TimeoutError

    def run(self, _: Any) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return {"tcp://w:1": self.found}


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (None, "a Dask scheduler with at least one worker"),
        (
            ModuleNotFoundError("No module named 'pate_cli'"),
            "a cluster whose workers have pate-cli installed",
        ),
        (dask.versions() | {"numpy": "1.9"}, "workers with numpy .*, as here; one has 1.9"),
    ],
)
def test_workers_that_would_not_give_the_same_numbers_are_refused(found, named):
    with pytest.raises(ConfigError, match=named):
        dask._check_workers(Client(found), "tcp://a:1")
    assert dask._check_workers(Client(dask.versions()), "tcp://a:1") == 1
