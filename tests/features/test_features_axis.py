"""`features=`: a map made from public points alone, which teachers, students and queries see or not."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import datasets, features, pipeline
from pate_cli.cli import main
from pate_cli.config import compose, parse
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.features.classifiers import MappedClassifier
from pate_cli.students import load_student, save_student
from pate_cli.types import Dataset, PrivateRecords, PublicPoints


def rings(n, seed=0):
    """Two classes that no line tells apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + 2 * y + rng.normal(0, 0.2, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def prepared(*overrides, X=None):
    plane, y = rings(6000)
    data = Dataset("rings", plane if X is None else X, y, ("a", "b"), "0" * 64, "made here")
    return pipeline.prepare(
        parse(
            compose(
                [
                    "split.public=150",
                    "eps=4",
                    "features=kernel",
                    "student=kernel",
                    "teacher.count=auto",
                    *overrides,
                ]
            )
        ),
        data,
    )


@pytest.mark.parametrize("mechanism", ["gaussian", "active", "svt", "soft"])
def test_teachers_and_student_that_are_linear_learn_what_bends(mechanism):
    mapped, own = (
        pipeline.run_repeat(prepared(f"mechanism={mechanism}", f"features={name}", "eps=12"), 0)
        for name in ("kernel", "none")
    )
    assert mapped.result.accuracy > 0.9
    assert own.result.accuracy < 0.75
    assert isinstance(mapped.student, MappedClassifier)


def test_who_sees_features():
    def seen(*overrides):
        setting = prepared(*overrides).setting
        return setting.features, setting.teacher_mapped, setting.student_mapped

    assert seen() == ("kernel", True, True)
    assert seen("features=none") == ("none", False, False)
    assert seen("teacher=tree", "student=tree") == ("kernel", False, False)
    assert seen("teacher.estimator=sklearn.ensemble.RandomForestClassifier") == ("kernel", False, True)
    assert seen("teacher=tree", "teacher.features=true", "student.features=false") == ("kernel", True, False)
    assert seen("mechanism=noisy_gd", "features=auto")[0] == "none"
    assert seen("mechanism=best", "features=auto")[0] == "kernel"
    with pytest.raises(
        InfeasibleError, match="features: got 'none'; accepted: auto or kernel with mechanism=best"
    ):
        prepared("mechanism=best", "features=none")


def test_the_map_is_made_from_public_points_alone_anew_in_each_repeat(monkeypatch):
    made, right = [], features.fit
    monkeypatch.setattr(
        features,
        "fit",
        lambda name, public, rng, most: made.append((public, most)) or right(name, public, rng, most),
    )
    run = prepared("teacher.count=null", "teacher.size=40")
    for repeat in range(2):
        pipeline.run_repeat(run, repeat)
    splits = [
        datasets.split(run.dataset, rng=pipeline.Streams.of(0, r).split, **run.config.split.shares)
        for r in (0, 1)
    ]
    assert [public.tobytes() for public, _ in made] == [split.public.X.tobytes() for split in splits]
    assert {most for _, most in made} == {40}  # as many as a teacher has records


def test_another_private_record_does_not_change_the_map_nor_the_features_of_others():
    run = prepared()
    split = pipeline.split_of(run, pipeline.Streams.of(0, 0))
    before = split.private.seen(True)
    for extreme in (1e39, 1e308, -1e308, 5e-324, -0.0):
        X = split.private.X.copy()
        X[7] = extreme
        after = dataclasses.replace(split.private, X=X).seen(True)
        assert np.isfinite(after.X).all()
        assert np.array_equal(np.delete(after.X, 7, axis=0), np.delete(before.X, 7, axis=0))
    assert before.X.var(axis=0).mean() == pytest.approx(1.0, abs=0.2)


def test_text_keeps_its_own_columns():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((6000, 600)) < 0.02).astype(float))
    run = prepared("eps=12", X=X)
    outcome = pipeline.run_repeat(run, 0)
    assert not isinstance(outcome.student, MappedClassifier)
    assert outcome.student.predict(X[:5]).shape == (5,)


