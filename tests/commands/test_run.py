"""The contract of a run, through the command line."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import signal
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from processes import finish, start, until

from pate_cli import pipeline
from pate_cli.cli import main
from pate_cli.commands import run as run_command
from pate_cli.config import Composer, command_line
from pate_cli.config.hydra_composition import options
from pate_cli.errors import InputError
from pate_cli.results import read_record
from pate_cli.students import load_student

SMALL = ["dataset.n_records=1200", "split.public=40", "compute.workers=1"]
SMALL += ["features=none", "student=logistic"]


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
        return [row for row in csv.DictReader(file) if row["status"] == "ok"]


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
    assert re.fullmatch(
        r"pate: svt: labels a point only .* It stops after 20 points that are too close", expected
    )
    shown = [name for name in files("out") if not name.startswith((".hydra", ".finished"))]
    assert shown == ["repeats.csv", "result.json", "student.skops"]
    record = result("out")
    assert list(record)[:2] == ["schema_version", "status"]
    assert (record["status"], record["message"]) == ("ok", None)
    assert (record["dataset"], record["mechanism"]) == ("synthetic", "svt")
    options = {"calibration": "tight", "cutoff": "auto", "holdout": 0.1, "share": 0.1}
    options |= {"alpha": 0.05, "gamma": 0.0, "beta": 0.05}
    assert record["config"]["mechanism"] == {"name": "svt", **options}
    assert re.fullmatch("[0-9a-f]{12}", record["config_hash"])
    sizes = {"n_records": 1200, "n_private": 960, "n_public": 40, "n_test": 200}
    assert record["sizes"] == {**sizes, "n_features": 5, "n_classes": 2, "budget": 12}
    assert (record["n_teachers"], record["eps"], record["delta"]) == (48, 5, 1 / 960)
    assert record["eps_ex_post"] <= record["eps"]
    assert record["n_answered"] <= record["n_asked"] <= 40
    assert record["plan"]["rule"] == "tight"
    assert set(record["accuracy"]) == {"mean", "ci95", "n", "law"}
    assert record["diagnostics"]["note"] == "not differentially private"
    provenance = record["provenance"]
    assert provenance["seed"] == 0
    assert len(provenance["dataset_checksum"]) == 64
    assert {"python", "numpy", "scipy", "sklearn", "libsvm", "hydra", "pate"} == set(provenance["versions"])
    assert provenance["versions"]["numpy"] == np.__version__
    assert datetime.fromisoformat(provenance["started"]).utcoffset() == timedelta(0)
    assert provenance["command"].startswith("pate run ")
    assert provenance["command"].endswith("mechanism=svt eps=5 repeats=3 hydra.run.dir=out")
    # no file holds a vote count, a split or a record: of numbers a repeat, only those of the contract
    contract = (
        "dataset method eps delta guarantee budget cutoff n_teachers n_records n_private n_public n_test"
    )
    contract += " overrides largest_class splits row checksum repeat status reason n_asked n_answered"
    contract += " eps_ex_post accuracy seconds"
    assert [name for name in rows("out")[0] if name not in record["diagnostics"]] == contract.split()
    assert not {"votes", "counts", "answers"} & set(record)
    accuracies = [float(row["accuracy"]) for row in rows("out")]
    assert len(accuracies) == 3
    assert record["accuracy"]["mean"] == pytest.approx(sum(accuracies) / 3)
    student = load_student("out/student.skops")
    assert (student.classes, student.n_features) == (("-1", "1"), 5)
    assert student.meta == {"dataset": "synthetic", "eps": 5, "delta": 1 / 960}
    assert f"{100 * record['accuracy']['mean']:.1f}" in out
    assert out.startswith("svt at eps 5 is right on ")
    assert "  pate frontier mechanism" not in out
    assert "  pate frontier dataset" in out


def test_the_same_configuration_and_seed_give_the_same_numbers(pate):
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):  # on more workers: tests/engine/test_runs.py
        pate("repeats=2", f"hydra.run.dir={out}", f"seed={seed}")
    assert numbers("a") == numbers("b") != numbers("c")
    ours, theirs = rows("a"), rows("c")
    assert [row["accuracy"] for row in ours] != [row["accuracy"] for row in theirs]
    assert len({row["teacher_accuracy"] for row in ours}) == 2  # repeats differ


@pytest.mark.parametrize(
    ("argv", "eps", "protects"),
    [
        (["eps=inf"], "inf", "one record; replaced by any other"),
        (["split.mode=label_private", "mechanism=svt", "eps=5"], 5, "the label of one record; all features"),
    ],
)
def test_the_guarantee_says_what_it_is_for(pate, argv, eps, protects):
    code, out, _ = pate(*argv, "hydra.run.dir=out")
    record = result("out")
    assert (code, record["eps"]) == (0, eps)
    assert record["plan"]["protects"].startswith(protects)
    assert read_record("out/result.json").eps == float(eps)
    assert ("without privacy" in out) == (eps == "inf")
    assert ("for the label of one record, of one run" in out) == (eps == 5)
    assert "for one record" not in out


def test_a_guarantee_for_persons_is_shown_as_such(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text(
        "a,who,y\n" + "".join(f"{i % 97},{i // 2},{i % 97 > 50}\n" for i in range(1200))
    )
    asked = ["dataset=csv", "dataset.path=own.csv", "dataset.target=y", "dataset.unit=who", *SMALL[1:]]
    assert main(["run", *asked, "eps=5", "hydra.run.dir=out"]) == 0
    assert "for all records of one who, of one run" in " ".join(capsys.readouterr().out.split())
    assert main(["page", "out", "--output", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert ("all records of one who, delta" in page, "one record" in page) == (True, False)


def test_own_data_and_own_learner(pate):
    text = "".join(f"{i % 50},{'red' if i % 3 else 'blue'},{'ab'[i % 50 > 25]}\n" for i in range(1000))
    Path("mine.csv").write_text("height,colour,kind\n" + text)
    argv = ["dataset=csv", "dataset.path=mine.csv", "dataset.target=kind", "split.public=50", "student=tree"]
    argv += ["teacher.estimator=sklearn.ensemble.RandomForestClassifier", "teacher.params.n_estimators=5"]
    argv += ["eps=inf", "hydra.run.dir=out"]
    assert main(["run", *argv]) == 0
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
    for argv in (["eps=1"], ["eps=1"], ["-m", "eps=1"]):
        assert pate(*argv)[0] == 0
    made = sorted(path.name for path in Path("outputs/2026-01-02").iterdir())
    assert [re.sub("-[0-9a-f]{12}", "", name) for name in made] == [
        "03-04-05-000000-sweep-1",
        *("03-04-05-000000-synthetic-gaussian", "03-04-05-000000-synthetic-gaussian-again"),
    ]


# shows, and runs nothing


def test_cfg_and_help_show_and_run_nothing(pate):
    code, out, err = pate("--cfg", "job", "mechanism=svt", "eps=2")
    assert (code, err) == (0, "")
    shown = yaml.safe_load(out)
    assert (shown["mechanism"]["name"], shown["eps"], shown["teacher"]["size"]) == ("svt", 2, 20)
    code, out, err = pate("--help", "mechanism=svt")
    assert (code, err) == (0, "")
    for line in (
        "usage: pate run [-m] [GROUP=OPTION ...] [KEY=VALUE ...]",
        *(f"{group}: {', '.join(options(group))}" for group in ("dataset", "mechanism", "compute")),
        *("  cutoff: auto", "eps: 1.0"),
    ):
        assert line in out.splitlines()
    assert list(Path().iterdir()) == []


def test_the_environment_is_left_as_it_was(pate, monkeypatch):
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    argv, environ, cwd = list(sys.argv), dict(os.environ), Path.cwd()
    pate("hydra.output_subdir=hidden")  # run by Hydra
    assert (sys.argv, dict(os.environ), Path.cwd()) == (argv, environ, cwd)


# sweeps


def test_a_sweep_leaves_a_directory_a_job_and_a_row_each(pate):
    sweep = ["mechanism=gaussian,active", "eps=1,2"]
    named = ["hydra.sweep.dir='all of them'", "hydra.sweep.subdir=${mechanism.name}-${eps}"]
    code, out, err = pate("-m", *sweep, *named)
    assert (code, err) == (
        0,
        "written to all of them\n",
    )
    found = {path.name for path in Path("all of them").iterdir()} - {
        ".finished",
        "multirun.yaml",
        "repeats.csv",
        "report.html",
    }
    assert found == {f"{mechanism}-{eps}" for mechanism in ("gaussian", "active") for eps in (1, 2)}
    for name in found:
        record = result(f"all of them/{name}")
        assert name == f"{record['mechanism']}-{record['eps']:g}"
    assert "Figure and reasons: all of them/report.html" in out
    # a job is the run that it would be alone
    pate("mechanism=active", "eps=2", "hydra.run.dir=alone")
    assert numbers("all of them/active-2") == numbers("alone")


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
        (OSError(28, "No space left on device"), "[Errno 28] No space left on device"),
    ],
)
def test_a_failed_job_does_not_lose_the_others(pate, monkeypatch, error, message):
    failing(monkeypatch, 2, error)
    code, out, err = pate("-m", "eps=1,2,3", "hydra.sweep.dir=all")
    assert code == 1
    assert [result(f"all/{i}")["status"] for i in range(3)] == ["ok", "error", "ok"]
    assert result("all/1")["message"] == message
    assert "Keep these numbers inside" in out
    assert message in " ".join(err.split())
    assert "1 of 3 jobs did not finish" in err
    assert ("Traceback" in err) is isinstance(error, RuntimeError)
    assert "hydra" not in err.lower()


def test_an_interrupted_sweep_keeps_what_is_done(pate, monkeypatch):
    failing(monkeypatch, 2, KeyboardInterrupt(), repeat=1)
    code, out, err = pate("-m", "eps=1,2,4", "repeats=2", "hydra.sweep.dir=all")
    assert code == 130
    assert err.endswith("pate: interrupted\n")
    assert "Traceback" not in err
    assert [result(f"all/{i}")["status"] for i in range(3)] == ["ok", "interrupted", "interrupted"]
    assert [len(rows(f"all/{i}")) for i in range(3)] == [2, 1, 1]
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
    assert "Keep these numbers inside" in out
    _, _, err = pate("-m", "eps=2,4", "repeats=3", "hydra.sweep.dir=all")  # other points, more repeats
    assert err.count("a run of another configuration") == 2
    assert "pate: 2 of 6 repeats were done before;" in err
    assert len(fits) == 5  # teachers are not kept for another command
    code, _, err = pate(*sweep, "--force")
    assert (code, err) == (0, "written to all\n")
    assert len(fits) == 7
    assert [numbers(f"all/{i}") for i in range(2)] == before


@pytest.mark.parametrize("mechanism", ["gaussian", "score_boosting", "tune"])
def test_how_many_teachers_failed_is_told_and_why(pate, monkeypatch, mechanism):
    from sklearn.naive_bayes import GaussianNB

    fit = GaussianNB.fit

    def failing(self, X, y, *more):
        if len(X) != 40 and X[0, 0] > 0.5:  # of another size than what learners are tried on
            raise ValueError("it is odd")
        return fit(self, X, y, *more)

    monkeypatch.setattr(GaussianNB, "fit", failing)
    argv = [f"mechanism={mechanism}", "teacher.estimator=sklearn.naive_bayes.GaussianNB", "repeats=2"]
    argv += ["mechanism.rounds=1"] * (mechanism == "score_boosting")
    code, _, err = pate(*argv, "hydra.run.dir=out")
    (line,) = (line for line in err.splitlines() if "teachers failed" in line)
    failed, tried = map(int, re.findall(r"\d+", line.replace(",", ""))[:2])
    assert line.endswith("(GaussianNB: it is odd): they vote for the commonest class of their part")
    assert (code, 0 < failed < tried) == (0, True)
    assert sum(float(row["failed_teachers"]) for row in rows("out")) == failed


def test_runs_without_a_directory_of_their_own_share_what_is_done(pate):
    assert pate("repeats=2")[0] == 0
    assert pate("repeats=3")[2].startswith("pate: 2 of 3 repeats were done before;")
    first, second = sorted(Path("outputs").glob("2*/*"))
    assert [row["seconds"] for row in rows(second)][:2] == [row["seconds"] for row in rows(first)]
    assert (first / "student.skops").read_bytes() == (second / "student.skops").read_bytes()


def test_a_learner_s_1_and_its_1_0_are_two_runs(pate):
    """Of scikit-learn's trees `max_features=1` is one column, and `1.0` all of them."""
    learner = ["teacher=tree", "eps=inf", "repeats=1"]
    sweep = [*learner, "teacher.params.max_features=1.0,1", "-m", "hydra.sweep.dir=all"]
    assert pate(*sweep)[2] == "written to all\n"
    assert pate(*learner, "teacher.params.max_features=1", "hydra.run.dir=one")[0] == 0
    assert numbers("all/1")[1] == numbers("one")[1] != numbers("all/0")[1]


