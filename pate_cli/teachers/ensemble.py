"""Teachers on disjoint parts of the private records, and the count of their votes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pate_cli.errors import ConfigError, one_line
from pate_cli.learners import row_by_row
from pate_cli.matrices import LARGEST, within_bounds
from pate_cli.plugins import contained, reason_of
from pate_cli.teachers.linear_votes import add_votes, in_order
from pate_cli.types import FloatArray, IntArray, Votes, _Private

__all__ = ["NONE_FAILED", "Ensemble", "Failures", "Problem", "Teacher", "Teachers", "failure", "failures"]
__all__ += ["in_release", "isolated", "judge_each", "note", "predict_each", "quick", "released"]

_TRANSIENT = (MemoryError, OSError, BrokenExecutor)  # full memory or disk, a lost connection or process
_FAILURES: ContextVar[list[Failures] | None] = ContextVar("failures", default=None)
_RELEASED: ContextVar[bool] = ContextVar("released", default=False)
_KEPT: ContextVar[bool] = ContextVar("kept", default=False)  # the global generators, see `isolated`


class Problem(NamedTuple):
    """Why a learner failed on a part; may quote a record. PRIVATE."""

    learner: str
    can: str  # ability that it lacks
    why: str

    @property
    def error(self) -> ConfigError:
        """Error for a learner that fails on every part."""
        accepted = f"a classifier that {self.can}; it failed on every part ({self.why})"
        return ConfigError("teacher.estimator", self.learner, accepted)


class Failures(NamedTuple):
    """Numbers of teachers that were tried, and that could not be fitted or cannot predict. PRIVATE."""

    tried: int = 0  # teachers whose part has more than one class
    failed: int = 0
    problem: Problem | None = None  # the first
    beyond: int = 0  # teachers not tried: a number of their part is not finite or too large

    def __add__(self, other: tuple[Any, ...]) -> Failures:
        """Failures of two groups of teachers."""
        tried, failed, problem, beyond = Failures(*other)
        return Failures(
            self.tried + tried, self.failed + failed, self.problem or problem, self.beyond + beyond
        )

    def check(self) -> None:
        """Refuse a learner that failed on all parts that it was tried on."""
        if self.problem is not None and self.failed >= self.tried:
            raise self.problem.error

    def __str__(self) -> str:
        """How many failed, and why; empty if none did."""
        parts = []
        if self.problem is not None:
            first = one_line(f"{self.problem.learner}: {self.problem.why}")
            parts.append(f"{min(self.failed, self.tried):,} of {self.tried:,} teachers failed ({first})")
        if self.beyond:
            parts.append(
                f"{self.beyond:,} were not fitted (a number that is not finite or beyond {LARGEST:g})"
            )
        return " and ".join(parts) + ": they vote for the commonest class of their part" * bool(parts)


NONE_FAILED = Failures()
"""No teachers were tried."""


@dataclass(frozen=True, repr=False, eq=False)
class Teacher(_Private):
    """One fitted teacher. PRIVATE."""

    estimator: Any  # predicts 0 .. c-1, positions in `classes`; None where its part has one class
    classes: IntArray  # codes of the classes of its part, ascending, shape (c,)
    majority: int = 0  # commonest class of its part, the lowest of several: its vote where `predict` fails
    seed: int = 0  # of the global generators of `random` and numpy in `predict`

    @property
    def is_linear(self) -> bool:
        """Whether `predict` is the sign of one linear function."""
        return len(self.classes) == 2 and is_linear_model(self.estimator)

    def predict(self, X: Any) -> IntArray:
        """Class codes, shape (m,); its majority where that fails."""
        return self.predict_or_fail(X)[0]

    def predict_or_fail(self, X: Any) -> tuple[IntArray, Problem | None]:
        """Class codes as of `predict`, and the problem if it failed."""
        try:
            with isolated(self.seed):
                return self._predict(X), None
        except Exception as error:  # as nearest neighbours with fewer records than neighbours
            votes = np.full(X.shape[0], self.majority, dtype=np.int64)
            return votes, failure(self.estimator, "can predict after learning from its part", error)

    def predict_each(self, X: Any) -> IntArray:
        """Class codes of private records, each by itself; its majority for one on which it fails."""
        if len(self.classes) == 1:
            return np.full(X.shape[0], self.classes[0])
        codes = predict_each(self.estimator, X, self.seed)
        in_range = (codes >= 0) & (codes < len(self.classes))
        return np.where(in_range, self.classes[np.where(in_range, codes, 0)], self.majority)

    def probabilities(self, X: Any) -> FloatArray | None:
        """Probabilities of its classes, shape (m, c), in [0, 1]; None where it has none."""
        if not hasattr(self.estimator, "predict_proba"):
            return None
        try:
            with isolated(self.seed):
                p = np.asarray(self.estimator.predict_proba(X.copy()), dtype=np.float64)
        except Exception as error:
            note(Failures(0, 1, failure(self.estimator, "gives probabilities after learning", error)))
            return None
        sound = p.shape == (X.shape[0], len(self.classes)) and not np.isnan(p).any()
        return np.clip(p, 0.0, 1.0) if sound else None

    def scores(self, X: Any) -> FloatArray:
        """Probability of class 1, of two classes, shape (m,); 0 or 1, its majority, where it has none."""
        p = self.probabilities(X)
        if p is None or len(self.classes) == 1:
            return np.full(X.shape[0], float(self.majority == 1))
        return p[:, 1]

    def _predict(self, X: Any) -> IntArray:
        if len(self.classes) == 1:
            return np.full(X.shape[0], self.classes[0])
        if self.is_linear:
            model = self.estimator
            scores = in_order(X, model.coef_[0], float(np.broadcast_to(model.intercept_, 1)[0]))
            return np.asarray(self.classes[(scores > 0).astype(np.int64)])
        codes = np.asarray(self.estimator.predict(X.copy()))  # a copy: the next teacher gets the same points
        if codes.shape != (X.shape[0],) or not np.isin(codes, np.arange(len(self.classes))).all():
            raise ValueError("predict does not give a class that was learned for each point")
        return np.asarray(self.classes[codes.astype(np.int64)])


@dataclass(frozen=True, repr=False, eq=False)
class Teachers(_Private):
    """Sequence of teachers, most of them rows of one matrix of coefficients. PRIVATE."""

    alone: Mapping[int, Teacher]  # those fitted by themselves, by number
    numbers: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))  # of the others, ascending
    coefficients: FloatArray = field(default_factory=lambda: np.zeros((0, 1)))
    """Logistic regressions of two classes, the intercept last; shape (k, d + 1)."""

    def __len__(self) -> int:
        return len(self.alone) + len(self.numbers)

    def __getitem__(self, k: int) -> Teacher:
        if k in self.alone:
            return self.alone[k]
        from sklearn.linear_model import LogisticRegression

        row = self.coefficients[int(np.searchsorted(self.numbers, k))]
        model = LogisticRegression(solver="liblinear")
        model.classes_, model.n_features_in_ = np.arange(2), len(row) - 1
        model.coef_, model.intercept_ = row[None, :-1], row[-1:]
        return Teacher(model, np.arange(2))

    def __iter__(self) -> Iterator[Teacher]:
        return (self[k] for k in range(len(self)))


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble(_Private):
    """Teachers trained on disjoint parts of the private records. PRIVATE."""

    teachers: Teachers
    n_classes: int
    problems: Sequence[Problem] = ()  # one a teacher that is constant because the learner failed
    beyond: int = 0  # teachers that are constant because of a number in their part

    @property
    def n_teachers(self) -> int:
        """Number of teachers, K; public."""
        return len(self.teachers)

    @property
    def fits(self) -> Failures:
        """Teachers that could not be fitted, of those that were tried."""
        failed, teachers = len(self.problems), self.teachers
        tried = (
            len(teachers.numbers) + sum(len(each.classes) > 1 for each in teachers.alone.values()) + failed
        )
        return Failures(tried, failed, next(iter(self.problems), None), self.beyond)

    def votes(self, X: Any) -> Votes:
        """Votes on points of shape (m, d); ConfigError if all teachers failed, but not in a release."""
        votes, failures = self.votes_and_failures(X)
        if not in_release():
            failures.check()
        return votes

    def votes_and_failures(self, X: Any, *, each: bool = False) -> tuple[Votes, Failures]:
        """Count the teachers' predictions, and those that failed, which vote for their majority.

        In a release failures must not be shown: they tell of private records. Private records are judged
        `each` by itself: so one of them moves its own votes only.
        """
        X = within_bounds(X) if each else X
        counts = np.zeros((X.shape[0], self.n_classes), dtype=np.int64)
        rows = np.arange(X.shape[0])
        linear: dict[tuple[int, ...], list[Any]] = {}
        failures = Failures(len(self.problems), *self.fits[1:])  # those that predict are tried below
        with quick():
            coefficients = self.teachers.coefficients
            add_votes(coefficients[:, :-1], coefficients[:, -1], (0, 1), X, counts)
            failures += (len(coefficients), 0, None)
            for teacher in self.teachers.alone.values():
                if len(teacher.classes) == 1:
                    counts[:, teacher.classes[0]] += 1
                elif teacher.is_linear:
                    linear.setdefault(tuple(teacher.classes.tolist()), []).append(teacher.estimator)
                else:
                    labels, error = (teacher.predict_each(X), None) if each else teacher.predict_or_fail(X)
                    counts[rows, labels] += 1
                    failures += (1, int(error is not None), error)
                    if error is not None:
                        note(Failures(0, 1, error))
            for (lower, upper), models in linear.items():
                weights = np.concatenate([model.coef_ for model in models])
                intercepts = np.concatenate([np.broadcast_to(model.intercept_, 1) for model in models])
                add_votes(weights, intercepts, (lower, upper), X, counts)
                failures += (len(models), 0, None)
        return Votes(counts, self.n_teachers), failures

    def accuracy(self, X: Any, y: IntArray) -> float:
        """Mean accuracy of the teachers on labelled private records, each judged by itself. PRIVATE."""
        counts = self.votes_and_failures(X, each=True)[0].counts
        return float(counts[np.arange(len(y)), y].mean() / self.n_teachers)


def predict_each(model: Any, X: Any, seed: int = 0) -> IntArray:
    """Label private records, each by itself: codes, shape (n,); -1 for one on which the model fails."""
    labels = np.full(X.shape[0], -1, dtype=np.int64)
    judge_each(model, X, lambda rows: model.predict(rows), labels, seed)
    return labels


def judge_each(model: Any, X: Any, ask: Callable[[Any], Any], into: Any, seed: int = 0) -> None:
    """Ask a model about private records, each by itself; what is in `into` stays where it fails.

    A call of `predict` fails for all of its records if it fails for one, as trees do on numbers beyond 3.4e38
    and naive Bayes on a category that it has not seen, or may measure one by the others. So records are shown
    one at a time, but to classifiers that are known not to (`row_by_row`). Numbers are cut off at 1e30.
    """
    n, X = X.shape[0], within_bounds(X)
    at_once = n if row_by_row(model) else 1
    with quick():
        for first in range(0, n, at_once):
            rows = slice(first, first + at_once)
            try:
                with _seeded(seed):
                    into[rows] = np.asarray(ask(X[rows].copy())).reshape(into[rows].shape)
            except Exception as error:
                failure(model, "predicts", error)


def failure(estimator: Any, can: str, error: Exception) -> Problem:
    """Problem of a learner with one part; OSError, but in a release, where that was want of memory or disk.

    Done again it may not fail, so it must not become a vote that is kept as a number. In a release one record
    may cause it, which must decide nothing.
    """
    from pate_cli.learners.dense import DenseInput

    named = estimator.estimator if isinstance(estimator, DenseInput) else estimator
    name, cause = type(named).__name__, _transient(error)
    if cause is not None and not in_release():
        why = one_line(f"{type(cause).__name__}: {cause}".removesuffix(": "))
        raise OSError(
            f"{name}: {why}; this repeat is not kept, and the same command does it again"
        ) from error
    return Problem(name, can, reason_of(error))


def _transient(error: BaseException | None) -> BaseException | None:
    """The error, or one that it follows from, that may not come again."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        if isinstance(error, _TRANSIENT):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def failures() -> Iterator[list[Failures]]:
    """Collect the failures of all teachers within this. PRIVATE: for experiments alone."""
    seen: list[Failures] = []
    token = _FAILURES.set(seen)
    try:
        yield seen
    finally:
        _FAILURES.reset(token)


