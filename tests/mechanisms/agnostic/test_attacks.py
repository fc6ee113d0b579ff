"""A small audit of each learner: below its claim, and above the claim of one that is broken on purpose."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.audit.bounds import eps_lower_bound
from pate_cli.types import Setting

CONFIDENCE = 1 - 1e-7
"""Of each of at most four bounds an audit: a false alarm is rarer than 1e-6."""


def setting(**changes):
    base = Setting(
        eps=1.0,
        delta=0.01,
        n_private=2_000,
        n_public=3,
        budget=3,
        n_features=1,
        n_classes=2,
        n_teachers=1_000,
        sparse=False,
        teacher=("tree", {}),
        student=("logistic", {}),
        unanswered="drop",
    )
    return replace(base, **changes)


def audited(attack, event, delta, runs):
    """Lower bound on eps from one event, fixed beforehand, and its complement, in both directions."""
    hits = [int(event(attack[1](other, np.random.default_rng(other + 7), runs)).sum()) for other in (0, 1)]
    found = 0.0
    for p, q in (hits, [runs - hit for hit in hits]):
        for one, other in ((p, q), (q, p)):
            found = max(found, float(eps_lower_bound(one, runs, other, runs, delta, CONFIDENCE)))
    return found


def chose_the_odd_one(outputs):
    return outputs[:, 0] == 1


def test_sspp():
    plan = mechanisms.calibrate("sspp", {"hypotheses": "thresholds"}, setting())
    (attack,) = plan.attacks()
    assert 0.7 < audited(attack, chose_the_odd_one, 0.0, 200_000) <= 1.0  # the claim is nearly met
    (attack,) = replace(plan, eps=2 * plan.eps).attacks()  # half the noise
    assert audited(attack, chose_the_odd_one, 0.0, 200_000) > 1.0


def answered_one(outputs):
    return outputs[:, 0] == 1


def test_agprivcl():
    plan = mechanisms.calibrate("agprivcl", {"hypotheses": "thresholds", "cutoff": 1}, setting())
    (attack,) = plan.attacks()
    assert audited(attack, answered_one, plan.delta, 400) <= plan.eps
    # sampling forgotten, and the noise of the relabelling
    (attack,) = replace(plan, n_private=plan.n_sampled, relabel_eps=math.inf).attacks()
    assert audited(attack, answered_one, plan.delta, 400) > plan.eps


def test_universal():
    plan = mechanisms.calibrate("universal", {"hypotheses": "thresholds", "first": 1}, setting(eps=2.0))
    answering, learning = plan.attacks()
    assert audited(answering, answered_one, plan.guarantee.delta, 200) <= plan.answering.eps
    assert 0.7 < audited(learning, chose_the_odd_one, 0.0, 200_000) <= plan.learning.eps == 1.0


def chose_the_lowest(outputs):
    return outputs[:, 0] == 0


def test_realizable_to_agnostic():
    name = "realizable_to_agnostic"
    plan = mechanisms.calibrate(name, {"hypotheses": "thresholds"}, setting())
    (attack,) = plan.attacks()
    assert audited(attack, chose_the_lowest, 0.0, 1_500) <= plan.eps
    # both choices without noise
    broken = replace(plan.division, eps_in=1e6, inner_eps=1e6)
    (attack,) = replace(plan, division=broken).attacks()
    assert audited(attack, chose_the_lowest, 0.0, 1_500) > plan.eps


def answered_zero(outputs):
    return outputs[:, -1] == 0


@pytest.mark.parametrize("queries", [1, 3])
def test_private_prediction(queries):
    name = "private_prediction"
    options = {"hypotheses": "thresholds", "queries": queries}
    plan = mechanisms.calibrate(name, options, setting(n_private=20_000, n_teachers=20_000))
    (attack,) = plan.attacks()
    assert audited(attack, answered_zero, plan.delta, 1_500) <= plan.eps
    # both choices without noise
    broken = replace(plan, vote_eps=1e6, division=replace(plan.division, eps_in=1e6))
    (attack,) = broken.attacks()
    assert audited(attack, answered_zero, plan.delta, 1_500) > plan.eps


def test_a_black_box_is_attacked_where_it_draws_one_record():
    options = {"hypotheses": "thresholds", "inner": "grid", "black_box": True}
    plan = mechanisms.calibrate("realizable_to_agnostic", options, setting(eps=2.0))
    (attack,) = plan.attacks()
    assert audited(attack, chose_the_odd_one, 0.0, 300) <= 2.0
