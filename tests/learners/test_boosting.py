"""Learners of xgboost and lightgbm as teachers, as docs/extending.md shows them; where they are installed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from pate_cli import PateClassifier
from pate_cli.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.mark.parametrize(("package", "name"), [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")])
def test_gradient_boosting_teaches(package, name, tmp_path, monkeypatch):
    learner = getattr(pytest.importorskip(package), name)
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(rf"^    pate (run .*{package}\.{name}.*)$", PAGE.read_text(), re.MULTILINE)
    assert main([*shlex.split(line), "dataset.n_records=4000", "hydra.run.dir=out"]) == 0
    assert json.loads(Path("out/result.json").read_text())["accuracy"]["mean"] > 0.7
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 3)) + y[:, None]
    teacher = learner(n_estimators=10, n_jobs=1, **({"verbose": -1} if package == "lightgbm" else {}))
    model = PateClassifier("gaussian", eps=20.0, delta=1e-4, teacher=teacher, n_teachers=5, random_state=0)
    assert model.fit(X[:1500], y[:1500], X[1500:1600]).score(X[1600:], y[1600:]) > 0.7
