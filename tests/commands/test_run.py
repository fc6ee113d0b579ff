"""The contract of a run, through the command line."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import re
import signal
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from processes import finish, start, until

from pate_cli import pipeline
from pate_cli.cli import main
from pate_cli.commands import run as run_command
from pate_cli.config.composition import conf_dir
from pate_cli.errors import InputError
from pate_cli.report import read_record, store
from pate_cli.students import load_student

SMALL = ["dataset.n_records=1200", "split.public=40", "compute.workers=1"]


@pytest.fixture
def pate(tmp_path, monkeypatch, capsys):
    """Run `pate run` in an empty directory; exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str) -> tuple[int, str, str]:
        code = main(["run", *SMALL, *argv])
        return code, *capsys.readouterr()

    return call


def result(where: str | Path) -> dict[str, Any]:
    return json.loads((Path(where) / "result.json").read_text())


def rows(where: str | Path) -> list[dict[str, str]]:
    with open(Path(where) / "repeats.csv", newline="") as file:
        return list(csv.DictReader(file))


def numbers(where: str | Path) -> Any:
    """Everything a run measured, without when, where and how fast."""
    record = {key: value for key, value in result(where).items() if key not in ("provenance", "config")}
    return record, [{key: cell for key, cell in row.items() if key != "seconds"} for row in rows(where)]


def files(where: str | Path) -> list[str]:
    return sorted(str(path.relative_to(where)) for path in Path(where).rglob("*") if path.is_file())


# one run


def test_files_and_schema(pate):
    code, out, err = pate("mechanism=svt", "eps=5", "repeats=3", "hydra.run.dir=out")
    expected, written = err.splitlines()
    assert (code, written) == (0, "written to out")
    assert re.fullmatch(r"pate: svt: at most 20 of 40 queries stay unanswered before the .*", expected)
    assert [name for name in files("out") if not name.startswith((".hydra", ".finished"))] == [
        "repeats.csv",
        "result.json",
        "student.skops",
    ]
    record = result("out")
    assert list(record)[:2] == ["schema_version", "status"]
    assert (record["status"], record["message"]) == ("ok", None)
    assert (record["dataset"], record["mechanism"]) == ("synthetic", "svt")
    assert record["config"]["mechanism"] == {
        "name": "svt",
        "calibration": "tight",
        "cutoff": "auto",
        "holdout": 0.1,
        "share": 0.1,
        "alpha": 0.05,
        "gamma": 0.0,
        "beta": 0.05,
    }
    assert re.fullmatch("[0-9a-f]{12}", record["config_hash"])
    assert record["sizes"] == {
        "n_records": 1200,
        "n_private": 960,
        "n_public": 40,
        "n_test": 200,
        "n_features": 5,
        "n_classes": 2,
        "budget": 12,
    }
    assert (record["n_teachers"], record["eps"], record["delta"]) == (48, 5, 1 / 960)
    assert record["eps_ex_post"] <= record["eps"]
    assert record["n_answered"] <= record["n_asked"] <= 40
    assert record["plan"]["rule"] == "tight"
    assert set(record["accuracy"]) == {"mean", "ci95", "n", "law"}
    assert record["diagnostics"]["note"] == "not differentially private"
    provenance = record["provenance"]
    assert provenance["seed"] == 0
    assert len(provenance["dataset_checksum"]) == 64
    assert {"python", "numpy", "sklearn", "pate"} <= set(provenance["versions"])
    assert provenance["command"].startswith("pate run ")
    assert provenance["command"].endswith("mechanism=svt eps=5 repeats=3 hydra.run.dir=out")
    accuracies = [float(row["accuracy"]) for row in rows("out")]
    assert len(accuracies) == 3
    assert record["accuracy"]["mean"] == pytest.approx(sum(accuracies) / 3)
    student = load_student("out/student.skops")
    assert (student.classes, student.n_features) == (("-1", "1"), 5)
    assert student.meta == {"dataset": "synthetic", "eps": 5, "delta": 1 / 960}
    assert f"{record['accuracy']['mean']:.4f}" in out


