"""No number of yesterday: a learner of one's own, a module it imports, or the data file is edited."""

from __future__ import annotations

import csv
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.cli import main
from pate_cli.results import figures

SMALL = ["dataset.n_records=1000", "split.public=40", "teacher.size=20", "compute.workers=1"]
SMALL += ["features=none", "student=logistic"]
MINE = "teacher.estimator=ownlearner.Mine"
LEARNER = """\
from sklearn.tree import DecisionTreeClassifier
import ownhelper

class Mine(DecisionTreeClassifier):
    def predict(self, X):
        return (super().predict(X) + ownhelper.FLIP + {flip}) % 2
"""


def forget() -> None:
    """As a new process would."""
    for name in ("ownlearner", "ownhelper"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch) -> Path:
    """A directory to be in, and no bytecode."""
    monkeypatch.chdir(tmp_path)
    # Python takes what it compiled for current where second and size are those of the source
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(
        figures, "render", lambda draw, salt, **_: (b"", b"", 1.0)
    )  # nothing is looked at here
    return tmp_path


@pytest.fixture
def learner(outside, monkeypatch) -> Iterator[Callable[..., None]]:
    """Write a learner that says the opposite if it, or else the module that it imports, says so."""
    monkeypatch.syspath_prepend(outside)

    def write(*, flip: int = 0, helper: int = 0, restart: bool = True) -> None:
        Path("ownlearner.py").write_text(LEARNER.format(flip=flip))
        Path("ownhelper.py").write_text(f"FLIP = {helper}\n")
        if restart:
            forget()

    write()
    yield write
    forget()


def rows(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def frontier(*argv: str) -> dict[str, float]:
    argv = ("frontier", *argv, "--eps", "4", "--methods", "gaussian", "--no-limit", "--repeats", "1")
    argv = (*argv, "--output", "out")
    assert main([*argv]) == 0
    return {row["method"]: float(row["accuracy"]) for row in rows("out/table.csv")}


def again(*argv: str) -> dict[str, float]:
    """What an earlier run has finished counts, but for that of other code."""
    assert main(["run", "eps=4", *argv, "hydra.run.dir=out"]) == 0
    return {"gaussian": float(rows("out/repeats.csv")[0]["accuracy"])}


@pytest.mark.parametrize("command", [frontier, again])
def test_an_edited_learner_gives_new_numbers(command, learner, fits):
    before = command(*SMALL, MINE)["gaussian"]
    assert before > 0.8
    learner(flip=1)
    assert command(*SMALL, MINE)["gaussian"] < 0.2
    learner(helper=1)
    assert command(*SMALL, MINE)["gaussian"] < 0.2
    assert len(fits) == 3
    learner()
    assert command(*SMALL, MINE)["gaussian"] == before
    assert len(fits) == 4
    assert command(*SMALL, MINE)["gaussian"] == before
    assert len(fits) == 4  # nothing has changed


def test_an_edited_mechanism_gives_new_numbers(outside, monkeypatch):
    """It spends all of eps, or hardly any of it."""
    monkeypatch.syspath_prepend(outside)
    more = [*SMALL, "mechanism=gaussian", "mechanism.name=ownmechanism"]
    accuracies = []
    for eps in (4, 0.001, 4):
        Path("ownmechanism.py").write_text(
            "from dataclasses import replace\n"
            "from pate_cli.mechanisms import gaussian\n"
            "Options = gaussian.Options\n"
            "def calibrate(options, setting):\n"
            f"    return gaussian.calibrate(options, replace(setting, eps={eps}))\n"
        )
        sys.modules.pop("ownmechanism", None)
        importlib.invalidate_caches()
        mechanisms.find.cache_clear()
        accuracies.append(again(*more)["gaussian"])
    mechanisms.find.cache_clear()
    sys.modules.pop("ownmechanism")
    assert accuracies[0] == accuracies[2] > accuracies[1] + 0.05


def test_an_edited_student_gives_new_baselines(learner):
    student = "student.estimator=ownlearner.Mine"
    names = ("all private records", "student on true labels", "gaussian")
    before = frontier(*SMALL, student)
    learner(helper=1)
    after = frontier(*SMALL, student)
    for name in names:
        assert before[name] > 0.8
        assert after[name] == pytest.approx(1 - before[name])


@pytest.mark.parametrize("command", [frontier, again])
def test_an_edited_data_file_gives_new_numbers(command):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))

    def write(y) -> None:
        lines = (",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True))
        Path("mine.csv").write_text("\n".join(["a,b,c,y", *lines]))

    options = ["dataset=csv", "dataset.path=mine.csv", "dataset.target=y", *SMALL[1:]]
    write(np.where(X[:, 0] > 0, 1, 2))
    assert command(*options)["gaussian"] > 0.85
    write(rng.permutation(np.where(X[:, 0] > 0, 1, 2)))
    assert command(*options)["gaussian"] < 0.75


@pytest.mark.parametrize("command", [again])
def test_numbers_of_a_learner_edited_under_a_running_process_are_not_for_the_next(command, learner, fits):
    before = command(*SMALL, MINE)
    learner(helper=1, restart=False)
    assert command(*SMALL, MINE, "seed=0") == before  # the code that is loaded still counts
    forget()
    assert command(*SMALL, MINE)["gaussian"] < 0.2


@pytest.mark.parametrize("command", [again])
def test_where_there_is_no_source_nothing_is_found_again(command, fits, monkeypatch):
    made = ModuleType("ownlearner")
    exec(LEARNER.format(flip=0).replace("import ownhelper", "").replace("ownhelper.FLIP", "0"), vars(made))
    monkeypatch.setitem(sys.modules, "ownlearner", made)
    command(*SMALL, MINE)
    command(*SMALL, MINE)
    assert len(fits) == 2


def test_the_table_shows_runs_on_different_files_and_says_so(capsys):
    for n, label in enumerate((1, 2, 1)):
        lines = (f"{i % 7},{i % 5},{label if i % 7 > 3 else 3 - label}" for i in range(400))
        Path("mine.csv").write_text("\n".join(["a,b,y", *lines]))
        options = ["dataset=csv", "dataset.path=mine.csv", "dataset.target=y", "split.public=40"]
        assert main(["run", *options, f"hydra.run.dir=runs/{n}"]) == 0
    capsys.readouterr()
    assert main(["table", "runs", "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    found = list(csv.DictReader(out.splitlines()))
    assert len(found) == 2
    assert len({row["checksum"] for row in found}) == 2
    assert "1 other row of the same configuration and data left out" in err  # of the first file
    assert main(["table", "runs", "--format", "markdown"]) == 0
    said = capsys.readouterr().out
    assert said.count("| mine.csv | gaussian |") == 2
    assert re.search(
        "csv, gaussian, eps 1: one configuration on different data: SHA-256 .*, in this order", said
    )
