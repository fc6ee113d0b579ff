"""A job of a sweep is lost: the others go on, and the same command again does only what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pate_cli.cli import main
from pate_cli.engine import store

SWEEP = ["run", "-m", "dataset.n_records=1200", "split.public=40", "teacher.size=300", "hydra.sweep.dir=all"]
ONE = [*SWEEP, "compute.workers=1"]
DEADLY = """
import multiprocessing, os, signal
from sklearn.dummy import DummyClassifier
class Deadly(DummyClassifier):
    def fit(self, X, y):
        if self.constant == 1 and multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def results() -> list[tuple[str, str | None]]:
    """Status and message of each job."""
    records = [json.loads(path.read_text()) for path in sorted(Path("all").glob("*/result.json"))]
    return [(record["status"], record["message"]) for record in records]


def test_a_job_that_kills_its_workers(tmp_path, monkeypatch, capsys):
    Path("deadly_learner.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(tmp_path)
    argv = ["teacher.estimator=deadly_learner.Deadly", "teacher.params.constant=1,0", "compute.workers=2"]
    why = "the worker process was killed, twice (out of memory? compute.workers=1 needs least)"
    assert (main([*SWEEP, *argv]), results()) == (1, [("error", why), ("ok", None)])
    assert capsys.readouterr().err.endswith("pate: 1 of 2 jobs did not finish\n")


@pytest.mark.parametrize(
    ("name", "make", "statuses"),
    [("1", Path.touch, ["ok", "ok"]), ("1/student.skops", Path.mkdir, ["ok", "error", "ok"])],
)
def test_a_directory_that_cannot_be_written(capsys, name, make, statuses):
    path = Path("all", name)
    path.parent.mkdir(parents=True)
    make(path)
    assert main([*ONE, "seed=0,1,2"]) == 1
    err = capsys.readouterr().err
    assert str(path.absolute()) in err.splitlines()[0]
    assert "Traceback" not in err
    assert [status for status, _ in results()] == statuses


def test_a_full_disk(monkeypatch, capsys):
    written, write = [], store.write_file

    def full(path: Path, *args, **more):
        if len(written) == 4:  # a student and a repeat of two jobs
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        return write(path, *args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_file", full)
        assert main([*ONE, "seed=0,1,2,3"]) == 1
    err = capsys.readouterr().err
    assert f"pate: {Path('all/.finished').absolute()}/" in err
    assert ": No space left on device\n" in err
    assert [status for status, _ in results()] == ["ok", "ok", "error", "error"]
    assert main([*ONE, "seed=0,1,2,3"]) == 0
    assert "2 of 4 repeats were done before" in capsys.readouterr().err
    assert [status for status, _ in results()] == ["ok"] * 4
