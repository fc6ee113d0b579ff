"""More than two classes: both mechanisms on real digits, through the command line, and attacked."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from pate_cli.cli import main
from pate_cli.mechanisms.votes import distance_to_instability
from pate_cli.privacy import gaussian, svt

DIGITS = [
    "dataset=digits",
    "split.public=100",
    "teacher=tree",
    "student=tree",
]  # trees are quick with ten classes


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
    assert record["plan"] | {"protects": ""} == {
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


def test_distance_moves_by_at_most_one_with_one_vote_of_ten_classes():
    """Brute force: votes that real plans see, one vote moved in every way."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = rng.multinomial(15, rng.dirichlet(np.full(10, 0.3)))
        moved = [
            counts + np.eye(10, dtype=int)[b] - np.eye(10, dtype=int)[a]
            for a in range(10)
            for b in range(10)
            if counts[a] and a != b
        ]
        here, there = distance_to_instability(counts[None]), distance_to_instability(np.array(moved))
        assert np.abs(there - here).max() <= 1


@pytest.mark.parametrize("mechanism", ["gaussian", "svt"])
def test_no_attack_on_ten_classes_succeeds(capsys, mechanism):
    argv = ["--classes", "10", "--runs", "20000", "--queries", "10", f"mechanism={mechanism}", "eps=1"]
    assert main(["audit", *argv]) == 0
    assert "no violation found" in capsys.readouterr().out


def test_the_audit_sees_too_little_noise_on_ten_classes(monkeypatch, capsys):
    from pate_cli.mechanisms import gaussian

    monkeypatch.setattr(gaussian, "l2_sensitivity", lambda n_classes: 0.4)
    argv = ["--classes", "10", "--runs", "20000", "--queries", "10", "mechanism=gaussian", "eps=1"]
    assert main(["audit", *argv]) == 1
    capsys.readouterr()
