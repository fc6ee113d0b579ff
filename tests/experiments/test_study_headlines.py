"""The headline theorems' studies: their exact parts by a second way, and small runs of their recipes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from pate_cli.experiments.common.thresholds import Family
from pate_cli.experiments.common.tnc import Privacy
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, norm

from pate_cli.cli import main
from pate_cli.engine.recipes import find_recipe
from pate_cli.engine.studies import load_study
from pate_cli.errors import ConfigError
from pate_cli.privacy import svt

active_rates, expected_scores, fresh_queries, high_margin, queries_answered = (
    load_study(find_recipe(name))
    for name in ("active-rates", "expected-scores", "fresh-queries", "high-margin", "queries-answered")
)


# -- records against queries ----------------------------------------------------------------


@pytest.mark.parametrize(("size", "mass", "gamma"), [(3, 0.4, 0.0), (4, 0.5, 0.2), (7, 0.3, 0.1)])
def test_who_knows_the_target_by_counting(size, mass, gamma):
    """Sum over how many of s records are at the target with label 1, how many with label 0."""
    total = 0.0
    for one in range(size + 1):
        for zero in range(size + 1 - one):
            ways = math.comb(size, one) * math.comb(size - one, zero)
            p = (mass * (1 - gamma)) ** one * (mass * gamma) ** zero * (1 - mass) ** (size - one - zero)
            total += ways * p * (one - zero >= (1 if gamma == 0 else 2))
    assert queries_answered.knows_target(size, mass, gamma) == pytest.approx(total)


# -- private prediction on fresh queries ----------------------------------------------------


@pytest.mark.parametrize("tau", [1.0, 0.4])
def test_error_of_an_answer_is_the_integral(tau):
    family, trained, eps = Family(tau, 0.3, 0.9), np.array([-0.4, -0.1, 0.05, 0.3, 2.0]), 0.7
    ends = [-1.0, *np.clip(trained, -1, 1), 1.0, 0.0]

    def wrong(x):
        ones = np.count_nonzero(x >= trained)
        one = expit(eps * (2 * ones - 5) / 2)
        return one if x < 0 else 1 - one

    def cost(x):
        return wrong(x) * abs(float(family.advantage(np.array([x]))[0])) / 2

    excess = quad(cost, -1, 1, points=ends, limit=200)[0]
    differs = quad(lambda x: wrong(x) / 2, -1, 1, points=ends, limit=200)[0]
    found = fresh_queries.error_of(family, np.clip(trained, -1, 1), eps)
    assert found == pytest.approx((excess, differs), rel=1e-6)


@pytest.mark.parametrize(("size", "K", "eps"), [(20, 9, 1.0), (200, 27, 0.5)])
def test_closed_form_of_clean_teachers(size, K, eps):
    def wrong(x):
        counts = np.arange(K + 1)
        return binom.pmf(counts, K, 1 - (1 - x) ** size / 2) @ expit(-eps * (2 * counts - K) / 2)

    exact = quad(wrong, 0, 1, limit=200, points=[1 / size, 5 / size])[0]
    assert fresh_queries.exact_error(size, K, eps) == pytest.approx(exact, rel=2e-3)


def test_too_few_records_for_lemma_4_1_are_refused(quick):
    with pytest.raises(ConfigError, match=r"params\.n: got 2000; accepted: more records"):
        quick("fresh-queries", n=[2000, 8000])


# -- active against passive -----------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.0, 1.5])
def test_error_of_the_best_threshold_on_the_labels_given(sigma):
    trained = np.array([-0.5, -0.1, 0.0, 0.2, 0.6, 0.7])
    x = (np.arange(200_000) + 0.5) / 100_000 - 1
    margin = np.searchsorted(trained, x, side="right") - 3
    one = norm.cdf(margin / sigma) if sigma else (margin >= 0).astype(float)
    wrong = np.where(x < 0, one, 1 - one).mean()
    assert active_rates.best_error(trained, sigma) == pytest.approx(wrong, abs=2e-5)


@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_sizes_of_theorem_22(tau):
    at = active_rates.active_design(tau, 10**6, Privacy(2.0, 1e-7, 0.05, "liu2021"), 1.5, 8.0)
    ell, inverse = at.labels, math.log(1e7)
    root = math.sqrt(ell * inverse) + math.sqrt(ell * inverse + 2.0 * ell)
    assert at.n_teachers == math.ceil(6 * math.sqrt(math.log(2e6)) * root / 2.0)
    goal = (at.n_teachers / 10**6) ** (tau / (2 - tau))
    spread = math.log(1 / goal)
    wanted = 1.5 * 2 * (1 + spread) * (math.log(2) + math.log(max(math.e, spread) / 0.025))
    assert wanted <= ell < wanted + 1
    assert at.points == math.ceil(8.0 / goal)
    assert at.mechanism.rule == "liu2021"


# -- teachers of one mind -------------------------------------------------------------------


@pytest.mark.parametrize("name", high_margin.STEPS)
def test_how_far_a_step_is_from_the_vote_in_the_limit(name):
    """Where the vote turns is found by roots, and the shares between by the normal law."""
    instance = high_margin.Instance(name, 100)
    turns = {"one step": [0.0], "three steps": [-1.0, 0.0, 1.0]}[name]
    near = [brentq(lambda x: float(instance.p(np.array([x]))[0]) - 0.5, t - 0.4, t + 0.4) for t in turns]
    ends = [-np.inf, *near, np.inf]
    for sign, t in ((1, -0.7), (1, 0.4), (-1, 0.1), (-1, 1.3)):
        off = 0.0
        for i, (low, high) in enumerate(itertools.pairwise(ends)):
            ones = (min(low, t), min(high, t)) if sign < 0 else (max(low, t), max(high, t))
            said = norm.cdf(ones[1]) - norm.cdf(ones[0])
            off += norm.cdf(high) - norm.cdf(low) - said if i % 2 else said
        assert instance.disagreement(sign, t) == pytest.approx(off, abs=2e-5)
    steps = [instance.disagreement(sign, t) for sign in (1, -1) for t in np.linspace(-2, 2, 4001)]
    assert instance.least == pytest.approx(min(steps), abs=1e-3)
    assert instance.least <= min(steps)


def test_the_best_step_by_trying_all():
    rng = np.random.default_rng(1)
    for m in (1, 2, 7, 7, 7, 20):
        x, labels = rng.standard_normal(m), rng.integers(2, size=m)
        sign, t = high_margin.best_step(x, labels)
        tried = [np.sum((s * x > s * c) != labels) for s in (1, -1) for c in [-9.0, *x, *(x - 1e-9), 9.0]]
        assert np.sum((sign * x > sign * t) != labels) == min(tried)


def test_a_margin_for_each_instance_or_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "high-margin", "--quick", "xi=[0.25]"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("pate: params.xi: got [")
    assert said.endswith("accepted: a number for each of instances, of which there are 2")


def test_too_few_teachers_fail():
    """As many as Proposition 18 asks for hold in every run, a tenth of them in none."""
    p = {"eps": 1.0, "delta": 1e-6, "beta": 0.05}
    case = high_margin._Case.of(high_margin.Instance("one step", 100), 200, 0.25, p)
    plan = high_margin.SparseVector(svt.calibrate("liu2021", 1.0, 1e-6, 200, case.cutoff), ell=200)
    seeds = np.random.SeedSequence(2).spawn(10)
    assert all(high_margin._once(case, plan, case.teachers["printed"], seed).held for seed in seeds)
    assert not any(high_margin._once(case, plan, case.teachers["printed"] // 10, seed).held for seed in seeds)


# -- expected scores ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "failures"),
    [
        ([0.1, 0.5, 0.9], (0, 0, 0)),
        ([0.1, 0.5, math.nan], (0, 1, 1)),  # unanswered
        ([0.3, 0.5, 0.9], (0, 1, 1)),  # of weak quality, and from an inner bin, more than w off
        ([0.1, 0.72, 0.9], (0, 0, 1)),
    ],
)
def test_what_fails_which_statement(scores, failures):
    """Queries with E h(x) = 0.05, 0.5 and 0.95, bins of 0.2; all teachers near."""
    expected, steady = np.array([0.05, 0.5, 0.95]), np.zeros(3)
    found = expected_scores._Run(expected, expected, steady, np.ones(3), np.array(scores))
    assert expected_scores._failures([found], 0.2) == failures
    far = expected_scores._Run(expected, expected, steady, np.full(3, 0.6), np.array(scores))
    assert expected_scores._failures([far], 0.2) == (1, *failures[1:])
    unsteady = expected_scores._Run(expected, expected, np.ones(3), np.full(3, 0.6), np.array(scores))
    assert expected_scores._failures([unsteady], 0.2) == failures
