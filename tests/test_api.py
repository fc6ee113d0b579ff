"""From Python: scikit-learn's own checks, and what a user would do."""

import doctest
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import pate_cli
from pate_cli import PateClassifier
from pate_cli.api import classifier

REPO = Path(__file__).resolve().parent.parent
PLAIN = {"mechanism": "gaussian", "eps": math.inf, "public_share": 0.3, "n_teachers": 2, "random_state": 0}


@parametrize_with_checks([PateClassifier(**PLAIN)])
def test_scikit_learn(estimator, check):
    check(estimator)


def _data(n=3000, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.normal(size=(n, 5)) + 1.5 * np.eye(5)[y], np.array(["no", "so-so", "yes"])[y]


def test_the_examples_in_the_module():
    assert doctest.testmod(classifier).failed == 0


@pytest.mark.parametrize("mechanism", ["best", "svt"])
def test_mechanisms_learn_and_say_what_it_cost(mechanism):
    X, y = _data()
    model = PateClassifier(mechanism, eps=4.0, delta=1e-4, random_state=0)
    model.fit(X[:2500], y[:2500], X[2500:2600])
    assert model.score(X[2600:], y[2600:]) > 0.7
    assert 0 < model.privacy_.eps <= 4.0
    assert 0 <= model.privacy_.delta <= 1e-4
    assert model.privacy_.neighbours.startswith("one record")
    assert not model.privacy_.exact
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_the_first_lines_of_the_docs_run_after_a_plain_install(monkeypatch):
    """Which brings no OpenDP."""
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    page = (REPO / "docs" / "python.md").read_text(encoding="utf-8")
    lines = re.findall("```python\n(.*?)```", page, re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(lines, names)
    assert names["model"].score(names["X"][3600:], names["y"][3600:]) > 0.8


def test_no_seed_is_exact_noise():
    pytest.importorskip("opendp")
    X, y = _data()
    real, other = (
        PateClassifier(eps=4.0, delta=1e-4).fit(X[:2500], y[:2500], X[2500:2600]) for _ in range(2)
    )
    assert real.privacy_.exact
    assert real.score(X[2600:], y[2600:]) > 0.7
    assert (real.predict_proba(X) != other.predict_proba(X)).any()


@pytest.mark.parametrize(
    "teacher",
    [
        make_pipeline(MaxAbsScaler(), DecisionTreeClassifier(max_depth=4)),
        "sklearn.tree.DecisionTreeClassifier",
    ],
    ids=["a classifier", "its name"],
)
def test_a_learner_is_a_classifier_or_its_name(teacher):
    class Mine(DecisionTreeClassifier):
        """One that cannot be imported."""

    X, y = _data(n_classes=3)
    for student, kind in (("tree", DecisionTreeClassifier), (make_pipeline(Mine(max_depth=5)), Pipeline)):
        model = PateClassifier("gaussian", eps=8.0, teacher=teacher, student=student, random_state=0)
        given = X[:2500], y[:2500], X[2500:2700]
        assert model.fit(*given).score(X[2700:], y[2700:]) > 0.55
        assert isinstance(model.student_, kind)
        np.testing.assert_array_equal(model.predict(X), clone(model).fit(*given).predict(X))


def test_whether_there_are_probabilities_is_known_before_fit():
    X, y = _data()
    for student, has in (("logistic", True), ("linear_svm", False), (LinearSVC(), False)):
        model = PateClassifier("gaussian", student=student, public_share=0.1, random_state=0)
        assert hasattr(model, "predict_proba") == hasattr(model.fit(X, y), "predict_proba") == has
    y[:2990] = "no"  # a student of one label
    model = PateClassifier(**PLAIN, student="logistic", settings={"features.name": "none"}).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X[:3]), [[1, 0]] * 3)


def test_a_data_frame_with_texts_is_encoded_by_its_public_part():
    X, y = _data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["colour"] = np.where(y == "no", "red", "blue")
    frame["when"] = pd.Timestamp("2020-01-01")
    frame.loc[0, "colour"], frame.loc[1, "a"] = "seen in private alone", np.nan
    for mechanism in ("gaussian", "best"):
        model = PateClassifier(mechanism, eps=8.0, delta=1e-4, random_state=0)
        model.fit(frame[:2500], y[:2500], frame[2500:2600])
        assert model.score(frame[2600:], y[2600:]) > 0.9
        assert model.predict_proba(frame[:3]).shape == (3, 2)
        assert "seen in private alone" not in repr(vars(model._encoder))
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame.drop(columns="colour"))
    shared = PateClassifier(**PLAIN).fit(frame, y)
    with pytest.raises(ValueError, match="X: 0 records"):
        shared.predict(frame[:0])
    assert shared.score(frame, y) > 0.9
    with pytest.raises(ValueError, match="X, row 5: column 'a' has 'inf'; accepted: a number"):
        shared.predict(frame.assign(a=np.where(np.arange(3000) == 5, np.inf, 0.0)))
    refused = pytest.raises(ValueError, match="X_public: got ndarray; accepted: a DataFrame, as X of fit was")
    with pytest.warns(UserWarning, match="valid feature names"), refused:
        PateClassifier(**PLAIN).fit(frame, y, frame.to_numpy())
    with pytest.raises(ValueError, match=r"X_public: no column is used; .* not used colour: constant"):
        PateClassifier(**PLAIN).fit(frame[["colour"]][y == "no"], ["yes", *y[y == "no"][1:]])