def test_nothing_private_is_written(pate):
    """No file holds a vote count, a split or a record: of numbers a repeat, only those of the contract."""
    pate("mechanism=svt", "eps=5", "hydra.run.dir=out")
    plain = [name for name in rows("out")[0] if not name.startswith("diagnostics.")]
    assert plain == [
        "repeat",
        "n_teachers",
        "n_asked",
        "n_answered",
        "eps",
        "delta",
        "eps_ex_post",
        "accuracy",
        "seconds",
    ]
    assert not {"votes", "counts", "answers"} & set(result("out"))


def test_the_same_configuration_and_seed_give_the_same_numbers(pate):
    for out in ("a", "b"):
        pate("repeats=3", f"hydra.run.dir={out}")
    pate("repeats=3", "hydra.run.dir=c", "compute.workers=2")
    pate("repeats=3", "hydra.run.dir=d", "seed=1")
    assert numbers("a") == numbers("b") == numbers("c")
    ours, theirs = rows("a"), rows("d")
    assert numbers("a") != numbers("d")
    assert [row["accuracy"] for row in ours] != [row["accuracy"] for row in theirs]
    assert len({row["diagnostics.teacher_accuracy"] for row in ours}) == 3  # repeats differ


def test_mechanisms_see_the_same_split_and_teachers_but_not_the_same_noise(pate):
    for name in ("gaussian", "svt", "active"):
        pate(f"mechanism={name}", "eps=3", "repeats=2", f"hydra.run.dir={name}")
    pate("mechanism=gaussian", "eps=inf", "repeats=2", "hydra.run.dir=exact")
    paired = ["vote_accuracy", "teacher_accuracy", "vote_agreement", "ceiling", "majority_class"]
    seen = {name: rows(name) for name in ("gaussian", "svt", "active", "exact")}
    for diagnostic in paired:
        column = {name: [row[f"diagnostics.{diagnostic}"] for row in seen[name]] for name in seen}
        assert column["gaussian"] == column["svt"] == column["active"] == column["exact"]
    agreement = {name: [row["diagnostics.label_agreement"] for row in seen[name]] for name in seen}
    assert agreement["exact"] == ["1.0", "1.0"]
    assert agreement["gaussian"] != agreement["exact"]  # there is noise
    assert agreement["gaussian"] != agreement["active"]


def test_without_privacy(pate):
    code, out, _ = pate("eps=inf", "hydra.run.dir=out")
    assert code == 0
    assert (result("out")["eps"], result("out")["eps_ex_post"]) == ("inf", "inf")
    assert read_record("out/result.json").eps == math.inf
    assert "∞" in out


def test_own_data_and_own_learner(pate):
    Path("mine.csv").write_text(
        "height,colour,kind\n"
        + "".join(f"{i % 50},{'red' if i % 3 else 'blue'},{'ab'[i % 50 > 25]}\n" for i in range(1000))
    )
    code = main(
        [
            "run",
            "dataset=csv",
            "dataset.path=mine.csv",
            "dataset.target=kind",
            "split.public=50",
            "teacher.estimator=sklearn.ensemble.RandomForestClassifier",
            "teacher.params.max_depth=3",
            "teacher.params.n_estimators=5",
            "student=tree",
            "eps=inf",
            "hydra.run.dir=out",
        ]
    )
    assert code == 0
    assert result("out")["accuracy"]["mean"] > 0.9
    student = load_student("out/student.skops")
    assert (student.classes, student.meta["dataset"]) == (("a", "b"), "csv")
    assert student.n_features == 3  # the number, and a column for each of two colours
    assert main(["predict", "out/student.skops", "mine.csv", "--output", "labels.txt"]) == 0
    assert set(Path("labels.txt").read_text().split()) == {"a", "b"}


def test_two_runs_at_the_same_moment_do_not_collide(pate, monkeypatch):
    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 1, 2, 3, 4, 5)

    monkeypatch.setattr(run_command, "datetime", Stopped)
    for argv in (["eps=1"], ["eps=1"], ["eps=2"], ["-m", "eps=1"], ["-m", "eps=3"]):
        assert pate(*argv)[0] == 0
    made = sorted(path.name for path in Path("outputs/2026-01-02").iterdir())
    assert len(made) == 5
    assert all(name.startswith("03-04-05-000000-") for name in made)
    assert sum("-synthetic-gaussian-" in name for name in made) == 3
    assert sum("-sweep-1-" in name for name in made) == 2
    assert sum(name.endswith("result.json") for name in files("outputs")) == 5


