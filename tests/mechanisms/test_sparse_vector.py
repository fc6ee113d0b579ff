"""Calibrations of the sparse vector technique: refusals, T, and the unanswered queries announced."""

import dataclasses
import math
import re

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.sparse_vector import auto_cutoff, can_answer, fewest_teachers, stable_labels
from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import calibrate, discrete_calibration
from pate_cli.types import Setting, Votes


def setting(**change):
    learner = ("logistic", {})
    usual = Setting(2.0, 1e-5, 100_000, 100, 30, 2, 2, 7, False, learner, learner, "drop")
    return dataclasses.replace(usual, **change)


@pytest.mark.parametrize("K", [65, 250])
def test_a_refusal_says_what_would_do(K):
    def made(eps=0.5, K=K, cutoff=20, **more):
        return stable_labels(eps, 1 / 6499, 163, K, rule="tight", cutoff=cutoff, **more)

    with pytest.raises(InfeasibleError, match=f"cannot answer with {K} teachers") as refused:
        made()
    ways = str(refused.value).split("would do")[1]
    found = re.findall(r"(teacher.count|mechanism.cutoff|eps)=([\d.]*\d)", ways)
    assert [name for name, _ in found] == ["teacher.count", *["mechanism.cutoff"] * (K == 250), "eps"]
    keys = {"teacher.count": "K", "mechanism.cutoff": "cutoff", "eps": "eps"}
    for name, value in found:
        made(**{keys[name]: float(value) if name == "eps" else int(value)})
    with pytest.raises(InfeasibleError):  # the advice is not idle
        made(K=int(found[0][1]) - 1)
    with pytest.raises(InfeasibleError, match="there are 80 private records"):
        made(K=65, n_records=80)
    with pytest.raises(ConfigError, match="at most the number of queries, 163"):
        made(cutoff=164)


def test_published_calibrations_need_many_more_teachers():
    with pytest.raises(InfeasibleError, match="liu2021"):
        stable_labels(1.0, 1 / 39073, 977, 390, rule="liu2021", cutoff=1)
    stable_labels(1.0, 1 / 39073, 977, 390, rule="tight", cutoff=1)


def test_auto_cutoff_grows_with_teachers_and_stays_feasible():
    # the small margins count where there are very many teachers
    assert auto_cutoff(1.0, 1e-6, 400, 10_000, "tight") > 1
    chosen = [auto_cutoff(1.0, 1e-5, 400, k, "tight") for k in (100, 300, 1000, 3000)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1] <= 400
    for k, cutoff in zip((100, 300, 1000, 3000), chosen, strict=True):
        stable_labels(1.0, 1e-5, 400, k, rule="tight", cutoff=cutoff)


@pytest.mark.parametrize(("eps", "cutoff"), [(0.5, 1), (3.0, 40)])
def test_the_fewest_teachers_are_the_fewest(eps, cutoff):
    continuous = calibrate("tight", eps, 1e-4, 163, cutoff)
    for c in (continuous, discrete_calibration(continuous)):
        assert can_answer(c, fewest_teachers(c))
        assert not can_answer(c, fewest_teachers(c) - 1)


@pytest.mark.parametrize(("cutoff", "rule", "redraw"), [(1, "tight", False), (12, "liu2021", True)])
def test_unanswered_queries_are_as_many_as_announced(cutoff, rule, redraw):
    """Unanimous votes are unanswered at most as often as announced, votes of the lead every other time.

    Each of 4,000 runs is a draw from [0, cutoff], so a mean over its expectation by more than 0.07 cutoffs
    has a chance below exp(-2 * 4000 * 0.07^2) = 1e-17, and a share off by 0.05 of 4e-9; the seed is fixed.
    """
    K = {"tight": 99, "liu2021": 4601}[rule]
    plan = stable_labels(1.0, 1e-5, 40, K, rule=rule, cutoff=cutoff)
    assert plan.calibration.redraw is redraw
    announced, expected = plan.unanswered(), 40 * plan.calibration.p_unstable(max_distance(K))
    assert f" It stops after {cutoff} point" in announced
    found = answers_of(plan, K, K)
    unanswered = ((found.labels < 0) & found.reached).sum(axis=0)
    assert unanswered.mean() < expected + 0.07 * cutoff
    for used in (plan, plan.with_exact_noise()):
        lead = int(used.unanswered().partition("a lead of ")[2].partition(" of ")[0].replace(",", ""))
        shares = [(answers_of(used, K, lead - less).labels[0] >= 0).mean() for less in (0, 2)]
        assert shares[0] > 0.45
        assert shares[1] < 0.55


