"""Fit one teacher on each part, and count their votes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.teachers import batched, sparse
from pate_cli.teachers.linear import Scores, Together, add_votes
from pate_cli.teachers.parts import check_disjoint, partition
from pate_cli.teachers.progress import tick
from pate_cli.types import FloatArray, IntArray, PrivateRecords, Votes, _Private

__all__ = ["Ensemble", "Teacher", "train"]

_FEWEST = 8  # teachers worth fitting at once

_RECORDS = 2**23
"""Most numbers of records copied at once: 64 MB (more where sparse records are fuller than most)."""


@dataclass(frozen=True, repr=False, eq=False)
class Teacher(_Private):
    """One fitted teacher. PRIVATE.

    Attributes
    ----------
    estimator : fitted scikit-learn classifier
        Predicts 0 .. c-1, positions in `classes`.
    classes : ndarray of int64, shape (c,)
        Codes of the classes its part has, ascending.
    """

    estimator: Any
    classes: IntArray

    def predict(self, X: Any) -> IntArray:
        """Predict class codes, shape (m,), for `X` of shape (m, d)."""
        try:
            positions = np.asarray(self.estimator.predict(X)).astype(np.int64)
        except (TypeError, ValueError) as error:
            # As nearest neighbours with fewer records than neighbours.
            accepted = f"a classifier that can predict after learning from its part ({error})"
            raise ConfigError("teacher.estimator", type(self.estimator).__name__, accepted) from error
        predicted: IntArray = self.classes[positions]
        return predicted

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
    """

    teachers: Sequence[Teacher]
    n_classes: int

    @property
    def n_teachers(self) -> int:
        """Number of teachers, K; public."""
        return len(self.teachers)

    def votes(self, X: Any) -> Votes:
        """Count the teachers' predictions.

        Memory does not grow with teachers times points. Linear teachers vote in one matrix product a
        block, which gives exactly the votes of their `predict`.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)

        Returns
        -------
        Votes
            `counts` of shape (m, C), rows summing to K.
        """
        counts = np.zeros((X.shape[0], self.n_classes), dtype=np.int64)
        rows = np.arange(X.shape[0])
        linear: dict[tuple[int, ...], list[Any]] = {}
        with _quick():
            alone: Iterable[Teacher] = self.teachers
            if isinstance(self.teachers, Together):
                add_votes(Scores.of_together(self.teachers), (0, 1), X, counts)
                alone = self.teachers.alone.values()
            for teacher in alone:
                if len(teacher.classes) == 1:
                    counts[:, teacher.classes[0]] += 1
                elif _is_linear(teacher):
                    linear.setdefault(tuple(teacher.classes.tolist()), []).append(teacher.estimator)
                else:
                    counts[rows, teacher.predict(X)] += 1
            for (lower, upper), estimators in linear.items():
                add_votes(Scores.of_estimators(estimators), (lower, upper), X, counts)
        return Votes(counts, self.n_teachers)

    def accuracy(self, X: Any, y: IntArray) -> float:
        """Mean accuracy of a teacher. NOT DIFFERENTIALLY PRIVATE: for diagnostics only.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)
        y : ndarray of int64, shape (m,)
            Class codes.

        Returns
        -------
        float
            In [0, 1].
        """
        counts = self.votes(X).counts
        return float(counts[np.arange(len(y)), y].mean() / self.n_teachers)

    def __repr__(self) -> str:
        return f"Ensemble(n_teachers={self.n_teachers}, n_classes={self.n_classes})"


