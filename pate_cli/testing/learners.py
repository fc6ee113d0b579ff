"""Learners in checks: one that fails, and fits that are done once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from unittest import mock

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli import teachers
from pate_cli.teachers import batched_logistic, training

__all__ = ["Failing", "Fits", "fits_kept"]

Fits = dict[bytes, Any]
"""Fitted teachers by a hash of all that a fit is given: learner, records of the part, seed and weights."""


class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner that fails in `fit`, in `predict`, or in `fit` on `some` parts, or on `large` numbers."""

    def __init__(self, when: str = "large") -> None:
        self.when = when

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Failing:
        """Fail with a message that quotes a record."""
        self.classes_ = np.unique(y)
        fails = {"fit": True, "some": X.sum() > 0, "large": X.min(axis=0).max() > 1.5}
        if fails.get(self.when):
            raise KeyError("a record")
        return self

    def predict(self, X: Any) -> Any:
        """End the process, or predict a class."""
        if self.when == "predict":
            raise SystemExit("a record")
        return np.full(X.shape[0], self.classes_[-1])


@contextmanager
def fits_kept(fits: Fits | None) -> Iterator[None]:
    """Fit nothing twice that is given the same: so a record that is replaced costs one fit. None: do."""
    if fits is None:
        yield
        return

    def once(fit: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*given: Any, **named: Any) -> Any:
            key = sha256(pickle.dumps((fit.__name__, given, sorted(named.items())))).digest()
            if key not in fits:
                fits[key] = fit(*given, **named)
            return fits[key]

        return kept

    alone, together = once(training.fit_part), once(batched_logistic.fit_parts)
    with (
        mock.patch.object(training, "fit_part", alone),
        mock.patch.object(teachers, "fit_part", alone),
        mock.patch.object(batched_logistic, "fit_parts", together),
    ):
        yield
