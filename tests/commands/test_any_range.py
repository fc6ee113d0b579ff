"""Ten classes: mechanisms on votes on real digits."""

from __future__ import annotations

import json
import math

import pytest

from pate_cli.cli import main
from pate_cli.privacy import gaussian, svt

DIGITS = ["dataset=digits", "split.public=100", "teacher=tree", "student=tree"]  # trees are quick here


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        assert main(["run", *DIGITS, *argv, "hydra.run.dir=out"]) == 0, capsys.readouterr().err
        return json.loads((tmp_path / "out/result.json").read_text())

    return call


def test_gaussian_noise_is_for_a_histogram(run):
    record = run("mechanism=gaussian", "eps=8")
    sizes, plan = record["sizes"], record["plan"]
    assert (sizes["n_private"], sizes["n_classes"], record["n_teachers"]) == (1437, 10, 95)
    assert plan["sensitivity"] == math.sqrt(2)  # one vote leaves a class and joins another
    assert plan["sigma"] == gaussian.calibrate_sigma(8.0, 1 / 1437, 100, math.sqrt(2))
    assert plan["sigma"] / math.sqrt(2) == pytest.approx(gaussian.calibrate_sigma(8.0, 1 / 1437, 100, 1.0))
    # trees of 15 records are weak; chance is 0.1
    assert record["diagnostics"]["label_accuracy"] > 0.5
    assert record["n_answered"] == 100


def test_svt_labels_the_stable_ones_well(run):
    record = run("mechanism=svt", "eps=8", "mechanism.cutoff=15", "teacher=logistic", "teacher.size=12")
    assert record["plan"] | {"protects": "", "integers": False} == {
        "protects": "",
        **vars(svt.calibrate("tight", 8.0, 1 / 1437, 100, 15)),
    }
    assert 10 < record["n_answered"] < record["n_asked"] <= 100
    assert record["n_asked"] - record["n_answered"] == 15
    assert record["diagnostics"]["label_accuracy"] > 0.9


def test_active_learner_asks_among_ten_classes(run):
    record = run("mechanism=active", "eps=8", "split.budget=40", "teacher.size=30")
    assert 10 < record["n_asked"] <= 40
    assert record["plan"]["sensitivity"] == math.sqrt(2)
