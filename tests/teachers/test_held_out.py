"""Private records that are held out are judged by themselves: one decides for no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli import mechanisms, students, teachers
from pate_cli.features.classifiers import FeatureClassifier
from pate_cli.features.kernel import KernelFeatures
from pate_cli.learners import BUILT_IN, TWO_CLASSES, make_learner, row_by_row
from pate_cli.mechanisms.candidates import n_right
from pate_cli.privacy.noise import SeededNoise
from pate_cli.testing.doors import Recorder
from pate_cli.testing.forms import EXTREME
from pate_cli.types import Holdout, Private, PrivateRecords, PublicPoints, Setting

N = 60
FOREST, BAYES = "sklearn.ensemble.RandomForestClassifier", "sklearn.naive_bayes.CategoricalNB"


class Relative(ClassifierMixin, BaseEstimator):
    """Label 1 above the mean of the records that it is shown."""

    def fit(self, X: Any, y: Any) -> Relative:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return (X[:, 0] > X[:, 0].mean()).astype(np.int64)


def _records(n_classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.argmax(np.column_stack([-X[:, 0], X[:, 0], X[:, 1]])[:, :n_classes], axis=1)


def _with(X: Any, row: list[float]) -> Any:
    X = X.copy()
    X[17] = row
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [*BUILT_IN, FOREST, "voting"])
def test_classifiers_known_to_judge_each_record_by_itself_do(name: str, n_classes: int, form: Any) -> None:
    if n_classes > 2 and name in TWO_CLASSES:
        return
    X, y = _records(n_classes)
    student = students.make_student(name, {}, seed=0, n_classes=n_classes)
    _judged_by_themselves(student.fit(form(X), y), X, form)


def test_a_classifier_on_public_features_judges_each_record_by_itself() -> None:
    X, _ = _records()
    features = KernelFeatures.of(X, np.random.default_rng(0))
    weights = np.random.default_rng(1).normal(size=(features.dimension, 1))
    _judged_by_themselves(FeatureClassifier(features, weights), X, np.asarray)


def _judged_by_themselves(model: Any, X: Any, form: Any) -> None:
    assert row_by_row(model)
    labels = teachers.predict_each(model, form(X))
    np.testing.assert_array_equal(labels, [model.predict(form(X[i : i + 1]))[0] for i in range(N)])
    assert len(set(labels.tolist())) > 1
    for row, _ in EXTREME:
        found = teachers.predict_each(model, form(_with(X, row)))
        assert found[17] >= 0
        np.testing.assert_array_equal(np.delete(found, 17), np.delete(labels, 17))


def test_any_other_classifier_is_shown_one_record_at_a_time() -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(N, 2)).astype(float)
    y = (X[:, 0] > 1).astype(np.int64)
    model = make_learner(BAYES, {}, seed=None, n_classes=2).fit(X, y)
    labels = teachers.predict_each(model, X)
    assert len(set(labels.tolist())) == 2
    found = teachers.predict_each(model, _with(X, [7.0, 0.0]))  # a category that it has not seen
    assert found[17] == -1
    np.testing.assert_array_equal(np.delete(found, 17), np.delete(labels, 17))
    relative = Relative().fit(X, y)
    assert not teachers.predict_each(relative, X).any()

    class Tree(type(make_learner("tree", {}, seed=None, n_classes=2))):  # type: ignore[misc]
        """May do anything."""

    assert not row_by_row(Tree())


def test_a_candidate_loses_one_record_and_not_all() -> None:
    X, y = _records()
    student = make_learner(FOREST, {}, seed=0, n_classes=2).fit(X, y)
    assert n_right(student, PrivateRecords(X, y)) == N
    assert n_right(student, PrivateRecords(_with(X, [1e39, -1e308]), y)) in (N - 1, N)
    assert n_right(None, PrivateRecords(X, y)) == 0


def test_a_category_that_teachers_never_saw_moves_their_error_by_one_record() -> None:
    """`svt` with a private cutoff: the estimate moves by 1/n_holdout, and the run goes on."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(300, 2)).astype(float)
    y = (X[:, 0] > 1).astype(np.int64)
    setting = Setting(50.0, 1e-5, 300, 20, 6, 2, 2, 30, False, (BAYES, {}), ("tree", {}), "drop")
    plan: Any = mechanisms.calibrate("svt", {"cutoff": "private"}, setting)
    public = PublicPoints(rng.integers(0, 3, size=(20, 2)).astype(float))
    held, taught = np.random.default_rng(1).permutation(300)[[0, -1]]

    def run(X: Any, door: Any) -> Any:
        plan.release(Private(PrivateRecords(X, y)), public, door, np.random.default_rng(1))
        return door

    door = run(X, Recorder(SeededNoise(np.random.SeedSequence(0))))
    for record, most in ((held, 1 / plan.n_holdout), (taught, 1 / 30)):
        for row in ([7.0, 0.0], [-1.0, 1.0], [1e39, 1e308], [0.5, -0.0]):
            near = X.copy()
            near[record] = row
            moved = run(near, door.replay(SeededNoise(np.random.SeedSequence(0)))).moved[0]
            assert moved[1] * moved[0].kind.sensitivity <= most * (1 + 1e-9)


@pytest.mark.parametrize("of", [lambda X: PublicPoints(X), lambda X: Holdout(X, np.zeros(N))])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_public_points_and_test_records_end_where_learners_do(of: Any, form: Any) -> None:
    X, y = _records()
    given = form(_with(X, [1e39, -1e308]))
    records = of(given)
    np.testing.assert_array_equal(np.asarray(sp.csr_matrix(records.X)[17].todense())[0], [1e30, -1e30])
    assert abs(given).max() == 1e308  # what the caller has is left as it was
    make_learner("tree", {}, seed=0, n_classes=2).fit(X, y).predict(records.X)
