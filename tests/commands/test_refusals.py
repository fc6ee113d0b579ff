"""What each command refuses: one line, exit code 2, and nothing is written."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from pate_cli.cli import main

REFUSED = {
    "run": [
        ("hydra.sweep.dir=x", "hydra.sweep.dir=x: is of a sweep (-m); of a run it is hydra.run.dir"),
        ("-m eps=1,2 hydra.run.dir=x", "hydra.run.dir=x: is of a single run; with -m it is"),
        ("hydra.run.dir=file", "hydra.run.dir"),
        ("ledger=x", "ledger: got 'x'; accepted: null without release=true"),
        ("purpose=fun", "purpose: got 'fun'; accepted: null without release=true"),
        ("-m hydra/sweeper=ours eps=1,2 --force", "--force: not with hydra/sweeper=ours,"),
        ("mechanism=svt eps=0.01 split.public=40 dataset.n_records=1200", "mechanism=svt cannot answer"),
        (
            "-m mechanism=svt eps=0.01,0.02 split.public=40 dataset.n_records=1200",
            "mechanism=svt cannot answer",
        ),
        ("-m mechanism=svt eps=0.01,5 seed=-1 dataset.n_records=1200", "seed"),
        ("-m mechanism=svt,gaussian mechanism.cutoff=2", "mechanism.cutoff: no such key"),
        ("split.mode=labels", "split.mode: got 'labels'; accepted: records, label_private"),
        ("cache=disk", "cache: got 'disk'; accepted: true, false"),
        ("--config-dir own --config-name mine", "hydra.mode: got MULTIRUN in a file; accepted: pate run -m"),
    ],
    "plan": [
        *((key, f"{key}: not used by pate plan") for key in ("cache=true", "compute.workers=2")),
        *((key, f"{key}: not used by pate plan") for key in ("compute=dask", "++seed=1", "hydra.run.dir=x")),
        ("--force", "pate plan takes overrides and -m only"),
        ("--cfg job", "pate plan takes overrides and -m only"),
        ("--theory repeats=2", "repeats=2: not used by pate plan --theory"),
        ("-m mechanism=svt eps=0.0001,0.0002", "mechanism=svt cannot answer with 3000 teachers"),
        ("-m mechanism=svt eps=1,-1", "eps: got -1"),
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
        ("dataset=real-sim", "real-sim"),
        ("teacher.size=0", "frontier, row 'student on exact votes': teacher.size: got 0"),
        (
            "--method a=mechanism=noisy_gd,mechanism.steps=0",
            "frontier, row 'a eps=0.25': mechanism.steps: got 0",
        ),
        ("--output file", "--output file: is a file"),
    ],
    "leaderboard": [
        ("--tables mushrom", "--tables: got 'mushrom'; accepted: a9a, adult, digits,"),
        ("--tables own.csv:label", "--tables: got 'own.csv:label'; accepted: KEY=VALUE after each"),
        ("--tables own.csv", "table own: row 'student on exact votes': dataset.target: got 'target'"),
        ("--tables synthetic,synthetic", "--table synthetic: there are two of that name"),
        ("--tables absent.csv,other.csv", "absent.csv: no such file"),
        ("--table a=dataset=synthetic,seed=3", "--table a: seed=3: is the same for all tables"),
        ("--tables synthetic dataset=digits", "dataset=digits: here it is --tables"),
        ("--tables synthetic --metric f1", "--metric: got 'f1'; accepted: accuracy, balanced_"),
        ("--tables synthetic --output own.csv", "--output own.csv: is a file"),
    ],
    "reproduce": [
        ("table4 release=true", "release=true: not here"),
        ("table4 hydra.run.dir=x", "hydra.run.dir=x: not here; the directory is"),
        ("table3 teacher=tree", "teacher: no such parameter of table3; there are: dataset"),
        ("table5", "table5: no such recipe; there are: "),
        ("", "no recipe; there are: "),
        ("repeats=3", "repeats=3: the recipe comes first"),
        ("table4 repeats=x", "table4, row 'mushroom PSQ-NP': repeats: got 'x'"),
        ("table4 dataset=[iris]", "dataset: got 'iris'"),
        ("table3 dataset=[iris]", "params.dataset: got ['iris']; accepted: a list of 1 or more"),
        ("table1 repaets=3", "repaets: no such parameter of table1"),
        ("table4 --list", "--list: takes no recipe"),
        ("table4 --output file", "--output file: is a file"),
    ],
    "audit": [
        ("seed=1", "seed=1: here it is --seed N"),
        ("dataset=mushroom", "dataset=mushroom: pate audit loads no data"),
        ("teacher.size=10", "teacher.size=10: here it is --teachers N"),
        ("dataset.unit=patient_id", "dataset.unit=patient_id: here it is --persons"),
        ("eps=inf mechanism=sspp", "eps: got inf; accepted: a finite number"),
        ("eps=inf", "eps: got inf; accepted: a finite number"),
        ("eps=0", "eps: got 0; accepted: a number from 1e-06 to 500"),
        ("eps=1,2", "eps=1,2"),
        ("foo", "foo: cannot be read"),
        ("mechanism=nonsense", "mechanism: got 'nonsense'"),
        ("mechanism=sspp --classes 3", "dataset: got '3 classes'; accepted: a dataset of two classes"),
        ("mechanism=soft mechanism.width=2", "mechanism.width: got 2"),
        ("mechanism=soft --teachers 6", "mechanism=soft cannot answer with 6 teachers"),
        ("mechanism=svt mechanism.cutoff=101", "mechanism.cutoff: got 101"),
        (
            "mechanism=svt mechanism.calibration=liu2021 mechanism.cutoff=5 --teachers 1000",
            "mechanism=svt cannot answer with 1000 teachers",
        ),
        ("mechanism=agprivcl --records 20", "mechanism=agprivcl cannot answer"),
        ("--records 9", "--records: got 9; accepted: a whole number >= 10"),
        ("--runs 99", "--runs: got 99; accepted: a whole number >= 100"),
        ("--queries 0", "--queries: got 0"),
        ("--teachers 3", "--teachers: got 3"),
        ("--classes 1", "--classes: got 1"),
        ("--seed -1", "--seed: got -1"),
        ("--confidence 1", "--confidence: got 1.0; accepted: a number in (0, 1)"),
        ("--confidence nan", "--confidence: got nan"),
        ("--config-dir nowhere", "--config-dir: got 'nowhere'"),
        ("--output .", "--output .: is a directory"),
        ("--output absent/a.json", "--output absent/a.json: there is no directory absent"),
    ],
    "ledger init": [
        ("dataset=synthetic --eps inf --delta 1e-4", "--eps: got inf; accepted"),
        ("dataset=synthetic --eps 1 --delta 1", "--delta: got 1.0; accepted"),
        ("dataset=synthetic dataset.n_recods=5 --eps 1 --delta 0", "dataset.n_recods"),
        ("dataset=nosuch --eps 1 --delta 0", "dataset: got 'nosuch'"),
        ("dataset=synthetic --eps 1 --delta 0 --config-dir nowhere", "--config-dir: got 'nowhere'"),
    ],
    "data": [
        ("fetch synthetic", "pate data fetch: got 'synthetic'; accepted: mushroom, a9a"),
        ("verify synthetic", "pate data verify: got 'synthetic'; accepted: mushroom, a9a"),
    ],
    "-sc": [
        ("", "-sc : accepted: install=SHELL"),
        ("install=tcsh", "-sc install=tcsh: accepted: install=SHELL"),
        ("oops=bash", "-sc oops=bash: accepted: install=SHELL"),
    ],
}


@pytest.mark.parametrize(
    ("command", "argv", "said"), [(command, *case) for command, cases in REFUSED.items() for case in cases]
)
def test_wrong_input_is_one_line_and_writes_nothing(command, argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_DATA", str(tmp_path / "no-data"))
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setattr("pate_cli.datasets.files._cache", lambda: tmp_path / "no-cache")
    (tmp_path / "file").write_text("")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text("defaults: [config, _self_]\nhydra: {mode: MULTIRUN}\n")
    rng = np.random.default_rng(0)
    lines = [f"{a},{b},{'yes' if a > 0 else 'no'}" for a, b in rng.normal(size=(300, 2)).round(3).tolist()]
    (tmp_path / "own.csv").write_text("\n".join(["a,b,label", *lines]) + "\n")
    before = sorted(tmp_path.rglob("*"))
    assert main([*command.split(), *shlex.split(argv)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert err.startswith(f"pate: {said}")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "argv",
    [
        *("audit --nonsense", "ledger", "ledger init", "ledger init dataset=synthetic"),
        *("ledger init --eps 1 --delta 0", "data", "data fetch", "data burn", "predict"),
        *("table", "table x --format pdf"),
    ],
)
def test_a_wrong_command_line_shows_the_usage(argv, capsys):
    assert main(argv.split()) == 2
    assert f"usage: pate {argv.split()[0]}" in capsys.readouterr().err
