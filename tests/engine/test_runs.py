"""Whole runs on worker processes and on a Dask cluster: the same numbers, whatever happens to a worker."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import ENV, Process, children_of, finish, numbers, start, until

from pate_cli.cli import main
from pate_cli.engine import workers
from pate_cli.errors import InputError

SMALL = ["dataset.n_records=1500", "split.public=60", "teacher=tree"]
WORKER = {"local": "popen_loky", "dask": "spawn_main"}
"""Word in the command line of a worker process, by where the work is done."""


def pate(cwd: Path, *argv: str) -> Process:
    return start(cwd, "run", *SMALL, *argv, "hydra.run.dir=out", strict=True)


def at_work(process: Process, where: str, out: Path) -> list[Any]:
    """Wait for the first repeat; both workers."""
    until((out / "repeats.csv").exists, process)
    found = children_of(process.pid, WORKER[where])
    assert len(found) == 2
    return found


def gone(processes: list[Any]) -> bool:
    return not any(process.is_running() and process.status() != "zombie" for process in processes)


def repeats(out: Path) -> set[str]:
    return {row["repeat"] for row in numbers(out)}


def status(out: Path) -> str:
    return json.loads((out / "result.json").read_text())["status"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[dict[str, str]]:
    """Numbers of some repeats, done in one process."""
    out = tmp_path_factory.mktemp("one") / "out"
    assert main(["run", *SMALL, "repeats=16", "compute.workers=1", f"hydra.run.dir={out}"]) == 0
    return numbers(out)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[str]:
    """Address of a scheduler with two worker processes."""
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
        until(lambda: len(children_of(process.pid, WORKER["dask"])) == 2)
        yield address["address"]


def test_the_same_numbers_on_a_cluster_that_is_there(tmp_path, monkeypatch, capsys, cluster, expected):
    monkeypatch.chdir(tmp_path)
    for repeats in (4, 1):  # where they are few, teachers are spread
        argv = ["compute=dask", f"compute.address={cluster}", f"hydra.run.dir={repeats}"]
        assert main(["run", *SMALL, *argv, f"repeats={repeats}"]) == 0
        assert capsys.readouterr().err == f"written to {repeats}\n"
        assert numbers(tmp_path / str(repeats)) == expected[:repeats]


def test_a_killed_worker_loses_no_result(tmp_path, expected):
    out = tmp_path / "out"
    run = pate(tmp_path, "repeats=16", "compute.workers=2")
    below = at_work(run, "local", out)
    assert status(out) == "running"
    below[0].kill()  # both were at work
    code, _, err = finish(run)
    assert (code, err.splitlines()[-1]) == (0, "written to out")
    assert "a worker process was killed; what it did is done again" in err
    assert numbers(out) == expected
    assert gone(below)


@pytest.mark.parametrize("where", WORKER)
def test_the_workers_of_a_killed_run_end(tmp_path, expected, where):
    """On a cluster one of them is killed before, and what it did is done again, in its turn."""
    out = tmp_path / "out"
    run = pate(tmp_path, "repeats=400", f"compute={where}", "compute.workers=2")
    below = at_work(run, where, out)
    if where == "dask":
        below[0].kill()
        until(lambda: {str(i) for i in range(16)} <= repeats(out), run)
        below += children_of(run.pid, WORKER[where])
    run.kill()
    until(lambda: gone(below))
    err = run.communicate()[1]
    assert status(out) == "running"
    assert ("a worker process was killed; what it did is done again" in err) == (where == "dask")
    done = {row["repeat"]: row for row in numbers(out)}
    assert all(done.get(row["repeat"], row) == row for row in expected)


def test_sigterm_is_answered_as_ctrl_c_is(tmp_path):
    """It goes to all processes, as batch systems send it."""
    out = tmp_path / "out"
    run = pate(tmp_path, "repeats=400", "compute.workers=2")
    below = at_work(run, "local", out)
    os.killpg(run.pid, signal.SIGTERM)
    code, said, err = finish(run)
    assert (code, err.splitlines()) == (143, ["written to out", "pate: terminated"])
    assert status(out) == "interrupted"
    assert f"interrupted after {len(numbers(out))} of 400 repeats" in " ".join(said.split())
    assert gone(below)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (
            ["compute.address=tcp://127.0.0.1:9"],
            "compute.address: got 'tcp://127.0.0.1:9'; accepted: a ",
        ),
        (["compute.address=node1"], "compute.address: got 'node1'; accepted: null, or a scheduler as tcp://"),
        (["compute.address=tcp://node1:8786", "compute.workers=2"], "compute.workers: got 2; accepted: null"),
        (["release=true"], "compute: got 'dask'; accepted: local with release=true"),
        (["compute=local", "compute.address=tcp://node1:8786"], "compute.address: no such key"),
        ([], "compute=dask: Dask is not installed; pip install distributed cryptography"),
    ],
)
def test_refused_in_one_line_before_anything_is_written(tmp_path, monkeypatch, capsys, arguments, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers, "_PATIENCE", 0.5)
    if not arguments:
        monkeypatch.setattr(workers, "find_spec", lambda _: None)
    assert main(["run", *SMALL, "compute=dask", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pate: {named}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


class Client:
    """A cluster of one worker, or of none."""

    def __init__(self, found: Exception | None = None, *, empty: bool = False) -> None:
        self.found, self.empty = found, empty

    def wait_for_workers(self, *_: Any, **__: Any) -> None:
        if self.empty:
            raise TimeoutError

    def run(self, _: Any) -> Any:
        if self.found is not None:
            raise self.found
        return {"tcp://w:1": None}


@pytest.mark.parametrize(
    ("client", "named"),
    [
        (Client(empty=True), "a Dask scheduler with at least one worker"),
        (Client(ModuleNotFoundError("no pate_cli")), "a cluster whose workers have pate-cli installed"),
        (Client(InputError("numpy is 1.9 in a worker process")), "^numpy is 1.9 in a worker process"),
    ],
)
def test_workers_that_would_not_give_the_same_numbers_are_refused(client, named):
    with pytest.raises(InputError, match=named):
        workers._check_workers(client, "tcp://a:1")
    assert workers._check_workers(Client(), "tcp://a:1") == 1
