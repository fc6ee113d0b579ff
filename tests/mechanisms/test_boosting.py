"""Boosting: what it costs is what the service says, one record moves one teacher a round, and it learns."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from pate_cli import mechanisms, teachers
from pate_cli.cli import main
from pate_cli.errors import ConfigError
from pate_cli.mechanisms.counting import auto_count
from pate_cli.privacy.gaussian import calibrate_sigma
from pate_cli.privacy.noise import SeededNoise
from pate_cli.students import load_student, save_student
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting


def setting(eps=2.0, n_classes=2, n_teachers=40):
    return Setting(
        eps=eps,
        delta=1e-4,
        n_private=2000,
        n_public=60,
        budget=20,
        n_features=8,
        n_classes=n_classes,
        n_teachers=n_teachers,
        sparse=False,
        teacher=("logistic", {}),
        student=("logistic", {}),
        unanswered="drop",
    )


def plan(s, **options):
    return mechanisms.plan("boosting", options, s)


def data(n_classes, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    return X, (X[:, :n_classes] @ np.diag(np.arange(1, n_classes + 1))).argmax(axis=1).astype(np.int64)


def learn(s, noise=0, **options):
    X, y = data(s.n_classes)
    public = PublicPoints(data(s.n_classes, 60, 1)[0])
    source = SeededNoise(np.random.SeedSequence(noise))
    return plan(s, **options).release(Private(PrivateRecords(X, y)), public, source, np.random.default_rng(0))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_noise_is_for_every_query_of_every_round(n_classes):
    p = plan(setting(n_classes=n_classes), rounds=5)
    sensitivity = 1.0 if n_classes == 2 else math.sqrt(2)
    assert p.describe()["sigma"] == pytest.approx(calibrate_sigma(2.0, 1e-4, 5 * 60, sensitivity))
    assert (p.guarantee.eps, p.guarantee.delta) == (2.0, 1e-4)
    learnt = learn(setting(n_classes=n_classes), rounds=5)
    assert learnt.spent.eps == pytest.approx(2.0, rel=1e-6)  # all of it was asked


def test_one_record_moves_at_most_one_vote_a_query_in_each_round(monkeypatch):
    """With every answer but its own noise the same, rounds see the same student on both databases."""
    seen = []
    real = teachers.train

    def spying(private, **options):
        ensemble = real(private, **options)
        other = PrivateRecords(private.X.copy(), private.y.copy())
        other.X[7], other.y[7] = 50.0, 1 - other.y[7]
        weight = options["sample_weight"].copy()
        weight[7] = 1e3  # the record's own weight may be anything
        options["rng"] = np.random.default_rng()
        options["rng"].bit_generator.state = state["before"]
        neighbour = real(other, **(options | {"sample_weight": weight}))
        points = data(2, 60, 1)[0]
        seen.append(np.abs(ensemble.votes(points).counts - neighbour.votes(points).counts).max())
        return ensemble

    state = {}

    def recording(private, **options):
        state["before"] = options["rng"].bit_generator.state
        return spying(private, **options)

    monkeypatch.setattr(teachers, "train", recording)
    learn(setting())
    assert len(seen) == 4
    assert max(seen) == 1


def test_weights_are_how_wrong_the_student_is(monkeypatch):
    given = []
    real = teachers.train
    monkeypatch.setattr(teachers, "train", lambda p, **o: (given.append(o["sample_weight"]), real(p, **o))[1])
    learnt = learn(setting(eps=math.inf), rounds=2)
    np.testing.assert_array_equal(given[0], 1)
    X, y = data(2)
    assert given[1].min() > 0
    one = learn(setting(eps=math.inf), rounds=1).model.predict_proba(X)
    np.testing.assert_allclose(given[1], 2 * (1 - one[np.arange(len(y)), y]), atol=1e-9)
    assert learnt.answers.labels.tolist() == learnt.model.predict(data(2, 60, 1)[0]).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_learns_and_is_kept(n_classes, tmp_path):
    learnt = learn(setting(eps=8.0, n_classes=n_classes))
    X, y = data(n_classes, 1000, 2)
    assert np.mean(learnt.model.predict(X) == y) > 0.85
    path = tmp_path / "student.skops"
    save_student(path, learnt.model, classes=list("abc")[:n_classes], n_features=8, encoder=None, meta={})
    kept = load_student(path).student
    np.testing.assert_array_equal(kept.predict(X), learnt.model.predict(X))


def test_noise_and_data_streams_are_apart():
    same, again, other = learn(setting()), learn(setting()), learn(setting(), noise=1)
    X = data(2)[0]
    np.testing.assert_array_equal(same.model.decision_function(X), again.model.decision_function(X))
    assert not np.allclose(same.model.decision_function(X), other.model.decision_function(X))


@pytest.mark.parametrize(
    ("option", "value"),
    [("rounds", 0), ("rounds", True), ("step", 0), ("step", math.nan), ("kernel", "cubic")],
)
def test_options_are_refused_by_name(option, value):
    with pytest.raises(ConfigError, match=rf"^mechanism\.{option}: got "):
        plan(setting(), **{option: value})


def test_teachers_are_counted_by_themselves_where_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["dataset.n_records=4000", "hydra.run.dir=out"]
    assert main(["run", "mechanism=boosting", "teacher.count=auto", *small]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["config"]["mechanism"]["name"] == "boosting"
    assert result["n_teachers"] == auto_count(3200, 80, 5, 2, 1.0, 1 / 3200, rounds=4)
    assert result["accuracy"]["mean"] > 0.85
