"""Fit one teacher on each part, and count their votes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.errors import ConfigError
from pate_cli.teachers.batched import MOST_FEATURES, fit_logistic
from pate_cli.teachers.parts import check_disjoint, partition
from pate_cli.teachers.progress import tick
from pate_cli.types import FloatArray, IntArray, PrivateRecords, Votes, _Private

__all__ = ["Ensemble", "Teacher", "train"]

_BLOCK = 2**17
"""Most scores held at once while voting: 1 MB, so that they stay in the processor's cache."""


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
        linear: dict[tuple[int, ...], list[Teacher]] = {}
        with _quick():
            for teacher in self.teachers:
                if len(teacher.classes) == 1:
                    counts[:, teacher.classes[0]] += 1
                elif _is_linear(teacher):
                    linear.setdefault(tuple(teacher.classes.tolist()), []).append(teacher)
                else:
                    counts[rows, teacher.predict(X)] += 1
            for group in linear.values():
                _linear_votes(group, X, counts)
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
    only: range | None = None,
    sample_weight: FloatArray | None = None,
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
    only : range, optional
        Numbers of the teachers wanted, where others are trained elsewhere; these are what they would be
        among all.
    sample_weight : ndarray of shape (n_private,), optional
        Weight of each record in the fit of its teacher, positive; each may depend on its own record and on
        what is public, nothing else. A learner that takes no weights gets its part resampled by them.

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
    # Rows once in the order of the parts; each part is then a contiguous slice.
    order = np.concatenate(parts)
    X, y = private.X[order], private.y[order]
    weights = None if sample_weight is None else sample_weight[order]
    weighted = weights is not None and _takes_weights(learner)
    ends = np.cumsum([len(part) for part in parts])
    teachers = []
    fresh = _copier(learner)
    ready = _fit_at_once(learner, X, y, ends, n_classes, weights)
    with _quick(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = 0
        for k, (end, seed) in enumerate(zip(ends.tolist(), seeds.tolist(), strict=True)):
            part, start = slice(start, end), end
            if only is not None and k not in only:
                continue
            if k in ready and 0 < y[part].sum() < part.stop - part.start:
                teachers.append(_with_coefficients(fresh(seed), ready[k]))
            elif weights is None or weighted:
                own = None if weights is None else weights[part]
                teachers.append(_fit(fresh, X[part], y[part], seed, n_classes, own))
            else:
                rows = part.start + _resampled(weights[part], seed)
                teachers.append(_fit(fresh, X[rows], y[rows], seed, n_classes))
            tick(len(teachers), n_teachers)
    return Ensemble(tuple(teachers), n_classes)


def _takes_weights(learner: Any) -> bool:
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(learner, "sample_weight"))


def _resampled(weights: FloatArray, seed: int) -> IntArray:
    """Positions drawn with replacement in proportion to the weights."""
    rng = np.random.default_rng(seed)
    rows: IntArray = rng.choice(len(weights), size=len(weights), p=weights / weights.sum())
    return rows


def _fit_at_once(
    learner: Any, X: Any, y: IntArray, ends: IntArray, n_classes: int, weights: FloatArray | None
) -> dict[int, FloatArray]:
    """Coefficients of the teachers that can be fitted together, by number; see `batched`."""
    from sklearn.linear_model import LogisticRegression

    if n_classes != 2 or not isinstance(X, np.ndarray) or X.shape[1] > MOST_FEATURES or len(ends) < 8:
        return {}
    if type(learner) is not LogisticRegression:
        return {}
    same = LogisticRegression(solver="liblinear").get_params()
    free = ("C", "tol", "max_iter", "random_state", "verbose")  # change nothing in the minimiser but C
    if any(value != same[name] for name, value in learner.get_params().items() if name not in free):
        return {}
    coefficients, converged = fit_logistic(X, y, ends, learner.C, weights)
    return {int(k): coefficients[k] for k in np.flatnonzero(converged)}


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


def _linear_votes(teachers: list[Teacher], X: Any, counts: IntArray) -> None:
    """Add the votes of linear teachers of the same two classes to `counts`, in place."""
    n_points, n_features = X.shape
    lower, upper = teachers[0].classes.tolist()
    at_once = max(1, _BLOCK // max(n_features, 1))
    for first in range(0, len(teachers), at_once):
        block = teachers[first : first + at_once]
        W = np.concatenate([teacher.estimator.coef_ for teacher in block]).T
        b = np.concatenate([np.broadcast_to(teacher.estimator.intercept_, 1) for teacher in block])
        rows = max(1, _BLOCK // len(block))
        for top in range(0, n_points, rows):
            votes = np.count_nonzero(_is_upper(X[top : top + rows], W, b, block), axis=1)
            counts[top : top + rows, upper] += votes
            counts[top : top + rows, lower] += len(block) - votes


def _is_upper(X: Any, W: FloatArray, b: FloatArray, block: list[Teacher]) -> NDArray[np.bool_]:
    """Whether each teacher predicts the upper of its two classes; shape (m, K)."""
    scores = np.asarray(X @ W)
    scores += b
    positive = scores > 0
    # Summed in another order, a score may differ from `predict`'s in the last bits: where that could
    # turn its sign, ask the teacher itself.
    reach = np.abs(W).max(initial=0.0) * abs(X).sum(axis=1).max() + np.abs(b).max()
    slack = 2 * (W.shape[0] + 1) * np.finfo(float).eps * reach
    sure = np.abs(scores, out=scores) > slack
    if not sure.all():
        for k in np.flatnonzero(~sure.all(axis=0)).tolist():
            positive[:, k] = np.asarray(block[k].estimator.predict(X)) == 1
    return positive
