"""GNMax: noise by hand, what its reports depend on, its audit."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.audit import audit
from pate_cli.cli import main
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Setting, Votes

EPS, DELTA, M, K = 1.0, 1e-5, 60, 500


def calibrate(confidence=0.75, n_classes=2, answers=20, **options):
    learner = ("logistic", {})
    setting = Setting(EPS, DELTA, 5000, M, answers, 4, n_classes, K, False, learner, learner, "drop")
    return mechanisms.calibrate("gnmax", {"confidence": confidence, **options}, setting)


def asked(plan, least):
    """A session after M queries that all but `least` teachers answer with 1, and its answers."""
    session = plan.session(Door.seeded(0))
    return session, session.answer_all(Votes(np.tile([least, K - least], (M, 1)), K))


def test_noise_is_calibrated_by_hand():
    mu = mu_of(EPS, DELTA)
    plain = calibrate(0, n_classes=4)
    assert M * (math.sqrt(2) / plain.sigma) ** 2 == pytest.approx(mu**2)
    two = calibrate()  # two classes: one count is noised, sensitivity 1
    assert M / two.sigma_check**2 == pytest.approx(0.2 * mu**2)
    assert 20 / two.sigma**2 == pytest.approx(0.8 * mu**2)
    assert two.threshold == 0.75 * K


def test_what_is_published_does_not_depend_on_votes():
    (unanimous, same), (close, labels) = asked(calibrate(0), 0), asked(calibrate(0), K // 10)
    assert {a.label for a in same} == {a.label for a in labels} == {1}  # the same outputs
    assert all(a.noisy_counts is None for a in labels)
    exact = [session.not_private()["eps_data_dependent"] for session in (unanimous, close)]
    assert exact[0] < exact[1] < EPS


@pytest.mark.parametrize("confidence", [0, 0.75])
def test_audit_passes_and_catches_a_ninth_of_the_noise(confidence):
    plan = calibrate(confidence, answers=M)
    sure = {"runs": 8000, "confidence": 1 - 1e-6, "seed": 1}  # false alarm 1e-6
    assert max(f.bound for f in audit(plan, plan.attacks(), **sure)) <= EPS
    check = None if plan.sigma_check is None else plan.sigma_check / 9
    broken = replace(plan, sigma=plan.sigma / 9, sigma_check=check)
    assert max(f.bound for f in audit(broken, plan.attacks(), **sure)) > EPS


@pytest.mark.parametrize("confidence", [0, 0.75])
def test_a_run_marks_the_account_of_the_votes_as_not_private(confidence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism = ["mechanism=gnmax", f"mechanism.confidence={confidence}"]
    small = ["dataset.n_records=1200", "split.public=40", "compute.workers=1", "eps=4"]
    assert main(["run", *small, *mechanism, "hydra.run.dir=out"]) == 0
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    diagnostics = record.pop("diagnostics")
    assert diagnostics["note"] == "not differentially private"
    assert diagnostics["eps_data_dependent"] <= record["eps"] == 4
    assert "data_dependent" not in json.dumps(record)
