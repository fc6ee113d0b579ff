"""Sweeps by other launchers than Hydra's own, through the command line."""

from __future__ import annotations

import contextlib
import importlib
from pathlib import Path
from typing import Any

import pytest
from processes import MAIN, Process, children_of, finish, numbers, psutil, until

from pate_cli.cli import main
from pate_cli.config import hydra_composition
from pate_cli.errors import InputError
from pate_cli.results import read_record

SMALL = ["dataset.n_records=1500", "split.public=60", "features=none", "student=logistic"]
LAUNCHERS = {"joblib": "hydra_plugins.hydra_joblib_launcher", "submitit_local": "submitit"}
# the second job cannot be done, which only shows in the fits: nearest neighbours of more than there are
JOBS = ["teacher=tree,neighbours", "--config-dir", "own"]


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
    jobs = [*JOBS[:-1], str(where / JOBS[-1])]
    assert main(["run", "-m", *SMALL, *jobs, f"hydra.sweep.dir={where / 'out'}"]) == 1
    return numbers(where / "out/0")


def test_the_same_sweep_and_its_failures_are_told(tmp_path, monkeypatch, capsys, expected):
    chosen = launcher("joblib")
    own_configs(tmp_path)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["run", "-m", *SMALL, chosen, *JOBS, "hydra.sweep.dir=out"]) == 1
    err = capsys.readouterr().err
    assert "written to out" in err.splitlines()
    assert err.splitlines()[-1] == "pate: 1 of 2 jobs did not finish"
    assert numbers(tmp_path / "out/0") == expected
    records = [read_record(tmp_path / f"out/{job}/result.json") for job in range(2)]
    assert [record.status for record in records] == ["ok", "error"]
    assert "teacher.estimator" in (records[1].message or "")
    assert err.count("1 of 1 repeats failed") == 1
    assert "Traceback" not in err


def test_a_killed_job_is_told(tmp_path):
    chosen = launcher("submitit_local")
    argv = [chosen, "teacher=tree", "eps=1,2", "repeats=400", "hydra.sweep.dir=out"]
    soon = "import submitit; submitit.Job._results_timeout_s = 1; "  # 15 for results of a dead job
    process = Process(tmp_path, "run", "-m", *SMALL, *argv, code=soon + MAIN)
    until(lambda: len([*tmp_path.glob("out/*/repeats.csv")]) == 2, process)
    for job in at_work(process.pid):
        job.kill()
    code, _, err = finish(process)
    assert code == 1
    assert "pate: a job was killed; jobs elsewhere go on, and pate table collects them (" in err
    assert "Traceback" not in err
    lost = int(err.split("of 2 jobs did not finish")[0].split()[-1])
    records = [path for path in tmp_path.glob("out/*/result.json") if read_record(path).status == "killed"]
    assert lost == len(records) == 2


def at_work(pid: int) -> list[Any]:
    """Processes below `pid` that do a job, not those that only start another."""
    with contextlib.suppress(psutil.Error):
        return [child for child in children_of(pid, "submitit.core._submit") if not child.children()]
    return []


def test_launchers_are_extras():
    from hydra.errors import MissingConfigException

    error = MissingConfigException("no", "hydra/launcher/submitit_slurm", ["basic"])
    found = hydra_composition.Composer()._explained(error, ["hydra/launcher=submitit_slurm"])
    assert isinstance(found, InputError)
    needs = "hydra-submitit-launcher submitit"
    assert str(found) == f"hydra/launcher=submitit_slurm: not installed; pip install {needs}"
