"""Learners that take no sparse records are given dense ones: teachers, students and new records."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import has_fit_parameter

from pate_cli.cli import main
from pate_cli.learners import dense, make_learner

LEARNERS = {
    "sklearn.naive_bayes.GaussianNB": GaussianNB(),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    "sklearn.ensemble.HistGradientBoostingClassifier": HistGradientBoostingClassifier(random_state=3),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_numbers_are_those_of_the_classifier_on_dense_records(name, kind, monkeypatch):
    monkeypatch.setattr(dense, "_BLOCK", 100)  # several blocks of rows
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(np.int64)
    theirs = clone(LEARNERS[name]).fit(X, y)
    for given in (name, LEARNERS[name]):
        ours = make_learner(given, {}, seed=3, n_classes=2)
        assert has_fit_parameter(ours, "sample_weight") == has_fit_parameter(theirs, "sample_weight")
        ours = clone(ours).fit(kind(X), y)
        np.testing.assert_array_equal(ours.predict(kind(X)), theirs.predict(X))
        np.testing.assert_array_equal(ours.predict_proba(kind(X)), theirs.predict_proba(X))
        assert hasattr(ours, "decision_function") == hasattr(theirs, "decision_function")
        assert ours.classes_.tolist() == [0, 1]
        if hasattr(theirs, "random_state"):
            ours.random_state = 7
            assert clone(ours).estimator.random_state == 7


def test_a_run_says_the_memory_and_its_student_labels_new_records(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(i % 2, rng.integers(3, 50), rng.random()) for i in range(1200)]
    Path("f").write_text("".join(f"{y} {y + 1}:1 {column}:{x:.3f}\n" for y, column, x in rows))
    given = ["dataset=libsvm", "dataset.path=f", "dataset.n_features=50", "split.public=200", "eps=20"]
    given += ["teacher.size=100"]
    given += [f"{who}.estimator=sklearn.naive_bayes.GaussianNB" for who in ("teacher", "student")]
    assert main(["run", *given, "hydra.run.dir=out"]) == 0
    shown = capsys.readouterr().err
    made = "GaussianNB takes no sparse records, so they are made dense:"
    assert f"teacher: {made} 106 x 50 numbers, 0.0 MB" in shown
    assert f"student: {made} 200 x 50 numbers, 0.1 MB" in shown
    assert main(["predict", "out/student.skops", "f"]) == 0
    assert capsys.readouterr().err.startswith("accuracy 0.")
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 20}[name])
    assert main(["run", *given, "hydra.run.dir=out2"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "(GaussianNB takes no sparse records, and 107 x 50 dense numbers are 0 MB: more than half" in said