def test_all_records_of_a_group_are_protected_together():
    X, y = _data()
    groups = np.arange(2500) // 5
    model = PateClassifier(eps=4.0, n_teachers=50, random_state=0)
    model.fit(X[:2500], y[:2500], X[2500:2600], groups=groups)
    assert "exact Gaussian profile" in model.privacy_.how
    assert model.score(X[2600:], y[2600:]) > 0.7
    assert model.privacy_.neighbours.startswith("one group, all of its records")
    assert model.privacy_.delta == pytest.approx(1 / 500)
    one_each = PateClassifier("output_perturbation", eps=4.0, random_state=0)
    one_each.fit(X[:2500], y[:2500], X[2500:2600], groups=groups)
    assert one_each.privacy_.delta == pytest.approx(1 / 500)


def test_one_record_or_name_decides_neither_a_warning_nor_how_all_are_read():
    X, y = _data(700)
    frame, names = pd.DataFrame(X, columns=list("abcde")), [f"p{i // 2}" for i in range(600)]
    names[0] = "P1"  # beside p1
    seeded = PateClassifier(eps=4.0, random_state=0)
    with pytest.warns(UserWarning, match="groups: 'P1' and 'p1' differ in capitals alone"):
        seeded.fit(X[:600], y[:600], X[600:], groups=names)
    PateClassifier(eps=4.0).fit(X[:600], y[:600], X[600:], groups=names)  # a release: warnings are errors
    with pytest.raises(ValueError, match=r"groups, row 0: ''; accepted: a name for each record"):
        seeded.fit(X[:600], y[:600], X[600:], groups=[None, *names[1:]])
    frame["a"] = frame["a"].astype(object)
    frame.loc[0, "a"] = None  # with public numbers it is no table with texts, whose columns are scaled
    with pytest.raises(ValueError, match="NaN"):
        seeded.fit(frame[:600], y[:600], frame[600:].astype(float))


def test_sparse_records_and_pipelines():
    X, y = _data()
    X = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0))
    model = make_pipeline(
        MaxAbsScaler(), PateClassifier("gaussian", eps=4.0, public_share=0.1, random_state=0)
    )
    assert cross_val_score(model, X, y, cv=3).mean() > 0.7


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"mechanism": "gausian"}, "gaussian"),
        ({"settings": {"mechanism.nothing": 1}}, "mechanism.nothing: no such key"),
        ({"settings": {"nothing.at.all": 1}}, "settings: nothing.at.all: no such key"),
        ({"settings": {"dataset.unit": "a"}}, r"settings: dataset\.unit: not here; .* persons as groups="),
        ({"settings": {"seed": 1}}, "settings: seed: not here; it is random_state="),
        (
            {"settings": {"evaluate": 0.1}},
            "settings: evaluate: not here; the card of `pate run release=true`",
        ),
        ({"settings": {"eps": 9.0}}, "settings: eps: not here; it is a parameter by itself"),
        ({"settings": ["eps"]}, r"settings: got \['eps'\]; accepted: as {'teacher.size': 200}"),
        ({"settings": {1: 2}}, r"settings: got {1: 2}; accepted: as {'teacher.size': 200}"),
        ({"public_share": "a"}, r"public_share: got 'a'; accepted: a number in \(0, 1\)"),
        ({"classes": ["no", None]}, "classes: labels of type NoneType, str; accepted: of one type"),
        ({"classes": ["no"]}, r"classes: got \['no'\]; accepted: at least 2 labels"),
        (
            {"teacher": LogisticRegression(), "settings": {"teacher.params.C": 2}},
            r"settings: teacher\.params\.C: not here; given as teacher=",
        ),
        ({"public_share": None}, "X_public: missing; or public_share=0.02"),
        ({"classes": ["no", "maybe"]}, "y: a label that is not among `classes`"),
        ({"mechanism": "svt", "eps": 0.001}, "cannot answer"),
        ({"eps": math.inf, "random_state": None}, "eps: got inf; accepted: a finite number with exact noise"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(parameters, said):
    X, y = _data(500)
    model = PateClassifier(**{"mechanism": "gaussian", "public_share": 0.1, "random_state": 0} | parameters)
    with pytest.raises(ValueError, match=said) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)


def test_runs_and_results_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=3000", "split.private=2000", "split.public=50", "teacher.size=20"]
    record = pate_cli.run(*small, "mechanism=gaussian", "eps=2", directory="out")
    assert record.status == "ok"
    frame = pate_cli.results("out")
    assert frame.loc[0, "accuracy"] == record.accuracy.mean
    assert frame.loc[0, "eps"] == record.eps
    assert "roc_auc" in frame
    with pytest.raises(pate_cli.errors.InputError, match="release: got True"):
        pate_cli.run("release=true")
    with pytest.raises(pate_cli.errors.InputError, match="-m: an option of pate run; accepted here"):
        pate_cli.run("-m", *small)