def test_a_saved_student_maps_new_records_by_itself(tmp_path):
    outcome = pipeline.run_repeat(prepared(), 0)
    X, _ = rings(50, seed=1)
    save_student(tmp_path / "s", outcome.student, classes=("a", "b"), n_features=2, encoder=None, meta={})
    back = load_student(tmp_path / "s")
    assert np.array_equal(back.codes(X), outcome.student.predict(X))
    assert np.array_equal(back.probabilities(X), outcome.student.predict_proba(X))


def test_one_record_of_each_person_and_records_read_late_are_mapped_too():
    class Late:
        shards, shape = ("a", "b"), (6, 2)

        def __getitem__(self, rows):
            return np.arange(12.0).reshape(6, 2)[rows]

    run = prepared()
    made = pipeline.split_of(run, pipeline.Streams.of(0, 0)).public.features
    late = PrivateRecords(Late(), np.zeros(6, np.int64), features=made).seen(True)
    assert np.array_equal(late.X[np.array([4, 1])], made.values(np.array([[8.0, 9.0], [2.0, 3.0]])))
    one_each = PrivateRecords(np.ones((4, 2)), np.zeros(4), np.array([0, 0, 1, 1]), features=made)
    assert one_each.one_each(np.random.default_rng(0)).features is made
    plain = PublicPoints(np.ones((3, 2)))
    assert plain.seen(True) is plain


class Squares:
    """A map of another package."""

    @classmethod
    def of(cls, public, rng, directions):
        made = cls()
        made.scale = np.abs(public).max()
        return made

    def values(self, X):
        return np.clip(X / self.scale, -9, 9) ** 2


def scaled_in_place(X):
    X *= 2
    return X


def at_most(X):
    assert np.abs(X).max() < 1e6, "too large a record"
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize(
    ("values", "accepted"),
    [
        (lambda X: X - X.mean(axis=0), "equal to the bit, wherever it stands and each time"),
        (lambda X: X + np.arange(len(X))[:, None], "equal to the bit, wherever it stands and each time"),
        (lambda X: X + np.random.normal(size=X.shape), "wherever it stands and each time"),  # noqa: NPY002
        (lambda X: np.exp(X), "finite features of any record, of numbers up to 1e+30"),
        (lambda X: X[:, 0], "features of shape (n, p)"),
        (scaled_in_place, "leaves the records as they are"),
        (at_most, "any record (AssertionError: too large a record"),
    ],
)
def test_a_map_that_is_no_function_of_a_record_is_refused(values, accepted, monkeypatch):
    class Map(Squares):
        def values(self, X):
            return values(X)

    monkeypatch.setattr(features, "_imported", lambda path: Map)
    for X in (None, sp.csr_matrix(rings(6000)[0])) if values is at_most else (None,):
        with pytest.raises(
            ConfigError, match=re.escape("features.name: got 'mine.Map'; accepted: a map")
        ) as error:
            pipeline.run_repeat(prepared("features.name=mine.Map", X=X), 0)
        assert accepted in str(error.value)


def test_a_map_of_another_package_and_names_that_are_none(capsys, monkeypatch):
    monkeypatch.setattr(features, "_imported", lambda path: Squares)
    assert pipeline.run_repeat(prepared("features.name=mine.Squares"), 0).result.accuracy > 0.9
    monkeypatch.undo()
    assert main(["run", "features.name=kernels"]) == 2
    assert main(["run", "features.name=os.path"]) == 2
    assert main(["run", "features.directions=0"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(
        "pate: features.name: got 'kernels'; accepted: auto, none, kernel, or the import path"
    )
    assert said[2] == "pate: features.directions: got 0; accepted: auto, or a whole number >= 1"
    assert len(said) == 3
