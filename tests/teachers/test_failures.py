"""A part that a learner fails on fails alone, and its teacher is constant."""

from __future__ import annotations

import errno
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from pate_cli import teachers
from pate_cli.cli import main
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
    with teachers.released():
        votes = _train(X, y, Picky(late)).votes(X).counts
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


class Short(Picky):
    """Wants for memory, or the like, in `fit`, `predict` or `predict_proba`, where a feature is 7."""

    def __init__(self, at: str = "fit", kind: int = 0) -> None:
        self.at, self.kind = at, kind

    def _do(self, at: str, bad: Any) -> None:
        if at == self.at and bad:
            try:
                raise KINDS[self.kind]
            except Exception as error:
                if self.kind != len(KINDS) - 1:
                    raise
                raise ValueError("of a library") from error

    def fit(self, X: Any, y: Any) -> Short:
        self.classes_, self.bad_ = np.unique(y), bool((X == 7).any())
        self._do("fit", self.bad_)
        return self

    def predict(self, X: Any) -> Any:
        self._do("predict", self.bad_)
        return np.full(len(X), self.classes_[-1])

    def predict_proba(self, X: Any) -> Any:
        self._do("predict_proba", self.bad_)
        return np.tile([0.3, 0.7], (len(X), 1))


KINDS = (
    MemoryError("cannot allocate"),
    OSError(errno.ENOSPC, "No space left on device"),
    ConnectionResetError("reset by peer"),
    BrokenProcessPool("killed"),
    MemoryError("within"),
)


@pytest.mark.parametrize("kind", range(len(KINDS)))
@pytest.mark.parametrize("at", ["fit", "predict", "predict_proba", "predict each", "scores"])
def test_want_of_memory_or_disk_is_no_vote_but_in_a_release(at: str, kind: int) -> None:
    X, y = _records()
    part = teachers.partition(80, 10, np.random.default_rng(3))[4]
    X[part[2], 1] = 7

    def work() -> Any:
        made = _train(X, y, Short(at.split()[0] if at != "scores" else "predict_proba", kind))
        if at == "predict_proba":
            return teachers.sum_of_unit_shares(made, X)
        if at == "scores":
            return teachers.sum_of_unit_vectors(made, X, np.eye(80)[:, :1] - np.eye(80)[:, 1:2])
        return made.accuracy(X, y) if at == "predict each" else made.votes(X).counts

    said = "this repeat is not kept, and the same command does it again"
    with pytest.raises(OSError, match=f"Short: {type(KINDS[kind]).__name__}: .*; {said}"):
        work()
    with teachers.released():
        assert np.isfinite(work()).all()


@pytest.mark.parametrize("mechanism", ["gaussian", "soft", "score_boosting", "tune"])
def test_that_every_teacher_failed_is_said(mechanism: str, tmp_path: Any, capsys: Any) -> None:
    """In the probabilities of mechanisms that read those, too."""
    given = ["dataset.n_records=1000", "split.public=60", "teacher.size=40", "eps=4", "compute.workers=1"]
    learner = f"teacher.estimator={__name__}.Negative"
    assert main(["run", *given, f"mechanism={mechanism}", learner, f"hydra.run.dir={tmp_path}"]) == 2
    assert "failed on every part (a negative number)" in " ".join(capsys.readouterr().err.split())


class Negative(GaussianNB):
    """Learns from anything, and predicts after none of it that is negative."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Negative:
        self.bad_ = bool((X < 0).any())
        return super().fit(X, y, sample_weight)

    def _joint_log_likelihood(self, X: Any) -> Any:
        if self.bad_:
            raise ValueError("a negative number")
        return super()._joint_log_likelihood(X)