# points of a sweep that cannot work


def test_an_infeasible_point_of_a_sweep_is_a_finding(pate):
    code, out, err = pate("-m", "mechanism=svt,gaussian", "eps=0.01,5", "hydra.sweep.dir=all")
    assert code == 0
    assert err.endswith("written to all\n")
    assert "It stops after 20 points" in err
    assert "gaussian: noise of standard deviation" in err
    assert [result(f"all/{i}")["status"] for i in range(4)] == ["infeasible", "ok", "ok", "ok"]
    assert (result("all/0")["eps"], result("all/0")["accuracy"]) == (0.01, None)
    assert "what would do: at least" in result("all/0")["message"]
    assert not Path("all/0/repeats.csv").exists()
    assert re.search(r"^svt +– +[\d.]+ ", out, re.MULTILINE)
    assert "what would do: at least" in Path("all/report.html").read_text()


# failures


@pytest.mark.parametrize("error", [RuntimeError("lost a sock"), InputError("no such sock")])
def test_repeats_done_before_a_failure_are_kept(pate, monkeypatch, error):
    failing(monkeypatch, 1, error, repeat=1)
    code, _, err = pate("repeats=3", "hydra.run.dir=out")
    assert (len(rows("out")), result("out")["status"]) == (1, "error")
    if isinstance(error, InputError):
        assert (code, err) == (2, "pate: no such sock\n")
    else:
        assert (code, result("out")["message"]) == (1, "RuntimeError: lost a sock")
        assert err.startswith("Traceback")
        assert "lost a sock" in err


