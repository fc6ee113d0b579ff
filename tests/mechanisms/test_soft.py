"""Soft labels: bins, the two tests, the arithmetic of the doubled cut-off, and an audit."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

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

OPTIONS = {"width": 0.25, "calibration": "tight", "cutoff": 3}


def setting(**change):
    learner = ("logistic", {})
    usual = Setting(1.0, 1e-3, 4000, 60, 20, 5, 2, 400, False, learner, learner, "drop")
    return replace(usual, **change)


def plan_soft(options, setting):
    return mechanisms.calibrate("soft", options, setting)


def noise(seed=0):
    return Door.seeded(seed)


def test_bins_are_those_of_the_paper():
    scores = np.array([[0.0], [0.1249], [0.125], [0.2499], [0.25], [0.3749], [0.875], [0.9], [1.0]])
    bins = ScoreBins.of(scores, 1, 4)
    assert bins.plain.tolist() == [[4, 2, 0, 3]]
    assert bins.shifted.tolist() == [[4, 0, 0]]  # 1/8 to 3/8; below 1/8 and from 7/8 on: left out
    middle, dist, shifted, shifted_dist = (float(v[0]) for v in bins.fullest())
    assert (middle, shifted) == (0.125, 0.25)
    assert (dist, shifted_dist) == (0, 1)


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


def test_noise_is_calibrated_for_twice_the_queries_and_twice_the_cutoff():
    plan = plan_soft(OPTIONS, setting())
    assert plan.tests.calibration == svt.calibrate("tight", 1.0, 1e-3, 120, 6)
    assert (plan.guarantee.eps, plan.guarantee.delta) == (1.0, 1e-3)
    assert (plan.describe()["cutoff"], plan.describe()["failed_tests"], plan.describe()["tests"]) == (
        3,
        6,
        120,
    )
    # by hand, threshold kept: 1/threshold_scale + 2 * 6/query_scale
    c = plan.tests.calibration
    assert not c.redraw
    assert 1 / c.threshold_scale + 12 / c.query_scale == pytest.approx(1.0)
    loose = plan_soft(
        OPTIONS | {"calibration": "liu2021", "cutoff": 1}, setting(n_teachers=9000)
    ).tests.calibration
    log2d = math.log(2 / 1e-3)
    lam = math.sqrt(4 * (1 + log2d)) + math.sqrt(4 * log2d)  # 2 T = 2, ell = 120
    assert (loose.threshold_scale, loose.threshold) == pytest.approx((lam, 3 * lam * math.log(244 / 1e-3)))


def test_first_the_plain_bin_then_the_shifted_one_then_bottom():
    plan = plan_soft(OPTIONS, setting())
    column = {
        "plain": np.full(400, 0.55),
        "shifted": np.repeat([0.48, 0.52], 200),
        "bottom": np.linspace(0, 1, 400),
    }
    kinds = ["plain", "shifted", "bottom", "plain", "shifted", "bottom", "plain", "bottom"]
    bins = ScoreBins.of(np.column_stack([column[kind] for kind in kinds]), 8, 4)
    session = SoftSession(plan.tests, noise())
    # failed tests: 0, 1, 3, 3, 4, 6 = 2 T, and no more is taken
    assert session.answer_all(bins) == [0.625, 0.5, None, 0.625, 0.5, None]
    assert session.answer_all(bins) == []
    assert SoftSession(None, noise()).answer_all(bins)[:3] == [0.625, 0.375, 0.125]


def test_a_first_test_that_spends_the_last_failure_is_answered_with_bottom():
    plan = plan_soft(OPTIONS | {"cutoff": 1}, setting())
    half = np.repeat([0.48, 0.52], 200)
    bins = ScoreBins.of(np.column_stack([half, half, half]), 3, 4)
    assert SoftSession(plan.tests, noise()).answer_all(bins) == [0.5, None]


@pytest.mark.parametrize(
    ("options", "change", "key"),
    [
        ({"width": 0.3}, {}, r"mechanism\.width: got 0\.3; accepted: 1 over a whole number"),
        ({"width": 1}, {}, r"mechanism\.width"),
        ({"width": "wide"}, {}, r"mechanism\.width"),
        ({"cutoff": 0}, {}, r"mechanism\.cutoff: got 0; accepted: auto, or a whole number >= 1"),
        ({"cutoff": 61}, {}, r"mechanism\.cutoff: got 61; accepted: auto, or a whole number from 1 to .* 60"),
        ({"calibration": "loose"}, {}, r"mechanism\.calibration: got 'loose'; accepted: tight"),
        ({}, {"n_classes": 3}, r"mechanism\.name: got 'soft'; .*3 classes"),
        ({}, {"teacher": ("linear_svm", {})}, r"teacher\.estimator: got 'linear_svm'; .*predict_proba"),
        ({}, {"student": ("libsvm", {})}, r"student\.estimator: got 'libsvm'; .*sample_weight"),
        ({"calibration": "bassily2018"}, {"eps": 100.0}, r"mechanism\.calibration: .*eps=100"),
    ],
)
def test_refuses_what_is_not_accepted(options, change, key):
    with pytest.raises(ConfigError, match=f"^{key}"):
        plan_soft(OPTIONS | options, setting(**change))


def test_refuses_too_few_teachers_and_says_how_many_would_do():
    with pytest.raises(
        InfeasibleError, match=r"cutoff=30 \(2 x 30 failed tests\).*mechanism\.cutoff=1$"
    ) as no:
        plan_soft(OPTIONS | {"cutoff": 30}, setting(n_teachers=150))
    enough = int(str(no.value).split("at least ")[1].split(" teachers")[0])
    assert plan_soft(OPTIONS | {"cutoff": 30}, setting(n_teachers=enough)).cutoff == 30
    assert plan_soft(OPTIONS | {"cutoff": 1}, setting(n_teachers=150)).cutoff == 1


def test_calibration_error_in_numbers():
    p = np.array([0.1, 0.1, 0.1, 0.1, 0.9, 0.9])
    assert calibration_error(p, np.array([0, 0, 0, 1, 1, 1])) == pytest.approx((4 * 0.15 + 2 * 0.1) / 6)
    assert calibration_error(np.array([0.0, 1.0]), np.array([0, 1])) == 0.0


def test_audit(monkeypatch):
    plan = plan_soft(OPTIONS, setting())
    for _, sample, _ in plan.attacks():
        assert sample(True, np.random.default_rng(0), 7).shape == (7, 60)

    def bound():
        found = audit(plan, plan.attacks(), runs=20_000, confidence=1 - 1e-6, seed=1)
        return max(finding.bound for finding in found)

    assert 0.0 < bound() < 1.0
    right = AboveThreshold.test

    def failures_not_counted(self, *given, **among):
        passed = right(self, *given, **among)
        self.below[:] = 0
        return passed

    monkeypatch.setattr(AboveThreshold, "test", failures_not_counted)
    assert bound() > 1.0


def test_through_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=12000", "split.public=50", "teacher.size=10", "hydra.run.dir=out"]
    assert main(["run", "mechanism=soft", "mechanism.width=0.5", *small]) == 0
    record = json.loads((tmp_path / "out/result.json").read_text())
    assert (record["mechanism"], record["n_teachers"], record["n_asked"]) == ("soft", 960, 50)
    assert record["eps"] == 1.0
    assert record["n_answered"] > 40
    assert record["accuracy"]["mean"] > 0.85
    assert 0 < record["diagnostics"]["brier"] < 0.25
    assert 0 < record["diagnostics"]["calibration_error"] < 0.5
    capsys.readouterr()
    assert main(["plan", "mechanism=soft", *small[:3]]) == 0
    assert "failed_tests" in capsys.readouterr().out


def test_unanswered_points_may_count_as_one_half(monkeypatch):
    seen = {}

    class Student:
        def fit(self, X, y, sample_weight):
            seen["rows"] = list(zip(X[:, 0].tolist(), y.tolist(), sample_weight.tolist(), strict=True))

        def predict(self, X):
            return np.zeros(len(X))

    monkeypatch.setattr(fitting, "make_student", lambda *args, **kwargs: Student())
    points, scores = np.array([2, 0, 1]), np.array([0.75, np.nan, 1.0])
    public, rng = PublicPoints(np.array([[0.0], [1.0], [2.0]])), np.random.default_rng(0)
    soft.fit_on_scores(setting(unanswered="random"), public, points, scores, rng)
    assert sorted(seen["rows"]) == [(0, 0, 0.5), (0, 1, 0.5), (1, 1, 1), (2, 0, 0.25), (2, 1, 0.75)]
