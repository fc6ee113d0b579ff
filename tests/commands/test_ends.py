"""How a command ends: streams, signals, learners that end the process, disks, directories."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import ENV, MAIN, Process, finish, start, until

from pate_cli import datasets, mechanisms
from pate_cli.cli import main
from pate_cli.engine import rows
from pate_cli.engine.store import PLACE
from pate_cli.results import read_record, read_repeats
from pate_cli.terminal import only_writer

SMALL = ["dataset.n_records=1000", "split.public=50", "features=none", "student=logistic"]
ALONE = [*SMALL, "compute.workers=1", "hydra.run.dir=out"]
LEARNERS = """
import os, shutil, signal, sys
from pathlib import Path
from sklearn.linear_model import LogisticRegression

class Learner(LogisticRegression):
    def fit(self, X, y, *more):
        if X.min() < 0:  # those that it is tried out on are not
            self.act()
        return super().fit(X, y, *more)

class Exits(Learner):
    def act(self):
        os._exit(0)

class Dies(Learner):
    def act(self):
        os.kill(os.getpid(), signal.SIGKILL)

class Leaves(Learner):
    def act(self):
        sys.exit(0)

class LeavesEarly(LogisticRegression):
    def fit(self, X, y):
        sys.exit(0)

class Moves(Learner):
    def act(self):
        Path("elsewhere").mkdir(exist_ok=True)
        os.chdir("elsewhere")

class Removes(Learner):
    def act(self):
        shutil.rmtree(Path(__file__).with_name("out"))

class Never(Learner):
    def act(self):
        Path(__file__).with_name("begun").touch()
        while True:
            pass
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ending.py").write_text(LEARNERS)
    monkeypatch.syspath_prepend(tmp_path)
    rows.forget()
    yield
    sys.modules.pop("ending", None)


def outcome(run: str = "out") -> tuple[str, Any]:
    record = json.loads(Path(run, "result.json").read_text())
    return record["status"], record["message"]


@pytest.mark.parametrize("closed", [(0, 1, 2), (2,)])
def test_streams_that_are_closed(tmp_path, closed):
    """A file or a pipe that is opened then may have their numbers."""
    names = ["stdin", "stdout", "stderr"]
    none = "".join(f"os.close({n}); sys.{names[n]} = sys.__{names[n]}__ = None; " for n in closed)
    workers = "compute.workers=2" if 1 in closed else "compute.workers=1"
    argv = ["run", *SMALL, workers, "repeats=2", "hydra.run.dir=out"]
    code, out, err = finish(Process(tmp_path, *argv, code=f"import os, sys; {none}{MAIN}"))
    assert (code, outcome(), err) == (0, ("ok", None), "")
    assert ("constant answer" in out) == (1 not in closed)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_learner_that_never_returns_and_a_terminal_that_closes(tmp_path, number, code):
    process = start(tmp_path, "run", "teacher.estimator=ending.Never", *ALONE)
    until(Path("begun").exists, process)
    os.kill(process.pid, number)
    assert finish(process)[0] == code
    assert outcome() == ("interrupted", "interrupted after 0 of 1 repeats")


