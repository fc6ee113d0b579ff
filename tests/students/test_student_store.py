from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from pate_cli.errors import ConfigError, DataError
from pate_cli.learners import make_learner
from pate_cli.students import fit_student, load_student, save_student
from pate_cli.students.store import skops_io
from pate_cli.teachers import train
from pate_cli.types import Answers, PrivateRecords, PublicPoints

META = {"dataset": "synthetic", "eps": float("inf"), "delta": 1e-5, "note": None}


def student_of(estimator: str, kind=np.asarray, n_classes: int = 3):
    X = kind(np.random.default_rng(0).normal(size=(90, 4)))
    answers = Answers(np.arange(90), np.arange(90) % n_classes)
    rng = np.random.default_rng(0)
    fitted = fit_student(
        PublicPoints(X),
        answers,
        estimator=estimator,
        params={},
        unanswered="drop",
        rng=rng,
        n_classes=n_classes,
        seed=0,
    )
    return fitted, X


def save(path, student, **changes):
    facts = {"classes": ("no", "maybe", "yes"), "n_features": 4, "encoder": None, "meta": META}
    save_student(path, student, **facts | changes)


def test_round_trip_of_a_constant(tmp_path):
    student, X = student_of("logistic", n_classes=1)
    save(tmp_path / "s.skops", student, classes=["only"])
    back = load_student(tmp_path / "s.skops")
    assert back.student.predict(X).tolist() == [0] * 90
    assert (back.classes, back.n_features, back.meta) == (("only",), 4, META)
    assert [file.name for file in tmp_path.iterdir()] == ["s.skops"]


def test_teachers_are_not_saved(tmp_path):
    _, X = student_of("logistic")
    private = PrivateRecords(X, np.arange(90) % 2)
    learner = make_learner("tree", {}, seed=None, n_classes=2)
    teachers = train(private, n_teachers=3, learner=learner, rng=np.random.default_rng(0), n_classes=2)
    for secret in (teachers, teachers.teachers[0]):
        with pytest.raises(TypeError, match="is private"):
            save(tmp_path / "t.skops", secret)
    assert list(tmp_path.iterdir()) == []


def test_nothing_left_where_it_cannot_be_written(tmp_path):
    student, _ = student_of("logistic")
    with pytest.raises(ConfigError, match=r"no_such_directory/s\.skops.*No such file or directory"):
        save(tmp_path / "no_such_directory" / "s.skops", student)
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigError, match="taken"):
        save(tmp_path / "taken", student)
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize("keep", [0, 10, 500, -30])
def test_a_truncated_file_is_bad_data(keep, tmp_path):
    student, _ = student_of("tree")
    path = tmp_path / "s.skops"
    save(path, student)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"s\.skops: not a model written by pate, or cut short"):
        load_student(path)


def test_foreign_files_are_bad_data(tmp_path):
    path = tmp_path / "s.skops"
    with pytest.raises(DataError, match="No such file"):
        load_student(path)
    with pytest.raises(DataError, match="cannot be read"):
        load_student(tmp_path)
    skops_io().dump(LogisticRegression(), path)
    with pytest.raises(DataError, match="not a model written by pate"):
        load_student(path)
    skops_io().dump({"format": "pate student 99"}, path)
    with pytest.raises(DataError, match=r"not a model written by pate \(accepted: pate student 1\)"):
        load_student(path)


class Foreign(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(X.shape[0], dtype=np.int64)


def test_foreign_types_are_named_and_refused(tmp_path):
    student, X = student_of("logistic")
    path = tmp_path / "s.skops"
    # functions too, also those of packages whose classes are welcome
    for function, name in ((os.system, "posix.system"), (np.save, r"numpy\.save")):
        save(path, student, encoder=FunctionTransformer(function))
        with pytest.raises(DataError, match=f"holds the type.*{name}"):
            load_student(path)
    save(path, Foreign().fit(X, [0, 1]))
    kind = f"{Foreign.__module__}.Foreign"
    with pytest.raises(DataError, match=f"holds the type {kind}, .*--trust {kind}"):
        load_student(path)
    assert isinstance(load_student(path, trust=[kind]).student, Foreign)
