"""Intervals, paired differences, verdicts and claims."""

import dataclasses
import math

import numpy as np
import pytest

from pate_cli.engine.finished import Unit
from pate_cli.privacy import gaussian
from pate_cli.report import Interval
from pate_cli.reproduce import overlap
from pate_cli.reproduce.rows import DoneRow, apart, pairs
from pate_cli.reproduce.verdicts import claim_verdict, eps_ex_post_verdict, row_verdict


def unit(repeat, accuracy=0.9, answered=10, ex_post=0.5, **changes):
    base = Unit(
        repeat,
        5,
        answered,
        answered,
        0.5,
        0.1,
        ex_post,
        ex_post,
        accuracy,
        0.0,
        {},
        list(range(answered)),
        [],
    )
    return dataclasses.replace(base, **changes)


def test_paired_differences_use_the_repeats_both_have():
    of = [unit(0, 0.9), unit(1, 0.8), unit(3, 0.1)]
    minus = [unit(1, 0.7), unit(0, 0.85), unit(2, 0.0)]
    assert apart(of, minus, "accuracy") == Interval.of([0.9 - 0.85, 0.8 - 0.7])
    assert apart(of, minus, "label_agreement") is None
    assert apart([unit(0, ex_post=math.inf)], [unit(0, ex_post=math.inf)], "eps_ex_post") is None


@pytest.fixture
def rows(plan_of):
    """The rows of the small recipe with made-up repeats."""
    plan = plan_of("repeats=2")

    def make(**accuracies):
        return [
            DoneRow(
                row, [unit(i, a) for i, a in enumerate(accuracies.get(row.spec.name[:7].strip(), []))], []
            )
            for row in plan.rows
        ]

    return make


@pytest.mark.parametrize(
    ("accuracies", "word"),
    [
        ([0.69, 0.71], "reproduces"),
        ([0.72, 0.721], "better"),
        ([0.68, 0.681], "worse"),
        ([0.9], "cannot be compared"),
        ([], "cannot be compared"),
    ],
)
def test_verdicts(rows, accuracies, word):
    row = rows(passive=accuracies)[0]
    verdict = row_verdict(row, instead=[], typed=[])
    assert verdict.verdict == word
    assert "with a=b" in row_verdict(row, instead=[], typed=["a=b"]).reason or not accuracies


def test_rows_that_cannot_be_compared_say_why(rows):
    done = rows(passive=[0.9, 0.9], active=[0.7, 0.7])
    assert "quick run" in row_verdict(done[0], instead=["repeats=2"], typed=[]).reason
    assert row_verdict(done[1], instead=[], typed=[]).reason == "eps is 4 here and 0.5 in the paper"
    assert row_verdict(done[4], instead=[], typed=[]) is None  # nothing is printed
    missing = row_verdict(done[5], instead=[], typed=[])
    assert missing.verdict == "cannot be compared"
    assert missing.reason.startswith("missing: real-sim.bz2")
    under = dataclasses.replace(done[0].planned.spec, printed={"accuracy": 0.4, "ci": 0.01, "eps": 0.5})
    row = dataclasses.replace(done[0], planned=dataclasses.replace(done[0].planned, spec=under))
    verdict = row_verdict(row, instead=[], typed=[])
    assert verdict.verdict == "cannot be compared"
    assert f"lies under {row.majority:.3f}" in verdict.reason
    assert 0.5 <= row.majority < 0.53


def test_eps_ex_post_at_the_papers_queries(rows):
    done = rows(passive=[0.9, 0.9])
    assert done[0].eps_ex_post_at_printed == pytest.approx(0.5)
    # the active row asks for 18 of 18 at eps = 4; at 9 the loss is that of half the queries
    spec = dataclasses.replace(done[3].planned.spec, printed={"queries": 9, "eps_ex_post": 2.0})
    half = dataclasses.replace(done[3], planned=dataclasses.replace(done[3].planned, spec=spec))
    sigma = gaussian.calibrate_sigma(4, 1 / 2400, 18)
    assert half.eps_ex_post_at_printed == pytest.approx(gaussian.eps_of_mu(3 / sigma, 1 / 2400))
    assert eps_ex_post_verdict(done[:1]).verdict == "reproduces"
    assert eps_ex_post_verdict([half]).verdict == "refuted"
    assert eps_ex_post_verdict(done[4:]) is None