def train(
    private: PrivateRecords,
    *,
    n_teachers: int,
    learner: Any,
    rng: np.random.Generator,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    only: range | None = None,
) -> Ensemble:
    """Train one teacher on each of `n_teachers` disjoint parts of the private records.

    Changing one record changes one teacher: parts and seeds depend on `rng` and sizes alone, and no
    fit sees another part. A part with one class gives a constant teacher.

    Parameters
    ----------
    private : PrivateRecords
    n_teachers : int
        K, in [1, n_private].
    learner : unfitted scikit-learn classifier
        Copied for each teacher; `random_state` is set, where it has one.
    rng : Generator
        Deals out the records, and the teachers' seeds.
    n_classes : int
        Number of classes, C.
    sample_weight : ndarray of shape (n_private,), optional
        Weight of each record in the fit of its teacher, positive; each may depend on its own record and on
        what is public, nothing else. A learner that takes no weights gets its part resampled by them.
    only : range, optional
        Numbers of the teachers wanted, where others are trained elsewhere; these are what they would be
        among all.

    Returns
    -------
    Ensemble

    Raises
    ------
    ConfigError
        If there are more teachers than records, or the learner cannot learn from a part.

    Notes
    -----
    Warnings of the fits (as of a teacher that did not converge) are not shown: they would be computed
    from private records, and there may be thousands.
    """
    parts = partition(private.n_records, n_teachers, rng)
    check_disjoint(parts, private.n_records)
    seeds = rng.integers(2**31, size=n_teachers)
    if only is not None:
        parts, seeds = [parts[k] for k in only], seeds[list(only)]
    fresh = _copier(learner)
    solver = _solver(learner, private.X, n_classes) if n_teachers >= _FEWEST else None
    resample = sample_weight is not None and not _takes_weights(learner)
    numbers, coefficients, alone = [], [], {}
    with _quick(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first, group in _groups(parts, private.X.shape[1]):
            # Rows once in the order of the parts; each part is then a contiguous slice.
            order = np.concatenate(group)
            X, y = private.X[order], private.y[order]
            weights = None if sample_weight is None else sample_weight[order]
            ends = np.cumsum([len(part) for part in group])
            starts = ends - np.diff(ends, prepend=0)
            at_once, theirs = _fit_at_once(None if resample else solver, learner, X, y, weights, starts, ends)
            done = first + len(at_once)
            tick(done, n_teachers)
            for k in np.setdiff1d(np.arange(len(group)), at_once).tolist():
                rows: Any = slice(starts[k], ends[k])
                own = None if weights is None else weights[rows]
                seed = int(seeds[first + k])
                if own is not None and resample:
                    rows, own = starts[k] + _resampled(own, seed), None
                alone[first + k] = _fit(fresh, X[rows], y[rows], seed, n_classes, own)
                done += 1
                tick(done, n_teachers)
            numbers.append(first + at_once)
            coefficients.append(theirs)

    def make(k: int, row: FloatArray) -> Teacher:
        return _with_coefficients(fresh(int(seeds[k])), row)

    together = coefficients[0] if len(coefficients) == 1 else np.concatenate(coefficients)
    return Ensemble(Together(alone, np.concatenate(numbers), together, make), n_classes)


def _groups(parts: list[IntArray], n_features: int) -> Iterator[tuple[int, list[IntArray]]]:
    """Parts whose records are copied at once, with the number of the first: public numbers decide."""
    rows = _RECORDS // min(max(n_features, 1), 64)  # of sparse records, far fewer are not zero
    at_once = max(_FEWEST, rows // len(parts[0]))
    for first in range(0, len(parts), at_once):
        yield first, parts[first : first + at_once]


def _solver(learner: Any, X: Any, n_classes: int) -> Any:
    """Module that finds the learner's minimiser for many parts at once; None if there is none.

    `batched` is for few features, `sparse` for records with few entries: there they were measured to be
    faster than the solver's loop, two to fifty times.
    """
    from sklearn.linear_model import LogisticRegression

    if n_classes != 2 or type(learner) is not LogisticRegression:
        return None
    same = LogisticRegression(solver="liblinear").get_params()
    free = ("C", "tol", "max_iter", "random_state", "verbose")  # change nothing in the minimiser but C
    if any(value != same[name] for name, value in learner.get_params().items() if name not in free):
        return None
    return batched if isinstance(X, np.ndarray) and X.shape[1] <= batched.MOST_FEATURES else sparse


def _fit_at_once(
    solver: Any,
    learner: Any,
    X: Any,
    y: IntArray,
    weights: FloatArray | None,
    starts: IntArray,
    ends: IntArray,
) -> tuple[IntArray, FloatArray]:
    """Positions of the parts that could be fitted together, and their coefficients, intercept last.

    Which way a part goes depends on no other part.
    """
    sizes = ends - starts
    ones = np.add.reduceat(y, starts)
    chosen = (ones > 0) & (ones < sizes) & (solver is not None)
    if solver is sparse:
        entries = np.count_nonzero(X, axis=1) if isinstance(X, np.ndarray) else np.diff(X.indptr)
        chosen &= np.add.reduceat(entries, starts) <= sparse.MOST_ENTRIES * sizes
    numbers = np.flatnonzero(chosen)
    if not len(numbers):
        return numbers, np.zeros((0, X.shape[1] + 1))
    if not chosen.all():
        rows = np.repeat(chosen, sizes)
        X, y, weights = X[rows], y[rows], None if weights is None else weights[rows]
    tolerance = {"tolerance": learner.tol} if solver is sparse else {}
    found, converged = solver.fit_logistic(X, y, np.cumsum(sizes[chosen]), learner.C, weights, **tolerance)
    return (numbers, found) if converged.all() else (numbers[converged], found[converged])


def _takes_weights(learner: Any) -> bool:
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(learner, "sample_weight"))


def _resampled(weights: FloatArray, seed: int) -> IntArray:
    """Positions drawn with replacement in proportion to the weights."""
    rng = np.random.default_rng(seed)
    rows: IntArray = rng.choice(len(weights), size=len(weights), p=weights / weights.sum())
    return rows


def _with_coefficients(estimator: Any, coefficients: FloatArray) -> Teacher:
    """Make the teacher that `fit` would have made."""
    estimator.classes_ = np.arange(2)
    estimator.coef_ = coefficients[None, :-1]
    estimator.intercept_ = coefficients[-1:]
    estimator.n_features_in_ = len(coefficients) - 1
    estimator.n_iter_ = np.array([0])
    return Teacher(estimator, np.arange(2))


def _fit(
    fresh: Any, X: Any, y: IntArray, seed: int, n_classes: int, weights: FloatArray | None = None
) -> Teacher:
    classes = np.flatnonzero(np.bincount(y, minlength=n_classes))
    if len(classes) == 1:
        from pate_cli.learners.constant import ConstantClassifier

        return Teacher(ConstantClassifier().fit(X), classes)
    if len(classes) < n_classes:
        # Some classifiers insist on labels 0 .. c-1.
        y = np.searchsorted(classes, y)
    estimator = fresh(seed)
    try:
        estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    except (TypeError, ValueError) as error:
        accepted = f"a classifier that learns from a part of {len(y)} records ({error})"
        raise ConfigError("teacher.estimator", type(estimator).__name__, accepted) from error
    return Teacher(estimator, classes)


def _copier(learner: Any) -> Any:
    """Make a function that gives a fresh copy of the learner with a seed."""
    from sklearn.base import clone

    params = learner.get_params(deep=False)
    # A shallow copy is ten times faster than `clone`, and enough where no parameter can be shared.
    plain = all(value is None or isinstance(value, bool | int | float | str) for value in params.values())
    template = clone(learner)

    def fresh(seed: int) -> Any:
        estimator = copy.copy(template) if plain else clone(template)
        if "random_state" in params:
            estimator.random_state = seed
        return estimator

    return fresh


@contextmanager
def _quick() -> Iterator[None]:
    """Leave out checks that scikit-learn would do for each of thousands of small fits.

    Parameters were checked by `check_learner`, finiteness by the loaders.
    """
    import sklearn

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        yield


def _is_linear(teacher: Teacher) -> bool:
    """Whether `predict` is the sign of one linear function."""
    if len(teacher.classes) != 2:
        return False
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return type(teacher.estimator) in (LogisticRegression, LinearSVC)
