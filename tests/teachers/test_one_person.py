"""All records of one person move one teacher, to the bit: whatever they become, and however many they are."""

from __future__ import annotations

import numpy as np
import pytest

from pate_cli import teachers
from pate_cli.datasets import split
from pate_cli.learners import make_learner
from pate_cli.types import Dataset, PrivateRecords

N_PERSONS, K = 120, 12


def persons(seed=0):
    """Records of each person: between one and nine."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(N_PERSONS):
        X = rng.normal(size=(rng.integers(1, 10), 4))
        found.append((X, (X[:, 0] + rng.normal(size=len(X)) > 0).astype(np.int64)))
    return found


def changes():
    rng = np.random.default_rng(1)
    yield "other values", (1e3 * rng.normal(size=(5, 4)), np.array([0, 1, 1, 1, 0]))
    yield "other labels", (np.ones((5, 4)), np.ones(5, dtype=np.int64))
    yield "one record", (rng.normal(size=(1, 4)), np.zeros(1, dtype=np.int64))
    yield "many records", (rng.normal(size=(400, 4)), rng.integers(2, size=400))
    yield "records that no learner takes", (np.full((3, 4), 1e300), np.array([0, 1, 0]))


def said(people, learner, points):
    """Scores or labels of each teacher, shape (K, m)."""
    records = PrivateRecords(
        np.concatenate([X for X, _ in people]),
        np.concatenate([y for _, y in people]),
        np.repeat(np.arange(len(people)), [len(y) for _, y in people]),
    )
    ensemble = teachers.train(
        records,
        n_teachers=K,
        learner=make_learner(learner, {}, seed=None, n_classes=2),
        rng=np.random.default_rng(3),
        n_classes=2,
    )
    return np.array([teacher.scores(points) for teacher in ensemble.teachers])


@pytest.mark.parametrize("learner", ["logistic", "tree", "sgd"])
def test_one_person_moves_one_teacher(learner):
    people, points = persons(), np.random.default_rng(2).normal(size=(60, 4))
    before = said(people, learner, points)
    for person in (0, 57, N_PERSONS - 1):
        moved = 0
        for name, theirs in changes():
            after = said([*people[:person], theirs, *people[person + 1 :]], learner, points)
            touched = (before != after).any(axis=1).sum()
            assert touched <= 1, f"{name} of person {person}"
            moved += touched
        assert moved  # and these changes do move one


def test_the_split_puts_the_same_persons_on_the_same_side_whatever_one_has():
    people = persons()

    def sides(people):
        data = Dataset(
            "t",
            np.concatenate([X for X, _ in people]),
            np.concatenate([y for _, y in people]),
            ("0", "1"),
            "",
            "",
            persons=np.repeat(np.arange(N_PERSONS), [len(y) for _, y in people]),
            person_column="name",
        )
        parts = split(data, rng=np.random.default_rng(5), private=80, public=20)
        return [parts.private.X[parts.private.persons == u] for u in range(80)]

    before = sides(people)
    for person in range(0, N_PERSONS, 10):
        theirs = (np.zeros((400, 4)), np.zeros(400, dtype=np.int64))
        after = sides([*people[:person], theirs, *people[person + 1 :]])
        assert sum(not np.array_equal(a, b) for a, b in zip(before, after, strict=True)) <= 1
