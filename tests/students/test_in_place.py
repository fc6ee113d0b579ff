"""A student that changes the records it judges changes them for nobody else."""

from __future__ import annotations

import csv
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pate_cli import PateClassifier
from pate_cli.cli import main
from pate_cli.students.calibrated import CalibratedStudent
from pate_cli.students.metrics import measure, says_one_class
from pate_cli.students.saved import SavedStudent

SMALL = "dataset.n_records=900 split.private=600 split.public=60 teacher.size=20 compute.workers=1"


class Spoils(LogisticRegression):
    """Right, but its records are gone afterwards; a subclass, so that nothing is known of it."""

    def predict(self, X):
        predicted = super().predict(X)
        X[:] = 0
        return predicted


def test_the_students_of_a_run_share_their_records(tmp_path, monkeypatch):
    """As the rows of a sweep do, which were judged on what the one before had left: 48% for 95%."""
    module = types.ModuleType("in_place")
    module.Spoils = Spoils
    monkeypatch.setattr(Spoils, "__module__", "in_place")
    monkeypatch.setitem(sys.modules, "in_place", module)
    monkeypatch.chdir(tmp_path)
    student = "student.estimator=in_place.Spoils features.name=none hydra.run.dir=out"
    assert main(f"run mechanism=gaussian eps=400 {SMALL} {student}".split()) == 0
    with Path("out", "repeats.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["accuracy"] == row["ceiling"]


def student():
    return make_pipeline(StandardScaler(copy=False), LogisticRegression())


def test_every_figure_is_of_the_records_given():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    X = 5 + 3 * (rng.normal(size=(300, 4)) + y[:, None])
    fitted, given = student().fit(X.copy(), y), X.copy()
    right = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert measure(fitted, given, y, ("no", "yes")) == measure(right, X, y, ("no", "yes"))
    assert not says_one_class(fitted, given)
    saved = SavedStudent(fitted, ("no", "yes"), 4, None, {})
    assert np.array_equal(saved.codes(given), right.predict(X))
    assert np.array_equal(saved.probabilities(given), right.predict_proba(X))
    calibrated = CalibratedStudent(fitted, 1.0, 0.0, 0.0, 2)
    assert np.array_equal(calibrated.predict(given), right.predict(X))
    assert np.array_equal(given, X)


@pytest.mark.parametrize("probabilities", [True, False])
def test_the_users_own_array_stays(probabilities):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = 5 + 3 * (rng.normal(size=(600, 4)) + y[:, None])
    model = PateClassifier("gaussian", eps=8.0, n_teachers=20, student=student(), random_state=0)
    model.set_params(settings={"features.name": "none"}).fit(given := X.copy(), y, given[:100])
    first = (model.predict_proba if probabilities else model.predict)(given)
    assert np.array_equal(first, (model.predict_proba if probabilities else model.predict)(given))
    assert np.array_equal(given, X)
