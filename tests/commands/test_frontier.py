"""`pate frontier`, as it is typed."""

from __future__ import annotations

import csv
import re
import time

import numpy as np
import pytest

from pate_cli import cli
from pate_cli.engine import baselines

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
    argv += ["--method", "trees=mechanism=gaussian,student=tree"]
    assert cli.main(argv) == 0
    out, err = capsys.readouterr()
    there = only(outside, "synthetic")
    for stem in ("table", "rows", "paired"):
        assert (there / f"{stem}.csv").is_file()
    assert {path.name for path in there.iterdir()} == {
        *("table.csv", "rows.csv", "paired.csv", "repeats.csv", "report.html")
    }

    rows = records(there / "table.csv")
    methods = {(row["method"], row["eps"]): row for row in rows if row["kind"] == "method"}
    assert len(methods) == 4 * 2
    cannot = methods["svt", "0.05"]
    assert (cannot["status"], cannot["accuracy"], "teachers" in cannot["reason"]) == ("infeasible", "", True)
    assert all(row["n"] == "2" for row in methods.values() if row["status"] == "ok")
    held = {row["method"]: row for row in rows if row["kind"] == "yardstick"}
    assert len(held) == 5
    assert {row["guarantee"] for row in held.values()} == {"not differentially private"}
    assert float(held["all private records"]["accuracy"]) > 0.9 > float(held["majority class"]["accuracy"])

    figures = {(row["mechanism"], float(row["eps"])): row for row in records(there / "rows.csv")}
    majority = figures["majority class", float("inf")]
    assert {float(majority[name]) for name in ("balanced_accuracy", "roc_auc")} == {0.5}
    assert figures["trees", 4.0]["log_loss"] != ""
    gaps = {(row["mechanism"], row["eps"]): row for row in records(there / "paired.csv")}
    chosen = gaps["trees", "4.0"]["of"]  # the method to use
    assert (chosen, "4.0") not in gaps
    means = [float(methods[name, "4.0"]["accuracy"]) for name in (chosen, "trees")]
    assert float(gaps["trees", "4.0"]["difference"]) == pytest.approx(means[1] - means[0])

    page = (there / "report.html").read_text()
    assert out.startswith("Use ")
    said = " ".join(out.split())
    first = said.partition(". At eps 4 it is right on ")[2].partition(" points ")[0]
    text = re.sub(r"<[^>]*>", "", page)
    assert f"At eps 4 it is right on {first} points" in text  # the same answer
    for shown in (said, " ".join(text.split())):
        assert "always answering “1”" in shown or "Always answering “1”" in shown
        assert "split.public_from_private=true" in shown
        assert re.search(r"svt *(–|[\d.]+) *[\d.]+ ", shown)
    assert "Keep these numbers inside" in said
    assert "cannot run" in page  # svt at eps 0.05
    assert max(map(len, out.splitlines())) <= 80
    assert "<span>frontier</span> <span>dataset.n_records=3000</span>" in page
    # four methods at two budgets, less svt at 0.05, and five baselines
    assert "frontier: 24/24 repeats of 12 rows done" in err

    # again: nothing is done twice, and the same bytes come out
    before = {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()}
    started = time.time_ns()
    assert cli.main(argv) == 0
    assert {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()} == before
    assert all(path.stat().st_mtime_ns < started for path in (outside / "outputs" / ".finished").iterdir())


def test_a_baseline_that_goes_wrong_ends_nothing_else(outside, monkeypatch, capsys):
    def wrong(*_):
        raise ZeroDivisionError("of a library")

    monkeypatch.setattr(baselines, "fitted_model", wrong)
    argv = ["frontier", *SMALL, "--repeats", "1", "--eps", "4", "--methods", "noisy_gd"]
    assert cli.main(argv) == 1
    assert "best model without privacy: 1 of 1 repeats failed: ZeroDivisionError" in capsys.readouterr().err
    rows = {row["method"]: row for row in records(only(outside, "synthetic") / "table.csv")}
    assert "ZeroDivisionError" in rows["best model without privacy"]["reason"]
    assert float(rows["noisy_gd"]["accuracy"]) > 0.7


def test_a_student_that_cannot_learn_is_a_failure_of_its_rows(outside, capsys):
    argv = [
        "frontier",
        *SMALL,
        "--eps",
        "4",
        "--methods",
        "gaussian,noisy_gd",
        "--repeats",
        "1",
        "--no-limit",
    ]
    # more neighbours than public points: the student cannot, the private learner has no student
    knn = ["student.estimator=sklearn.neighbors.KNeighborsClassifier", "++student.params.n_neighbors=30"]
    assert cli.main([*argv, *knn, "split.public=20"]) == 1
    err = capsys.readouterr().err
    assert "pate: gaussian eps=4: 1 of 1 repeats failed: student.estimator" in err
    assert "pate: student on true labels: 1 of 1 repeats failed: student.estimator" in err
    rows = {row["method"]: row for row in records(only(outside, "synthetic") / "table.csv")}
    assert (rows["gaussian"]["status"], rows["noisy_gd"]["status"]) == ("failed", "ok")


def test_no_frontier_is_written_over_another(outside, capsys, monkeypatch):
    """Two tables, two targets of one, other rows of it, and other data in the same file."""
    rng = np.random.default_rng(0)

    def write(name):
        lines = [f"{a},{b},{int(a > 0)},{int(b > 0)}" for a, b in rng.normal(size=(400, 2)).round(3).tolist()]
        (outside / name).write_text("\n".join(["a,b,one,two", *lines]) + "\n")

    def frontier(path, target, eps="1"):
        data = ["dataset=csv", f"dataset.path={path}", f"dataset.target={target}", "split.public=40"]
        options = ["--methods", "noisy_gd", "--repeats", "1", "--eps", eps, "--no-limit"]
        assert cli.main(["frontier", *data, "teacher.size=40", "compute.workers=1", *options]) == 0

    write("x.csv")
    write("y.csv")
    for path, target in (("x.csv", "one"), ("y.csv", "one"), ("x.csv", "two")):
        frontier(path, target)
    frontier("x.csv", "one", "1,2")
    frontier("x.csv", "one")  # as before
    write("x.csv")
    frontier("x.csv", "one")
    found = sorted(path.name.rpartition("-")[0] for path in (outside / "outputs" / "frontier").iterdir())
    assert found == ["x-one", "x-one", "x-one", "x-two", "y-one"]
    assert "written to outputs/frontier/x-one-" in capsys.readouterr().err


def test_a_directory_with_another_result_is_not_written_over(outside, capsys):
    argv = ["frontier", *SMALL, "--methods", "noisy_gd", "--repeats", "1", "--no-limit", "--output", "there"]
    assert cli.main([*argv, "--eps", "4"]) == 0
    before = (outside / "there" / "repeats.csv").read_bytes()
    capsys.readouterr()
    assert cli.main([*argv, "--eps", "2"]) == 2
    assert capsys.readouterr().err == (
        "pate: --output there: holds the result of another configuration (synthetic, noisy_gd, eps 4); give "
        "another directory, or --force to replace it\n"
    )
    assert (outside / "there" / "repeats.csv").read_bytes() == before
    assert cli.main([*argv, "--eps", "2,4"]) == 0  # which has all that is there
    assert cli.main([*argv, "--eps", "2", "--force"]) == 0