@pytest.mark.parametrize(
    ("argument", "made"),
    [
        ("hydra.run.dir=mine", "mine"),
        ("hydra.run.dir='a b, c=d'", "a b, c=d"),
        ("hydra.run.dir=deep/${mechanism.name}/eps-${eps}", "deep/gaussian/eps-1.0"),
        ('hydra.run.dir="it\'s"', "it's"),
    ],
)
def test_the_directory_of_a_run_is_the_user_s_to_choose(pate, argument, made):
    code, _, err = pate(argument)
    assert (code, err) == (0, f"written to {made}\n")
    assert result(made)["status"] == "ok"
    assert not Path("outputs").exists()


def test_a_directory_elsewhere(pate, tmp_path):
    where = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    _, _, err = pate(f"hydra.run.dir={where}")
    assert err == f"written to {where}\n"
    assert result(where)["status"] == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_has_changed_is_read_again(pate):
    for n in (500, 600):
        Path("x.libsvm").write_text("".join(f"{i % 2} 1:{i % 2} 2:{i}\n" for i in range(n)))
        argv = ["dataset=libsvm", "dataset.path=x.libsvm", "split.public=20", "eps=inf", "hydra.run.dir=out"]
        assert main(["run", *argv]) == 0
        assert result("out")["sizes"]["n_records"] == n


# shows, and runs nothing


def test_cfg_shows_what_would_run(pate):
    code, out, err = pate("--cfg", "job", "mechanism=svt", "eps=2")
    assert (code, err) == (0, "")
    shown = yaml.safe_load(out)
    assert (shown["mechanism"]["name"], shown["eps"], shown["teacher"]["size"]) == ("svt", 2, 20)
    assert list(Path().iterdir()) == []


def test_help_lists_groups_and_keys(pate):
    code, out, err = pate("--help", "mechanism=svt")
    assert (code, err) == (0, "")
    for line in (
        "usage: pate run [-m] [GROUP=OPTION ...] [KEY=VALUE ...]",
        *(
            f"{group}: " + ", ".join(sorted(path.stem for path in (conf_dir() / group).glob("*.yaml")))
            for group in ("dataset", "mechanism", "student", "teacher", "compute")
        ),
        "  cutoff: auto",
        "eps: 1.0",
    ):
        assert line in out.splitlines()
    assert "Exit codes" in out
    assert list(Path().iterdir()) == []


def test_the_environment_is_left_as_it_was(pate, monkeypatch):
    for before in (None, "0"):
        if before is not None:
            monkeypatch.setenv("HYDRA_FULL_ERROR", before)
        argv, environ, cwd = list(sys.argv), dict(os.environ), Path.cwd()
        pate()
        assert (sys.argv, dict(os.environ), Path.cwd()) == (argv, environ, cwd)


# sweeps


def test_a_sweep_leaves_a_directory_a_job_and_a_row_each(pate):
    code, out, err = pate("-m", "mechanism=gaussian,active", "eps=1,2,4", "hydra.sweep.dir=all")
    assert (code, err) == (0, "written to all\n")
    found = {(result(f"all/{i}")["mechanism"], result(f"all/{i}")["eps"]) for i in range(6)}
    assert found == {(mechanism, eps) for mechanism in ("gaussian", "active") for eps in (1, 2, 4)}
    table = [line for line in out.splitlines() if line.startswith("synthetic")]
    assert len(table) == 6
    assert main(["table", "all", "--format", "csv", "--output", "t.csv"]) == 0
    assert len(Path("t.csv").read_text().splitlines()) == 7  # a header and six rows


def test_the_directory_of_a_sweep_is_the_user_s_to_choose(pate):
    pate("-m", "eps=1,2", "hydra.sweep.dir='all of them'", "hydra.sweep.subdir=eps-${eps}")
    made = sorted(path.name for path in Path("all of them").iterdir() if path.is_dir())
    assert made == [".finished", "eps-1", "eps-2"]
    assert result("all of them/eps-2")["eps"] == 2


