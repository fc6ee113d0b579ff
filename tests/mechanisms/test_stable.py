"""Values released if they are stable: the generic session, Algorithm 1, sub-sample and aggregate."""

from __future__ import annotations

import doctest
import itertools
import math

import numpy as np
import pytest

from pate_cli.errors import BudgetSpent
from pate_cli.mechanisms import stable
from pate_cli.mechanisms.sparse_vector import SparseVectorSession
from pate_cli.mechanisms.stable import StableSession, aggregate, release_once, stability_threshold
from pate_cli.privacy import svt
from pate_cli.privacy.door import Door
from pate_cli.privacy.events import compose
from pate_cli.types import UNANSWERED, Votes


def test_the_examples_of_the_docstrings():
    found = doctest.testmod(stable)
    assert (found.attempted > 8, found.failed) == (True, 0)


@pytest.mark.parametrize("rule", ["tight", "liu2021"])
def test_classification_is_one_instance(rule):
    """Names of classes, released one by one, are what the labelling session gives."""
    rng = np.random.default_rng(1)
    K, m, names = 300, 80, np.array(["owl", "cat", "eel"])
    counts = np.array([rng.multinomial(K, rng.dirichlet([0.3] * 3)) for _ in range(m)])
    calibration = svt.calibrate(rule, 8.0, 1e-3, m, 3)
    expected = SparseVectorSession(calibration, Door.seeded(0)).answer_all(Votes(counts, K))
    session, got = StableSession(calibration, Door.seeded(0)), []
    for row in counts:
        if session.exhausted:
            break
        n2, n1 = np.sort(row)[-2:]
        got.append(session.release(names[np.argmax(row)], max(0, math.ceil((n1 - n2) / 2) - 1)))
    assert got == [None if a.label == UNANSWERED else names[a.label] for a in expected]
    assert 0 < got.count(None) < len(got)


def test_stops_and_refuses_nonsense():
    session = StableSession(svt.calibrate("tight", 1.0, 1e-3, 3, 2), Door.seeded(0))
    for value, distance in ((None, 3), ("a", -1), ("a", math.nan)):
        with pytest.raises(ValueError, match="a value and a distance"):
            session.release(value, distance)
    with pytest.raises(ValueError, match="eps > 0 and delta"):
        stability_threshold(1, 1)
    assert session.release(("any", "hashable"), 1000) == ("any", "hashable")
    assert [session.release("a", 0), session.release("b", 1000)] == [None, "b"]  # ell = 3
    with pytest.raises(BudgetSpent):
        session.release("a", 1000)


@pytest.mark.parametrize("distance", [0, 2, 5])
@pytest.mark.parametrize(("rule", "excess"), [("tight", math.log(2)), ("bassily2018", 0.0)])
def test_one_release_passes_as_often_as_laplace_says(distance, rule, excess):
    """With probability delta (or delta/2) at distance 0, where the values of neighbours may differ."""
    eps, delta, n = 1.0, 0.05, 40_000
    source = Door.seeded(distance)
    passed = sum(
        release_once("v", distance, eps=eps, delta=delta, door=source, rule=rule) == "v" for _ in range(n)
    )
    margin = eps * distance - math.log(1 / delta) + excess  # of the distance over the threshold
    p = 0.5 * math.exp(margin) if margin < 0 else 1 - 0.5 * math.exp(-margin)
    assert abs(passed - n * p) < 5.2 * math.sqrt(n * p * (1 - p))  # false alarm 2e-7


def test_the_account_has_the_delta_of_each_release():
    """It had eps alone, so a mechanism that released a hundred values passed at the delta of one."""
    door = Door.seeded(0)
    for delta in (1e-3, 1e-3, 2e-3):
        release_once("v", 9, eps=0.5, delta=delta, door=door)
    assert compose(door.spent, 0.0) == pytest.approx((1.5, 4e-3))


def test_aggregate_meets_both_conditions_on_all_neighbours():
    """Brute force: outputs of five parts over three values; replace each part's output in every way."""
    for outputs in itertools.product("abc", repeat=5):
        value, distance = aggregate(outputs)
        for k, other in itertools.product(range(5), "abc"):
            value2, distance2 = aggregate([*outputs[:k], other, *outputs[k + 1 :]])
            assert abs(distance - distance2) <= 1
            assert value == value2 or distance == distance2 == 0
