"""What each command refuses: one line that helps, exit code 2, and nothing is written."""

from __future__ import annotations

import gzip
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import finish, start

from pate_cli.cli import main
from pate_cli.config.hydra_composition import options

SMALL = "dataset.n_records=1200 split.public=40"
LIBSVM = "dataset=libsvm split.public=5 teacher.size=10 dataset.path="
GOOD = "".join(f"{i % 2} 1:{i} 2:{i % 7}\n" for i in range(60))

REFUSED: dict[str, list[tuple[str, str]]] = {
    "run": [
        # values
        ("eps=0", "eps: got 0; accepted: a number from 1e-06 to 500, or inf"),
        ("delta=5e-324", "delta: got 5e-324; accepted: a number from 1e-300 to below 1, or null"),
        (f"{SMALL} teacher.count=961", "teacher.count: got 961; accepted: "),
        ("teacher.features=1", "teacher.features: got 1; accepted: auto, true or false"),
        (f"{SMALL} mechanism=active split.budget=41", "split.budget: got 41; accepted: "),
        ("repeats=1e3", "repeats: got 1000.0; accepted: a whole number in digits: repeats=1000"),
        (f"seed={'7' * 5000}", f"seed={'7' * 45}... (5,005 characters): cannot be read"),
        ("split=foo", "split: got 'foo'; accepted: split.private, split.public, split.budget"),
        ("split.mode=labels", "split.mode: got 'labels'; accepted: records, label_private"),
        (
            "teacher.params=3",
            "teacher.params: got 3; accepted: keys of the learner, as in teacher.",
        ),
        ("teacher.params={C:-1}", "teacher.params.C: got -1"),
        ("teacher.params.depth=3", "teacher.params.depth: got 3; accepted: "),
        ("teacher.estimator=nowhere.Forest", "teacher.estimator: got 'nowhere.Forest'"),
        (
            "teacher.estimator=sklearn.linear_model.Ridge",
            "teacher.estimator: got 'sklearn.linear_",
        ),
        ("dataset=libsvm", "dataset.path: got None; accepted: "),
        ("dataset.flip=0.6", "dataset.flip: got 0.6; accepted: "),
        (f"{SMALL} mechanism=svt mechanism.cutoff=41", "mechanism.cutoff: got 41; accepted: "),
        (f"{SMALL} mechanism=svt eps=0.01", "mechanism=svt cannot answer with 48 teachers"),
        ("release=disk", "release: got 'disk'; accepted: true, false"),
        ("ledger=x", "ledger: got 'x'; accepted: null without release=true"),
        ("purpose=fun", "purpose: got 'fun'; accepted: null without release=true"),
        # names
        *(
            (f"{group}=nope", f"{group}: got 'nope'; accepted: {', '.join(options(group))}")
            for group in ("dataset", "teacher", "mechanism")
        ),
        (
            "+mechanism.calibration=tight",
            "+mechanism.calibration: the key is there; accepted: mechanism.cali",
        ),
        ("~oops", "oops: no such key; there are: "),
        ("~delta=1", "~delta: it is null, so there is nothing to take away; accepted: delta=VALUE"),
        ("--cfg job -p oops", "package 'oops' not found in config"),
        ("teacher.params=[1]", "teacher.params: got '[1]'; accepted: keys below it, as teacher.params.KEY="),
        ("hydra.job.num=x", "hydra.job.num: got x: Value 'x' of type 'str' could not be converted to Int"),
        ("mechanism=svtt", "mechanism: got 'svtt'; did you mean svt; accepted: active, "),
        ("dataset=null", "dataset: got 'null'; accepted: a9a, adult"),
        ("~mechanism", "mechanism: got None; accepted: active, "),
        ("+dataset=a9a", "+dataset: got 'a9a'; accepted: dataset=OPTION, of a9a"),
        ("epsilon=1", "epsilon: no such key; did you mean eps; there are: teacher, "),
        ("teacher.sise=3", "teacher.sise: no such key; did you mean teacher.size; there are: teacher.esti"),
        ("split.public.oops=3", "split.public.oops: no such key; there are: split.private"),
        ("oops.oops=3", "oops.oops: no such key; there are: "),
        ("+experiment=oops", "experiment: got 'oops'; accepted: asq_mushroom, "),
        ("experiment=oops", "experiment=oops: a preset is added; accepted: +experiment=oops"),
        ("hydra.oops=3", "hydra.oops: no such key; pate run --cfg hydra shows those there are"),
        ("hydra/launcher=oops", "hydra/launcher: got 'oops'; accepted: basic"),
        ("hydra.mode=MULTIRUN", "hydra.mode=MULTIRUN: not here; accepted: pate run -m for a sweep"),
        # words that Hydra's grammar does not take, and options
        ("eps", "eps: cannot be read ("),
        ("eps=1,,2", "eps=1,,2: cannot be read (nothing next to a comma); accepted: eps=1,2"),
        ("dataset.path=a=b.csv", "dataset.path=a=b.csv: cannot be read ("),
        ("teacher.params.C=1=2", "teacher.params.C=1=2: cannot be read ("),
        (
            "eps=${oc.env:UNSET,1}",
            "eps: got '1'; accepted: a number from 1e-06 to 500, or inf for no privacy; this is text: "
            """of a variable, 'eps="${oc.decode:${oc.env:NAME}}"'""",
        ),
        ("eps=${oops}", "eps: Interpolation key 'oops' not found"),
        ("eps=1,2", "eps=1,2: several values need -m (pate run -m ...); one value: 'eps=\"1,2\"'"),
        ("--experimental-rerun x", "unrecognized arguments: --experimental-rerun; see pate run --help"),
        ("--config-name x", "--config-name: got 'x'; accepted: config"),
        ("--config-dir nowhere", "--config-dir: got 'nowhere'; accepted: an existing directory"),
        ("-m --cfg job", "argument --cfg/-c: not allowed with argument --multirun/-m"),
        ("--resolve", "--resolve: only with --cfg or --help"),
        ("--cfg job oops=1", "oops: no such key"),
        # sweeps, before their first job
        (f"-m {SMALL} eps=1,-1", "eps: got -1"),
        (f"{SMALL} eps=1,-1 -m", "eps: got -1"),
        (
            f"-m {SMALL} mechanism=svt eps=0.02,0.01",
            "mechanism=svt cannot answer with 48 teachers at eps=",
        ),
        ("-m mechanism=svt,gaussian mechanism.cutoff=2", "mechanism.cutoff: no such key"),
        ("-m compute.workers=1,2", "compute: got 'several'; accepted: one and the same for all jobs"),
        ("-m eps=interval(0,1)", "eps=interval(0,1): an interval needs a sweeper that searches it"),
        ("-m eps=range(5,1)", "eps=range(5,1): holds no value"),
        ("-m eps=range(1,5,0)", "eps=range(1,5,0): range() arg 3 must not be zero; accepted: range(START,"),
        ("-m mechanism=glob(zzz*)", "mechanism=glob(zzz*): holds no value; there are: active, "),
        ("-m seed=range(0,100000000)", "seed=range(0,100000000): makes more than 10,000 jobs"),
        ("-m seed=range(0,200) eps=range(1,101)", "eps=range(1,101): makes more than 10,000 jobs"),
        # places
        ("hydra.run.dir=", "hydra.run.dir: got ''; accepted: a directory, or auto"),
        ("hydra.run.dir=file", "hydra.run.dir "),
        ("hydra.run.dir=file/run", "hydra.run.dir "),
        ("hydra.sweep.dir=x", "hydra.sweep.dir=x: is of a sweep (-m); of a run it is hydra.run.dir"),
        ("-m eps=1,2 hydra.sweep.subdir=x", "hydra.sweep.subdir: got 'x'; accepted: a name that differs by"),
        (
            "-m eps=1,2 hydra.sweep.subdir=${mechanism.name}",
            "hydra.sweep.subdir: got 'gaussian'; accepted: a",
        ),
        (
            "-m eps=1,2 hydra.sweep.subdir=../x${eps}",
            "hydra.sweep.subdir: got '../x1'; accepted: a name with",
        ),
        (
            "-m eps=1,2 hydra.sweep.subdir=/tmp/${eps}",
            "hydra.sweep.subdir: got '/tmp/1'; accepted: a name wi",
        ),
        # what Hydra does not expect
        ("hydra.job.env_copy=[PATE_NOT_SET]", "hydra.job.env_copy=[PATE_NOT_SET]: Hydra cannot take it (Key"),
        ("-m hydra.sweeper.params.eps=1", "hydra.sweeper.params.eps=1: Hydra cannot take it (AssertionError"),
        ("-m +hydra.sweeper.params={eps:1}", "+hydra.sweeper.params={eps:1}: Hydra cannot take it ("),
        *(
            (
                f"dataset=csv dataset.path=own.csv dataset.target=z dataset.encoding={name}",
                f"dataset.encoding: got '{name}'; accepted: null, or an encoding such as utf-8",
            )
            for name in ("hex", "rot13", "zip", "undefined")  # codecs of Python that read no text
        ),
        ("-m eps=1,2 hydra.sweep.dir=of_frontier", "hydra.sweep.dir "),
        ("-m eps=1,2 hydra.run.dir=x", "hydra.run.dir=x: is of a single run; with -m it is"),
        ("-m hydra/sweeper=ours eps=1,2 --force", "--force: not with hydra/sweeper=ours,"),
        ("--config-dir own --config-name mine", "hydra.mode: got MULTIRUN in a file; accepted: pate run -m"),
        # files
        ("--config-dir own teacher=broken", "/own/teacher/broken.yaml, line 2: not YAML ("),
        ("--config-dir own teacher=bytes", "--config-dir own: a file is not UTF-8 text (invalid start byte)"),
        (f"{LIBSVM}no.libsvm", "no.libsvm: no such file"),
        (f"{LIBSVM}file", "file: empty"),
        (f"{LIBSVM}cut.gz", "cut.gz: the compressed file is cut short"),
        (f"{LIBSVM}text.libsvm", "text.libsvm, line 3:"),
        (f"{LIBSVM}one.libsvm", "one.libsvm: every label is '1'"),
        (
            "dataset=csv dataset.path=own.csv dataset.target=z",
            "dataset.target: got 'z'; accepted: ",
        ),
        ("dataset=a9a", "a9a: checksum of "),
        (f"dataset.n_records={10**12}", "dataset.n_records: got 1000000000000; accepted: at most 200000000,"),
        (
            f"dataset.n_features={10**9}",
            "dataset.n_records: got 75000; accepted: at most 1, of 1000000000 fea",
        ),
    ],
    "plan": [
        ("--force", "pate plan takes overrides, -m and how to print"),
        ("--cfg job", "pate plan takes overrides, -m and how to print"),
        (f"-m {SMALL} mechanism=svt eps=0.0001,0.0002", "mechanism=svt cannot answer with 48 teachers"),
        ("-m mechanism=svt eps=1,-1", "eps: got -1"),
        (f"{LIBSVM}no.libsvm", "no.libsvm: no such file"),
        (
            "eps=80 mechanism.calibration=bassily2018 split.public=0.02 dataset.n_records=8124",
            "mechanism.calibration: got 'bassily2018'; accepted: tight or liu2021 at eps=80",
        ),
        (
            "mechanism.calibration=liu2021 release=true",
            "mechanism.calibration: got 'liu2021'; accepted: tight with release=true",
        ),
    ],
    "frontier": [
        ("release=true", "release=true: not here"),
        ("hydra.run.dir=x", "hydra.run.dir=x: not here; the directory is --output DIR"),
        ("--eps 0", "--eps: got '0'; accepted: finite numbers > 0"),
        ("--methods laplace", "--methods: got 'laplace'; accepted: "),
        ("--repeats 0", "--repeats: got 0; accepted: a whole number >= 1"),
        ("eps=1", "eps=1: here it is --eps"),
        ("teacher.size=0", "frontier, row 'student on exact votes': teacher.size: got 0"),
        ("--tables mushrom", "--tables: got 'mushrom'; accepted: a9a, adult, digits,"),
        ("--tables own.csv:label", "--tables: got 'own.csv:label'; accepted: KEY=VALUE after each"),
        ("--tables own.csv", "table own: row 'student on exact votes': dataset.target: got 'target'"),
        ("--tables synthetic,synthetic", "--table synthetic: there are two of that name"),
        ("--tables absent.csv,other.csv", "absent.csv: no such file"),
        ("--table a=dataset=synthetic,seed=3", "--table a: seed=3: is the same for all tables"),
        ("--tables synthetic dataset=digits", "dataset=digits: here it is --tables"),
        ("--tables synthetic --metric f1", "--metric: got 'f1'; accepted: accuracy, balanced_"),
        ("--output file", "--output file: is a file"),
        ("--output of_sweep", "--output of_sweep: has the files of a sweep; give another directory"),
        ("--output of_recipe --force", "--output of_recipe: has the files of a recipe; give another"),
    ],
    "reproduce": [
        ("table4 --output of_frontier", "--output of_frontier: has the files of a frontier; give another"),
        ("table4 release=true", "release=true: not here"),
        ("table4 hydra.run.dir=x", "hydra.run.dir=x: not here; the directory is"),
        ("table3 teacher=tree", "teacher: no such parameter of table3; there are: dataset"),
        ("table5", "table5: no such recipe; there are: "),
        ("", "no recipe; there are: "),
        ("repeats=3", "repeats=3: the recipe comes first"),
        ("table4 repeats=x", "table4, row 'mushroom PSQ-NP': repeats: got 'x'"),
        ("table4 dataset=[iris]", "dataset: got 'iris'"),
        ("table3 dataset=[iris]", "params.dataset: got ['iris']; accepted: a list of 1 or more"),
        ("table4 --list", "--list: takes no recipe"),
        ("table4 --output file", "--output file: is a file"),
    ],
    "audit": [
        ("seed=1", "seed=1: here it is --seed N"),
        ("dataset=mushroom", "dataset=mushroom: pate audit loads no data"),
        ("dataset.unit=patient_id", "dataset.unit=patient_id: here it is --persons"),
        ("eps=inf", "eps: got inf; accepted: a finite number"),
        ("eps=1,2", "eps=1,2"),
        ("mechanism=sspp --classes 3", "dataset: got '3 classes'; accepted: a dataset of two classes"),
        ("mechanism=soft --teachers 6", "mechanism=soft cannot answer with 6 teachers"),
        ("mechanism=svt mechanism.cutoff=101", "mechanism.cutoff: got 101"),
        ("mechanism=agprivcl --records 20", "mechanism=agprivcl cannot answer"),
        (f"--queries {10**12}", "--queries: got 1000000000000; accepted: at most 1000000"),
        (f"--marginals {10**9}", "--marginals: got 1000000000; accepted: at most 1000000"),
        ("--persons --marginals 2", "--persons: not with --marginals, which is attacked by one record"),
        ("--records 9", "--records: got 9; accepted: a whole number >= 10"),
        ("--confidence nan", "--confidence: got nan; accepted: a number in (0, 1)"),
        ("--config-dir nowhere", "--config-dir: got 'nowhere'"),
        ("--output .", "--output .: is a directory"),
    ],
    "tune": [
        ("eps=1", "pate tune: one candidate, so no choice; list values, as in student=logistic,tree"),
        ("student=tree,tree", "pate tune: two candidates are the same; accepted: each value once"),
        ("dataset=a9a,adult", "dataset: has several values; candidates share data"),
        ("student=tree,voting hydra/sweeper=optuna", "hydra/sweeper: not with pate tune"),
    ],
    "ledger init": [
        ("dataset=synthetic --eps inf --delta 1e-4", "--eps: got inf; accepted"),
        ("dataset=synthetic --eps 1 --delta 1", "--delta: got 1.0; accepted"),
        ("dataset=synthetic dataset.n_recods=5 --eps 1 --delta 0", "dataset.n_recods"),
        ("dataset=synthetic --eps 1 --delta 0 --config-dir nowhere", "--config-dir: got 'nowhere'"),
    ],
    "table": [("own.csv --output own.csv", "--output own.csv: is a file that is read; give another")],
    "predict": [("own.csv file --output ../cwd/file", "--output ../cwd/file: is a file that is read; give")],
    "data": [
        (
            "describe own.csv --target label --unit label",
            "--unit: got 'label'; accepted: another column than",
        ),
        (
            "describe own.csv --target label --set label.levels=[y]",
            "label.levels: got ['y']; accepted: two cl",
        ),
        ("describe own.csv --output own.csv", "--output own.csv: is a file that is read; give another"),
        ("fetch synthetic", "pate data fetch: got 'synthetic'; accepted: mushroom, a9a"),
        ("verify synthetic", "pate data verify: got 'synthetic'; accepted: mushroom, a9a"),
    ],
    "list": [("a" * 3000, f"{'a' * 50}... (3,000 characters): File name too long; accepted: ")],
    "-sc": [
        ("", "-sc : accepted: install=SHELL"),
        ("install=tcsh", "-sc install=tcsh: accepted: install=SHELL"),
    ],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files to be refused; PATE_DATA holds what is not a9a."""
    cwd, data, own = tmp_path / "cwd", tmp_path / "data", tmp_path / "cwd/own"
    for path in (cwd / "folder", data, own / "teacher"):
        path.mkdir(parents=True)
    (own / "mine.yaml").write_text("defaults: [config, _self_]\nhydra: {mode: MULTIRUN}\n")
    (own / "teacher/broken.yaml").write_text("estimator: [tree\n")
    (own / "teacher/bytes.yaml").write_bytes(b"estimator: \xff\n")
    lines = GOOD.splitlines(keepends=True)
    rows = np.random.default_rng(0).normal(size=(300, 2)).round(3).tolist()
    (cwd / "own.csv").write_text("a,b,label\n" + "".join(f"{a},{b},{'ny'[a > 0]}\n" for a, b in rows))
    (cwd / "file").write_text("")
    for made_by, column in (("of_frontier", ""), ("of_sweep", "job,"), ("of_recipe", "name,")):
        (cwd / made_by).mkdir()
        (cwd / made_by / "repeats.csv").write_text(f"dataset,method,{column}eps,repeat\n")
    (cwd / "text.libsvm").write_text("".join([*lines[:2], "0 1:two\n", *lines[3:]]))
    (cwd / "one.libsvm").write_text("".join(lines[1::2]))
    (cwd / "cut.gz").write_bytes(gzip.compress(GOOD.encode())[:-20])
    for name in ("a9a", "a9a.t"):
        (data / name).write_text(GOOD)
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("PATE_DATA", str(data))
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setattr("pate_cli.datasets.known_datasets._cache", lambda: tmp_path / "no-cache")
    return tmp_path


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


def refused(folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    before = tree(folder)
    code = main(argv)
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.removeprefix(f"pate: {folder}/cwd").removeprefix("pate: ").startswith(said), err
    assert tree(folder) == before


CASES = [(command, *case) for command, cases in REFUSED.items() for case in cases]


@pytest.mark.parametrize(
    ("command", "argv", "said"), CASES, ids=[f"{command} {argv}"[:80] for command, argv, _ in CASES]
)
def test_wrong_input_is_one_line_and_writes_nothing(folder, capsys, command, argv, said):
    refused(folder, capsys, [*command.split(), *shlex.split(argv)], said)


@pytest.mark.parametrize(
    "argv",
    [
        *("audit --nonsense", "ledger", "ledger init", "ledger init dataset=synthetic"),
        *("ledger init --eps 1 --delta 0", "data", "data fetch", "predict", "table x --format pdf"),
    ],
)
def test_a_wrong_command_line_shows_the_usage(argv, capsys):
    assert main(argv.split()) == 2
    assert f"usage: pate {argv.split()[0]}" in capsys.readouterr().err


FUSSY = """
from sklearn.linear_model import LogisticRegression
class Fussy(LogisticRegression):
    def fit(self, X, y):
        if X.shape[1] == 5:
            raise ValueError("five columns")
        return super().fit(X, y)
"""


@pytest.mark.parametrize("who", ["teacher", "student"])
def test_a_run_refused_late_leaves_only_what_was_there(folder, capsys, monkeypatch, who):
    """A classifier that passes every check made in advance, and fails on the data."""
    (folder / "fussy_learner.py").write_text(FUSSY)
    (folder / "cwd/folder/mine.txt").write_text("kept")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # its own trace would be taken for the run's
    argv = ["run", *SMALL.split(), f"{who}.estimator=fussy_learner.Fussy", "compute.workers=1"]
    refused(folder, capsys, argv, f"{who}.estimator: got")
    refused(folder, capsys, [*argv, "hydra.run.dir=new/a/b"], f"{who}.estimator: got")
    assert main([*argv, "hydra.run.dir=folder"]) == 2
    assert "five columns" in capsys.readouterr().err
    assert (folder / "cwd/folder/mine.txt").read_text() == "kept"


def test_as_a_process(folder):
    before = tree(folder)
    code, out, err = finish(start(Path.cwd(), "run", "-m", "eps=1,-1"))
    assert (code, out) == (2, "")
    assert err.startswith("pate: eps: got -1")
    assert err.count("\n") == 1
    assert tree(folder) == before
