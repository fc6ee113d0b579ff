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
from pate_cli.mechanisms.sparse_vector import cutoff_for_error, stable_labels
from pate_cli.mechanisms.svt import PrivateCutoff
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting


def calibrate(options=None, **change):
    learner = ("logistic", {})
    usual = Setting(1.0, 1e-5, 60_000, 400, 120, 1, 2, 3000, False, learner, learner, "drop")
    return mechanisms.calibrate("svt", {"cutoff": "private"} | (options or {}), replace(usual, **change))


def test_the_arithmetic_by_hand():
    plan, few = calibrate(), calibrate({"holdout": 0.001})
    # 6,000 held back, 3,000 teachers: 1/K is the larger, and a tenth of eps pays for it
    assert (plan.n_holdout, plan.scale) == (6000, pytest.approx(1 / 300))
    assert (plan.eps_estimate, plan.eps_svt) == (pytest.approx(0.1), pytest.approx(0.9))
    # 60 held back: now a held-back record would cost 1/60 over the scale, so the scale is 1/(60 eps), and a
    # teacher's record pays (1/3000) * 60 of it
    assert (few.n_holdout, few.scale) == (60, pytest.approx(1 / 60))
    assert (few.eps_estimate, few.eps_svt) == (pytest.approx(0.02), pytest.approx(0.98))
    free = calibrate(eps=math.inf)
    assert (free.guarantee.eps, free.estimate(0.3, Door.seeded(0)).tolist()) == (math.inf, [0.3])


def test_records_are_held_back_from_the_teachers(monkeypatch):
    """A record that were in both places would pay twice: then no epsilon would hold."""
    seen, rng = {}, np.random.default_rng(0)
    private = PrivateRecords(np.arange(600.0)[:, None], rng.integers(2, size=600))
    plan = calibrate(n_private=600, n_teachers=60, n_public=20, eps=50.0, teacher=("tree", {}))

    def watch(owner, name, note):
        right = getattr(owner, name)

        def watched(*args, **options):
            note(*args)
            return right(*args, **options)

        monkeypatch.setattr(owner, name, watched)

    watch(teachers, "train", lambda given: seen.update(taught=given.X[:, 0].tolist()))
    watch(teachers.Ensemble, "accuracy", lambda self, X, y: seen.update(back=X[:, 0].tolist()))
    watch(PrivateCutoff, "estimate", lambda self, error, *_: seen.update(error=error))
    public = PublicPoints(rng.random((20, 1)))
    door = Door.seeded(0)
    plan.release(Private(private), public, door, np.random.default_rng(1))
    assert (len(seen["taught"]), len(seen["back"])) == (540, 60)
    assert sorted(seen["taught"] + seen["back"]) == list(range(600))
    assert 0.3 < seen["error"] < 0.7  # the labels are coins
    assert plan.after(door.spent).data_dependent
    assert plan.after(door.spent).eps <= 50.0


def test_a_larger_error_gives_a_larger_cutoff_and_every_cutoff_works():
    for rule, eps in (("tight", 0.9), ("bassily2018", 7.9), ("liu2021", 3.9)):
        sizes = (eps, 1e-5, 400, 3000)
        chosen = [cutoff_for_error(e, *sizes, rule) for e in (-3.0, 0.0, 0.02, 0.1, 0.2, 0.3, 0.5, 7.0)]
        assert chosen == sorted(chosen)
        assert 1 <= chosen[0] < chosen[-1] <= 400
        for T in chosen:
            stable_labels(*sizes, rule=rule, cutoff=T)
    # Theorem 3.2 at e = 1/100: 3 (4 + sqrt(4 ln(400/0.05)/2)) = 24.7
    assert cutoff_for_error(0.01, 360.0, 1e-30, 400, 3000, "bassily2018") == 25


@pytest.mark.parametrize(
    ("options", "change", "error", "key"),
    [
        ({"holdout": 0.5}, {"n_teachers": 40_000}, ConfigError, r"^mechanism\.holdout: .*40000 teachers"),
        ({}, {"n_teachers": 40}, InfeasibleError, "cutoff=1"),
    ],
)
def test_refuses_what_cannot_work(options, change, error, key):
    with pytest.raises(error, match=key):
        calibrate(options, **change)


@pytest.mark.parametrize("holdout", [0.1, 0.001])
def test_audit(holdout):
    def bounds(plan):
        sure = {"runs": 10_000, "confidence": 1 - 1e-6, "seed": 1}
        return {finding.attack: finding.bound for finding in audit(plan, plan.attacks(), **sure)}

    plan = calibrate({"holdout": holdout}, n_public=20, n_teachers=600)
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
    assert record["n_answered"] > 20
    assert main(["run", "mechanism=active", "mechanism.cutoff=private", *small]) == 2
    assert "mechanism.cutoff: got 'private'; accepted: auto, or" in capsys.readouterr().err