@pytest.mark.parametrize("moment", ["before the job", "in the job"])
def test_a_full_disk(pate, monkeypatch, moment):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device", *(["config.yaml"] if moment == "before the job" else []))

    where = "omegaconf.OmegaConf.save" if moment == "before the job" else "os.fsync"
    monkeypatch.setattr(where, full)
    file = "config.yaml" if moment == "before the job" else Path("out/result.json").absolute()
    assert pate("hydra.run.dir=out") == (1, "", f"pate: {file}: No space left on device\n")


# as a process


def test_ctrl_c(tmp_path):
    """A real one: sent to the whole process group, as a terminal does. In a pipe there is no bar."""
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
    assert not {"\x1b", "\r"} & set(out)
    record, done = result(tmp_path / "out"), len(rows(tmp_path / "out"))
    assert 1 <= done < 50
    assert (record["status"], record["accuracy"]["n"]) == ("interrupted", done)
    assert record["message"] == f"interrupted after {done} of 50 repeats"
    assert load_student(tmp_path / "out/student.skops").n_features == 5
    assert record["message"] in " ".join(out.split())
    assert not [name for name in files(tmp_path) if name.endswith(".tmp")]


def test_a_sweep_may_set_what_only_the_swept_options_have(pate):
    assert pate("-m", "mechanism=svt,soft", "mechanism.cutoff=2", "eps=8", "hydra.sweep.dir=out")[0] == 0
    assert {result(f"out/{job}")["plan"]["cutoff"] for job in (0, 1)} == {2}


