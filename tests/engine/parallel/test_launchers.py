"""Sweeps by other launchers than Hydra's own, through the command line."""

from __future__ import annotations

import contextlib
import csv
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pate_cli.config import composition
from pate_cli.errors import InputError
from pate_cli.report import read_record

psutil = pytest.importorskip("psutil")  # comes with distributed

REPO = Path(__file__).resolve().parents[3]
SMALL = ["dataset.n_records=1500", "split.public=60", "teacher=tree"]
LAUNCHERS = {"joblib": "hydra_plugins.hydra_joblib_launcher", "submitit_local": "submitit"}
# the second job cannot be done, which only shows in the fits: nearest neighbours of more than there are
JOBS = ["teacher=tree,neighbours", "--config-dir", "own"]


def start(cwd: Path, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pate_cli", "run", "-m", *SMALL[:2], *argv],
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


def numbers(run: Path) -> list[dict[str, str]]:
    with open(run / "repeats.csv", newline="") as file:
        return [{key: cell for key, cell in row.items() if key != "seconds"} for row in csv.DictReader(file)]


def own_configs(cwd: Path) -> None:
    (cwd / "own/teacher").mkdir(parents=True)
    (cwd / "own/teacher/neighbours.yaml").write_text(
        "estimator: sklearn.neighbors.KNeighborsClassifier\n"
        "params: {n_neighbors: 25}\nsize: 20\ncount: null\n"
    )


def launcher(name: str) -> str:
    try:
        importlib.import_module(LAUNCHERS[name])
    except ImportError:
        pytest.skip(f"{name} is an extra")
    return f"hydra/launcher={name}"


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> Any:
    """The sweep by Hydra's own launcher."""
    where = tmp_path_factory.mktemp("basic")
    own_configs(where)
    assert finish(start(where, *JOBS, "hydra.sweep.dir=out"))[0] == 1
    return numbers(where / "out/0")


@pytest.mark.parametrize("name", LAUNCHERS)
def test_the_same_sweep_and_its_failures_are_told(tmp_path, name, expected):
    chosen = launcher(name)
    own_configs(tmp_path)
    code, out, err = finish(start(tmp_path, chosen, *JOBS, "hydra.sweep.dir=out"))
    assert code == 1
    assert err.splitlines()[-2:] == ["written to out", "pate: 1 of 2 jobs did not finish"]
    assert numbers(tmp_path / "out/0") == expected
    records = [read_record(tmp_path / f"out/{job}/result.json") for job in range(2)]
    assert [record.status for record in records] == ["ok", "error"]
    assert "teacher.estimator" in (records[1].message or "")
    assert out.count("error: synthetic") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_killed_job_is_told(tmp_path, name):
    chosen = launcher(name)
    sweep = start(tmp_path, chosen, "teacher=tree", "eps=1,2", "repeats=40", "hydra.sweep.dir=out")
    job = None
    deadline = time.monotonic() + 120
    while job is None:
        assert sweep.poll() is None, sweep.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
        if (tmp_path / "out/0/repeats.csv").exists():
            with contextlib.suppress(psutil.Error):
                job = one_job(sweep.pid)
    job.kill()
    code, _, err = finish(sweep)
    assert code == 1
    assert "pate: a job was killed; jobs elsewhere go on, and pate table collects them (" in err
    assert "Traceback" not in err
    lost = int(err.split("of 2 jobs did not finish")[0].split()[-1])
    records = [path for path in tmp_path.glob("out/*/result.json") if read_record(path).status == "running"]
    assert lost == len(records) >= 1


def one_job(pid: int) -> Any:
    """A process below `pid` that does a job, not one that only starts another."""
    for child in psutil.Process(pid).children(recursive=True):
        line = " ".join(child.cmdline())
        if "popen_loky" in line or ("submitit.core._submit" in line and not child.children()):
            return child
    return None


@pytest.mark.parametrize(
    ("option", "needs"),
    [
        ("joblib", "hydra-joblib-launcher"),
        ("submitit_slurm", "hydra-submitit-launcher submitit"),
        ("submitit_local", "hydra-submitit-launcher submitit"),
    ],
)
def test_launchers_are_extras(option, needs):
    from hydra.errors import MissingConfigException

    error = MissingConfigException("no", f"hydra/launcher/{option}", ["basic"])
    found = composition._explained(error, [f"hydra/launcher={option}"], None)
    assert isinstance(found, InputError)
    assert str(found) == f"hydra/launcher={option}: not installed; pip install {needs}"
