"""Soft labels: bins, the two tests, the arithmetic of the doubled cut-off, and an audit."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import mechanisms
from pate_cli.audit import audit
from pate_cli.cli import main
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms import soft
from pate_cli.mechanisms.soft import ScoreBins, SoftSession
from pate_cli.privacy import svt
from pate_cli.privacy.above_threshold import AboveThreshold
from pate_cli.privacy.door import Door
from pate_cli.students import fit as fitting
from pate_cli.students.metrics import calibration_error
from pate_cli.types import PublicPoints, Setting


def setting(**change):
    learner = ("logistic", {})
    usual = Setting(1.0, 1e-3, 4000, 60, 20, 5, 2, 400, False, learner, learner, "drop")
    return replace(usual, **change)


def calibrate(options=None, **change):
    given = {"width": 0.25, "cutoff": 3} | (options or {})
    return mechanisms.calibrate("soft", given, setting(**change))


def test_bins_are_those_of_the_paper():
    scores = np.array([[0.0], [0.1249], [0.125], [0.2499], [0.25], [0.3749], [0.875], [0.9], [1.0]])
    bins = ScoreBins.of(scores, 1, 4)
    assert bins.plain.tolist() == [[4, 2, 0, 3]]
    assert bins.shifted.tolist() == [[4, 0, 0]]  # 1/8 to 3/8; below 1/8 and from 7/8 on: left out
    assert [float(v[0]) for v in bins.fullest()] == [0.125, 0, 0.25, 1]


def test_one_changed_score_moves_a_distance_by_one_and_a_changed_answer_has_distance_zero():
    """Brute force over all scores of four teachers on a grid, and all changes of one of them."""
    grid = [0.05, 0.3, 0.45, 0.7, 0.95]
    found = {
        scores: ScoreBins.of(np.array(scores)[:, None], 1, 2).fullest()
        for scores in itertools.product(grid, repeat=4)
    }
    for scores, here in found.items():
        for k, other in itertools.product(range(4), grid):
            there = found[(*scores[:k], other, *scores[k + 1 :])]
            for value, dist in ((0, 1), (2, 3)):
                assert abs(here[dist][0] - there[dist][0]) <= 1
                assert here[value][0] == there[value][0] or here[dist][0] == there[dist][0] == 0


@pytest.mark.parametrize(("rule", "cutoff", "K"), [("tight", 3, 400), ("liu2021", 1, 9000)])
def test_noise_is_calibrated_for_twice_the_queries_and_twice_the_cutoff(rule, cutoff, K):
    plan = calibrate({"calibration": rule, "cutoff": cutoff}, n_teachers=K)
    assert plan.tests == svt.calibrate(rule, 1.0, 1e-3, 120, 2 * cutoff)
    assert (plan.guarantee.eps, plan.guarantee.delta) == (1.0, 1e-3)
    shown = plan.describe()
    assert (shown["cutoff"], shown["failed_tests"], shown["tests"]) == (cutoff, 2 * cutoff, 120)


def test_first_the_plain_bin_then_the_shifted_one_then_bottom():
    column = {
        "plain": np.full(400, 0.55),
        "shifted": np.repeat([0.48, 0.52], 200),
        "bottom": np.linspace(0, 1, 400),
    }

    def answers(kinds, tests):
        bins = ScoreBins.of(np.column_stack([column[kind] for kind in kinds]), len(kinds), 4)
        return SoftSession(tests, Door.seeded(0)).answer_all(bins)

    kinds = ["plain", "shifted", "bottom", "plain", "shifted", "bottom", "plain", "bottom"]
    # failed tests: 0, 1, 3, 3, 4, 6 = 2 T, and no more is taken
    assert answers(kinds, calibrate().tests) == [0.625, 0.5, None, 0.625, 0.5, None]
    assert answers(kinds, None)[:3] == [0.625, 0.375, 0.125]
    # a first test that spends the last failure: bottom
    assert answers(["shifted"] * 3, calibrate({"cutoff": 1}).tests) == [0.5, None]


@pytest.mark.parametrize(
    ("options", "change", "key"),
    [
        ({"width": 0.3}, {}, r"mechanism\.width: got 0\.3; accepted: 1 over a whole number"),
        (
            {"coarse": 0.25},
            {},
            r"mechanism\.coarse: got 0\.25; accepted: null, or a width above .*width=0\.25",
        ),
        ({"cutoff": 61}, {}, r"mechanism\.cutoff: got 61; accepted: auto, or a whole number from 1 to .* 60"),
        ({}, {"n_classes": 3}, r"mechanism\.name: got 'soft'; .*3 classes"),
        ({}, {"teacher": ("linear_svm", {})}, r"teacher\.estimator: got 'linear_svm'; .*predict_proba"),
        ({}, {"student": ("libsvm", {})}, r"student\.estimator: got 'libsvm'; .*sample_weight"),
        ({"calibration": "bassily2018"}, {"eps": 100.0}, r"mechanism\.calibration: .*eps=100"),
    ],
)
def test_refuses_what_is_not_accepted(options, change, key):
    with pytest.raises(ConfigError, match=f"^{key}"):
        calibrate(options, **change)


def test_refuses_too_few_teachers_and_says_how_many_would_do():
    with pytest.raises(
        InfeasibleError, match=r"cutoff=30 \(2 x 30 failed tests\).*mechanism\.cutoff=1$"
    ) as no:
        calibrate({"cutoff": 30}, n_teachers=150)
    enough = int(str(no.value).split("at least ")[1].split(" teachers")[0])
    assert calibrate({"cutoff": 30}, n_teachers=enough).cutoff == 30
    assert calibrate({"cutoff": 1}, n_teachers=150).cutoff == 1


def test_calibration_error_in_numbers():
    p = np.array([0.1, 0.1, 0.1, 0.1, 0.9, 0.9])
    assert calibration_error(p, np.array([0, 0, 0, 1, 1, 1])) == pytest.approx((4 * 0.15 + 2 * 0.1) / 6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_bins_are_coarse_beside_unanswered_points(form):
    X = form(np.array([[0.0], [9.0], [0.1], [8.0], [0.2], [7.0]]))
    asked = []

    class Session:
        def answer_all(self, bins):
            asked.append(bins.plain.shape[1])
            return [None if len(asked) == 2 else 0.5]

    plan = calibrate({"width": 0.1, "coarse": 0.5})
    released = plan.scores(Session(), [SimpleNamespace(scores=lambda X: np.full(X.shape[0], 0.3))], X)
    # 9 goes unanswered: coarse next to it, and next to 8, which was coarse
    assert asked == [10, 10, 10, 2, 10, 2]
    assert released == [0.5, None, 0.5, 0.5, 0.5, 0.5]


def test_audit(monkeypatch):
    plan = calibrate()

    def bound():
        found = audit(plan, plan.attacks(), runs=6_000, confidence=1 - 1e-6, seed=1)
        return max(finding.bound for finding in found)

    assert 0.0 < bound() < 1.0
    right = AboveThreshold.test

    def failures_not_counted(self, *given, **among):
        passed = right(self, *given, **among)
        self.below[:] = 0
        return passed

    monkeypatch.setattr(AboveThreshold, "test", failures_not_counted)
    assert bound() > 1.0


def test_through_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=12000", "split.public=50", "teacher.size=10", "hydra.run.dir=out"]
    assert main(["run", "mechanism=soft", "mechanism.width=0.5", *small]) == 0
    record = json.loads((tmp_path / "out/result.json").read_text())
    assert (record["mechanism"], record["n_teachers"], record["n_asked"]) == ("soft", 960, 50)
    assert record["n_answered"] > 40
    assert record["accuracy"]["mean"] > 0.85
    assert 0 < record["diagnostics"]["brier"] < 0.25
    assert 0 < record["diagnostics"]["calibration_error"] < 0.5


def test_unanswered_points_may_count_as_one_half(monkeypatch):
    seen = {}

    class Student:
        def fit(self, X, y, sample_weight):
            seen["rows"] = list(zip(X[:, 0].tolist(), y.tolist(), sample_weight.tolist(), strict=True))

        def predict(self, X):
            return np.zeros(len(X))

    monkeypatch.setattr(fitting, "make_student", lambda *args, **kwargs: Student())
    points, scores = np.array([2, 0, 1]), np.array([0.75, math.nan, 1.0])
    public, rng = PublicPoints(np.array([[0.0], [1.0], [2.0]])), np.random.default_rng(0)
    soft.fit_on_scores(setting(unanswered="random"), public, points, scores, rng)
    assert sorted(seen["rows"]) == [(0, 0, 0.5), (0, 1, 0.5), (1, 1, 1), (2, 0, 0.25), (2, 1, 0.75)]
