import dataclasses
import math

import pytest

from pate_cli import mechanisms
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.gaussian import plan_gaussian
from pate_cli.mechanisms.plain import NoPrivacyPlan
from pate_cli.mechanisms.svt import SvtPlan, auto_cutoff, fewest_teachers, plan_svt
from pate_cli.mechanisms.votes import max_distance
from pate_cli.privacy.svt import calibrate
from pate_cli.types import Setting


def test_infeasible_svt_is_refused_with_what_would_do():
    with pytest.raises(InfeasibleError) as refused:
        plan_svt(0.5, 1 / 6499, 163, 65, rule="tight", cutoff=20)
    message = str(refused.value)
    teachers = int(message.split("teacher.count=")[1].split(",")[0])
    cutoff = (
        int(message.split("mechanism.cutoff=")[1].split(";")[0]) if "mechanism.cutoff=" in message else None
    )
    eps = float(message.split("eps=")[-1])
    assert isinstance(plan_svt(0.5, 1 / 6499, 163, teachers, rule="tight", cutoff=20), SvtPlan)
    assert isinstance(plan_svt(eps, 1 / 6499, 163, 65, rule="tight", cutoff=20), SvtPlan)
    if cutoff:
        assert isinstance(plan_svt(0.5, 1 / 6499, 163, 65, rule="tight", cutoff=cutoff), SvtPlan)
    with pytest.raises(InfeasibleError):  # the advice is not idle
        plan_svt(0.5, 1 / 6499, 163, teachers - 1, rule="tight", cutoff=20)


def test_published_calibrations_need_many_more_teachers():
    with pytest.raises(InfeasibleError, match="liu2021"):
        plan_svt(1.0, 1 / 39073, 977, 390, rule="liu2021", cutoff=1)
    assert isinstance(plan_svt(1.0, 1 / 39073, 977, 390, rule="tight", cutoff=1), SvtPlan)


def test_cutoff_is_at_most_the_number_of_queries():
    with pytest.raises(ConfigError, match="at most the number of queries, 10"):
        plan_svt(1.0, 1e-4, 10, 1000, rule="tight", cutoff=11)


def test_auto_cutoff_grows_with_teachers_and_stays_feasible():
    # the small margins count where there are very many teachers
    assert auto_cutoff(1.0, 1e-6, 400, 10_000, "tight") > 1
    chosen = [auto_cutoff(1.0, 1e-5, 400, k, "tight") for k in (100, 300, 1000, 3000)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1] <= 400
    for k, cutoff in zip((100, 300, 1000, 3000), chosen, strict=True):
        plan_svt(1.0, 1e-5, 400, k, rule="tight", cutoff=cutoff)


def test_the_fewest_teachers_are_the_fewest():
    for eps, cutoff in ((0.5, 1), (1.0, 7), (3.0, 40)):
        fewest = fewest_teachers(calibrate("tight", eps, 1e-4, 163, cutoff))
        plan_svt(eps, 1e-4, 163, fewest, rule="tight", cutoff=cutoff)
        with pytest.raises(InfeasibleError):
            plan_svt(eps, 1e-4, 163, fewest - 1, rule="tight", cutoff=cutoff)


def test_no_more_teachers_are_advised_than_there_are_records():
    with pytest.raises(InfeasibleError, match="there are 80 private records"):
        plan_svt(0.5, 1e-4, 163, 65, rule="tight", cutoff=20, n_records=80)


def test_a_huge_eps_has_a_cutoff_too():
    assert auto_cutoff(500.0, 1e-4, 400, 3000, "tight") >= 1


def test_distances():
    assert [max_distance(k) for k in (1, 2, 3, 64, 65)] == [0, 0, 1, 31, 32]


def test_eps_inf_means_no_noise():
    for plan in (plan_gaussian(math.inf, 1e-5, 5, 2), plan_svt(math.inf, 1e-5, 5, 9, rule="tight", cutoff=1)):
        assert isinstance(plan, NoPrivacyPlan)
        assert plan.guarantee.eps == math.inf


def test_t_and_k_as_btt18_prints_them():
    """Theorem 3.2 and Algorithm 2, line 1, at gamma + alpha = 1/4, m = 100, ln(2/delta) = 4, beta = 1/3."""
    delta = 2 / math.e**4
    options = {"calibration": "bassily2018", "cutoff": "paper", "alpha": 0.15, "gamma": 0.1, "beta": 1 / 3}
    learner = ("logistic", {})
    setting = Setting(2.0, delta, 100_000, 100, 30, 2, 2, 7, False, learner, learner, "drop")
    plan = mechanisms.plan("svt", options, setting)
    c = plan.on_votes.calibration
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
        mechanisms.plan("svt", options, few)
    assert "\n" not in str(no.value)
    mechanisms.plan("svt", options, dataclasses.replace(few, eps=2.01))
    with pytest.raises(
        ConfigError, match=r"cutoff: got 'paper'; .*paper with mechanism.calibration=bassily2018"
    ):
        mechanisms.plan("svt", {"cutoff": "paper"}, setting)
