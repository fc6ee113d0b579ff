"""The five learners: their budgets, refusals and results, from the plan and from the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES
from pate_cli.mechanisms.agnostic import accounting as acc
from pate_cli.mechanisms.agnostic import printed, private_prediction, universal
from pate_cli.mechanisms.agnostic.common import Classroom
from pate_cli.mechanisms.agnostic.printed import PrintedSvt, proved
from pate_cli.mechanisms.base import Mechanism
from pate_cli.mechanisms.sparse_vector import SparseVector
from pate_cli.privacy import svt
from pate_cli.privacy.composition import pure_eps
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting, Votes


def setting(**changes):
    tree, logistic = ("tree", {}), ("logistic", {})
    base = Setting(1.0, 1e-5, 60_000, 100, 30, 1, 2, 6_000, False, tree, logistic, "drop")
    return replace(base, **changes)


def planned(name, s=None, **options):
    return mechanisms.calibrate(name, {"hypotheses": "thresholds", **options}, s or setting())


def line(n, rng, noise=0.1):
    X = rng.random((n, 1))
    return X, ((X[:, 0] > 0.4) ^ (rng.random(n) < noise)).astype(np.int64)


def learn(plan, n=60_000, m=100, seed=0, shift=0.0, noise=0.1):
    rng = np.random.default_rng(seed)
    private, public = PrivateRecords(*line(n, rng, noise)), PublicPoints(rng.random((m, 1)) + shift)
    return plan.release(Private(private), public, Door.seeded(np.random.SeedSequence(seed + 1)), rng), public


def truth(X):
    return (X[:, 0] > 0.4).astype(np.int64)


NAMES = [name for name in mechanisms.names() if ".agnostic." in mechanisms.find(name).__name__]


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_learns_and_keeps_to_its_budget(name):
    plan = planned(name, setting(eps=2.0))
    assert isinstance(plan, Mechanism)
    assert plan.guarantee.eps == pytest.approx(2.0, rel=1e-12)
    assert plan.guarantee.delta in (0.0, pytest.approx(1e-5, rel=1e-9))
    json.dumps(plan.describe())
    learnt, public = learn(plan)
    given = learnt.answers.labels >= 0
    if name == "private_prediction":
        assert learnt.answers.n_asked == 1
    else:
        assert given.sum() > 30
        right = learnt.answers.labels[given] == truth(public.X)[learnt.answers.asked[given]]
        assert right.mean() > 0.9
        X = np.random.default_rng(3).random((2000, 1))
        assert (learnt.model.predict(X) == truth(X)).mean() > 0.9


def test_agprivcl_budget_by_hand():
    plan = planned("agprivcl")
    c = plan.mechanism.calibration
    rate = plan.n_sampled / 60_000
    # outside in: e^eps = 1 + rate (e^eps2 - 1); eps2 = svt_eps + 2 ln(1 + e^0.5) = svt_eps + 1.948154
    eps2 = math.log(1 + (math.e - 1) / rate)
    assert c.eps == pytest.approx(eps2 - 1.948154, abs=1e-6)
    # delta: svt_delta times the share sampled times the share drawn, 1 - (1 - 1/n')^n'
    drawn = 1 - (1 - 1 / plan.n_sampled) ** plan.n_sampled
    assert c.delta * rate * drawn == pytest.approx(1e-5, rel=1e-9)
    assert plan.proved == pytest.approx((1.0, 1e-5), rel=1e-9)
    assert plan.proved <= (1.0, 1e-5)
    # n' svt_eps is largest there: a little more or less gives less
    for other in (0.9 * rate, 1.1 * rate):
        assert other * (math.log(1 + (math.e - 1) / other) - 1.948154) < rate * c.eps


def test_published_numbers_of_nb20_by_hand():
    # m = 100, alpha = 0.1, beta = 0.05, eps = 0.5, delta = 0.01, n = 112,000
    p = printed.published(0.5, 0.01, 112_000, 100, 0.1, 0.05)
    assert p["n_sampled"] == pytest.approx(1000.0)  # 0.5 * 112000/56
    # 10/8 + sqrt(3 * 10 * ln 2000)/4 = 1.25 + sqrt(228.0271)/4 = 1.25 + 3.775141
    assert p["cutoff"] == pytest.approx(5.025141, abs=1e-5)
    # 0.1 * sqrt(10) = 0.316228; over ln 200 = 5.298317
    assert p["eps_star"] == pytest.approx(0.316228, abs=1e-6)
    assert p["svt_eps"] == pytest.approx(0.0596845, abs=1e-6)
    # 0.01/(2 e^0.316228 5.298317) = 0.01/(2 * 1.371944 * 5.298317) = 0.01/14.537992
    assert p["svt_delta"] == pytest.approx(6.87853e-4, rel=1e-5)
    # T = 6: lambda = sqrt(192 ln(2/6.87853e-4))/0.0596845 = sqrt(192 * 7.975084)/0.0596845 = 655.63
    # k = 34 sqrt 2 * 655.63 * ln(4 * 100 * 6/6.87853e-4) = 48.083261 * 655.63 * 15.065197
    assert p["teachers"] == pytest.approx(474_925, rel=1e-3)
    # 8000 (ln 10 + ln 2000) ln(200)^1.5 ln(1000)/0.01 * max(1, 10 * 0.1^1.5) * 56/0.5
    needed = printed.records_of_theorem_7(0.5, 0.01, 100, 0.1, 0.05, 1)
    by_hand = 8000 * (2.302585 + 7.600902) * 5.298317**1.5 * 6.907755 / 0.01 * 1.0 * 112
    assert needed == pytest.approx(by_hand, rel=1e-5)


def test_paper_calibration_of_agprivcl_refuses_and_runs_where_it_can():
    with pytest.raises(
        InfeasibleError, match=r"private records to give each of its \d+ teachers one"
    ) as caught:
        planned("agprivcl", calibration="paper")
    assert "NB20's accuracy" in str(caught.value)
    # enough records on paper: the plan is made without them
    s = setting(n_private=40_000_000, n_public=20, delta=0.01, eps=1.0)
    options = {"calibration": "paper", "alpha": 0.2, "beta": 0.1}
    plan = planned("agprivcl", s, **options)
    assert plan.n_sampled == 40_000_000 // 56
    assert plan.proved[0] < 1.0
    assert plan.proved[1] <= 0.01
    # the margin n1 - n2 is tested, which one vote moves by 2: a segment costs 4/lambda, not 2/lambda
    c, (eps, delta) = plan.mechanism.calibration, proved(plan.mechanism.calibration)
    assert (plan.mechanism.guarantee.eps, plan.mechanism.guarantee.delta) == (eps, delta)
    assert 0 < eps <= c.cutoff * 4 / c.threshold_scale
    assert eps < c.eps  # the published scales bear it all the same
    assert c.delta / 2 < delta < c.delta
    assert plan.describe()["svt_distance"] == "n1 - n2"
    with pytest.raises(ConfigError, match="at most 1"):
        planned("agprivcl", replace(s, eps=2.0), **options)
    # one record is drawn more than ln(2/0.1) = 2.996 times with probability 0.0803 > 0.05
    assert acc.copies_tail(10**6, math.log(20)) == pytest.approx(0.0803, abs=1e-4)
    with pytest.raises(ConfigError, match="Lemma 8"):
        planned("agprivcl", replace(s, delta=0.1, n_private=400_000_000), **options)


def test_the_printed_test_is_of_the_margin():
    """A lead of 10 of 20 teachers: margin 10, distance 4; threshold 7 without noise to speak of."""
    c = replace(svt.calibrate("bassily2018", 1.0, 0.01, 4, 2), threshold=7.0, threshold_scale=1e-9)
    c = replace(c, query_scale=1e-9)
    votes = Votes(np.array([[15, 5], [5, 15], [12, 8], [7, 13], [0, 20]]), 20)
    (source,) = Door.seeded(0).spawn(1)
    printed = PrintedSvt(c, ell=c.ell).session(source).answer_all(votes)
    assert [a.label for a in printed] == [0, 1, -1, -1]
    assert [a.label for a in SparseVector(c, ell=c.ell).session(source).answer_all(votes)] == [-1, -1]


def test_universal_splits_its_budget():
    plan = planned("universal", setting(eps=2.0), share=0.75, first=40)
    assert plan.answering.eps == 1.5
    assert plan.learning.eps == 0.5
    assert plan.guarantee.eps == 2.0
    learnt, public = learn(plan)
    late = learnt.answers.asked[-60:]  # answered by the hypothesis
    assert np.array_equal(learnt.answers.labels[-60:], learnt.model.predict(public.X[late]))
    # 32 (ln 10 + ln 20)/0.1 = 32 * 5.298317/0.1 = 1695.46
    assert universal.first_queries(1, 0.1, 0.05) == 1696
    assert planned("universal", setting(n_public=1696)).first == 848
    assert planned("universal", setting(n_public=1697)).first == 1696
    alone = planned("universal", first=100)
    assert alone.learning is None
    assert alone.answering.eps == 1.0


def test_the_shares_of_universal_are_never_more_than_its_budget():
    """.148 of 45.379 and the rest of it add up to 45.379000000000005, which ended the program."""
    for eps, share in (
        (45.379, 0.148),
        (2.3, 0.4),
        (4.0, 0.1),
        *np.random.default_rng(0).uniform((3, 0.5), (50, 1), (40, 2)),
    ):
        guarantee = planned("universal", setting(eps=float(eps)), share=float(share), first=40).guarantee
        assert eps * (1 - 1e-15) <= guarantee.eps <= eps


def test_universal_over_plain_sparse_vector():
    plan = planned("universal", setting(eps=2.0), answering="svt", first=40)
    assert plan.answering.guarantee.eps == plan.learning.eps == 1.0
    learnt, public = learn(plan, noise=0.0)
    assert np.mean(learnt.answers.labels == truth(public.X[learnt.answers.asked])) > 0.95


def test_transformation_divides_its_budget():
    plan = planned("realizable_to_agnostic")
    d = plan.division
    assert plan.guarantee.delta == 0.0
    assert d.proved[0] == acc.transformed(d.eps_in, d.inner_eps, 60_000, d.t)
    assert 1 - 1e-9 < d.proved[0] <= 1.0
    svt = planned("realizable_to_agnostic", inner="svt")
    d = svt.division
    assert d.inner_delta * d.t / d.n == pytest.approx(1e-5)
    assert svt.mechanism.calibration.eps == d.inner_eps
    options = {"inner": "svt", "calibration": "paper"}
    paper = planned(TRANSFORM, **options).division
    assert paper.t == math.ceil(paper.eps_in * 60_000)
    assert paper.inner_eps == 1.0
    # e^eps_in + r/(1-r) 4 e^2 = e, delta = 4 e r inner_delta
    r = paper.t / 60_000
    assert math.exp(paper.eps_in) + r / (1 - r) * 29.556224 == pytest.approx(math.e, abs=1e-3)
    assert 10.873127 * r * paper.inner_delta == pytest.approx(1e-5, rel=1e-6)
    # the sharper proof leaves more for both
    assert d.t * d.inner_eps > paper.t
    with pytest.raises(InfeasibleError, match="records"):
        planned(TRANSFORM, setting(n_private=10, n_teachers=10), **options)


def test_prediction_says_what_queries_compose_to():
    one = planned("private_prediction")
    assert one.guarantee.delta == 0.0
    assert one.vote_eps == pytest.approx(one.division.inner_eps)
    assert one.eps_per_query == pytest.approx(1.0, rel=1e-9)
    assert one.eps_composed == pytest.approx(1.0, rel=1e-9)
    five = planned("private_prediction", queries=5)
    d = five.division
    assert pure_eps(five.vote_eps, 5, d.inner_delta) <= d.inner_eps * (1 + 1e-9)
    assert five.eps_per_query == acc.transformed(d.eps_in, five.vote_eps, d.n, d.t) < 1.0
    assert five.eps_composed == pure_eps(five.eps_per_query, 5, 1e-5) > 1.0  # one sample for all is better
    # ceil(6 ln 40/0.5) = ceil(44.2666)
    assert private_prediction.teachers_of_lemma(0.5, 0.1) == 45
    # odds of a vote of 30 to 10 at eps 0.2: e^(0.2 * 20/2) = e^2, so 1 with probability 0.880797
    ones = np.full(40_000, 30)
    noise = Door.seeded(5)
    share = private_prediction.predict(ones, 40, 0.2, noise).mean()
    assert abs(share - 0.880797) < 5.5 * math.sqrt(0.8808 * 0.1192 / 40_000)
    with pytest.raises(InfeasibleError, match=r"fewer mechanism\.queries"):
        planned("private_prediction", setting(eps=0.1), queries=90)


def test_the_published_resampling_deals_copies_as_they_were_drawn(monkeypatch):
    """NB20 Algorithm 3 cuts the resampled set into equal parts, wherever the copies of a record fall."""
    room = Classroom(CLASSES["thresholds"], setting())
    points = PublicPoints(np.array([[0.5]]))

    def counts(x, y, drawn):
        return room.votes_as_drawn(
            np.array(x)[:, None], np.array(y), np.array(drawn), 2, points, 0
        ).counts.tolist()

    assert counts([0.1, 0.9], [0, 1], [0, 0, 1, 1]) == [[1, 1]]
    # both teachers have a copy of record 1, whose label is changed
    assert counts([0.1, 0.2], [0, 0], [1, 0, 1, 0]) == [[2, 0]]
    assert counts([0.1, 0.2], [0, 1], [1, 0, 1, 0]) == [[0, 2]]
    plan = planned("agprivcl")
    small = replace(plan, calibration="paper", n_private=500, n_sampled=100, n_teachers=7)
    monkeypatch.setattr(Classroom, "votes", lambda *_: pytest.fail("copies kept together"))
    rng = np.random.default_rng(0)
    small.answers(PrivateRecords(*line(500, rng)), points, np.zeros(1, dtype=int), Door.seeded(1), rng)


def test_one_record_changes_one_teacher_however_often_it_was_drawn():
    rng = np.random.default_rng(8)
    X, y = line(60, rng)
    counts = rng.integers(0, 4, 60)
    points = PublicPoints(np.linspace(0, 1, 50)[:, None])
    for own in (False, True):
        room = Classroom(CLASSES["thresholds"], setting(), uses_estimator=own)
        before = room.votes(X, y, counts, 9, points, 0).counts
        assert (before.sum(axis=1) == 9).all()
        changed = []
        for i in range(60):
            X2, y2 = X.copy(), y.copy()
            X2[i], y2[i] = rng.random(), 1 - y[i]
            after = room.votes(X2, y2, counts, 9, points, 0).counts
            changed.append(np.abs(after - before).max())
            assert changed[-1] <= (counts[i] > 0)
        assert max(changed) == 1


INNER = {"hypotheses": "thresholds", "inner": "grid"}
FEW = {"n_private": 12, "eps": 0.3, "n_teachers": 2}
TRANSFORM = "realizable_to_agnostic"


@pytest.mark.parametrize(
    ("name", "options", "changes", "said"),
    [
        ("sspp", {"hypotheses": "lines"}, {}, "hypotheses: got 'lines'; accepted: thresholds, stumps"),
        ("sspp", {}, {"n_classes": 3}, "two classes"),
        ("sspp", {"hypotheses": "thresholds"}, {"n_features": 5}, "thresholds need one feature, not 5"),
        ("agprivcl", {}, {"eps": math.inf}, "eps: got inf"),
        ("agprivcl", {"cutoff": 101}, {}, "mechanism.cutoff: got 101; accepted: auto, or at most the number"),
        ("universal", {"cutoff": 21, "first": 20}, {"eps": 4.0}, "mechanism.cutoff: got 21"),
        ("agprivcl", {}, {"n_private": 500, "n_teachers": 50}, "private records, or a larger eps"),
        ("agprivcl", {"relabel_eps": 40.0}, {"eps": 1.0}, "a larger eps, or a smaller mechanism.relabel_eps"),
        (
            "universal",
            {"answering": "svt", "calibration": "paper"},
            {},
            "calibration: got 'paper'; accepted: tight",
        ),
        (
            "universal",
            {"answering": "svt"},
            {"n_private": 90, "n_teachers": 9},
            "cannot answer with 9 teachers",
        ),
        ("universal", {"first": 101}, {}, "mechanism.first: got 101"),
        (TRANSFORM, {"inner": "svt"}, {"n_private": 300, "n_teachers": 3}, "inner=exponential"),
        (TRANSFORM, INNER | {"hypotheses": "stumps"}, {}, "inner: got 'grid'; accepted: exponential or svt"),
        (TRANSFORM, INNER | {"low": 2.0}, {}, "high: got 1.0; accepted: a number above mechanism.low=2"),
        (TRANSFORM, INNER | {"inner": "svt", "black_box": True}, {}, "mechanism.black_box: got True"),
        (TRANSFORM, INNER | {"black_box": True}, FEW, "black_box=true draws no record from the"),
    ],
)
def test_refusals_name_the_key(name, options, changes, said):
    with pytest.raises((ConfigError, InfeasibleError)) as caught:
        mechanisms.calibrate(name, options, setting(**changes))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_that_encoding_adds_are_counted():
    rng = np.random.default_rng(0)
    for name in ("sspp", "agprivcl", "realizable_to_agnostic"):
        plan = planned(name)
        private = PrivateRecords(rng.random((60_000, 2)), rng.integers(0, 2, 60_000))
        noise = Door.seeded(1)
        with pytest.raises(InfeasibleError, match="after encoding: thresholds need one feature, not 2"):
            plan.release(Private(private), PublicPoints(rng.random((100, 2))), noise, rng)


def test_what_would_do_does():
    s = setting(n_private=20_000, n_teachers=200)
    with pytest.raises(InfeasibleError) as caught:
        planned("agprivcl", s)
    said = str(caught.value)
    enough = int(said.split("what would do: ")[1].split()[0])
    planned("agprivcl", replace(s, n_private=enough, n_teachers=enough // 100))
    size = int(said.split("teacher.size=")[1])
    planned("agprivcl", replace(s, n_teachers=20_000 // size))


@pytest.mark.parametrize(("inner", "black_box"), [("grid", False), ("grid", True), ("exponential", True)])
def test_transformation_over_a_learner_taken_as_it_is(inner, black_box):
    plan = planned(TRANSFORM, inner=inner, black_box=black_box)
    d = plan.division
    assert plan.guarantee.delta == 0.0
    assert plan.draws == (acc.black_box_draws(1.0, d.inner_eps, d.t, "tight") if black_box else 0)
    assert ("on a grid" in plan.guarantee.how) == (inner == "grid")
    learnt, public = learn(plan)
    assert np.array_equal(learnt.answers.labels, learnt.model.predict(public.X))
    if inner == "grid":  # the threshold lies between two of its values, whatever the public points are
        assert abs(learnt.model.threshold_ * 500 - np.floor(learnt.model.threshold_ * 500) - 0.5) < 1e-6


def test_a_grid_needs_no_public_point():
    plan = planned(TRANSFORM, inner="grid")
    one, two = (learn(plan, shift=shift)[0] for shift in (0.0, 5.0))
    assert one.model.threshold_ == two.model.threshold_
