"""The private explainable boosting of interpret-core: what a replaced record costs, and what it leaves."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from pate_cli import cli, mechanisms
from pate_cli.errors import InfeasibleError
from pate_cli.privacy.gaussian import profile
from pate_cli.types import Setting

pytest.importorskip("interpret")
LEARNER = ("logistic", {})


def plan(eps=1.0, delta=1e-4, n=2000, **options):
    setting = Setting(eps, delta, n, 40, 40, 3, 2, 20, False, LEARNER, LEARNER, "drop")
    return mechanisms.plan("dp_ebm", {"rounds": 5, **options}, setting)


def data(n=2000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(np.int64), rng.normal(size=(40, 3))


@pytest.fixture
def fitted(monkeypatch):
    """The library's own models, as they are fitted."""
    from interpret.privacy import DPExplainableBoostingClassifier as Ebm

    models, fit = [], Ebm.fit
    monkeypatch.setattr(Ebm, "fit", lambda self, *given: models.append(fit(self, *given)))
    return models


@pytest.mark.parametrize(("eps", "delta"), [(0.05, 1e-5), (1.0, 1e-4), (10.0, 1e-6)])
def test_a_replaced_record_costs_what_was_asked(eps, delta, fitted):
    made = plan(eps, delta)
    mu = math.sqrt(2 * made.mu_bins**2 + 4 * made.mu_rounds**2)
    assert 0.999 * delta < profile(eps, mu) <= delta
    X, y, public = data(200)
    made.learn(X, y, public, 1)
    # a record more or less: the library's deviations, its sensitivity 1 in each of 3 columns and 5 rounds
    assert math.sqrt(3) / fitted[0].noise_scale_binning_ <= made.mu_bins
    assert 0.01 * math.sqrt(5 * 3) / fitted[0].noise_scale_boosting_ <= made.mu_rounds


def test_less_noise_than_that_is_not_released():
    X, y, public = data(200)
    for less in ({"mu_bins": 0.999}, {"mu_rounds": 0.999}):
        made = plan()
        short = {name: share * getattr(made, name) for name, share in less.items()}
        with pytest.raises(RuntimeError, match="less noise than it was given a budget for"):
            dataclasses.replace(made, **short).learn(X, y, public, 1)


def test_a_record_moves_a_sum_of_residuals_by_one_step_at_most(fitted):
    """Without noise to speak of, a round moves scores by the step times the mean residual, 1/2 at first."""
    X, y, public = data()
    made = plan(eps=300.0, rounds=1, step=0.1, leaves=2, max_bins=4)
    model = made.learn(X[:, :1], y, public[:, :1], 1)
    (scores,) = model.scores
    assert 0.02 < np.abs(scores).max() < 0.1 * 0.5 * 1.05


def test_the_model_says_what_the_library_does(fitted):
    X, y, public = data()
    model = plan(rounds=100).learn(X, y, public, 1)
    points = np.vstack([X, 50 * public, [*model.cuts[0][:1].tolist(), 0.0, 0.0]])
    assert model.predict_proba(points) == pytest.approx(fitted[0].predict_proba(points), abs=1e-9)
    assert np.mean(model.predict(X) == y) > 0.85


def test_more_than_it_takes_is_infeasible():
    usual = Setting(1.0, 1e-4, 100_000, 40, 40, 3000, 2, 20, True, LEARNER, LEARNER, "drop")
    with pytest.raises(InfeasibleError, match="takes no sparse records, and 100,000 x 3,000"):
        mechanisms.plan("dp_ebm", {}, usual)


def test_without_the_library_it_is_one_line(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "interpret" else object()
    )
    assert cli.main(["run", "mechanism=dp_ebm", "dataset.n_records=9000"]) == 2
    assert "mechanism=dp_ebm needs interpret-core: pip install interpret-core" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
