"""Teachers on disjoint parts of the private records, and the count of their votes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.teachers.linear_votes import FittedTogether, add_votes, in_order
from pate_cli.types import FloatArray, IntArray, Votes, _Private

__all__ = ["Ensemble", "Failures", "Teacher", "failure", "isolated", "quick"]


class Failures(NamedTuple):
    """Count of the teachers that a learner could not make, or could not let vote. PRIVATE.

    Attributes
    ----------
    tried : int
        Number of teachers whose part has more than one class.
    failed : int
        How many of them are constant because the learner raised an exception.
    problem : ConfigError or None
        What it said the first time. May quote a record.
    """

    tried: int
    failed: int
    problem: ConfigError | None

    def __add__(self, other: tuple[Any, ...]) -> Failures:
        """Of two groups of teachers."""
        theirs = Failures(*other)
        return Failures(
            self.tried + theirs.tried, self.failed + theirs.failed, self.problem or theirs.problem
        )

    def check(self) -> None:
        """Refuse a learner that failed on all parts that it was tried on."""
        if self.problem is not None and self.failed == self.tried:
            raise self.problem


@dataclass(frozen=True, repr=False, eq=False)
class Teacher(_Private):
    """One fitted teacher. PRIVATE.

    Attributes
    ----------
    estimator : fitted scikit-learn classifier
        Predicts 0 .. c-1, positions in `classes`; None where its part has one class.
    classes : ndarray of int64, shape (c,)
        Codes of the classes of its part, ascending.
    majority : int
        Code of the class most records of its part have, the lowest of several: its vote where the
        estimator cannot predict.
    seed : int
        Of random numbers that `predict` takes from the generators of `random` and numpy.
    """

    estimator: Any
    classes: IntArray
    majority: int = 0
    seed: int = 0

    @property
    def is_linear(self) -> bool:
        """Whether `predict` is the sign of one linear function."""
        return len(self.classes) == 2 and is_linear_model(self.estimator)

    def predict(self, X: Any) -> IntArray:
        """Class codes, shape (m,), of `X` of shape (m, d); its majority where that fails."""
        return self.predict_or_fail(X)[0]

    def predict_or_fail(self, X: Any) -> tuple[IntArray, ConfigError | None]:
        """Class codes as `predict` gives them, and what failed, if anything did."""
        try:
            with isolated(self.seed):
                return self._predict(X), None
        except (Exception, SystemExit) as error:  # as nearest neighbours with fewer records than neighbours
            votes = np.full(X.shape[0], self.majority, dtype=np.int64)
            return votes, failure(self.estimator, "can predict after learning from its part", error)

    def scores(self, X: Any) -> FloatArray:
        """Probability of its second class, shape (m,), in [0, 1]; 0 or 1, its majority, where that fails."""
        try:
            with isolated(self.seed):
                found = np.asarray(self.estimator.predict_proba(X.copy()), dtype=float)[:, 1]
            if found.shape == (X.shape[0],) and not np.isnan(found).any():
                return np.asarray(np.clip(found, 0.0, 1.0))
        except (Exception, SystemExit):
            pass
        return np.full(X.shape[0], float(self.majority == self.classes[-1]))

    def _predict(self, X: Any) -> IntArray:
        if len(self.classes) == 1:
            return np.full(X.shape[0], self.classes[0])
        if self.is_linear:
            model = self.estimator
            scores = in_order(X, model.coef_[0], float(np.broadcast_to(model.intercept_, 1)[0]))
            return np.asarray(self.classes[(scores > 0).astype(np.int64)])
        found = np.asarray(self.estimator.predict(X.copy()))  # a copy: the next teacher gets the same points
        if found.shape != (X.shape[0],) or not np.isin(found, np.arange(len(self.classes))).all():
            raise ValueError("predict does not give a class that was learned for each point")
        return np.asarray(self.classes[found.astype(np.int64)])

    def __repr__(self) -> str:
        return "Teacher()"


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble(_Private):
    """Teachers trained on disjoint parts of the private records. PRIVATE.

    Only their votes leave, and those only through a mechanism.

    Attributes
    ----------
    teachers : sequence of Teacher
        K of them.
    n_classes : int
        Number of classes, C.
    failed : int
        Number of the teachers that are constant because the learner raised an exception on their part.
    problem : ConfigError or None
        What it said the first time.
    strict : bool
        Whether `votes` raises where the learner failed on all parts. In a release it must not: that would
        be a word about the records beside what the mechanism gives.
    """

    teachers: Sequence[Teacher] | FittedTogether
    n_classes: int
    failed: int = 0
    problem: ConfigError | None = None
    strict: bool = True

    @property
    def n_teachers(self) -> int:
        """Number of teachers, K; public."""
        return len(self.teachers)

    def votes(self, X: Any) -> Votes:
        """Count the teachers' predictions; memory does not grow with teachers times points.

        Linear teachers vote in matrix products, which give exactly the votes of their `predict`.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)

        Returns
        -------
        Votes
            `counts` of shape (m, C), rows summing to K.

        Raises
        ------
        ConfigError
            If no teacher could be fitted, or none can predict, and the ensemble is `strict`.
        """
        votes, failures = self.votes_and_failures(X)
        if self.strict:
            failures.check()
        return votes

    def votes_and_failures(self, X: Any) -> tuple[Votes, Failures]:
        """Count the teachers' predictions, and the teachers that failed; see `votes`."""
        counts = np.zeros((X.shape[0], self.n_classes), dtype=np.int64)
        rows = np.arange(X.shape[0])
        linear: dict[tuple[int, ...], list[Any]] = {}
        failures = Failures(self.failed, self.failed, self.problem)
        with quick():
            alone: Iterable[Teacher] = self.teachers
            if isinstance(self.teachers, FittedTogether):
                coefficients = self.teachers.coefficients
                add_votes(coefficients[:, :-1], coefficients[:, -1], (0, 1), X, counts)
                alone = self.teachers.alone.values()
                failures += (len(coefficients), 0, None)
            for teacher in alone:
                if len(teacher.classes) == 1:
                    counts[:, teacher.classes[0]] += 1
                elif teacher.is_linear:
                    linear.setdefault(tuple(teacher.classes.tolist()), []).append(teacher.estimator)
                else:
                    found, error = teacher.predict_or_fail(X)
                    counts[rows, found] += 1
                    failures += (1, int(error is not None), error)
            for (lower, upper), models in linear.items():
                weights = np.concatenate([model.coef_ for model in models])
                intercepts = np.concatenate([np.broadcast_to(model.intercept_, 1) for model in models])
                add_votes(weights, intercepts, (lower, upper), X, counts)
                failures += (len(models), 0, None)
        return Votes(counts, self.n_teachers), failures

    def accuracy(self, X: Any, y: IntArray) -> float:
        """Mean accuracy of a teacher, in [0, 1]. NOT DIFFERENTIALLY PRIVATE: for diagnostics only."""
        counts = self.votes(X).counts
        return float(counts[np.arange(len(y)), y].mean() / self.n_teachers)

    def __repr__(self) -> str:
        return f"Ensemble(n_teachers={self.n_teachers}, n_classes={self.n_classes})"


def failure(estimator: Any, can: str, error: BaseException) -> ConfigError:
    """Error of an experiment in which a learner fails on every part. May quote a record."""
    accepted = f"a classifier that {can}; it failed on every part ({error})"
    return ConfigError("teacher.estimator", type(estimator).__name__, accepted)


@contextmanager
def quick() -> Iterator[None]:
    """Leave out checks that scikit-learn would do for each of thousands of small fits, and warnings.

    Parameters were checked by `check_learner`, finiteness by the loaders.
    """
    import sklearn

    with (
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Let a learner find the same global state in each part, whatever it drew or set in another."""
    plain, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002 - code that is not ours uses it
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(theirs)  # noqa: NPY002


def is_linear_model(estimator: Any) -> bool:
    """Whether what a classifier learns is a row of coefficients a class: small, and quickly fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return type(estimator) in (LogisticRegression, LinearSVC)
