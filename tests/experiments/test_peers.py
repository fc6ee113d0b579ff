"""Learners of other packages run as plug-ins, beside ours on the same splits (docs/comparing.md)."""

from __future__ import annotations

import math
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from pate_cli import cli, mechanisms
from pate_cli.privacy.door import Door
from pate_cli.privacy.kinds import LaplaceNoise
from pate_cli.results import read_repeats
from pate_cli.types import Setting

CONF = str(Path(__file__).resolve().parents[2] / "experiments" / "peers" / "conf")
SMALL = ["dataset.n_records=900", "split.private=600", "split.public=40"]
LEARNER = ("logistic", {})


def calibrated(name, **options):
    setting = Setting(1.0, 1e-4, 600, 40, 40, 3, 2, 20, False, LEARNER, LEARNER, "drop")
    return mechanisms.calibrate(f"pate_cli.experiments.peers.{name}", options, setting)


STAND_IN = """
from sklearn.linear_model import LogisticRegression as Plain

def LogisticRegression(*, epsilon, data_norm, random_state):
    assert epsilon > 0 and data_norm > 0
    return Plain(random_state=random_state)
"""
PEERS = [("ebm", "interpret.privacy"), ("aim", "mbi"), ("dp_logistic", "diffprivlib")]


@pytest.mark.parametrize(("name", "module"), PEERS)
def test_without_its_package_a_peer_is_refused_in_one_line(name, module, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("PEER_PYTHON", "no-such-python")
    argv = ["frontier", "--config-dir", CONF, "--methods", f"gaussian,{name}", "--eps", "1", *SMALL]
    assert cli.main(argv) == 2
    assert f"mechanism={name} needs " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ebm", "dp_logistic"])
def test_a_peer_is_on_the_same_splits(name, monkeypatch, capsys, tmp_path):
    if name == "ebm":
        pytest.importorskip("interpret")
    elif "PEER_PYTHON" not in os.environ:  # what stands for diffprivlib has no noise
        package = tmp_path / "stand-in" / "diffprivlib"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "models.py").write_text(STAND_IN)
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
        monkeypatch.setenv("PEER_PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)
    argv = ["frontier", "--config-dir", CONF, "--methods", f"noisy_gd,{name}", "--eps", "4", "--repeats", "1"]
    argv += ["--no-limit", "--json", "--output", "out", *SMALL]
    assert cli.main(argv) == 0, capsys.readouterr().err
    repeats = read_repeats("out")
    assert repeats.loc[repeats["method"] == name, "accuracy"].mean() > 0.65
    assert cli.main(["run", "--config-dir", CONF, f"mechanism={name}", "eps=1", "release=true", *SMALL]) == 2


def test_the_ebm_adds_the_noise_that_its_claim_needs():
    pytest.importorskip("interpret")
    made = calibrated("ebm", rounds=5)
    rng = np.random.default_rng(0)
    X, public = rng.normal(size=(600, 3)), rng.normal(size=(40, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made.fit(X, (X[:, 0] > 0).astype(int), public, 1)
    # deviations for a sensitivity of 1 in each of 3 columns, and of the learning rate in 5 rounds of them
    assert model.noise_scale_binning_ == pytest.approx(math.sqrt(3) / made.mu_bins, rel=1e-4)
    assert model.noise_scale_boosting_ == pytest.approx(0.01 * math.sqrt(15) / made.mu_rounds, rel=1e-4)
    door = Door.seeded(0)
    assert made.loss(door.spent) == made.guarantee
    door.release(np.zeros(1), LaplaceNoise(sensitivity=1.0, scale=1.0))
    assert math.isinf(made.loss(door.spent).eps)


def test_aim_passes_the_door_in_full():
    pytest.importorskip("jax")
    made = calibrated("aim", bins=2)
    import mbi

    rng = np.random.default_rng(0)
    x = rng.integers(2, size=600)
    door = Door.seeded(0)
    model = made.fit(mbi.Dataset({0: x, 1: x}, mbi.Domain(range(2), (2, 2))), door)
    assert made.loss(door.spent).eps == pytest.approx(1.0)
    assert made.guarantee.eps == 1.0
    joint = np.asarray(model.project((0, 1)).datavector()).reshape(2, 2)
    assert np.trace(joint) > 0.75 * 600  # the label is the first column
