import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pate_cli import mechanisms
from pate_cli.audit import audit
from pate_cli.cli import main
from pate_cli.errors import ConfigError
from pate_cli.privacy.door import Door
from pate_cli.privacy.gaussian import mu_of
from pate_cli.types import Setting, Votes

EPS, DELTA, M, K = 1.0, 1e-5, 60, 500


def _plan(confidence=0.75, n_classes=2, answers=20, **options):
    learner = ("logistic", {})
    setting = Setting(EPS, DELTA, 5000, M, answers, 4, n_classes, K, False, learner, learner, "drop")
    return mechanisms.calibrate("gnmax", {"confidence": confidence, **options}, setting)


def _session(plan, seed=0):
    return plan.session(Door.seeded(seed))


def test_noise_is_calibrated_by_hand():
    mu = mu_of(EPS, DELTA)
    plain = _plan(0, n_classes=4)
    assert M * (math.sqrt(2) / plain.sigma) ** 2 == pytest.approx(mu**2)
    two = _plan()  # two classes: one count is noised, sensitivity 1
    assert M / two.sigma_check**2 == pytest.approx(0.2 * mu**2)
    assert 20 / two.sigma**2 == pytest.approx(0.8 * mu**2)
    assert two.threshold == 0.75 * K
    sanitised = _plan(0, n_classes=4, sanitise=0.3)  # leaves less for labels
    assert sanitised.sigma > plain.sigma
    assert sanitised.guarantee.eps == EPS


def test_what_is_published_does_not_depend_on_votes_unless_sanitised():
    unanimous, close = Votes(np.tile([0, K], (M, 1)), K), Votes(np.tile([K // 10, K - K // 10], (M, 1)), K)
    spent, private = [], []
    for votes in (unanimous, close):
        session = _session(_plan(0))
        assert {a.label for a in session.answer_all(votes)} == {1}  # the same outputs
        spent.append(session.spent())
        private.append(session.not_private()["eps_data_dependent"])
    assert spent[0] == spent[1]
    assert private[0] < private[1] < EPS
    assert all(a.noisy_counts is None for a in _session(_plan(0)).answer_all(close))


def test_the_sanitised_limit_is_drawn_once():
    session = _session(_plan(0, sanitise=0.3))
    session.answer_all(Votes(np.tile([0, K], (M, 1)), K))
    first = session.spent()
    assert first == session.spent()
    assert session.not_private()["eps_data_dependent"] < first.eps <= EPS


@pytest.mark.parametrize(
    ("option", "value"), [("sanitise", 1), ("confidence", 1), ("confidence", -0.1), ("checks", "much")]
)
def test_wrong_options_are_named(option, value):
    with pytest.raises(ConfigError, match=f"mechanism.{option}"):
        _plan(**{option: value})


@pytest.mark.parametrize("confidence", [0, 0.75])
def test_audit_passes_and_catches_a_ninth_of_the_noise(confidence):
    plan = _plan(confidence, answers=M)
    sure = {"runs": 8000, "confidence": 1 - 1e-6, "seed": 1}  # false alarm 1e-6
    assert max(f.bound for f in audit(plan, plan.attacks(), **sure)) <= EPS
    check = None if plan.sigma_check is None else plan.sigma_check / 9
    broken = replace(plan, sigma=plan.sigma / 9, sigma_check=check)
    assert max(f.bound for f in audit(broken, plan.attacks(), **sure)) > EPS


@pytest.mark.parametrize("confidence", [0, 0.75])
def test_a_run_marks_the_account_of_the_votes_as_not_private(confidence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mechanism = ["mechanism=gnmax", f"mechanism.confidence={confidence}"]
    small = ["dataset.n_records=1200", "split.public=40", "compute.workers=1", "eps=4"]
    assert main(["run", *small, *mechanism, "hydra.run.dir=out"]) == 0
    record = json.loads((tmp_path / "out" / "result.json").read_text())
    diagnostics = record.pop("diagnostics")
    assert diagnostics["note"] == "not differentially private"
    assert diagnostics["eps_data_dependent"] <= record["eps"] == 4
    assert "data_dependent" not in json.dumps(record)
    capsys.readouterr()
    assert main(["run", *small, *mechanism, "mechanism.sanitise=2"]) == 2
    assert "mechanism.sanitise: got 2" in capsys.readouterr().err