def test_a_job_of_a_sweep_is_the_run_it_would_be_alone(pate):
    pate("-m", "eps=1,2", "repeats=2", "hydra.sweep.dir=all")
    pate("eps=2", "repeats=2", "hydra.run.dir=alone")
    assert numbers("all/1") == numbers("alone")


def failing(monkeypatch: pytest.MonkeyPatch, eps: float, error: BaseException, repeat: int = 0) -> None:
    """Let the jobs at one eps fail at one repeat, as nothing checked in advance could tell."""
    run_repeat = pipeline.run_repeat

    def fail(run: Any, number: int, *trained: Any) -> Any:
        if run.config.eps == eps and number == repeat:
            raise error
        return run_repeat(run, number, *trained)

    monkeypatch.setattr(pipeline, "run_repeat", fail)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("lost a sock"), "RuntimeError: lost a sock"),
        (InputError("no such sock"), "no such sock"),
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
    ],
)
def test_a_failed_job_does_not_lose_the_others(pate, monkeypatch, error, message):
    failing(monkeypatch, 2, error)
    code, out, err = pate("-m", "eps=1,2,4", "hydra.sweep.dir=all")
    assert code == 1
    assert [result(f"all/{i}")["status"] for i in range(3)] == ["ok", "error", "ok"]
    assert result("all/1")["message"] == message
    assert len([line for line in out.splitlines() if line.startswith("synthetic")]) == 2
    assert message in " ".join(out.split())  # listed below the table
    assert "1 of 3 jobs did not finish" in err
    assert ("Traceback" in err) is isinstance(error, RuntimeError)
    assert "Hydra" not in err
    assert "HYDRA" not in err


def test_a_sweep_in_which_every_job_fails(pate, monkeypatch):
    failing(monkeypatch, 1, RuntimeError("no"))
    code, _, err = pate("-m", "eps=1", "seed=1,2", "hydra.sweep.dir=all")
    assert code == 1
    assert "2 of 2 jobs did not finish" in err


def test_an_interrupted_sweep_keeps_what_is_done(pate, monkeypatch):
    failing(monkeypatch, 2, KeyboardInterrupt(), repeat=1)
    code, out, err = pate("-m", "eps=1,2,4", "repeats=2", "hydra.sweep.dir=all")
    assert code == 130
    assert err.endswith("pate: interrupted\n")
    assert "Traceback" not in err
    assert [result(f"all/{i}")["status"] for i in (0, 1)] == ["ok", "interrupted"]
    assert len(rows("all/1")) == 1
    assert not Path("all/2").exists()
    assert "interrupted after 1 of 2 repeats" in " ".join(out.split())


# what is done already


def test_what_is_done_is_not_done_again_but_with_force(pate, fits):
    sweep = ["-m", "eps=1,2", "repeats=2", "hydra.sweep.dir=all"]
    assert pate(*sweep)[0] == 0
    before = [numbers(f"all/{i}") for i in range(2)]
    assert len(fits) == 2
    code, out, err = pate(*sweep)
    assert (code, err) == (
        0,
        "pate: 4 of 4 repeats were done before; --force does them anew\nwritten to all\n",
    )
    assert len([line for line in out.splitlines() if line.startswith("synthetic")]) == 2
    _, _, err = pate("-m", "eps=2,4", "repeats=3", "hydra.sweep.dir=all")  # other points, more repeats
    assert err.startswith("pate: 2 of 6 repeats were done before;")
    assert len(fits) == 5  # the votes of the third repeat, and those of two that are not in memory any more
    code, _, err = pate(*sweep, "--force")
    assert (code, err) == (0, "written to all\n")
    assert len(fits) == 7
    assert [numbers(f"all/{i}") for i in range(2)] == before


