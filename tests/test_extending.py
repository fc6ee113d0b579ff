"""A mechanism and a data set of another package are found, run, audited and tabulated (docs/extending.md)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pate_cli import datasets, mechanisms
from pate_cli.cli import main
from pate_cli.results import read_repeats
from pate_cli.students import fit_student
from pate_cli.testing import check_mechanism
from pate_cli.types import Answers, PublicPoints

REPO = Path(__file__).resolve().parent.parent
EXAMPLE = REPO / "docs" / "examples" / "own"
SMALL = ["dataset.n_records=1500", "split.private=1200", "split.public=20", "teacher.size=20"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Directory the example package is installed into, as pip does it."""
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, EXAMPLE], check=True, capture_output=True)
    return target


@pytest.fixture
def pate(tmp_path, monkeypatch, capsys):
    """Call `pate` in an empty directory, with one more directory of packages: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*argv, path):
        monkeypatch.syspath_prepend(path)
        code = main(list(argv))
        return code, *capsys.readouterr()

    yield call
    for name in [name for name in sys.modules if name.partition(".")[0] == "pate_exponential"]:
        del sys.modules[name]


def test_a_mechanism_of_an_installed_package_is_run_and_tabulated(installed, pate):
    conf = ["--config-dir", str(EXAMPLE / "conf")]
    code, out, err = pate("run", *conf, "mechanism=exponential", "eps=40", *SMALL, path=installed)
    assert code == 0, err
    assert "exponential" in out
    assert "20 labels for 20 questions" in out
    assert "exponential" in pate("table", "outputs", path=installed)[1]
    code, _, err = pate("run", *conf, "mechanism=exponential", "mechanism.share=2", path=installed)
    assert code == 2
    assert "mechanism.share: got 2; accepted: a number in (0, 1]" in err


def test_it_is_audited(installed, pate):
    argv = ["--config-dir", str(EXAMPLE / "conf"), "mechanism=exponential", "eps=8", "--queries", "4"]
    code, out, err = pate("audit", *argv, path=installed)
    assert code == 0, err
    assert "critical" in out
    assert "no violation found" in out


def test_a_module_that_is_not_installed_comes_by_its_import_path(pate):
    argv = ["mechanism=exponential", "mechanism.name=pate_exponential", "--config-dir", str(EXAMPLE / "conf")]
    rounded_up = ["eps=0.9", "split.public=49"]  # 49 shares of it add up to a last digit more
    code, out, err = pate("plan", *argv, *SMALL, *rounded_up, "--explain", path=EXAMPLE)
    assert code == 0, err
    assert "eps_per_query" in out
    code, _, err = pate("plan", "mechanism=gaussian", "mechanism.name=nowhere.at_all", path=EXAMPLE)
    assert code == 2
    assert "mechanism.name: got 'nowhere.at_all'" in err


def test_two_of_one_name_are_told_apart(installed, tmp_path, pate):
    """Of an installed package and of a folder: neither runs in the place of the other."""
    (tmp_path / "exponential.py").write_text("")
    code, _, err = pate(
        "plan", "--config-dir", str(EXAMPLE / "conf"), "mechanism=exponential", path=installed
    )
    assert code == 0, err
    pate("plan", path=tmp_path)
    mechanisms.find.cache_clear()
    argv = ["--config-dir", str(EXAMPLE / "conf"), "mechanism=exponential"]
    code, _, err = pate("plan", *argv, path=installed)
    both = f"it is that of pate_exponential and of {tmp_path / 'exponential.py'}"
    assert (code, err.endswith(f"accepted: a name of one alone; {both}\n")) == (2, True)
    mechanisms.find.cache_clear()


@pytest.mark.parametrize(("typed", "name"), [("mechanism", "gaussian"), ("dataset", "synthetic")])
def test_a_plug_in_of_the_name_of_ours_is_refused(tmp_path, pate, typed, name):
    """Ours would run in its place; any other file may have the name."""
    for module, find in (("mechanism", mechanisms.find), ("dataset", datasets.find)):
        find.cache_clear()
        (tmp_path / f"{name}.py").write_text("print('a script')" if module != typed else "Options = object")
        code, _, err = pate("plan", "mechanism=gaussian", *SMALL, path=tmp_path)
        find.cache_clear()
        told = f"{typed}.name: got '{name}'; accepted: a name of one alone; it is ours and that of {tmp_path}"
        assert (code, told in err) == ((2, True) if module == typed else (0, False)), err


FRESH = '''"""A mechanism that is a file and its defaults, and nothing else."""

from dataclasses import replace

from pate_cli.mechanisms.gaussian import Options, gaussian_labels


def calibrate(options, setting):
    s = setting
    made = gaussian_labels(s.eps, s.delta, s.n_public, s.n_classes, options.calibration)
    return replace(made, n_teachers=s.n_teachers)
'''


def test_a_mechanism_is_a_file_and_no_list_is_edited(tmp_path, monkeypatch, pate):
    (tmp_path / "fresh.py").write_text(FRESH)
    (tmp_path / "conf" / "mechanism").mkdir(parents=True)
    (tmp_path / "conf" / "mechanism" / "fresh.yaml").write_text("name: fresh\ncalibration: tight\n")
    monkeypatch.setattr(mechanisms, "__path__", [*mechanisms.__path__, str(tmp_path)])
    given = ["--config-dir", "conf", "mechanism=fresh", "eps=8"]
    code, out, err = pate("run", *given, *SMALL, path=tmp_path)
    assert code == 0, err
    assert "20 labels for 20 questions" in out
    assert "fresh" in pate("table", "outputs", path=tmp_path)[1]
    assert pate("audit", *given, "--queries", "4", "--runs", "800", path=tmp_path)[0] == 0
    assert re.search(r"fresh +Gaussian +votes +parts +any +yes", pate("check", "--list", path=tmp_path)[1])
    checks = check_mechanism("fresh")
    forms = {check.form.removeprefix("fresh") for check in checks}
    assert {", exact, persons", ", 3 classes, sparse, persons", ", mapped"} <= forms
    one_each = {check.name: check for check in checks}  # all of them are done of gaussian, which it calls
    for name in ("options", "numbers", "moved", "paid", "replayed", "unmoved"):
        one_each[name]()
    assert sum(check.name == "unmoved" for check in checks) == 4


def test_a_student_of_another_package_learns_from_noisy_counts(pate):
    argv = ["run", "--config-dir", str(EXAMPLE / "conf"), "mechanism=gaussian", "student=mean_vote", *SMALL]
    assert pate(*argv, "eps=8", path=EXAMPLE)[0] == 0
    from pate_exponential.mean_vote import MeanVote

    rng = np.random.default_rng(0)
    points, counts = PublicPoints(rng.normal(size=(30, 4))), rng.normal(50, 20, size=(30, 3))
    answers = Answers(np.arange(30), counts.argmax(axis=1), counts, 100, noise=20.0)
    given = {"params": {"ridge": 2.0}, "unanswered": "drop", "rng": rng, "n_classes": 3, "seed": 0}
    name = "pate_exponential.mean_vote.MeanVote"
    student = fit_student(points, answers, estimator=name, **given)
    by_hand = MeanVote(2.0).fit_shares(points.X, counts / 100, noise=0.2)
    assert np.array_equal(student.coef_, by_hand.coef_)
    labels = fit_student(points, replace(answers, noisy_counts=None), estimator=name, **given)
    assert np.array_equal(labels.coef_, MeanVote(2.0).fit(points.X, answers.labels).coef_)


def test_a_release_with_it_is_verified_and_predicts_as_printed(tmp_path, monkeypatch, pate):
    """`pate verify` does not run its code unasked, nor call the release a forgery for it."""
    pytest.importorskip("opendp")
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    rows = [f"{i % 7},{i % 5},{i * 7 % 11 // 6}" for i in range(1200)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,class", *rows]) + "\n")
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    typed = ["dataset=a.schema.yaml", "release=true", "eps=4", "split.public_from_private=true"]
    typed += ["split.public=40", "student.estimator=pate_exponential.mean_vote.MeanVote"]
    run = ["run", *typed, "mechanism=gaussian", "teacher.size=30", "hydra.run.dir=out"]
    assert pate("data", "describe", "a.csv", "--target", "class", path=EXAMPLE)[0] == 0
    init = ["ledger", "init", "dataset=a.schema.yaml", "--eps", "4", "--delta", "0.1"]
    assert pate(*init, path=EXAMPLE)[0] == 0
    code, out, err = pate(*run, path=EXAMPLE)
    assert code == 0, err
    trust = ["--trust", "pate_exponential.mean_vote.MeanVote"]
    assert f"  pate verify out {' '.join(trust)}\n" in out
    for more, word in ((trust, "ok"), ([], "not checked")):
        code, out, _ = pate("verify", "out", *more, path=EXAMPLE)
        assert (code, out.count("FAILED")) == (0, 0), out
        assert re.search(rf"^{word} +student.skops carries", out, re.MULTILINE)
    card = (tmp_path / "out" / "model_card.md").read_text()
    (line,) = re.findall(r"^    pate (predict .*)$", card, re.MULTILINE)
    code, _, err = pate(*line.replace("./", "out/").split(), path=EXAMPLE)
    assert (code, (tmp_path / "labels.csv").exists()) == (0, True), err


def test_it_gets_votes_where_a_person_has_several_records(tmp_path, pate):
    rows = [f"{i // 3},{i % 7},{i % 5},{i % 2}" for i in range(600)]
    (tmp_path / "people.csv").write_text("\n".join(["who,a,b,label", *rows]) + "\n")
    data = ["dataset=csv", "dataset.path=people.csv", "dataset.target=label", "dataset.unit=who"]
    argv = [*data, "split.public=20", "mechanism=exponential", "mechanism.name=pate_exponential", "eps=4"]
    code, out, err = pate("run", "--config-dir", str(EXAMPLE / "conf"), *argv, path=EXAMPLE)
    assert code == 0, err
    assert "20 labels for 20 questions" in out


def test_a_data_set_of_an_installed_package_is_run(installed, pate):
    conf = ["--config-dir", str(EXAMPLE / "conf"), "dataset=moons", "teacher=tree", "student=tree"]
    for noise in ("0.1", "0.3"):
        typed = [f"dataset.noise={noise}", "eps=8", f"hydra.run.dir={noise}"]
        code, out, err = pate("run", *conf, *typed, path=installed)
        assert code == 0, err
        assert "moons" in out
    assert "their data differ (SHA-256 " in pate("compare", "0.1", "0.3", path=installed)[1]
    code, _, err = pate("run", *conf, "dataset.noise=2", path=installed)
    assert code == 2
    assert "dataset.noise: got 2; accepted: a number in (0, 1]" in err


def test_a_data_set_that_is_not_installed_comes_by_its_import_path(pate):
    argv = ["--config-dir", str(EXAMPLE / "conf"), "dataset=moons", "dataset.name=pate_exponential.moons"]
    code, _, err = pate("plan", *argv, path=EXAMPLE)
    assert code == 0, err
    code, _, err = pate("plan", "dataset=digits", "dataset.name=nowhere.at_all", path=EXAMPLE)
    assert code == 2
    assert "dataset.name: got 'nowhere.at_all'; accepted: synthetic, mushroom" in err


def test_a_query_strategy_a_learner_and_a_recipe_of_an_installed_package(installed, tmp_path, pate):
    argv = [str(EXAMPLE / "spread"), "--quick", "--config-dir", str(EXAMPLE / "conf"), "eps=[8]"]
    code, out, err = pate("reproduce", *argv, path=installed)
    assert code == 0, err
    assert "apart" in out
    table = (tmp_path / "outputs/reproduce/spread-quick/table.csv").read_text()
    assert "apart eps=8,eps 8,moons,apart,ok" in table
    assert "Keep these numbers inside" in out
    page = (tmp_path / "outputs/reproduce/spread-quick/report.html").read_text()
    assert "<strong>Keep this page inside.</strong>" in page
    assert "In every row: " in page
    argv = ["--config-dir", str(EXAMPLE / "conf"), "dataset=moons", "teacher=centroids", "student=centroids"]
    argv += [
        "--methods",
        "spread",
        "--eps",
        "8",
        "--repeats",
        "1",
        "dataset.n_records=600",
        "split.public=30",
    ]
    code, out, err = pate("frontier", *argv, "--no-limit", path=installed)
    assert code == 0, err
    assert "spread" in out
    code, _, err = pate("frontier", "--config-dir", "nowhere", path=installed)
    assert (code, err) == (2, "pate: --config-dir: got 'nowhere'; accepted: an existing directory\n")
    code, _, err = pate("reproduce", "figure1", "--config-dir", str(EXAMPLE), path=installed)
    assert (code, err) == (2, "pate: --config-dir: figure1 composes no runs\n")


def test_a_sweep_and_a_view_of_an_installed_package(installed, tmp_path, pate):
    small = ["dataset.n_records=600", "split.public=30", "split.budget=10,20", "hydra.sweep.dir=asked"]
    conf = ["--config-dir", str(EXAMPLE / "conf")]
    code, _, err = pate("run", "-m", *conf, "+experiment=asked", *small, path=installed)
    assert code == 0, err
    rows = read_repeats([tmp_path / "asked"])
    assert sorted(zip(rows["split.budget"], rows["eps"], strict=True)) == [
        ("10", 4),
        ("10", 8),
        ("20", 4),
        ("20", 8),
    ]
    assert set(rows["dataset"]) == {"moons"}
    assert pate("page", "asked", "--view", "extremes", "--output", "p.html", path=installed)[0] == 0
    assert "<h2>Extremes of the accuracy over splits</h2>" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("dataset=mydata", "PYTHONPATH=. pate run --config-dir conf dataset=mydata, with name: MODULE"),
        ("dataset.name=my.data", "conf/dataset/data.yaml"),
        ("mechanism=mymech", "PYTHONPATH=. pate run --config-dir conf mechanism=mymech, with name: MODULE"),
        (
            "mechanism.name=mymech",
            "PYTHONPATH=. pate run --config-dir conf mechanism=mymech, with name: MODULE",
        ),
        ("teacher=mine", "PYTHONPATH=. pate run teacher.estimator=MODULE.CLASS"),
        ("student=mine", "PYTHONPATH=. pate run student.estimator=MODULE.CLASS"),
        ("features=mine", "PYTHONPATH=. pate run features.name=MODULE.CLASS"),
        ("features.name=mine.Map", "PYTHONPATH=. pate ... finds modules of this directory"),
        ("dataset=mine.csv", "pate data describe mine.csv --target COLUMN"),
        ("mechanism=svtt", ""),  # a slip
    ],
)
def test_what_is_not_found_says_how_ones_own_is_typed(typed, told, tmp_path, pate):
    (tmp_path / "mine.csv").write_text("a,b\n")
    code, out, err = pate("run", typed, path=tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert ("; your own: " in err) == bool(told)
    assert told in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.csv"]


@pytest.mark.parametrize("key", ["mechanism.name={}", "dataset.name={}", "features.name={}.x"])
def test_a_module_that_fails_is_named_with_its_line_and_a_folder_is_none(key, tmp_path, pate):
    (tmp_path / "zero_there.py").write_text("1 / 0\n")
    (tmp_path / "folder_there").mkdir()
    code, _, err = pate("plan", key.format("zero_there"), path=tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    where = tmp_path / "zero_there.py"
    assert f"importing it failed (ZeroDivisionError: division by zero; {where}, line 1)" in err
    code, _, err = pate("plan", key.format("folder_there"), path=tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert "your own: PYTHONPATH=. pate " in err


def test_what_is_told_works_as_typed(tmp_path, monkeypatch, pate):
    """An own mechanism and data set in the current directory, by the line that the refusal prints."""
    for room, name in (("mechanism", "exponential"), ("dataset", "moons")):
        (tmp_path / "conf" / room).mkdir(parents=True)
        text = (EXAMPLE / "conf" / room / f"{name}.yaml").read_text()
        module = "mymech" if room == "mechanism" else "mydata"
        (tmp_path / "conf" / room / f"{module}.yaml").write_text(
            text.replace(f"name: {name}", f"name: {module}")
        )
        source = "__init__" if room == "mechanism" else "moons"
        (tmp_path / f"{module}.py").write_text((EXAMPLE / "pate_exponential" / f"{source}.py").read_text())
    monkeypatch.setenv("PYTHONPATH", ".")
    typed = ["--config-dir", "conf", "mechanism=mymech", "dataset=mydata", "eps=8"]
    code, out, err = pate("plan", *typed, path=tmp_path)
    assert code == 0, err
    assert "mymech" in out
    (line,) = re.findall(r"^  (PYTHONPATH=\. pate run .*)$", out.replace(" \\\n   ", ""), re.MULTILINE)
    small = "dataset.n_records=300 split.public=5 teacher.size=20"
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(f"{line} {small}", shell=True, cwd=tmp_path, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_study_beside_a_recipe_of_ones_own(tmp_path, pate):
    code, out, err = pate("reproduce", str(EXAMPLE / "flips"), "repeats=500", path=EXAMPLE)
    assert code == 0, err
    assert "4 claims" in out
    rows = (tmp_path / "outputs/reproduce/flips/table.csv").read_text().splitlines()
    assert rows[0] == "teachers,wrong,ci95,exact"
    assert [row.split(",")[0] for row in rows[1:]] == ["1", "2", "4", "8"]
    code, _, err = pate("reproduce", str(EXAMPLE / "flips"), "repeats=1", path=EXAMPLE)
    assert (code, err) == (2, "pate: params.repeats: got 1; accepted: a whole number >= 2\n")
    (tmp_path / "mine").mkdir()
    recipe = (EXAMPLE / "flips" / "recipe.yaml").read_text()
    (tmp_path / "mine" / "recipe.yaml").write_text(recipe)
    code, _, err = pate("reproduce", "./mine", path=EXAMPLE)
    assert (code, err) == (2, "pate: mine/recipe.yaml: kind: study; needs a study.py beside it\n")