def test_pairs_are_of_the_same_splits_and_budget(rows, plan_of):
    done = rows(passive=[0.9, 0.9], active=[0.7, 0.7])
    (pair,) = pairs(done, "active", "passive")
    assert (pair.of.planned.spec.name, pair.minus.planned.spec.name) == ("active 4", "passive 4")
    assert pair.over("accuracy").mean == pytest.approx(-0.2)
    other = dataclasses.replace(done[3], planned=plan_of("repeats=2", "teacher.size=30").rows[3])
    assert pairs([*done[:3], other], "active", "passive") == []


@pytest.mark.parametrize(
    ("passive", "active", "need", "word"),
    [
        ([0.9, 0.9], [0.8, 0.8], "all", "reproduces"),
        ([0.8, 0.8], [0.9, 0.9], "all", "refuted"),
        ([0.8, 0.8], [0.8, 0.8], "most", "refuted"),  # equal is not greater
        ([0.9, 0.7], [0.8, 0.8], "all", "cannot be compared"),
        ([], [0.8], "all", "cannot be compared"),
    ],
)
def test_claims(rows, passive, active, need, word):
    claim = {"name": "x", "claim": "greater", "of": "passive", "than": "active", "need": need}
    verdict = claim_verdict({**claim, "measure": "accuracy"}, rows(passive=passive, active=active))
    assert verdict.verdict == word
    assert verdict.reason


def test_claims_of_growth_and_of_budget(rows):
    done = rows(passive=[0.8, 0.8], active=[0.7, 0.7])
    done[1] = dataclasses.replace(done[1], units=[unit(0, 0.9), unit(1, 0.91)])
    grows = {"name": "x", "claim": "increases", "measure": "accuracy", "methods": ["passive"]}
    verdict = claim_verdict(grows, done)
    assert verdict.verdict == "refuted"  # up from 0.5 to 4, and down to inf
    assert "holds in 1 of 2: synthetic passive eps 0.5 to 4 +0.1050" in verdict.reason
    left = {"name": "x", "claim": "unspent", "methods": ["active"]}
    assert claim_verdict(left, done).verdict == "reproduces"  # 10 of 18
    assert claim_verdict({**left, "claim": "spent"}, done).verdict == "refuted"
    most = {**grows, "need": "most"}
    assert claim_verdict(most, done).verdict == "refuted"  # one of two is not most


def test_overlap_on_the_points_both_reached():
    stream = [7, 3, 9, 1, 4, 8, 2, 6]
    svt = unit(0, asked=stream, unanswered=[3, 1, 8], answered=8)
    active = unit(0, asked=[7, 3, 1, 4], answered=4)
    whole = overlap.compare(active, svt, budget=10)
    assert (whole.reached, whole.asked, whole.paid, whole.shared) == (8, 4, 3, 2)
    assert whole.jaccard == 2 / 5
    assert whole.coefficient == 2 / 3
    stopped = overlap.compare(active, svt, budget=4)  # spent at 4, the fifth point
    assert (stopped.reached, stopped.asked, stopped.paid, stopped.shared) == (5, 4, 2, 2)
    early = overlap.compare(active, unit(0, asked=stream[:2], unanswered=[3], answered=2), budget=10)
    assert (early.reached, early.asked, early.paid, early.shared) == (2, 2, 1, 1)
    assert overlap.compare(active, unit(0, asked=stream, answered=8), budget=10) is None


def test_overlap_by_chance_is_that_of_random_sets():
    rng = np.random.default_rng(0)
    svt = unit(0, asked=list(range(30)), unanswered=list(range(0, 30, 4)), answered=30)
    found = [
        overlap.compare(
            unit(0, asked=sorted(rng.choice(30, 12, replace=False).tolist()), answered=12), svt, 99
        )
        for _ in range(1000)
    ]
    for name in ("jaccard", "coefficient"):
        values = np.array([getattr(one, name) for one in found])
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - getattr(found[0], f"{name}_chance")) < 5 * error