@pytest.mark.parametrize(
    ("key", "how", "said"),
    [
        ("teacher", "Leaves", "0"),
        ("teacher", "LeavesEarly", "0"),
        ("student", "Leaves", "0"),
        ("teacher", "Exits", "os._exit(0)"),
        ("student", "Exits", "os._exit(0)"),
    ],
)
def test_a_learner_that_calls_exit(key, how, said, capsys):
    assert main(["run", f"{key}.estimator=ending.{how}", *ALONE]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pate: {key}.estimator: got ")
    assert f"(SystemExit: {said}; ending." in err  # and where
    assert err.count("\n") == 1
    assert not Path("out").exists()


PARTS = {
    "mechanism": ("mechanism.name=part", "from pate_cli.mechanisms.gaussian import Options, calibrate"),
    "dataset": ("dataset.name=part", "from pate_cli.datasets.synthetic import Options, load"),
    "features": (
        "features.name=part.Map",
        "class Map:\n    of = classmethod(lambda *_: Map())\n    def values(self, X): return X",
    ),
}


@pytest.mark.parametrize(
    ("part", "right", "wrong"),
    [
        ("mechanism", None, None),
        ("dataset", None, None),
        ("features", None, None),
        ("features", "return X", "sys.exit(0)"),
        ("mechanism", None, "def calibrate(*_): sys.exit(0)"),
        ("dataset", None, "def load(*_): sys.exit(0)"),
    ],
)
def test_a_part_of_ones_own_that_calls_exit_is_named(part, right, wrong, monkeypatch, capsys):
    """At import, or when it is called: one line with its file, and no success."""
    key, source = PARTS[part]
    body = source.replace(right, wrong) if right else f"{source}\n{wrong or 'sys.exit(0)'}"
    Path("part.py").write_text(f"import sys\n{body}\n")
    monkeypatch.delitem(sys.modules, "part", raising=False)
    importlib.invalidate_caches()
    try:
        assert main(["run", key, *ALONE]) == 2
    finally:
        sys.modules.pop("part", None)
        mechanisms.find.cache_clear()
        datasets.find.cache_clear()
    err = capsys.readouterr().err
    assert "SystemExit: 0; " in err
    assert f"{Path('part.py').absolute()}, line " in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_a_release_is_made_though_every_teacher_ends_the_process(monkeypatch, capsys):
    monkeypatch.setenv("PATE_LEDGER", "ledger")
    data = ["dataset=npz", "dataset.path=records.npz"]
    np.savez("records.npz", X=np.random.default_rng(0).normal(size=(400, 3)), y=np.arange(400) % 2)
    assert main(["ledger", "init", *data, "--eps", "8", "--delta", ".01"]) == 0
    argv = ["split.public=20", "split.public_from_private=true", "teacher.count=12", "release=true"]
    assert main(["run", *data, *argv, "teacher.estimator=ending.Exits", "hydra.run.dir=out"]) == 0
    assert Path("out/answers.csv").is_file()
    assert "exit" not in "".join(capsys.readouterr())


def test_a_process_that_a_learner_forks_may_end():
    forks = """if True:
        import os
        from pate_cli.plugins import contained
        with contained():
            child = os.fork() or os._exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", forks], env=ENV, capture_output=True, text=True)
    assert done.stdout == "3\n"


def test_a_run_whose_process_is_gone_was_killed(tmp_path, capsys):
    """In this process a learner can end the command: who reads the directory is told."""
    finish(start(tmp_path, "run", "teacher.estimator=ending.Dies", *ALONE))
    assert outcome()[0] == "running"
    assert read_record("out/result.json").status == "killed"
    assert main(["table", "out"]) == 0
    assert "its process is gone" in " ".join(capsys.readouterr().out.split())
    record = json.loads(Path("out/result.json").read_text())
    record["provenance"]["process"]["pid"] = os.getpid()
    Path("out/result.json").write_text(json.dumps(record))
    assert read_record("out/result.json").status == "running"


def test_a_learner_that_changes_the_working_directory(capsys):
    argv = ["teacher.estimator=ending.Moves", "student.estimator=ending.Moves", *ALONE]
    assert main(["run", *argv]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "written to out"
    assert outcome() == ("ok", None)
    assert not list(Path("elsewhere").rglob("result.json"))


@pytest.mark.parametrize("sweep", [False, True])
def test_a_directory_that_is_removed_meanwhile(sweep, capsys):
    argv = [*SMALL, "compute.workers=1", "teacher.estimator=ending.Removes", "teacher.count=1"]
    if sweep:
        assert main(["run", "-m", *argv, "eps=1,2", "hydra.sweep.dir=out"]) == 1
        assert "pate: 2 of 2 jobs did not finish" in capsys.readouterr().err
    else:
        assert main(["run", *argv, "hydra.run.dir=out"]) == 1
        assert "/out: was removed while the run went on" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_cannot_be_written(tmp_path, workers):
    """A limit on the size of files stands for a full disk: the student is the first that is too large."""
    argv = ["run", *SMALL[:2], f"compute.workers={workers}", "hydra.run.dir=out"]
    limited = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (9000, 9000)); {MAIN}"
    code, _, err = finish(Process(tmp_path, *argv, code=limited))
    assert code == 1
    (line,) = err.splitlines()
    assert line.endswith(".skops: File too large")
    status, message = outcome()
    assert status == "error"
    assert message.endswith(".skops: File too large")


def test_two_commands_in_one_directory(tmp_path, capsys):
    with only_writer(tmp_path / "out"):
        assert main(["run", *ALONE]) == 2
        assert main(["run", "-m", *SMALL, "eps=1,2", "hydra.sweep.dir=out"]) == 2
        assert main(["frontier", "dataset=synthetic", *SMALL, "--output", "out"]) == 2
        assert main(["reproduce", "table3", "--output", "out"]) == 2
    assert capsys.readouterr().err.count("another command writes there at this moment") == 4
    assert not Path("out").exists()
    assert main(["run", *ALONE]) == 0
    with only_writer(tmp_path / "out"):
        assert main(["run", *ALONE, "eps=2"]) == 2
    assert "is replaced" not in capsys.readouterr().err


def test_a_run_in_place_of_another(capsys):
    assert main(["run", *ALONE]) == 0
    assert main(["run", *ALONE, "repeats=2"]) == 0
    assert "replaced" not in capsys.readouterr().err
    assert main(["run", *ALONE, "eps=2"]) == 0
    assert (
        "a run of another configuration (synthetic, gaussian, eps 1.0) is replaced" in capsys.readouterr().err
    )
    record = json.loads(Path("out/result.json").read_text())
    record["config"]["release"] = True
    Path("out/result.json").write_text(json.dumps(record))
    assert main(["run", *ALONE]) == 2
    assert "has the files of a release" in capsys.readouterr().err


def test_results_of_two_commands_in_one_directory(capsys):
    """They would be read together, numbers of one under the settings of the other."""
    sweep = ["run", "-m", *SMALL, "compute.workers=1", "hydra.sweep.dir=sweep"]
    assert main(["run", *ALONE]) == 0
    assert main([*sweep, "eps=1,2"]) == 0
    assert main([*sweep, "eps=1,2,4"]) == 0
    for argv, named in (
        ([*sweep[:-1], "eps=1,2", "hydra.sweep.dir=out"], "hydra.sweep.dir"),
        ([*sweep, "eps=1,2"], "sweep: has 2/result.json of another command; give another directory"),
        (["run", *SMALL, "hydra.run.dir=sweep"], "hydra.run.dir"),
        (
            ["frontier", "dataset=synthetic", *SMALL, "--output", "out"],
            "--output out: has the files of a run",
        ),
    ):
        capsys.readouterr()
        assert main(argv) == 2
        err = capsys.readouterr().err
        assert named in err
        assert err.count("\n") == 1
    assert sorted(read_repeats(["out", "sweep"])["eps"]) == [1, 2, 4]  # of equal rows one counts


@pytest.mark.parametrize("odd", ["directory", "loop", "pipe"])
def test_something_else_in_place_of_a_kept_repeat(odd):
    assert main(["run", *ALONE]) == 0
    expected = Path("out/repeats.csv").read_text().splitlines()[0]
    for kept in Path("out", PLACE).iterdir():
        kept.unlink()
        {"directory": Path.mkdir, "loop": lambda path: path.symlink_to(path), "pipe": os.mkfifo}[odd](kept)
    assert main(["run", *ALONE]) == 0
    assert outcome() == ("ok", None)
    assert Path("out/repeats.csv").read_text().splitlines()[0] == expected
    assert sum(path.is_file() for path in Path("out", PLACE).iterdir()) == 2


def test_a_file_in_place_of_kept_repeats(capsys):
    Path("out").mkdir()
    Path("out", PLACE).touch()
    assert main(["run", *ALONE]) == 2
    assert "is no directory; finished repeats are kept there" in capsys.readouterr().err
    shutil.rmtree("out")
