"""Trains one teacher on each part of the private records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pate_cli.learners import limit_to
from pate_cli.matrices import LARGEST
from pate_cli.teachers import batched_logistic
from pate_cli.teachers.ensemble import (
    Ensemble,
    Problem,
    Teacher,
    Teachers,
    failure,
    in_release,
    is_linear_model,
    isolated,
    note,
    quick,
)
from pate_cli.teachers.parts import deal
from pate_cli.types import FloatArray, IntArray, MappedRows, PrivateRecords

__all__ = ["batches", "ensemble_of", "fit_part", "train", "watched"]

_FEWEST = 8  # teachers worth fitting together
_MODELS = 256  # most teachers in memory together that are not a row of coefficients, as forests
_RECORDS = 2**23  # most numbers of records copied at once: 64 MB

_OBSERVER: ContextVar[Callable[[int, int], None]] = ContextVar("observer", default=lambda done, total: None)


def train(
    private: PrivateRecords,
    *,
    n_teachers: int,
    learner: Any,
    rng: np.random.Generator,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    only: range | None = None,
    strict: bool = True,
) -> Ensemble:
    """Train one teacher on each of `n_teachers` disjoint parts of the private records.

    Changing one record (where there are persons, all records of one) changes one teacher, to the bit: parts
    and seeds depend on `rng` and sizes alone, and no number of a fit depends on another part. A teacher is
    constant where its part has one class, and where the learner fails on it or a feature is not finite or
    beyond 1e30: it then votes for the commonest class of its part (the lowest code of several). So the
    built-in learners end on every part. Warnings of the fits are computed from private records, so they are
    not shown.

    `learner`, an unfitted scikit-learn classifier, is copied for each teacher, with a `random_state` of its
    own. A positive `sample_weight` may depend on its own record and on public values, nothing else; a
    learner that takes no weights gets its part resampled by them. `only` are the teachers to train, where
    others are trained elsewhere. `strict` raises ConfigError if the learner fails on every part, and want of
    memory or disk within a fit OSError; neither in a release (`released`): it would tell of private records.
    """
    parts = deal(private, n_teachers, rng)
    longest = max(map(len, parts))
    seeds = rng.integers(2**31, size=n_teachers)
    only = range(n_teachers) if only is None else only
    parts, seeds = [parts[k] for k in only], seeds[list(only)]
    together = (
        n_teachers >= _FEWEST
        and private.persons is None  # parts are padded to one length, which one person's records would change
        and batched_logistic.is_liblinear(learner, n_classes)
    )
    alone, numbers, coefficients = {}, [np.zeros(0, dtype=np.int64)], [np.zeros((0, private.X.shape[1] + 1))]
    problems, beyond, observer = list[Problem](), 0, _OBSERVER.get()
    with quick():
        for first, group in _groups(parts, private.X):
            # Rows once in the order of the parts; each part is then a contiguous slice.
            order = np.concatenate(group)
            X, y = private.X[order], private.y[order]
            weights = None if sample_weight is None else sample_weight[order]
            ends = np.cumsum([len(part) for part in group])
            starts = ends - np.diff(ends, prepend=0)
            done, sound = np.zeros(len(group), dtype=bool), _sound(X, weights, starts)
            beyond += int(np.count_nonzero(~sound))
            if together:
                fitted, group_coefficients = batched_logistic.fit_parts(
                    learner, X, y, ends, weights, sound, longest
                )
                numbers.append(first + fitted)
                coefficients.append(group_coefficients)
                done[fitted] = True
            n_done = only.start + first + int(done.sum())
            observer(n_done, n_teachers)
            for number, k in enumerate(np.flatnonzero(~done).tolist(), start=1):
                rows = slice(starts[k], ends[k])
                alone[first + k], error = fit_part(
                    learner,
                    X[rows],
                    y[rows],
                    seed=int(seeds[first + k]),
                    n_classes=n_classes,
                    weights=None if weights is None else weights[rows],
                )
                problems += [error] if error else []
                observer(n_done + number, n_teachers)
    teachers = Teachers(alone, np.concatenate(numbers), np.concatenate(coefficients))
    ensemble = ensemble_of(teachers, n_classes, problems, beyond)
    if strict and not in_release():
        ensemble.fits.check()
    return ensemble


def ensemble_of(teachers: Teachers, n_classes: int, problems: Sequence[Problem], beyond: int = 0) -> Ensemble:
    """Ensemble of fitted teachers; what failed is noted for `failures`."""
    ensemble = Ensemble(teachers, n_classes, problems, beyond)
    note(ensemble.fits)
    return ensemble


def batches(learner: Any, only: range) -> Iterator[range]:
    """Ranges of teachers whose models fit in memory together, each for one `train`."""
    # dealing out the records again for each run would take longer than thousands of linear fits
    most = len(only) if is_linear_model(learner) else _MODELS
    yield from (only[first : first + most] for first in range(0, len(only), max(1, most)))


def fit_part(
    learner: Any,
    X: Any,
    y: IntArray,
    *,
    seed: int,
    n_classes: int,
    weights: FloatArray | None = None,
) -> tuple[Teacher, Problem | None]:
    """Fit a teacher on its part; if that fails, a constant one and why."""
    from sklearn.utils.validation import has_fit_parameter

    shares = np.bincount(y, minlength=n_classes)
    majority = int(shares.argmax())
    if np.count_nonzero(shares) == 1 or not _sound(X, weights, np.zeros(1, dtype=np.int64))[0]:
        return _constant(majority), None
    try:
        with isolated(seed):
            estimator = _copy(learner, seed)
            if weights is not None and not has_fit_parameter(estimator, "sample_weight"):
                p = weights / weights.sum()
                rows = np.random.default_rng(seed).choice(len(weights), size=len(weights), p=p)
                X, y, weights = X[rows], y[rows], None
            classes = np.flatnonzero(np.bincount(y, minlength=n_classes))
            if len(classes) == 1:
                return _constant(int(classes[0])), None
            if len(classes) < n_classes:
                y = np.searchsorted(classes, y)  # some classifiers insist on labels 0 .. c-1
                estimator = limit_to(
                    estimator, {code: at for at, code in enumerate(classes.tolist())}, n_classes
                )
            estimator.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    except Exception as error:
        return _constant(majority), failure(learner, f"learns from a part of {len(y)} records", error)
    return Teacher(estimator, classes, majority, seed), None


@contextmanager
def watched(observer: Callable[[int, int], None]) -> Iterator[None]:
    """Call `observer(done, total)` after each teacher trained within this."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


