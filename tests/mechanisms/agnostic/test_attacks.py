"""A small audit of each learner: below its claim, and above the claim of one that is broken on purpose."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.audit.bounds import eps_lower_bound
from pate_cli.mechanisms.agnostic import relabel
from pate_cli.types import Setting

CONFIDENCE = 1 - 1e-7
"""Of each of at most four bounds an audit: a false alarm is rarer than 1e-6."""


def calibrated(name, changes, **options):
    learner = ("logistic", {})
    base = Setting(1.0, 0.01, 2_000, 3, 3, 1, 2, 1_000, False, learner, learner, "drop")
    return mechanisms.calibrate(name, {"hypotheses": "thresholds", **options}, replace(base, **changes))


def audited(attack, value, delta, runs):
    """Lower bound on eps from one event, the last output being `value`, in both directions."""
    hits = [
        int((attack.sample(other, np.random.default_rng(other + 7), runs)[:, -1] == value).sum())
        for other in (False, True)
    ]
    found = 0.0
    for p, q in (hits, [runs - hit for hit in hits]):
        for one, other in ((p, q), (q, p)):
            found = max(found, float(eps_lower_bound(one, runs, other, runs, delta, CONFIDENCE)))
    return found


def twice_eps(plan):
    return replace(plan, eps=2 * plan.eps)


def sampling_forgotten(plan):
    """And the noise of the relabelling."""
    return replace(plan, n_private=plan.n_sampled, relabel_eps=math.inf)


def no_noise(plan):
    changes = {"vote_eps": 1e6} if hasattr(plan, "vote_eps") else {}
    return replace(plan, **changes, division=replace(plan.division, eps_in=1e6, inner_eps=1e6))


def all_of_eps_for_the_second_part(plan):
    return replace(plan, learning=replace(plan.learning, eps=2 * plan.guarantee.eps))


FIVE = {"n_private": 20_000, "n_teachers": 20_000}
BLACK_BOX = {"inner": "grid", "black_box": True}


@pytest.mark.parametrize(
    ("name", "options", "changes", "value", "runs", "broken"),
    [
        ("sspp", {}, {}, 1, 200_000, twice_eps),
        ("agprivcl", {"cutoff": 1}, {}, 1, 400, sampling_forgotten),
        ("universal", {"first": 1}, {"eps": 2.0}, 1, 200_000, all_of_eps_for_the_second_part),
        ("realizable_to_agnostic", {}, {}, 0, 1_500, no_noise),
        ("realizable_to_agnostic", BLACK_BOX, {"eps": 2.0}, 1, 300, None),
        ("private_prediction", {"queries": 1}, FIVE, 0, 1_500, no_noise),
        ("private_prediction", {"queries": 3}, FIVE, 0, 1_500, no_noise),
    ],
)
def test_an_audit_stays_below_the_claim_and_catches_a_break(name, options, changes, value, runs, broken):
    plan = calibrated(name, changes, **options)
    claim, part = plan.guarantee, getattr(plan, "learning", plan).guarantee  # of universal, the second part
    found = audited(plan.attacks()[-1], value, part.delta, runs)
    assert found <= part.eps
    if name in ("sspp", "universal"):  # the claim is nearly met
        assert found > 0.7
    if broken is not None:
        assert audited(broken(plan).attacks()[-1], value, claim.delta, runs) > claim.eps


def test_the_first_part_of_universal_is_attacked_too():
    plan = calibrated("universal", {"eps": 2.0}, first=1)
    assert audited(plan.attacks()[0], 1, plan.guarantee.delta, 200) <= plan.answering.eps


def test_plain_votes_of_universal_are_attacked_where_they_decide():
    plan = calibrated("universal", {"eps": 2.0}, first=1, answering="svt")
    attack, delta = plan.attacks()[0], plan.guarantee.delta
    assert audited(attack, 1, delta, 400) <= plan.answering.guarantee.eps
    quiet = replace(plan.answering.mechanism.calibration, threshold_scale=1e-9, query_scale=1e-9)
    mechanism = replace(plan.answering.mechanism, calibration=quiet)
    broken = replace(plan.answering, mechanism=mechanism)
    assert audited(broken.attacks()[0], 1, delta, 100) > 1.0


def test_the_transformation_with_teachers_inside(monkeypatch):
    changes = {"n_teachers": 2_000}
    plan = calibrated("realizable_to_agnostic", changes, inner="svt", cutoff=1)
    assert audited(plan.attacks()[0], 1, plan.delta, 200) <= 1.0
    # a fixed sample is relabelled, and the labels of the others have no noise
    monkeypatch.setattr(relabel, "subset", lambda n, size, noise: np.arange(size) + (n - size + 1) // 2)
    broken = replace(plan, division=replace(plan.division, eps_in=1e6))
    assert audited(broken.attacks()[0], 1, plan.delta, 200) > 1.0