def test_runs_without_a_directory_of_their_own_share_what_is_done(pate):
    assert pate("repeats=2")[0] == 0
    assert pate("repeats=3")[2].startswith("pate: 2 of 3 repeats were done before;")
    first, second = sorted(Path("outputs").glob("2*/*"))
    assert [row["seconds"] for row in rows(second)][:2] == [row["seconds"] for row in rows(first)]
    assert (first / "student.skops").read_bytes() == (second / "student.skops").read_bytes()
    assert result(second)["accuracy"]["n"] == 3


def test_a_learner_s_1_and_its_1_0_are_two_runs(pate):
    """Of scikit-learn's trees `max_features=1` is one column, and `1.0` all of them."""
    learner = ["teacher=tree", "eps=inf", "repeats=1"]
    sweep = [*learner, "teacher.params.max_features=1.0,1", "-m", "hydra.sweep.dir=all"]
    assert pate(*sweep)[2] == "written to all\n"
    assert pate(*learner, "teacher.params.max_features=1", "hydra.run.dir=one")[0] == 0
    assert numbers("all/1")[1] == numbers("one")[1] != numbers("all/0")[1]


def test_what_is_spoilt_is_done_again(pate):
    assert pate("repeats=3", "hydra.run.dir=out")[0] == 0
    before = numbers("out")
    one, two, three = sorted(Path("out/.finished").glob("*.json"))
    one.write_bytes(one.read_bytes()[:-40])
    two.write_bytes(re.sub(rb'"accuracy": 0\.\d', b'"accuracy": 0.1', two.read_bytes()))
    three.write_bytes(Path("out/result.json").read_bytes())
    assert pate("repeats=3", "hydra.run.dir=out")[2] == "written to out\n"
    assert numbers("out") == before


# points of a sweep that cannot work


def test_an_infeasible_point_of_a_sweep_is_a_finding(pate):
    code, out, err = pate("-m", "mechanism=svt,gaussian", "eps=0.01,5", "hydra.sweep.dir=all")
    assert (code, err.splitlines()[1:]) == (0, ["written to all"])
    assert "svt: at most 20 of 40 queries stay unanswered" in err
    assert [result(f"all/{i}")["status"] for i in range(4)] == ["infeasible", "ok", "ok", "ok"]
    assert (result("all/0")["eps"], result("all/0")["accuracy"]) == (0.01, None)
    assert "what would do: at least" in result("all/0")["message"]
    assert not Path("all/0/repeats.csv").exists()
    assert len([line for line in out.splitlines() if line.startswith("synthetic")]) == 3
    assert "infeasible: synthetic, svt, eps 0.01" in out
    assert main(["table", "all", "--format", "markdown", "--output", "t.md"]) == 0
    assert "infeasible: synthetic, svt, eps 0.01" in Path("t.md").read_text()


@pytest.mark.parametrize("argv", [["eps=0.01"], ["-m", "eps=0.01,0.02"], ["-m", "eps=0.01,5", "seed=-1"]])
def test_where_nothing_can_work_nothing_is_written(pate, argv):
    code, out, err = pate("mechanism=svt", *argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("pate: seed" if "seed=-1" in argv else "pate: mechanism=svt cannot answer")
    assert list(Path().iterdir()) == []


# settings that are not used


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["run", "hydra.sweep.dir=x"], "hydra.sweep.dir=x: is of a sweep (-m); of a run it is hydra.run.dir"),
        (["run", "-m", "eps=1,2", "hydra.run.dir=x"], "hydra.run.dir=x: is of a single run; with -m it is"),
        (["run", "ledger=x"], "ledger: got 'x'; accepted: null without release=true"),
        (["run", "release=true", "--force"], "release: got True; accepted: false with --force"),
        *((["plan", key], f"{key}: not used by pate plan") for key in ("cache=true", "compute.workers=2")),
        *((["plan", key], f"{key}: not used by pate plan") for key in ("compute=dask", "++seed=1")),
        (["plan", "hydra.run.dir=x"], "hydra.run.dir=x: not used by pate plan"),
        (["plan", "--force"], "pate plan takes overrides and -m only"),
        (["plan", "--theory", "repeats=2"], "repeats=2: not used by pate plan --theory"),
        (["frontier", "release=true"], "release=true: not here"),
        (["frontier", "hydra.run.dir=x"], "hydra.run.dir=x: not here; the directory is --output DIR"),
        (["reproduce", "table4", "release=true"], "release=true: not here"),
        (["reproduce", "table4", "hydra.run.dir=x"], "hydra.run.dir=x: not here; the directory is"),
        (["reproduce", "table3", "teacher=tree"], "teacher: no such parameter of table3; there are: dataset"),
        (["audit", "seed=1"], "seed=1: here it is --seed N"),
        (["audit", "dataset=mushroom"], "dataset=mushroom: pate audit loads no data"),
        (["audit", "teacher.size=10"], "teacher.size=10: here it is --teachers N"),
    ],
)
def test_settings_that_a_command_does_not_use_are_refused(argv, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"pate: {said}")
    assert list(tmp_path.iterdir()) == []