def _groups(parts: list[IntArray], X: Any) -> Iterator[tuple[int, list[IntArray]]]:
    """Groups of parts whose records are copied at once, with the number of the first: by public numbers."""
    wide = max(X.shape[1], 1)  # of sparse records, far fewer are not zero
    rows = _RECORDS // (wide if isinstance(X, np.ndarray | MappedRows) else min(wide, 64))
    at_once = max(1, rows // len(parts[0]))
    for first in range(0, len(parts), at_once):
        yield first, parts[first : first + at_once]


def _sound(X: Any, weights: FloatArray | None, starts: IntArray) -> NDArray[np.bool_]:
    """Whether all numbers of a part are finite and within `LARGEST`, shape (K,)."""
    if isinstance(X, np.ndarray):
        sound = (np.abs(X) <= LARGEST).all(axis=1)
    else:
        sound = np.ones(X.shape[0], dtype=bool)
        beyond = np.flatnonzero(~(np.abs(X.data) <= LARGEST))
        sound[np.searchsorted(X.indptr, beyond, side="right") - 1] = False
    if weights is not None:
        sound &= np.isfinite(weights)
    return np.logical_and.reduceat(sound, starts)


def _constant(code: int) -> Teacher:
    return Teacher(None, np.array([code]), code)


def _copy(learner: Any, seed: int) -> Any:
    """Copy an unfitted learner and set its seed."""
    from sklearn.base import clone

    copy = clone(learner)
    if hasattr(copy, "random_state"):
        copy.random_state = seed
    return copy
