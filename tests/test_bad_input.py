"""Bad input, through the real command line: exit code 2, one line that helps, nothing written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pate_cli.cli import main
from pate_cli.config.composition import conf_dir

REPO = Path(__file__).resolve().parent.parent
SMALL = ["dataset.n_records=1000", "split.public=40"]
GOOD = "".join(f"{i % 2} 1:{i} 2:{i % 7}\n" for i in range(60))


def options(group: str) -> str:
    return ", ".join(sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")))


MECHANISMS = options("mechanism")


def libsvm(path: str) -> list[str]:
    return ["dataset=libsvm", f"dataset.path={path}", "split.public=5", "teacher.size=10"]


def csv(path: str, target: str = "y") -> list[str]:
    return [
        "dataset=csv",
        f"dataset.path={path}",
        f"dataset.target={target}",
        "split.public=5",
        "teacher.size=10",
    ]


# name: (arguments after `pate run`, what the line must say)
VALUES: dict[str, tuple[list[str], list[str]]] = {
    "eps zero": (["eps=0"], ["eps: got 0;", "from 1e-06 to 500, or inf"]),
    "eps nan": (["eps=nan"], ["eps: got nan;", "from 1e-06 to 500, or inf"]),
    "eps deleted": (["~eps"], ["eps: got None;"]),
    "eps no float holds": (["eps=1" + "0" * 400], ["eps: got 1000", "from 1e-06 to 500, or inf"]),
    "delta zero": (["delta=0"], ["delta: got 0;", "(0, 1)", "null"]),
    "more teachers than records": (
        [*SMALL, "teacher.count=801"],
        ["teacher.count: got 801;", "from 1 to 800"],
    ),
    "teacher size null": (["teacher.size=null"], ["teacher.size: got None;", ">= 1"]),
    "public split of 0 points": (["split.public=0"], ["split.public: got 0;", "> 0"]),
    "public split below the budget": (
        [*SMALL, "mechanism=active", "split.budget=41"],
        ["split.budget: got 41;", "at most 40", "40 points"],
    ),
    "too many repeats": (["repeats=99999999999"], ["repeats: got 99999999999;", "from 1 to 1000000"]),
    "repeats as a float": (["repeats=1e3"], ["repeats: got 1000.0;", "in digits: repeats=1000"]),
    "seed of 50 digits": (["seed=" + "7" * 50], ["seed: got 777", f"from 0 to {2**128 - 1}"]),
    "seed of 5,000 digits": (["seed=" + "7" * 5000], ["seed=777", "... (5,005 characters): cannot be read"]),
    "split without a key": (
        ["split=foo"],
        ["split: got 'foo';", "split.private, split.public, split.budget"],
    ),
    "parameters that are none": (["teacher.params=3"], ["teacher.params: got 3;", "teacher.params.C=10"]),
    "cutoff above ell": (
        [*SMALL, "mechanism=svt", "mechanism.cutoff=41"],
        ["mechanism.cutoff: got 41;", "40"],
    ),
    "infeasible svt": (
        [*SMALL, "mechanism=svt", "eps=0.1"],
        ["mechanism=svt cannot answer with 40 teachers", "what would do: at least", "teacher.count=", "eps="],
    ),
    "learner parameter unknown": (
        ["teacher.params.depth=3"],
        ["teacher.params.depth: got 3;", "C, class_weight"],
    ),
    "not importable": (
        ["teacher.estimator=nowhere.Forest"],
        ["teacher.estimator: got 'nowhere.Forest'", "nowhere"],
    ),
    "a regressor": (
        ["teacher.estimator=sklearn.linear_model.Ridge"],
        [
            "teacher.estimator: got 'sklearn.linear_model.Ridge'",
            "logistic, linear_svm, libsvm, ",
            "classifier",
        ],
    ),
    "mandatory path": (["dataset=libsvm"], ["dataset.path: got None;", "path of a LIBSVM file"]),
    "a path that is a number": (
        ["dataset=libsvm", "dataset.path=2024"],
        ["dataset.path: got 2024;", '"2024"'],
    ),
    "dataset option": (["dataset.flip=0.6"], ["dataset.flip: got 0.6;", "[0, 0.5)"]),
}

UNKNOWN: dict[str, tuple[list[str], list[str]]] = {
    **{
        f"{group} option": ([f"{group}=nope"], [f"{group}: got 'nope'; accepted: {options(group)}"])
        for group in ("dataset", "teacher", "student", "mechanism", "compute")
    },
    **{
        f"{group} null": ([f"{group}=null"], [f"{group}: got None;", options(group)])
        for group in ("dataset", "mechanism")
    },
    "group deleted": (["~mechanism"], ["mechanism: got None;", options("mechanism")]),
    "top key": (
        ["epsilon=1"],
        ["epsilon: no such key; did you mean eps; there are: ", "repeats, seed, split"],
    ),
    "teacher key": (
        ["teacher.sise=3"],
        ["teacher.sise: no such key; did you mean teacher.size; there are: "],
    ),
    "dataset key": (["dataset.oops=3"], ["dataset.oops: no such key;", "dataset.n_records"]),
    "key below a value": (
        ["split.public.oops=3"],
        ["split.public.oops: no such key; split.public is a value"],
    ),
    "key below nothing": (["oops.oops=3"], ["oops.oops: no such key, nor oops"]),
    "preset": (["+experiment=oops"], [f"experiment: got 'oops'; accepted: {options('experiment')}"]),
    "preset not added": (
        ["experiment=oops"],
        ["experiment=oops: a preset is added; accepted: +experiment=oops"],
    ),
    "hydra key": (["hydra.oops=3"], ["hydra.oops: no such key", "--cfg hydra"]),
    "hydra group": (["hydra/launcher=oops"], ["hydra/launcher: got 'oops'; accepted: basic"]),
    "hydra mode": (["hydra.mode=MULTIRUN"], ["hydra.mode=MULTIRUN", "-m"]),
    "no value": (["eps"], ["eps: cannot be read", "KEY=VALUE"]),
    "nothing between commas": (["eps=1,,2"], ["eps=1,,2: cannot be read", "next to a comma", "eps=1,2"]),
    "quotes needed": (
        ["dataset.path=a=b.csv"],
        ["dataset.path=a=b.csv: cannot be read", """'dataset.path="a=b.csv"'"""],
    ),
    "interpolation": (["eps=${oops}"], ["eps: ", "oops"]),
    "several values": (["eps=1,2"], ["eps=1,2: several values need -m"]),
    "hydra's rerun": (["--experimental-rerun", "x"], ["arguments: --experimental-rerun; see pate run"]),
    "config name": (["--config-name", "x"], ["--config-name: got 'x'; accepted: config"]),
    "config dir": (["--config-dir", "nowhere"], ["--config-dir: got 'nowhere';", "existing directory"]),
    "two commands": (["-m", "--cfg", "job"], ["--multirun and --cfg"]),
    "shown with a wrong key": (["--cfg", "job", "oops=1"], ["oops: no such key"]),
}

FILES: dict[str, tuple[list[str], list[str]]] = {
    "missing": (libsvm("no.libsvm"), ["no.libsvm: no such file"]),
    "empty": (libsvm("empty.libsvm"), ["empty.libsvm: empty"]),
    "cut gz": (libsvm("cut.gz"), ["cut.gz: the compressed file is cut short"]),
    "not numeric": (libsvm("text.libsvm"), ["text.libsvm, line 3:", "'two'"]),
    "one class": (libsvm("one.libsvm"), ["one.libsvm: every label is '1'", "two classes"]),
    "csv without the target": (csv("good.csv", "z"), ["dataset.target: got 'z';", "good.csv: a, b, y"]),
    "csv ragged": (csv("ragged.csv"), ["ragged.csv, line 3: 2 cells, the header has 3"]),
    "checksum": (["dataset=a9a"], ["a9a: checksum of", "expected f5d5ffd8", "pate data fetch a9a"]),
}

WRITING: dict[str, tuple[list[str], list[str]]] = {
    "run under a file": (
        ["hydra.run.dir=good.csv/run"],
        ["hydra.run.dir ", "good.csv/run: cannot be written: Not a directory"],
    ),
    "run is a file": (["hydra.run.dir=good.csv"], ["hydra.run.dir ", "is a file; give a directory"]),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files to be refused; PATE_DATA holds what is not a9a and mushrooms."""
    cwd, data = tmp_path / "cwd", tmp_path / "data"
    for path in (cwd / "folder", data):
        path.mkdir(parents=True)
    table = "a,b,y\n" + "".join(f"{i},{'uvw'[i % 3]},{'pq'[i % 2]}\n" for i in range(60))
    lines = GOOD.splitlines(keepends=True)
    for name, text in {
        "empty.libsvm": "",
        "cut.libsvm": GOOD.rstrip()[:-1],
        "text.libsvm": "".join([*lines[:2], "0 1:two\n", *lines[3:]]),
        "one.libsvm": "".join(lines[1::2]),
        "good.csv": table,
        "ragged.csv": table.replace("1,v,q", "1,q", 1),
    }.items():
        (cwd / name).write_text(text)
    (cwd / "cut.gz").write_bytes(gzip.compress(GOOD.encode())[:-20])
    for name in ("a9a", "a9a.t", "mushrooms"):
        (data / name).write_text(GOOD)
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("PATE_DATA", str(data))
    return tmp_path


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: list[str]) -> None:
    before = tree(folder)
    code = main(argv)
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert err.startswith("pate: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for text in said:
        assert text in err
    assert tree(folder) == before


@pytest.mark.parametrize("name", VALUES)
def test_values(folder, capsys, name):
    argv, said = VALUES[name]
    refused(folder, capsys, ["run", *argv], said)


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_names(folder, capsys, name):
    argv, said = UNKNOWN[name]
    refused(folder, capsys, ["run", *argv], said)


@pytest.mark.parametrize("name", FILES)
def test_files(folder, capsys, name):
    argv, said = FILES[name]
    refused(folder, capsys, ["run", *argv], said)


@pytest.mark.parametrize("name", WRITING)
def test_places_that_cannot_be_written(folder, capsys, name):
    argv, said = WRITING[name]
    refused(folder, capsys, ["run", *SMALL, *argv], said)


@pytest.mark.parametrize("name", ["eps zero", "seed of 50 digits", "infeasible svt", "missing", "checksum"])
def test_plan_refuses_what_run_refuses(folder, capsys, name):
    argv, said = (VALUES | FILES)[name]
    refused(folder, capsys, ["plan", *argv], _of_a_plan(argv) or said)


def _of_a_plan(argv):
    """What `pate plan` says of keys it does not use, whatever their value."""
    unused = any(text.startswith(("seed=", "compute", "cache=", "ledger=")) for text in argv)
    return ["not used by pate plan"] if unused else []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["eps=1,-1"], ["eps: got -1;"]),
        (["eps=1,2", "oops=1"], ["oops: no such key"]),
        (["mechanism=svt", "eps=0.2,0.1"], ["cannot answer with 40 teachers at eps=0.2"]),
        (["teacher.params.C=1,-1"], ["teacher.params.C: got -1;"]),
        (["compute=local,dask"], ["compute: got 'several'; accepted: one and the same for all jobs"]),
        (["compute.workers=1,2"], ["compute: got 'several'; accepted: one and the same for all jobs"]),
        (["eps=interval(0,1)"], ["eps=interval(0,1): an interval needs a sweeper", "values, as in 1,2,4"]),
    ],
)
def test_a_sweep_is_refused_before_its_first_job(folder, capsys, argv, said):
    refused(folder, capsys, ["run", "-m", *SMALL, *argv], said)
    refused(folder, capsys, ["run", *SMALL, *argv, "-m"], said)  # wherever the option stands


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("eps=range(5,1)", "eps=range(5,1): holds no value"),
        ("eps=range(1,5,0)", "eps=range(1,5,0): without an end; accepted: range(START,STOP,STEP)"),
        ("seed=range(0,1" + "0" * 400 + ")", "without an end; accepted: range(START,STOP,STEP)"),
        ("mechanism=glob(zzz*)", f"mechanism=glob(zzz*): holds no value; there are: {MECHANISMS}"),
        (
            "seed=range(0,100000000)",
            "seed=range(0,100000000): makes a sweep of 1e+08 jobs; accepted: at most 10,000",
        ),
    ],
)
def test_a_sweep_is_counted_before_its_jobs_are_listed(folder, capsys, command, sweep, said):
    refused(folder, capsys, [command, "-m", sweep], (command == "plan" and _of_a_plan([sweep])) or [said])


