"""Told before a budget is spent: runs whose votes or scores noise drowns, and what would do."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.mechanisms.signal import signal_of
from pate_cli.privacy.gaussian import calibrate_sigma, mu_of


def table(path, n, d, n_classes):
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(d)), "target"])
        for i in range(n):
            writer.writerow([*rng.normal(size=d).round(3), f"c{i % n_classes}"])


@pytest.mark.parametrize(("n_classes", "sensitivity"), [(2, 1.0), (26, math.sqrt(2))])
def test_the_number_of_points_cancels(n_classes, sensitivity):
    """K/C votes along a direction over m points, against the noise on a count, for any m."""
    for m in (10, 400):
        sigma = calibrate_sigma(1.0, 1e-3, m, sensitivity)
        by_hand = 30 / n_classes * math.sqrt(m) / sigma
        assert signal_of(mu_of(1.0, 1e-3), 30, n_classes) == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("mechanism", ["gaussian", "active", "scores"])
def test_a_plan_warns_of_many_classes_in_few_records_with_what_would_do(
    mechanism, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "few.csv", 1000, 3, 26)
    common = ["dataset=csv", "dataset.target=target", f"mechanism={mechanism}"]
    assert main(["plan", *common, "dataset.path=few.csv", "eps=1"]) == 0
    said = capsys.readouterr().err
    assert "drowns what" in said
    records = int(re.search(r"needed: ([\d,]+) private records", said)[1].replace(",", ""))
    eps, most = float(re.search(r"eps=([\d.]+)", said)[1]), int(re.search(r"at most (\d+) classes", said)[1])
    assert main(["plan", *common, "dataset.path=few.csv", f"eps={eps}"]) == 0
    assert "drowns what" not in capsys.readouterr().err
    table(tmp_path / "many.csv", int(records / 0.8) + 1, 3, 26)
    delta = "delta=0.00125"
    assert main(["plan", *common, "dataset.path=many.csv", "eps=1", delta]) == 0
    assert "drowns what" not in capsys.readouterr().err
    table(tmp_path / "two.csv", 1000, 3, most)
    assert main(["plan", *common, "dataset.path=two.csv", "eps=1"]) == 0
    assert "drowns what" not in capsys.readouterr().err


def test_a_run_and_a_frontier_say_so_before_they_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "few.csv", 300, 3, 12)
    common = ["dataset=csv", "dataset.target=target", "dataset.path=few.csv"]
    assert main(["run", *common, "mechanism=scores", "eps=0.5"]) == 0
    assert "drowns what 20 teachers say of 12 classes" in capsys.readouterr().err
    argv = ["frontier", *common, "--methods", "scores", "--eps", "0.5", "--repeats", "1", "--no-limit"]
    main([each for each in argv if each != "--no-limit"])
    assert "drowns what 20 teachers say of 12 classes" in capsys.readouterr().err


def test_one_class_at_all_public_points_is_said_after_a_run_and_a_release(tmp_path, monkeypatch, capsys):
    """One record in twenty is of the second class; noise hides it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{'ab'[i % 20 == 0]}" for i in range(400)]
    (tmp_path / "rare.csv").write_text("\n".join(["x,target", *lines]) + "\n")
    common = ["dataset=csv", "dataset.target=target", "dataset.path=rare.csv", "mechanism=gaussian", "eps=2"]
    assert main(["run", *common, "split.public=0.1"]) == 0
    assert "the student gives one class to all public points" in capsys.readouterr().err
    assert "one_class" in next(tmp_path.glob("outputs/*/*/repeats.csv")).read_text()


def test_a_student_that_learned_something_is_not_said_to_give_one_class(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "dataset.n_records=4000", "mechanism=gaussian", "eps=4"]) == 0
    assert "one class" not in capsys.readouterr().err