def test_jobs_run_by_hydra_are_the_same(pate):
    """Configurations, overrides and numbers of a sweep that Hydra's runtime runs, as with a launcher."""

    def found(*asked: str) -> tuple[dict[str, Any], list[Any]]:
        argv = ["-m", "teacher.params.C=2", "mechanism=gaussian,svt", "eps=5", "hydra.sweep.dir=out"]
        code, _, err = pate(*argv, "--force", *asked)
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
    assert by_hydra[0] == directly[0]  # also the overrides, as they were typed
    assert "++" not in "".join(directly[0].values())
    assert by_hydra[1] == directly[1]


def test_what_only_hydra_does_it_is_asked_to_do(pate, tmp_path, monkeypatch, capsys):
    """Callbacks, variables of the environment, a directory named by what was typed."""
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
    named = "hydra.sweep.subdir=x${hydra.job.override_dirname}"
    assert pate("-m", "eps=1,2", "hydra.sweep.dir=out", named, *asked)[0] == 0
    assert pate("eps=3", "hydra.run.dir=one", *asked)[0] == 0
    (first,), (second,) = (list(Path("out").glob(f"x*,eps={eps},*")) for eps in (1, 2))
    assert main(["list", "out", "--json"]) == 0
    (sweep,) = json.loads(capsys.readouterr().out)["tables"]["table"]
    assert (sweep["directory"], sweep["kind"], sweep["repeats_done"]) == ("out", "sweep", 2)
    accuracies = [result(path)["accuracy"]["mean"] for path in (first, second, "one")]
    assert Path("seen.txt").read_text().splitlines() == [
        f"{eps} {accuracy} here" for eps, accuracy in zip((1, 2, 3), accuracies, strict=True)
    ]