def answers_of(plan, K, lead):
    """Answers of 4,000 runs to 40 votes with a lead."""
    votes = Votes(np.tile([(K - lead) // 2, K - (K - lead) // 2], (40, 1)), K)
    return plan.session(Door.seeded(7), 4000).ask(votes)


def test_the_check_of_gnmax_lets_a_unanimous_query_pass_as_often_as_announced():
    """4,000 runs: a share off by 0.05 has a chance of 4e-9."""
    given = setting(eps=0.3, n_private=1000, n_public=40, budget=40, n_teachers=60)
    plan = mechanisms.calibrate("gnmax", {"confidence": 0.8, "checks": 0.5}, given)
    announced = plan.unanswered()
    assert "at most 40 of 40 queries are answered (split.budget)" in announced
    share = float(announced.partition("with probability ")[2].partition(",")[0])
    assert 0.5 < share < 0.95
    assert (answers_of(plan, 60, 60).labels >= 0).mean() == pytest.approx(share, abs=0.05)


def test_t_and_k_as_btt18_prints_them():
    """Theorem 3.2 and Algorithm 2, line 1, at gamma + alpha = 1/4, m = 100, ln(2/delta) = 4, beta = 1/3."""
    options = {"calibration": "bassily2018", "cutoff": "paper", "alpha": 0.15, "gamma": 0.1, "beta": 1 / 3}
    given = setting(delta=2 / math.e**4)
    plan = mechanisms.calibrate("svt", options, given)
    c = plan.calibration
    assert math.ceil(3 * (25 + math.sqrt(12.5 * math.log(300)))) == 101  # with the square root: at most m
    assert (c.rule, c.cutoff, c.threshold_scale) == ("bassily2018", 100, math.sqrt(3200 * 4) / 2)
    assert plan.n_teachers == math.ceil(34 * math.sqrt(2) * c.threshold_scale * math.log(20_000 * math.e**4))
    # where two thirds agree the distance of sensitivity 1 passes too, in all queries but for beta
    assert 100 * c.p_unstable(plan.n_teachers / 6 - 1) < 1e-3 < 1 / 3
    few = dataclasses.replace(given, n_private=plan.n_teachers - 1)
    with pytest.raises(InfeasibleError, match=f"asks for {plan.n_teachers:,} teachers at eps=2, .* eps=2.01"):
        mechanisms.calibrate("svt", options, few)
    mechanisms.calibrate("svt", options, dataclasses.replace(few, eps=2.01))
    with pytest.raises(ConfigError, match=r"got 'paper'; .*paper with mechanism.calibration=bassily2018"):
        mechanisms.calibrate("svt", {"cutoff": "paper"}, given)


def test_a_release_is_feasible_by_the_chances_of_its_own_noise():
    """Real noise at the integer threshold would do with 43 teachers, where integers answer less than half."""
    few = stable_labels(1.0, 1e-5, 20, 43, rule="tight", cutoff=1)
    c = discrete_calibration(few.calibration)
    assert dataclasses.replace(c, integers=False).p_unstable(21) <= 0.5 < c.p_unstable(21)
    with pytest.raises(InfeasibleError, match="at least 45 teachers"):
        few.with_exact_noise()
    more = dataclasses.replace(few, n_teachers=45).with_exact_noise()
    assert more.calibration.p_unstable(22) <= 0.5
    assert "integer" in more.guarantee.how
