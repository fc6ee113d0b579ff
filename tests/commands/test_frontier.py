"""`pate frontier`, as it is typed."""

from __future__ import annotations

import csv
import time

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.compare import baselines
from pate_cli.compare.methods import methods, plan_frontier
from pate_cli.engine import schedule

SMALL = ["dataset.n_records=3000", "split.public=60", "teacher.size=20", "compute.workers=1"]


def records(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def only(outside, name):
    """The only directory of a frontier, which is named so."""
    (there,) = (outside / "outputs" / "frontier").iterdir()
    assert there.name.rpartition("-")[0] == name
    return there


def test_tables_figure_and_report(outside, capsys):
    argv = ["frontier", *SMALL, "--eps", "0.05,4", "--methods", "gaussian,svt,noisy_gd", "--repeats", "2"]
    argv += ["--method", "trees=mechanism=gaussian,student=tree", "--limit"]
    assert cli.main(argv) == 0
    out, err = capsys.readouterr()
    there = only(outside, "synthetic")
    for stem in ("table", "rows", "metrics", "paired"):
        assert all((there / f"{stem}.{suffix}").is_file() for suffix in ("csv", "md", "tex"))
    assert (there / "figure.png").read_bytes().startswith(b"\x89PNG")

    rows = records(there / "table.csv")
    methods = {(row["method"], row["eps"]): row for row in rows if row["kind"] == "method"}
    assert len(methods) == 4 * 2
    assert methods["svt", "0.05"]["status"] == "infeasible"
    assert methods["svt", "0.05"]["accuracy"] == ""
    assert "teachers" in methods["svt", "0.05"]["reason"]
    assert all(row["n"] == "2" for row in methods.values() if row["status"] == "ok")
    held = {row["method"]: row for row in rows if row["kind"] == "yardstick"}
    assert len(held) == 5
    assert {row["guarantee"] for row in held.values()} == {"not differentially private"}
    assert float(held["all private records"]["accuracy"]) > 0.9 > float(held["majority class"]["accuracy"])

    figures = {(row["method"], float(row["eps"])): row for row in records(there / "metrics.csv")}
    majority = figures["majority class", float("inf")]
    assert {float(majority[name]) for name in ("balanced_accuracy", "roc_auc")} == {0.5}
    assert figures["trees", 4.0]["log_loss"] == methods["trees", "4.0"]["log_loss"] != ""
    assert 0.9 < float(figures["noisy_gd", 4.0]["roc_auc"]) < 1

    page = (there / "report.html").read_text()
    for shown in (out, page):
        assert "not differentially private" in " ".join(shown.split())
        assert "svt against gaussian, accuracy at the same splits:" in shown
        assert "infeasible" in shown
    assert "pate frontier dataset.n_records=3000" in page
    # four methods at two budgets, less svt at 0.05, and five baselines
    assert "frontier: 24/24 repeats of 12 rows done" in err

    # again: nothing is done twice, and the same bytes come out
    before = {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()}
    started = time.time_ns()
    assert cli.main(argv) == 0
    assert {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()} == before
    assert all(path.stat().st_mtime_ns < started for path in (outside / "outputs" / ".finished").iterdir())


def accuracies(*given, work):
    """Accuracy of each repeat of each row of a small frontier, done in a directory."""
    plan = plan_frontier([*SMALL[:-1], *given], methods("gaussian", []), [1.0], repeats=2, limit=True)
    results = schedule.run(plan, work, force=False, advance=lambda *_: None)
    assert results.failures == []
    return plan, {name: [unit.accuracy for unit in units] for name, units in results.units.items()}


def test_baselines_are_what_they_say(outside):
    """By hand, at the split of the second repeat."""
    from sklearn.linear_model import LogisticRegression

    from pate_cli import datasets
    from pate_cli.pipeline import Streams, run_repeat

    plan, found = accuracies("compute.workers=1", work=outside / "work")
    run = plan.rows[0].prepared
    rng = Streams.of(0, 1).split
    split = datasets.split(run.dataset, private=0.8, public=60, budget=0.3, rng=rng)
    on_true = LogisticRegression(solver="liblinear").fit(split.public.X, split.public_labels.y)
    on_all = LogisticRegression(solver="liblinear").fit(split.private.X, split.private.y)
    truth = split.test.y
    assert found["student on true labels"][1] == on_true.score(split.test.X, truth)
    assert found["all private records"][1] == on_all.score(split.test.X, truth)
    assert found["majority class"][1] == np.mean(truth == np.bincount(split.private.y).argmax())
    # the exact votes are those of a run without privacy, whose own diagnostics say the same
    exact = run_repeat(run, 1).result
    assert exact.accuracy == exact.diagnostics["ceiling"]


def test_baselines_are_measured_on_the_cluster(outside, monkeypatch):
    pytest.importorskip("distributed")
    _, expected = accuracies("compute.workers=1", work=outside / "here")
    assert len(expected["all private records"]) == 2
    monkeypatch.setattr(baselines, "_measured", None)  # in this process
    assert accuracies("compute=dask", "compute.workers=1", work=outside / "there")[1] == expected


def test_a_baseline_that_goes_wrong_ends_nothing_else(outside, monkeypatch, capsys):
    def wrong(*_):
        raise ZeroDivisionError("of a library")

    monkeypatch.setattr(baselines, "best_model", wrong)
    made = "made=dataset=synthetic,dataset.n_records=900"
    argv = ["leaderboard", "--tables", "", "--table", made, *SMALL[1:], "--repeats", "1", "--eps", "4"]
    assert cli.main([*argv, "--methods", "noisy_gd"]) == 1
    assert "best model without privacy: 1 of 1 repeats failed: ZeroDivisionError" in capsys.readouterr().err
    (there,) = (outside / "outputs" / "leaderboard").iterdir()
    (row,) = (row for row in records(there / "rows.csv") if row["method"] == "noisy_gd")
    assert float(row["accuracy"]) > 0.7


def test_a_student_that_cannot_learn_is_a_failure_of_its_rows(outside, capsys):
    argv = ["frontier", *SMALL, "--eps", "4", "--methods", "gaussian,noisy_gd", "--repeats", "1"]
    # more neighbours than public points: the student cannot, the private learner has no student
    knn = ["student.estimator=sklearn.neighbors.KNeighborsClassifier", "++student.params.n_neighbors=30"]
    assert cli.main([*argv, *knn, "split.public=20"]) == 1
    err = capsys.readouterr().err
    assert "pate: gaussian eps=4: 1 of 1 repeats failed: student.estimator" in err
    assert "pate: student on true labels: 1 of 1 repeats failed: student.estimator" in err
    rows = {row["method"]: row for row in records(only(outside, "synthetic") / "table.csv")}
    assert (rows["gaussian"]["status"], rows["noisy_gd"]["status"]) == ("failed", "ok")


@pytest.mark.real_data
def test_mushroom(outside, real_data, monkeypatch, capsys):
    """The references are as good as measured, with room: 30 splits gave 0.97 to 0.98, and 0.94."""
    monkeypatch.setenv("PATE_DATA", str(real_data))
    argv = ["frontier", "dataset=mushroom", "compute.workers=1", "--eps", "1", "--repeats", "2"]
    assert cli.main([*argv, "--methods", "noisy_gd,output_perturbation"]) == 0
    rows = {row["method"]: row for row in records(only(outside, "mushroom") / "table.csv")}
    assert float(rows["noisy_gd"]["accuracy"]) > 0.95
    assert float(rows["output_perturbation"]["accuracy"]) > 0.88


def test_no_frontier_is_written_over_another(outside, capsys):
    """Two tables, two targets of one, other rows of it, and other data in the same file."""
    rng = np.random.default_rng(0)

    def write(name):
        lines = [f"{a},{b},{int(a > 0)},{int(b > 0)}" for a, b in rng.normal(size=(400, 2)).round(3).tolist()]
        (outside / name).write_text("\n".join(["a,b,one,two", *lines]) + "\n")

    def frontier(path, target, eps):
        data = ["dataset=csv", f"dataset.path={path}", f"dataset.target={target}", "split.public=40"]
        options = ["--methods", "noisy_gd", "--repeats", "1", "--eps", eps]
        assert cli.main(["frontier", *data, "teacher.size=40", "compute.workers=1", *options]) == 0

    write("x.csv")
    write("y.csv")
    for path, target in (("x.csv", "one"), ("y.csv", "one"), ("x.csv", "two")):
        frontier(path, target, "1")
    frontier("x.csv", "one", "1,2")
    frontier("x.csv", "one", "1")  # as before
    write("x.csv")
    frontier("x.csv", "one", "1")
    found = sorted(path.name.rpartition("-")[0] for path in (outside / "outputs" / "frontier").iterdir())
    assert found == ["x-one", "x-one", "x-one", "x-two", "y-one"]
    assert "written to outputs/frontier/x-one-" in capsys.readouterr().err
