"""A part that a learner fails on fails alone, and its teacher is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from pate_cli import teachers
from pate_cli.errors import ConfigError
from pate_cli.types import PrivateRecords


class Picky(ClassifierMixin, BaseEstimator):
    """Fails, in `fit` or in `predict`, where a feature is 7."""

    def __init__(self, late: bool = False) -> None:
        self.late = late

    def fit(self, X: Any, y: Any) -> Picky:
        self.classes_, self.bad_ = np.unique(y), bool((X == 7).any())
        if self.bad_ and not self.late:
            raise KeyError("a record")
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), 99 if self.bad_ else self.classes_[-1])


def _records(n: int = 80, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.arange(n) % 2


def _train(X: Any, y: Any, learner: Any, count: int = 10, **more: Any) -> Any:
    private, rng = PrivateRecords(X, y), np.random.default_rng(3)
    return teachers.train(private, n_teachers=count, learner=learner, rng=rng, n_classes=2, **more)


@pytest.mark.parametrize("late", [False, True])
def test_a_teacher_that_fails_votes_its_own_majority(late: bool) -> None:
    X, y = _records()
    part = teachers.partition(80, 10, np.random.default_rng(3))[4]
    y[part] = [0, 0, 0, 0, 0, 1, 1, 1]
    X[part[2], 1] = 7
    votes = _train(X, y, Picky(late)).votes(X).counts
    np.testing.assert_array_equal(votes, np.tile([1, 9], (80, 1)))
    y[part] = [1, 0, 1, 0, 1, 0, 1, 0]  # a tie: the lowest code
    np.testing.assert_array_equal(_train(X, y, Picky(late)).votes(X).counts, votes)


@pytest.mark.parametrize("late", [False, True])
def test_a_learner_that_fails_everywhere_is_an_error_but_in_a_release(late: bool) -> None:
    X, y = _records()
    X[:, 0] = 7
    with pytest.raises(ConfigError, match=r"teacher\.estimator: got 'Picky'; .*failed on every part"):
        _train(X, y, Picky(late)).votes(X)
    votes = _train(X, y, Picky(late), strict=False).votes_and_failures(X)[0].counts
    assert (votes.sum(axis=1) == 10).all()


def test_failures_of_shards_add_up() -> None:
    """Whether all failed is known where all are, however teachers are spread over workers."""
    X, y = _records()
    for part in teachers.partition(80, 10, np.random.default_rng(3))[:5]:
        X[part[0]] = 7
    shards = [_train(X, y, Picky(), strict=False, only=range(*c)) for c in ((0, 5), (5, 10))]
    found = [shard.votes_and_failures(X)[1] for shard in shards]
    assert [(f.tried, f.failed) for f in found] == [(5, 5), (5, 0)]
    (found[0] + found[1]).check()
    with pytest.raises(ConfigError):
        found[0].check()


@pytest.mark.parametrize("learner", [LogisticRegression(solver="liblinear"), KNeighborsClassifier(1)])
def test_a_part_with_a_number_beyond_bounds_is_constant(learner: Any) -> None:
    X, y = _records()
    part = teachers.partition(80, 10, np.random.default_rng(3))[0]
    X[part[0], 0] = 1e31
    made = _train(X, y, learner)
    assert [len(teacher.classes) for teacher in made.teachers].count(1) == 1
    told = "1 were not fitted (a number that is not finite or beyond 1e+30): they vote for the commonest"
    assert str(made.votes_and_failures(X)[1]).startswith(told)
    assert len(made.teachers[0].classes) == 1
