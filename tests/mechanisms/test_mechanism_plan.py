import dataclasses
import math
import re

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms import gnmax
from pate_cli.mechanisms.sparse_vector import auto_cutoff, can_answer, fewest_teachers, stable_labels
from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy.door import Door
from pate_cli.privacy.svt import calibrate, discrete_calibration
from pate_cli.types import Setting, Votes


@pytest.mark.parametrize("K", [65, 250])
def test_a_refusal_says_what_would_do(K):
    with pytest.raises(InfeasibleError, match=f"cannot answer with {K} teachers") as refused:
        stable_labels(0.5, 1 / 6499, 163, K, rule="tight", cutoff=20)
    found = re.findall(
        r"(teacher.count|mechanism.cutoff|eps)=([\d.]*\d)", str(refused.value).split("would do")[1]
    )
    assert [name for name, _ in found] == ["teacher.count", *["mechanism.cutoff"] * (K == 250), "eps"]
    would_do = {"teacher.count": K, "mechanism.cutoff": 20, "eps": 0.5}
    for name, value in found:
        one = would_do | {name: float(value) if name == "eps" else int(value)}
        stable_labels(
            one["eps"], 1 / 6499, 163, one["teacher.count"], rule="tight", cutoff=one["mechanism.cutoff"]
        )
    teachers = int(found[0][1])
    with pytest.raises(InfeasibleError):  # the advice is not idle
        stable_labels(0.5, 1 / 6499, 163, teachers - 1, rule="tight", cutoff=20)
    with pytest.raises(InfeasibleError, match="there are 80 private records"):
        stable_labels(0.5, 1 / 6499, 163, 65, rule="tight", cutoff=20, n_records=80)
    with pytest.raises(ConfigError, match="at most the number of queries, 10"):
        stable_labels(1.0, 1e-4, 10, 1000, rule="tight", cutoff=11)


def test_published_calibrations_need_many_more_teachers():
    with pytest.raises(InfeasibleError, match="liu2021"):
        stable_labels(1.0, 1 / 39073, 977, 390, rule="liu2021", cutoff=1)
    stable_labels(1.0, 1 / 39073, 977, 390, rule="tight", cutoff=1)


def test_auto_cutoff_grows_with_teachers_and_stays_feasible():
    # the small margins count where there are very many teachers
    assert auto_cutoff(1.0, 1e-6, 400, 10_000, "tight") > 1
    assert auto_cutoff(500.0, 1e-4, 400, 3000, "tight") >= 1
    chosen = [auto_cutoff(1.0, 1e-5, 400, k, "tight") for k in (100, 300, 1000, 3000)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1] <= 400
    for k, cutoff in zip((100, 300, 1000, 3000), chosen, strict=True):
        stable_labels(1.0, 1e-5, 400, k, rule="tight", cutoff=cutoff)


@pytest.mark.parametrize(("eps", "cutoff"), [(0.5, 1), (1.0, 7), (3.0, 40)])
def test_the_fewest_teachers_are_the_fewest(eps, cutoff):
    continuous = calibrate("tight", eps, 1e-4, 163, cutoff)
    for c in (continuous, discrete_calibration(continuous)):
        assert can_answer(c, fewest_teachers(c))
        assert not can_answer(c, fewest_teachers(c) - 1)


@pytest.mark.parametrize(("cutoff", "rule", "redraw"), [(1, "tight", False), (12, "liu2021", True)])
def test_what_is_said_beforehand_of_unanswered_queries_holds(cutoff, rule, redraw):
    """Unanimous votes are unanswered at most as often as is said, votes of the lead said every other time.

    Each of 4,000 runs is a draw from [0, cutoff], so a mean over its expectation by more than 0.07 cutoffs
    has a chance below exp(-2 * 4000 * 0.07^2) = 1e-17, and a share off by 0.05 of 4e-9; the seed is fixed.
    """
    K = {"tight": 99, "liu2021": 4601}[rule]
    plan = stable_labels(1.0, 1e-5, 40, K, rule=rule, cutoff=cutoff)
    assert plan.calibration.redraw is redraw
    said = plan.unanswered()
    assert f"at most {cutoff} of 40 queries stay unanswered before the cutoff" in said
    assert f"({40 * plan.calibration.p_unstable(max_distance(K)):.2g} on average at most" in said
    found = answers_of(plan, K, K)
    assert ((found.labels < 0) & found.reached).sum(axis=0).mean() < 40 * plan.calibration.p_unstable(
        max_distance(K)
    ) + 0.07 * cutoff
    for integer in (False, True):
        used = plan.with_exact_noise() if integer else plan
        lead = int(used.unanswered().partition("a lead of ")[2].partition(" of ")[0].replace(",", ""))
        shares = [(answers_of(used, K, lead - less).labels[0] >= 0).mean() for less in (0, 2)]
        assert shares[0] > 0.45
        assert shares[1] < 0.55


