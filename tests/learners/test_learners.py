from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs

from pate_cli.errors import ConfigError
from pate_cli.learners import BUILT_IN, TWO_CLASSES, check_learner, make_learner

FOREST = "sklearn.ensemble.RandomForestClassifier"


def blobs(n_classes: int, n: int = 120):
    X, y = make_blobs(n, n_features=6, centers=n_classes, cluster_std=3.0, random_state=0)
    return X, y


@pytest.mark.parametrize("name", TWO_CLASSES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_hypotheses_are_learners_of_two_classes(name, kind):
    X = np.repeat(np.arange(8.0), 3)[:, None] * [1.0, -1.0]
    y = (X[:, 0] == 7 if name == "point" else X[:, 0] >= 4).astype(np.int64)
    learner = make_learner(name, {}, seed=0, n_classes=2)
    assert learner.fit(kind(X), y).predict(kind(X)).tolist() == y.tolist()
    check_learner(name, {})
    with pytest.raises(ConfigError, match=r"^teacher\.estimator: .*3 classes"):
        check_learner(name, {}, n_classes=3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [*(name for name in BUILT_IN if name not in TWO_CLASSES), FOREST])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_every_learner_learns(name, n_classes, kind):
    X, y = blobs(n_classes)
    learner = make_learner(name, {}, seed=0, n_classes=n_classes)
    predicted = learner.fit(kind(X), y).predict(kind(X))
    assert np.mean(predicted == y) > (0.8 if name == "sgd" else 0.85)  # one pass is one pass


@pytest.mark.parametrize("name", ["logistic", "linear_svm"])
def test_linear_learners_converge_without_a_word_on_unscaled_features(name):
    X, y = blobs(2)
    X = X * 10.0 ** np.arange(6)  # warnings are errors
    make_learner(name, {}, seed=0, n_classes=2).fit(X, y)


def test_parameters_go_over_defaults():
    learner = make_learner("logistic", {"C": 10, "max_iter": 7}, seed=3, n_classes=2)
    assert (learner.C, learner.max_iter, learner.solver, learner.random_state) == (10, 7, "liblinear", 3)
    assert make_learner("logistic", {"solver": "lbfgs"}, seed=0, n_classes=2).solver == "lbfgs"
    check_learner("linear_svm", {"loss": "hinge"})


@pytest.mark.parametrize(
    "path",
    [
        "logistik",
        "os.system",
        "sklearn.linear_model",
        "sklearn.linear_model.LinearRegression",
        "sklearn.linear_model.NoSuchClassifier",
        "no_such_module.Classifier",
        "sklearn.base.ClassifierMixin",
        7,
    ],
)
def test_only_classifiers_are_accepted(path):
    with pytest.raises(ConfigError, match=r"^student\.estimator: .*logistic, .*, tree, or the import path"):
        make_learner(path, {}, seed=0, n_classes=2, name_key="student.estimator")


def test_a_module_that_leaves_when_imported_is_no_classifier(monkeypatch, tmp_path):
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"teacher\.estimator"):
        check_learner("leaves_at_once.Classifier", {})


def test_a_classifier_that_needs_arguments_is_refused():
    with pytest.raises(ConfigError, match=r"teacher\.estimator: .*teacher\.params alone.*'estimator'"):
        check_learner("sklearn.multiclass.OneVsRestClassifier", {})


def test_unknown_parameters_list_the_known_ones():
    with pytest.raises(ConfigError, match=r"^teacher\.params\.c: got 1; accepted: parameters C, .*, tol"):
        make_learner("linear_svm", {"c": 1}, seed=0, n_classes=2)
    with pytest.raises(ConfigError, match=r"^teacher\.params\.random_state: .*seed"):
        make_learner("logistic", {"random_state": 1}, seed=0, n_classes=2)


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("logistic", {"C": -1}, r"\.C: got -1; accepted: a float in the range \(0.*"),
        ("logistic", {"solver": "magic"}, r"\.solver: got 'magic'; accepted: a str among .*"),
        ("linear_svm", {"loss": "hinge", "dual": False}, r": .*hinge.*"),
        ("libsvm", {"kernel": "laplace"}, r"\.kernel: .*one of linear, poly, rbf, .*"),
        ("libsvm", {"coef0": float("nan")}, r"\.coef0: .*"),
        ("sgd", {"step": 0}, r"\.step: got 0; accepted: a float in the range \(0, inf\)"),
        ("sgd", {"permute": "yes"}, r"\.permute: got 'yes'; accepted: true or false"),
        ("permuted_sgd", {"passes": 0}, r"\.passes: got 0; accepted: an int in the range \[1, inf\)"),
        (FOREST, {"n_estimators": 0}, r"\.n_estimators: got 0; .*"),
    ],
)
def test_bad_values_are_said_in_one_line(name, params, said):
    with pytest.raises(ConfigError) as caught:
        check_learner(name, params)
    assert re.fullmatch(rf"teacher\.params{said}", str(caught.value))


def test_a_learner_must_take_what_the_dataset_has():
    with pytest.raises(ConfigError, match=r"teacher\.params: .*3 classes"):
        check_learner("logistic", {"solver": "liblinear"}, n_classes=3)


class Stubborn(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full((X.shape[0], 1), 0.5)


def test_predictions_must_be_classes(monkeypatch):
    module = ModuleType("stubborn_module")
    module.Stubborn = Stubborn
    monkeypatch.setitem(sys.modules, "stubborn_module", module)
    with pytest.raises(ConfigError, match=r"teacher\.estimator: .*predict gives a class"):
        check_learner("stubborn_module.Stubborn", {})

    class Unsure(Stubborn):
        def predict(self, X):
            return np.zeros(X.shape[0], dtype=int)

        def predict_proba(self, X):
            return np.full((X.shape[0], 2), np.nan)

    module.Unsure = Unsure
    with pytest.raises(ConfigError, match=r"teacher\.estimator: .*predict_proba gives probabilities"):
        check_learner("stubborn_module.Unsure", {})