def test_a_sweep_is_counted_over_all_its_keys(folder, capsys):
    refused(folder, capsys, ["run", "-m", "seed=range(0,200)", "eps=range(1,101)"], ["2e+04 jobs"])


def test_parameters_may_be_given_as_a_whole(folder, capsys):
    argv = ["run", *SMALL, "teacher.params={C:2}", "--cfg", "job"]
    assert main(argv) == 0
    assert "C: 2\n" in capsys.readouterr().out
    refused(folder, capsys, ["run", *SMALL, "teacher.params={C:-1}"], ["teacher.params.C: got -1;"])
    refused(folder, capsys, ["run", "-m", *SMALL, "teacher.params={C:1},{C:-1}"], ["params.C: got -1;"])


LATE = """
from sklearn.linear_model import LogisticRegression
class Fussy(LogisticRegression):
    def fit(self, X, y):
        if X.shape[1] == 5:
            raise ValueError("five columns")
        return super().fit(X, y)
"""


@pytest.fixture
def fussy(folder, monkeypatch):
    """A classifier that passes every check made in advance, and fails on the data."""
    (folder / "fussy_learner.py").write_text(LATE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # its own trace would be taken for the run's


@pytest.mark.usefixtures("fussy")
@pytest.mark.parametrize("who", ["teacher", "student"])
def test_a_run_refused_late_leaves_nothing(folder, capsys, who):
    said = [f"{who}.estimator: got", "five columns"]
    refused(folder, capsys, ["run", *SMALL, f"{who}.estimator=fussy_learner.Fussy"], said)
    argv = ["run", *SMALL, f"{who}.estimator=fussy_learner.Fussy", "hydra.run.dir=folder/a/b"]
    refused(folder, capsys, argv, said)
    assert (folder / "cwd" / "folder").is_dir()


@pytest.mark.usefixtures("fussy")
def test_a_run_refused_late_leaves_what_was_there(folder, capsys):
    (folder / "cwd/folder/mine.txt").write_text("kept")
    assert main(["run", *SMALL, "student.estimator=fussy_learner.Fussy", "hydra.run.dir=folder"]) == 2
    assert "five columns" in capsys.readouterr().err
    assert (folder / "cwd/folder/mine.txt").read_text() == "kept"


@pytest.mark.parametrize(
    "argv",
    [
        ["-m", "eps=1,-1"],
        FILES["cut gz"][0],
    ],
    ids=str,
)
def test_as_a_process(folder, argv):
    before = tree(folder)
    env = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pate_cli", "run", *argv], capture_output=True, text=True, env=env, timeout=300
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pate: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert tree(folder) == before