def test_public_points_are_made_of_a_declared_schema(tmp_path):
    file = tmp_path / "schema.yaml"
    X, y = _data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    file.write_text("columns:\n" + "".join(f"  {c}: {{kind: numeric, low: -6, high: 6}}\n" for c in frame))
    for kind in ("ranges", "marginals"):
        model = PateClassifier("best", eps=4.0, delta=1e-4, random_state=0, schema=file)
        model.fit(frame[:2500], y[:2500], kind)
        assert model.score(frame[2500:], y[2500:]) > 0.7
        assert (model.privacy_.eps, model.privacy_.delta) == (4.0, 1e-4)
        assert ("marginals" in model.privacy_.how) == (kind == "marginals")
    file.write_text("classes: private\n" + file.read_text())
    model = PateClassifier("best", eps=1e-3, delta=1e-4, random_state=0, schema=file)
    with pytest.raises(ValueError, match="classes to be bought"):
        model.fit(frame, y, "marginals")
    assert not hasattr(model, "classes_")  # which are the private labels until they are bought
    for wrong, schema in (("histograms", file), ("marginals", None)):
        with pytest.raises(ValueError, match="public points, or ranges or marginals with a schema"):
            PateClassifier(schema=schema).fit(frame, y, wrong)


ODD_LABELS = [None, np.nan, pd.NA, 0.5, "no ", True, [1], 10**30]


@pytest.mark.parametrize("first", ["no", 0])
def test_one_odd_label_or_cell_stops_no_fit_and_changes_no_other(tmp_path, first):
    """It raised; and the type of the first 0 or "0" was that of the class that was bought."""
    file = tmp_path / "schema.yaml"
    file.write_text(
        "version: 2\nclasses: private\nunit: null\ncolumns:\n"
        "  a: {kind: number, low: -6, high: 6, missing: true}\n  b: {kind: category, levels: ['1', u]}\n"
    )
    X, y = _data(1200)
    y = np.where(y == "no", first, "yes" if first == "no" else 1).astype(object)
    frame = pd.DataFrame({"a": X[:, 0], "b": [1 if x > 0 else "u" for x in X[:, 1]]}, dtype=object)
    for label, cell in zip(ODD_LABELS, [*ODD_LABELS[1:], "0"], strict=True):
        odd = y.copy()
        odd[0] = label
        cells = pd.DataFrame({name: [cell, *frame[name][1:]] for name in frame}, dtype=object)
        model = PateClassifier("best", eps=8.0, delta=1e-4, random_state=0, schema=file)
        model.fit(cells, odd, "marginals")
        assert model.classes_.tolist() == sorted({str(label) for label in y})
        assert np.mean(model.predict(frame) == y.astype(str)) > 0.7


@pytest.mark.parametrize("first", ["no", 0])
def test_one_label_does_not_decide_the_type_of_the_classes_that_are_bought(tmp_path, first):
    """A model kept the length of the longest private label, or that one was missing."""
    file, (X, y) = tmp_path / "schema.yaml", _data(600)
    file.write_text("classes: private\ncolumns:\n  a: {kind: number, low: -6, high: 6}\n")
    y = np.where(y == "no", first, "yes" if first == "no" else 1)
    y = y.astype(object if first == "no" else int)
    types = set()
    for label in (y[0], "x" * 99) if first == "no" else (0, np.nan, 0.5):
        odd = pd.Series([label, *y[1:]])
        for labels in (odd, odd.to_numpy().astype(str) if first == "no" else odd.convert_dtypes()):
            model = PateClassifier("best", eps=8.0, delta=1e-4, random_state=0, schema=file)
            model.fit(pd.DataFrame({"a": X[:, 0]}), labels, "marginals")
            types.add((str(model.classes_.dtype), str(model.predict(pd.DataFrame({"a": X[:, 0]})).dtype)))
    assert types == {("<U3", "<U3") if first == "no" else ("int64", "int64")}


def test_a_declared_label_is_judged_by_itself():
    X, y = _data(600)
    model = PateClassifier(**PLAIN, classes={"no", "so-so", "yes"})
    y = y.astype(object)
    model.fit(X, y)
    for label in (None, 1, 0.5, "maybe", [1], 10**30):
        y[3] = label
        with pytest.raises(ValueError, match="a label that is not among `classes`"):
            model.fit(X, y)


def test_a_missing_name_of_a_person_is_named():
    X, y = _data(600)
    for wrong in ([1, 2], np.ones((600, 2)), "patient"):
        with pytest.raises(
            ValueError, match=r"groups: got shape .*; accepted: \(600,\), one for each record"
        ):
            PateClassifier(**PLAIN).fit(X, y, groups=wrong)
    names = np.array([f"p{i}" for i in range(600)], dtype=object)
    for name in (None, np.nan, pd.NA):
        names[3] = name
        with pytest.raises(ValueError, match=r"groups, row 3: .*; accepted: a name for each record"):
            PateClassifier(**PLAIN).fit(X, y, groups=names)