# failures


def test_our_fault(pate, monkeypatch):
    failing(monkeypatch, 1, RuntimeError("lost a sock"), repeat=1)
    code, out, err = pate("repeats=3", "hydra.run.dir=out")
    assert code == 1
    assert err.startswith("Traceback")
    assert "RuntimeError: lost a sock" in err
    assert (result("out")["status"], result("out")["message"]) == ("error", "RuntimeError: lost a sock")
    assert len(rows("out")) == 1
    assert "lost a sock" in out


def test_a_full_disk(pate, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    code, out, err = pate("hydra.run.dir=out")
    assert (code, out) == (1, "")
    assert err == f"pate: {Path('out/result.json').absolute()}: No space left on device\n"


def test_a_disk_that_is_full_before_the_job(pate, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", "config.yaml")

    monkeypatch.setattr("omegaconf.OmegaConf.save", full)
    assert pate() == (1, "", "pate: config.yaml: No space left on device\n")


def test_repeats_done_before_a_late_refusal_are_kept(pate, monkeypatch):
    failing(monkeypatch, 1, InputError("no such sock"), repeat=2)
    code, _, err = pate("repeats=3", "hydra.run.dir=out")
    assert (code, err) == (2, "pate: no such sock\n")
    assert len(rows("out")) == 2
    assert result("out")["status"] == "error"


# as a process


def test_in_a_pipe_there_is_no_bar_and_no_warning(tmp_path):
    _, out, err = finish(start(tmp_path, "run", *SMALL, "repeats=2", "hydra.run.dir=out"))
    assert err == "written to out\n"
    assert "\x1b" not in out
    assert "\r" not in out


def test_ctrl_c(tmp_path):
    """A real one: sent to the whole process group, as a terminal does."""
    process = start(tmp_path, "run", "repeats=50", "compute.workers=1", "hydra.run.dir=out")
    # repeats come as they are done, the student with the first of them
    until(
        lambda: all((tmp_path / "out" / name).exists() for name in ("repeats.csv", "student.skops")), process
    )
    assert result(tmp_path / "out")["status"] == "running"
    os.killpg(process.pid, signal.SIGINT)
    code, out, err = finish(process)
    # Python reports a Ctrl-C that hit it within exec() by the signal itself: 130 to a shell, too
    assert code in (130, -signal.SIGINT)
    assert err == "written to out\npate: interrupted\n"
    record = result(tmp_path / "out")
    done = len(rows(tmp_path / "out"))
    assert 1 <= done < 50
    assert record["status"] == "interrupted"
    assert record["message"] == f"interrupted after {done} of 50 repeats"
    assert record["accuracy"]["n"] == done
    assert load_student(tmp_path / "out/student.skops").n_features == 5
    assert f"interrupted after {done} of 50 repeats" in " ".join(out.split())
    assert not [name for name in files(tmp_path) if name.endswith(".tmp")]


def test_a_sweep_may_set_what_only_the_swept_options_have(pate):
    swept = ["-m", "mechanism=svt,soft", "mechanism.cutoff=2", "eps=8", "hydra.sweep.dir=out"]
    code, _, _ = pate(*swept)
    assert code == 0
    assert {result(f"out/{job}")["plan"]["cutoff"] for job in (0, 1)} == {2}
    code, _, err = pate("-m", "mechanism=svt,gaussian", "mechanism.cutoff=2", "hydra.sweep.dir=other")
    assert code == 2
    assert "mechanism.cutoff: no such key" in err
    assert not Path("other").exists()


@pytest.mark.parametrize("swept", [["eps=0.5,inf"], ["mechanism=gaussian,svt", "seed=1,2"]])
def test_jobs_run_by_hydra_are_the_same(pate, swept):
    """Configurations, overrides and numbers of a sweep that Hydra's runtime runs, as with a launcher."""

    def found(*asked: str) -> tuple[dict[str, Any], list[Any]]:
        argv = ["-m", "teacher.params.C=2", *swept, "hydra.sweep.dir=out", "--force", *asked]
        code, _, err = pate(*argv)
        assert code == 0, err
        files = {
            str(path): path.read_text()
            for name in ("config", "overrides")
            for path in Path("out").glob(f"*/.hydra/{name}.yaml")
        }
        return files, [numbers(path.parent) for path in sorted(Path("out").glob("*/result.json"))]

    directly = found()
    assert len(directly[0]) == 2 * len(directly[1]) > 3
    assert not Path("out/multirun.yaml").exists()
    by_hydra = found("hydra.verbose=[pate]")
    assert Path("out/multirun.yaml").exists()
    assert {path: text.replace("++", "") for path, text in by_hydra[0].items()} == {
        path: text.replace("++", "") for path, text in directly[0].items()
    }
    assert by_hydra[1] == directly[1]


def test_what_only_hydra_does_it_is_asked_to_do(pate, tmp_path, monkeypatch):
    """Callbacks, variables of the environment, a directory named by a key."""
    (tmp_path / "seen.py").write_text(
        "import os\nfrom hydra.experimental.callback import Callback\n"
        "class Seen(Callback):\n"
        "    def on_job_start(self, config, **kwargs):\n"
        "        self.where = os.environ['PATE_X']\n"
        "    def on_job_end(self, config, job_return, **kwargs):\n"
        "        with open('seen.txt', 'a') as file:\n"
        "            print(config.eps, job_return.return_value, self.where, file=file)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = Path("own/hydra/callbacks/seen.yaml")
    own.parent.mkdir(parents=True)
    own.write_text("seen: {_target_: seen.Seen}\n")
    asked = ["--config-dir", "own", "hydra/callbacks=seen", "+hydra.job.env_set.PATE_X=here"]
    assert pate("-m", "eps=1,2", "hydra.sweep.dir=out", "hydra.sweep.subdir=x${eps}", *asked)[0] == 0
    assert pate("eps=3", "hydra.run.dir=one", *asked)[0] == 0
    accuracies = [result(path)["accuracy"]["mean"] for path in ("out/x1", "out/x2", "one")]
    assert Path("seen.txt").read_text().splitlines() == [
        f"{eps} {accuracy} here" for eps, accuracy in zip((1, 2, 3), accuracies, strict=True)
    ]


def test_a_file_that_says_whether_it_is_a_sweep_is_refused(pate):
    Path("own").mkdir()
    Path("own/mine.yaml").write_text("defaults: [config, _self_]\nhydra: {mode: MULTIRUN}\n")
    code, out, err = pate("--config-dir", "own", "--config-name", "mine")
    assert (code, out) == (2, "")
    assert err == "pate: hydra.mode: got MULTIRUN in a file; accepted: pate run -m for a sweep\n"
    assert not Path("outputs").exists()


def test_a_finished_repeat_that_states_another_guarantee_is_done_again(pate):
    assert pate("hydra.run.dir=one")[0] == 0
    before = numbers("one")
    (path,) = Path("one/.finished").glob("*.json")
    entry = json.loads(path.read_text())["entry"]
    for change in ({"eps": 0.01, "accuracy": 0.999}, {"delta": 1e-9, "accuracy": 0.999}):
        edited = entry | {"record": entry["record"] | change}
        code = hashlib.sha256(json.dumps(edited, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps({"sha256": code, "entry": edited}))
        code, _, err = pate("hydra.run.dir=one")
        assert (code, err) == (0, "written to one\n")
        assert numbers("one") == before