def test_in_a_sweep_a_value_may_follow_another():
    jobs = command_line.jobs(command_line.parse_argv(["-m", "eps=1,2", "name=at ${eps}"]))
    assert [Composer().compose(job, 0)["name"] for job in jobs] == ["at 1", "at 2"]


@pytest.mark.parametrize("subdir", ["", "job-"])  # Hydra runs the jobs of the second sweep
def test_a_value_may_be_the_number_of_the_job(pate, subdir):
    asked = [
        "eps=1,1",
        "seed=${hydra:job.num}",
        "hydra.sweep.dir=out",
        f"hydra.sweep.subdir={subdir}${{hydra.job.num}}",
    ]
    assert pate("-m", *asked)[0] == 0
    assert [result(f"out/{subdir}{number}")["provenance"]["seed"] for number in (0, 1)] == [0, 1]
    for name in ("job.num", "job.id", "runtime.output_dir", "nothing"):
        code, _, err = pate(f"seed=${{hydra:{name}}}", "hydra.run.dir=one")
        refused = f"pate: ${{hydra:{name}}}: has no value here; hydra:job.num is of a sweep (-m)\n"
        assert (code, err, Path("one").exists()) == (2, refused, False)


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


def test_files_are_found_as_typed_where_jobs_are_in_directories_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("near.csv").write_text("x,y\n" + "".join(f"{i % 50},{'ab'[i % 50 > 25]}\n" for i in range(300)))
    data = ["dataset=csv", "dataset.path=near.csv", "dataset.target=y", "mechanism=best", "split.public=20"]
    assert main(["run", *data, "hydra.job.chdir=true", "hydra.run.dir=out/here"]) == 0
    assert result("out/here")["status"] == "ok"