def note(failed: Failures) -> None:
    """Add to the failures that are collected, if they are."""
    if (seen := _FAILURES.get()) is not None:
        seen.append(failed)


@contextmanager
def released() -> Iterator[None]:
    """Contain every failure of a teacher within this, for a release: private records may have caused it."""
    token = _RELEASED.set(True)
    try:
        yield
    finally:
        _RELEASED.reset(token)


def in_release() -> bool:
    """Whether this is within `released`."""
    return _RELEASED.get()


@contextmanager
def quick() -> Iterator[None]:
    """Leave out scikit-learn's warnings, and its checks: of parameters and finite numbers, made before.

    The global generators are kept once for all that is `isolated` within.
    """
    import sklearn

    with (
        _generators_kept(),
        sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Seed the global generators, and restore them: draws of a learner on one part change no other."""
    with _generators_kept(), _seeded(seed):
        yield


@contextmanager
def _generators_kept() -> Iterator[None]:
    if _KEPT.get():  # by a block around this one
        yield
        return
    token = _KEPT.set(True)
    plain, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002 - code that is not ours uses it
    try:
        yield
    finally:
        _KEPT.reset(token)
        random.setstate(plain)
        np.random.set_state(theirs)  # noqa: NPY002


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    with np.errstate(all="ignore"), contained():
        yield


def is_linear_model(estimator: Any) -> bool:
    """Whether the classifier is a row of coefficients a class: small, and quickly fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return type(estimator) in (LogisticRegression, LinearSVC)
