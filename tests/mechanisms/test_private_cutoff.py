"""A private T: sensitivity of the teachers' error, what is left of eps, and an audit."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms, teachers
from pate_cli.audit import audit
from pate_cli.cli import main
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.mechanisms.private_cutoff import PrivateCutoffPlan, choose_cutoff
from pate_cli.mechanisms.sparse_vector import stable_labels
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting, Votes

OPTIONS = {"cutoff": "private", "calibration": "tight", "holdout": 0.1, "share": 0.1}


def setting(**change):
    learner = ("logistic", {})
    usual = Setting(1.0, 1e-5, 60_000, 400, 120, 1, 2, 3000, False, learner, learner, "drop")
    return replace(usual, **change)


def calibrate(options, setting):
    return mechanisms.calibrate("svt", options, setting)


def noise(seed=0):
    return Door.seeded(seed)


def test_the_arithmetic_by_hand():
    plan = calibrate(OPTIONS, setting())
    # 6,000 held back, 3,000 teachers: 1/K is the larger, and a tenth of eps pays for it
    assert (plan.n_holdout, plan.scale) == (6000, pytest.approx(1 / 300))
    assert (plan.eps_estimate, plan.eps_svt) == (pytest.approx(0.1), pytest.approx(0.9))
    assert (plan.guarantee.eps, plan.guarantee.delta) == (1.0, 1e-5)
    # 300 held back: now a held-back record would cost 1/300 over the scale, so the scale is 1/(300 eps),
    # and a teacher's record pays (1/3000) * 300 of it
    few = calibrate(OPTIONS | {"holdout": 0.001}, setting())
    assert (few.n_holdout, few.scale) == (60, pytest.approx(1 / 60))
    assert (few.eps_estimate, few.eps_svt) == (pytest.approx(0.02), pytest.approx(0.98))
    for one in (plan, few):
        held_back = 1 / (one.n_holdout * one.scale)
        teachers = 1 / (one.n_teachers * one.scale) + one.eps_svt
        assert max(held_back, teachers) == pytest.approx(1.0)
        assert held_back <= 1 + 1e-12


def test_sensitivity_by_brute_force():
    """Each record changed in every way it can: a column of one record, or a row of one teacher."""
    K, n = 3, 4
    worst = np.zeros(3)
    for bits in range(2 ** (K * n)):
        wrong = np.array([(bits >> i) & 1 for i in range(K * n)], dtype=bool).reshape(K, n)  # teacher, record
        for flip in (0, 1):
            record, teacher = wrong.copy(), wrong.copy()
            record[:, 0], teacher[0] = flip, flip
            vote = abs((teacher.sum(0) >= 2).mean() - (wrong.sum(0) >= 2).mean())
            moved = abs(record.mean() - wrong.mean()), abs(teacher.mean() - wrong.mean()), vote
            worst = np.maximum(worst, moved)
    assert worst.tolist() == pytest.approx([1 / n, 1 / K, 1.0])  # the vote's error has no small sensitivity


def test_records_are_held_back_from_the_teachers(monkeypatch):
    """A record that were in both places would pay twice: then no epsilon would hold."""
    seen = {}
    rng = np.random.default_rng(0)
    private = PrivateRecords(np.arange(600.0)[:, None], rng.integers(2, size=600))
    few = setting(n_private=600, n_teachers=60, n_public=20, eps=50.0, teacher=("tree", {}))
    plan = calibrate(OPTIONS, few)
    train, accuracy, estimate = teachers.train, teachers.Ensemble.accuracy, PrivateCutoffPlan.estimate

    def watched_train(given, **options):
        seen["taught"] = given.X[:, 0].tolist()
        return train(given, **options)

    def watched_accuracy(self, X, y):
        seen["held back"] = X[:, 0].tolist()
        np.testing.assert_array_equal(y, private.y[X[:, 0].astype(int)])
        return accuracy(self, X, y)

    def watched_estimate(self, error, noise, runs=1):
        seen["error"] = error
        return estimate(self, error, noise, runs)

    monkeypatch.setattr(teachers, "train", watched_train)
    monkeypatch.setattr(teachers.Ensemble, "accuracy", watched_accuracy)
    monkeypatch.setattr(PrivateCutoffPlan, "estimate", watched_estimate)
    learnt = plan.release(
        Private(private), PublicPoints(rng.random((20, 1))), noise(), np.random.default_rng(1)
    )
    assert (len(seen["taught"]), len(seen["held back"])) == (540, 60)
    assert sorted(seen["taught"] + seen["held back"]) == list(range(600))
    assert 0.3 < seen["error"] < 0.7  # the labels are coins
    assert learnt.answers.n_asked <= 20
    assert learnt.spent.data_dependent
    assert learnt.spent.eps <= 50.0


def test_a_larger_error_gives_a_larger_cutoff_and_every_cutoff_works():
    for rule, eps in (("tight", 1.0), ("bassily2018", 8.0), ("liu2021", 4.0)):
        plan = calibrate(OPTIONS | {"calibration": rule}, setting(eps=eps))
        chosen = [choose_cutoff(plan, e) for e in (-3.0, 0.0, 0.02, 0.1, 0.2, 0.3, 0.5, 7.0)]
        assert chosen == sorted(chosen)
        assert 1 <= chosen[0] < chosen[-1] <= 400
        for T in chosen:
            stable_labels(plan.eps_svt, 1e-5, 400, 3000, rule=rule, cutoff=T)
    plan = calibrate(OPTIONS | {"calibration": "bassily2018"}, setting(eps=400.0, delta=1e-30))
    # Theorem 3.2 at e = 1/100: 3 (4 + sqrt(4 ln(400/0.05)/2)) = 24.7
    assert choose_cutoff(plan, 0.01) == 25


def test_the_session_runs_on_what_is_left_of_eps():
    plan = calibrate(OPTIONS, setting())
    session = plan.labelling(0.3).session(noise())
    assert session._tests.calibration.eps == plan.eps_svt
    assert session._tests.calibration.cutoff == choose_cutoff(plan, 0.3)
    session.answer_all(Votes(np.tile([1500, 1500], (400, 1)), 3000))
    assert plan._spent(session.spent()).eps == pytest.approx(1.0)
    free = calibrate(OPTIONS, setting(eps=math.inf))
    assert free.guarantee.eps == math.inf
    assert free.estimate(0.3, noise()).tolist() == [0.3]


@pytest.mark.parametrize(
    ("options", "change", "key"),
    [
        ({"share": 0}, {}, r"mechanism\.share: got 0; accepted: a number in \(0, 1\)"),
        ({"share": True}, {}, r"mechanism\.share"),
        ({"holdout": 1.0}, {}, r"mechanism\.holdout: got 1\.0; accepted: a number in \(0, 1\)"),
        ({"holdout": 0.5}, {"n_teachers": 40_000}, r"mechanism\.holdout: .*40000 teachers"),
        ({"calibration": "x"}, {}, r"mechanism\.calibration"),
    ],
)
def test_refuses_what_is_not_accepted(options, change, key):
    with pytest.raises(ConfigError, match=f"^{key}"):
        calibrate(OPTIONS | options, setting(**change))


def test_refuses_what_no_cutoff_makes_work():
    with pytest.raises(InfeasibleError, match="cutoff=1"):
        calibrate(OPTIONS, setting(n_teachers=40))


@pytest.mark.parametrize("holdout", [0.1, 0.001])
def test_audit(holdout):
    def bounds(plan):
        sure = {"runs": 10_000, "confidence": 1 - 1e-6, "seed": 1}
        return {finding.attack: finding.bound for finding in audit(plan, plan.attacks(), **sure)}

    plan = calibrate(OPTIONS | {"holdout": holdout}, setting(n_public=20, n_teachers=600))
    found = bounds(plan)
    assert max(found.values()) < 1.0
    if holdout == 0.001:
        assert found["a held-back record"] > 0.5  # it pays all of eps for the estimate alone
    # the sensitivity of a fixed classifier's error, 1/n_holdout at the estimate's share: too little noise
    assert max(bounds(replace(plan, n_holdout=60_000, scale=1 / 6000)).values()) > 1.0


def test_through_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=12000", "split.public=50", "teacher.size=10", "eps=2"]
    private = ["mechanism=svt", "mechanism.cutoff=private", *small]
    assert main(["run", *private, "hydra.run.dir=out"]) == 0
    record = json.loads((tmp_path / "out/result.json").read_text())
    assert (record["mechanism"], record["n_teachers"]) == ("svt_private", 960)
    assert record["plan"]["cutoff"] == "private"
    assert record["plan"]["eps_estimate"] == pytest.approx(0.2)
    assert record["eps"] == 2.0
    assert record["n_answered"] > 20
    capsys.readouterr()
    assert main(["plan", *private]) == 0
    assert "eps_estimate" in capsys.readouterr().out
    assert main(["run", *private, "mechanism.share=2"]) == 2
    assert "mechanism.share: got 2;" in capsys.readouterr().err
    assert main(["run", "mechanism=active", "mechanism.cutoff=private", *small]) == 2
    assert "mechanism.cutoff: got 'private'; accepted: auto, or" in capsys.readouterr().err
