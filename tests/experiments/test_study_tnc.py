"""Thresholds under TNC: risks by integration, ERM by brute force, K, m, T by the theorems, slopes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pate_cli.experiments.common import thresholds, tnc
from pate_cli.experiments.common.thresholds import Family
from pate_cli.experiments.common.tnc import Privacy, design
from pate_cli.experiments.common.tools import fit_slope
from scipy.integrate import quad

from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.studies import load_study
from pate_cli.errors import ConfigError
from pate_cli.results.interval import Interval, mean_ci

run_once = load_study(find_recipe("tnc-rates")).run_once
PRIVACY = Privacy(eps=2.0, delta=1e-7, failure=0.05, calibration="tight")


@pytest.mark.parametrize("tau", [1.0, 0.3])
@pytest.mark.parametrize("t", [-0.8, -0.05, 0.3, 1.0])
def test_excess_is_the_integral(tau, t):
    family = Family(tau, 0.3, 0.9)
    # x has density 1/2; h_t differs from h_0 between 0 and t, and pays |2r - 1| there
    low, high = sorted((0.0, t))
    cost, _ = quad(lambda x: abs(float(family.advantage(np.array([x]))[0])) / 2, low, high)
    assert float(family.excess(t)) == pytest.approx(cost, rel=1e-6)
    assert float(family.disagreement(t)) == pytest.approx(abs(t) / 2)


@pytest.mark.parametrize("tau", [0.75, 0.5])
def test_tnc_holds_with_this_tau(tau):
    family = Family(tau, 0.3, 0.9)
    t = np.concatenate([-np.geomspace(1e-6, 1, 50), np.geomspace(1e-6, 1, 50)])
    ratio = family.disagreement(t) / family.excess(t) ** tau  # eta of Lemma 9
    assert ratio.max() == pytest.approx(0.5 * (2 / (0.3 * tau)) ** tau)
    assert (family.disagreement(t) / family.excess(t) ** (tau + 0.05)).max() > 1.5 * ratio.max()
    # Definition 8, for |2r - 1|
    x = np.linspace(-1, 1, 200_001)
    for u in (1e-3, 1e-2, 0.1):
        share = np.mean(np.abs(family.advantage(x)) <= u)
        assert share <= (u / 0.3) ** (tau / (1 - tau)) * 1.01 + 1e-4


def test_labels_follow_the_family():
    # one record a teacher: the cut is left of it where y = 1, right of it where y = 0
    family = Family(0.5, 0.4, 0.8)
    cuts = thresholds.train(family, 40_000, 1, np.random.default_rng(0))
    assert np.all(np.abs(cuts) <= 1)
    # y = 1 gives (x - 1)/2 in [-1, 0], y = 0 gives (x + 1)/2; P(y = 1) = 1/2 + (0.8 - 0.4)/8
    assert np.mean(cuts < 0) == pytest.approx(0.55, abs=0.01)


def brute_force(x, y):
    """Least number of errors over every threshold, and the cuts that reach it."""
    cuts = np.concatenate([[-1.0], x, [1.0]])
    middles = (cuts[:-1] + cuts[1:]) / 2
    errors = [np.count_nonzero((x >= t) != y) for t in middles]
    return [t for t, e in zip(middles, errors, strict=True) if e == min(errors)]


def test_erm_is_the_brute_force_minimum():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(-1, 1, (300, 9)), axis=1)
    y = rng.random((300, 9)) < 0.5
    found = thresholds.erm(x, y)
    for i in range(300):
        best = brute_force(x[i], y[i])
        assert found[i] == pytest.approx(best[-1 if i % 2 else 0])


def test_votes_and_their_threshold():
    trained = np.array([0.5, -0.2, 0.1, 0.3, -0.9])
    x = np.array([-1.0, -0.2, 0.0, 0.1, 0.9])
    votes = thresholds.votes(trained, x)
    assert votes.counts[:, 1].tolist() == [int(np.sum(point >= trained)) for point in x]
    assert votes.counts.sum(axis=1).tolist() == [5] * 5
    for some in (trained, trained[:4]):
        t = thresholds.vote_threshold(some)
        grid = np.linspace(-1, 1, 2001)
        counts = thresholds.votes(some, grid).counts[:, 1]
        assert np.array_equal(2 * counts >= len(some), grid >= t)


def test_gaussian_design_is_theorem_28():
    at = design("gaussian", 0.75, 10**6, PRIVACY, 4, 1.6)
    log = math.log(1e7)
    root = math.sqrt(at.points * log) + math.sqrt(at.points * log + 2.0 * at.points)
    printed = 6 * math.sqrt(math.log(2e6)) * root / 2.0
    assert at.n_teachers == math.ceil(printed)
    assert at.size == 10**6 // at.n_teachers
    assert at.points == pytest.approx(4 * (10**6 / at.n_teachers) ** 0.6, rel=0.02)


def test_svt_design_answers_where_two_thirds_agree():
    at = design("svt", 0.5, 10**6, PRIVACY, 8, 0.72)
    calibration = at.mechanism.calibration
    assert calibration.cutoff == math.ceil(3 * 8 * 0.72)
    agreed = math.ceil(2 * at.n_teachers / 3)
    dist = math.ceil((2 * agreed - at.n_teachers) / 2) - 1
    assert calibration.p_unstable(dist) <= 0.05 / at.points * 1.001
    assert calibration.p_unstable(dist - 5) > 0.05 / at.points  # and no more teachers than that
    assert at.points == pytest.approx(8 * (10**6 / at.n_teachers) ** (1 / 3), rel=0.02)


def test_too_few_records_are_refused():
    with pytest.raises(ConfigError, match=r"params\.n: got 100; accepted: at least \d+ records"):
        design("svt", 1.0, 100, PRIVACY, 2, 5.5)


@pytest.mark.parametrize("mechanism", ["gaussian", "svt"])
def test_one_run_learns(mechanism):
    family = Family(0.75, 0.3, 0.9)
    at = design(mechanism, 0.75, 200_000, PRIVACY, 4, 1.6)
    runs = [run_once(family, at, seed) for seed in np.random.SeedSequence(0).spawn(12)]
    teacher, vote, student, excess = np.mean([measured for measured, _ in runs], axis=0)
    assert 0 < excess < student < teacher < 0.2
    assert vote < teacher
    assert np.mean([answered for _, answered in runs]) > 0.9


def test_slope_of_a_power_law():
    n = np.geomspace(1e3, 1e6, 7)
    exact = fit_slope(n, 5 * n**-0.4, 0.1 * n**-0.4, 50)
    assert exact.mean == pytest.approx(-0.4)
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(400):
        found = [mean_ci(size**-0.4 * (1 + 0.2 * rng.standard_normal(50))) for size in n]
        slope = fit_slope(n, *np.array(found).T, 50)
        misses += not slope.low <= -0.4 <= slope.high
    assert 6 <= misses <= 40  # 5% of 400 is 20


@pytest.mark.parametrize(
    ("value", "half_width", "word"),
    [
        (-0.50, 0.01, "matched"),
        (-0.52, 0.03, "matched"),
        (-0.53, 0.01, "close"),
        (-0.47, 0.01, "close"),
        (-0.60, 0.01, "faster"),
        (-0.40, 0.01, "slower"),
        (-0.50, 0.2, "not resolved"),
        (-0.50, math.nan, "not resolved"),
    ],
)
def test_judging_a_slope(value, half_width, word):
    assert tnc.judge(Interval(value, half_width, 50), -0.5) == word
