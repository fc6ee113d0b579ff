"""Votes of teachers trained on private sets that differ in all records of one person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pate_cli import learners, teachers
from pate_cli.mechanisms.votes import VoteAttack
from pate_cli.types import FloatArray, IntArray, PrivateRecords

__all__ = ["person_attacks"]

_PERSONS = 4  # a teacher: its part has records enough, and one person is a good share of it
_EACH = 3  # records of a person at most, but of the one that changes
_MANY = 60


def person_attacks(
    n_teachers: int,
    n_classes: int,
    n_queries: int,
    *,
    teacher: tuple[str, Mapping[str, Any]],
    seed: int = 0,
) -> tuple[list[VoteAttack], int]:
    """Train teachers on synthetic records of persons, and again with all records of one person replaced.

    The attacks are on the votes on points where the two differ, as often as there are queries, for each
    change that moved one vote on a query or none. The number is the most votes that one person moved on a
    query: if it is more than 1, no mechanism on votes protects persons. ConfigError if the learner failed on
    every part.
    """
    rng = np.random.default_rng([seed, 0x5EED])
    n_persons = _PERSONS * n_teachers
    points = np.linspace(-2, 2, max(n_queries, 2))[:, None] * np.ones(2)
    people = [_person(rng, n_classes) for _ in range(n_persons)]

    def votes(persons: list[tuple[FloatArray, IntArray]]) -> IntArray:
        sizes = [len(y) for _, y in persons]
        X, y = (np.concatenate([person[part] for person in persons]) for part in (0, 1))
        ensemble = teachers.train(
            PrivateRecords(X, y, np.repeat(np.arange(n_persons), sizes)),
            n_teachers=n_teachers,
            learner=learners.make_learner(*teacher, seed=None, n_classes=n_classes),
            rng=np.random.default_rng([seed, 1]),
            n_classes=n_classes,
        )
        return ensemble.votes(points).counts

    before, attacks, most = votes(people), [], 0
    for name, theirs in _changes(rng, n_classes):
        after = votes([theirs, *people[1:]])
        moved = np.abs(after - before).sum(axis=1) // 2
        most = max(most, int(moved.max()))
        if moved.max() <= 1:
            at = np.resize(np.flatnonzero(moved == moved.max()), n_queries)
            attacks.append(VoteAttack(f"all records of a person: {name}", before[at], after[at]))
    return attacks, most


def _person(rng: np.random.Generator, n_classes: int) -> tuple[FloatArray, IntArray]:
    X = rng.normal(size=(int(rng.integers(1, _EACH + 1)), 2))
    y: IntArray = np.clip(np.floor((X[:, 0] + 2) / 4 * n_classes), 0, n_classes - 1).astype(np.int64)
    return X, y


def _changes(rng: np.random.Generator, n_classes: int) -> Iterator[tuple[str, tuple[FloatArray, IntArray]]]:
    spread = np.linspace(-2, 2, _MANY)[:, None] * np.ones(2)
    ones = np.ones(_MANY, dtype=np.int64)
    yield "many of the first class", (spread, 0 * ones)
    yield "many of the last class", (spread, (n_classes - 1) * ones)
    yield "one, far out of bounds", (np.full((1, 2), 1e6), np.zeros(1, dtype=np.int64))
    yield "labels at random", (rng.normal(size=(_MANY, 2)), rng.integers(n_classes, size=_MANY))