def answers_of(plan, K, lead):
    """What 4,000 runs say of 40 votes with a lead."""
    votes = Votes(np.tile([(K - lead) // 2, K - (K - lead) // 2], (40, 1)), K)
    return plan.session(Door.seeded(7), 4000).ask(votes)


def test_the_chance_of_an_unstable_query_under_integer_noise_is_the_sum_of_its_cases():
    plan = stable_labels(2.0, 1e-3, 20, 60, rule="tight", cutoff=2).with_exact_noise()
    c, steps = plan.calibration, np.arange(2000)
    of_query, of_threshold = (
        np.exp(-steps / scale) * -math.expm1(-1 / scale) for scale in (c.query_scale, c.threshold_scale)
    )
    above = np.cumsum(of_query[::-1])[::-1]  # P(query noise >= k)
    for dist in (int(c.threshold) - 5, int(c.threshold), int(c.threshold) + 7):
        gap = dist - int(c.threshold)  # unstable where dist - q <= w - t
        direct = (of_threshold * above[np.clip(steps + gap, 0, 1999)]).sum()
        assert plan.calibration.p_unstable(dist) == pytest.approx(direct, abs=1e-12)


def test_the_check_lets_a_unanimous_query_pass_as_often_as_is_said():
    """4,000 runs: a share off by 0.05 has a chance of 4e-9."""
    setting = Setting(
        eps=0.3,
        delta=1e-5,
        n_private=1000,
        n_public=40,
        budget=40,
        n_teachers=60,
        n_features=2,
        n_classes=2,
        sparse=False,
        unanswered="drop",
        teacher=("logistic", {}),
        student=("logistic", {}),
    )
    plan = gnmax.calibrate(gnmax.Options(confidence=0.8, checks=0.5), setting)
    said = plan.unanswered()
    assert "at most 40 of 40 queries are answered (split.budget); the check lets one on which all 60" in said
    share = float(said.partition("with probability ")[2].partition(",")[0])
    assert 0.5 < share < 0.95
    assert (answers_of(plan, 60, 60).labels >= 0).mean() == pytest.approx(share, abs=0.05)
    assert gnmax.calibrate(gnmax.Options(), setting).unanswered() is None


def test_t_and_k_as_btt18_prints_them():
    """Theorem 3.2 and Algorithm 2, line 1, at gamma + alpha = 1/4, m = 100, ln(2/delta) = 4, beta = 1/3."""
    delta = 2 / math.e**4
    options = {"calibration": "bassily2018", "cutoff": "paper", "alpha": 0.15, "gamma": 0.1, "beta": 1 / 3}
    learner = ("logistic", {})
    setting = Setting(2.0, delta, 100_000, 100, 30, 2, 2, 7, False, learner, learner, "drop")
    plan = mechanisms.calibrate("svt", options, setting)
    c = plan.calibration
    T = math.ceil(3 * (25 + math.sqrt(12.5 * math.log(300))))  # 101 with the square root: at most m
    assert T == 101
    assert (c.rule, c.cutoff, c.threshold_scale) == ("bassily2018", 100, math.sqrt(3200 * 4) / 2)
    assert plan.n_teachers == math.ceil(34 * math.sqrt(2) * c.threshold_scale * math.log(20_000 * math.e**4))
    # where two thirds agree the distance of sensitivity 1 passes too, in all queries but for beta
    assert 100 * c.p_unstable(plan.n_teachers / 6 - 1) < 1e-3 < 1 / 3
    assert plan.guarantee.eps == 2.0
    few = dataclasses.replace(setting, n_private=plan.n_teachers - 1)
    with pytest.raises(
        InfeasibleError, match=f"asks for {plan.n_teachers:,} teachers at eps=2, .* eps=2.01"
    ) as no:
        mechanisms.calibrate("svt", options, few)
    assert "\n" not in str(no.value)
    mechanisms.calibrate("svt", options, dataclasses.replace(few, eps=2.01))
    with pytest.raises(
        ConfigError, match=r"cutoff: got 'paper'; .*paper with mechanism.calibration=bassily2018"
    ):
        mechanisms.calibrate("svt", {"cutoff": "paper"}, setting)
