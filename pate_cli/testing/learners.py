"""Learners in checks: one that fails, and fits that are done once, as all that is made of public points."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import Any
from unittest import mock

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli import teachers
from pate_cli.mechanisms import Mechanism
from pate_cli.teachers import batched_logistic, training
from pate_cli.teachers.ensemble import Teacher
from pate_cli.types import PublicPoints

__all__ = ["Failing", "Fits", "fits_kept"]

Fits = dict[bytes, Any]
"""Fitted teachers, what they say, and what is made of public points, by a hash of all that is given."""


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
    """Fit nothing twice that is given the same, and ask no teacher twice: so a record costs one. None: do."""
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

    def once_asked(ask: Callable[[Teacher, Any], Any], failed: Callable[[Any], bool]) -> Callable[..., Any]:
        def kept(teacher: Teacher, X: Any) -> Any:
            key = sha256(pickle.dumps((ask.__name__, id(teacher), X))).digest()
            if key not in fits:
                if failed(answer := ask(teacher, X)):
                    return answer
                fits[key] = (teacher, answer)  # the teacher lives on, so that its id is no other's
            return copy.copy(fits[key][1])

        return kept

    def once_looked(look: Callable[..., Any]) -> Callable[..., Any]:
        def kept(mechanism: Mechanism, public: PublicPoints, rng: np.random.Generator) -> Any:
            key = sha256(pickle.dumps((mechanism, public, rng.bit_generator.state))).digest()
            if key not in fits:
                fits[key] = (look(mechanism, public, rng), rng.bit_generator.state)
            looked, rng.bit_generator.state = fits[key]
            return looked

        return kept

    alone, together = once(training.fit_part), once(batched_logistic.fit_parts)
    votes = once_asked(Teacher.predict_or_fail, lambda answer: answer[1] is not None)
    shares = once_asked(Teacher.probabilities, lambda answer: answer is None)
    with ExitStack() as stack:
        for mechanism in _lookers(Mechanism):
            stack.enter_context(mock.patch.object(mechanism, "look_at", once_looked(mechanism.look_at)))
        stack.enter_context(mock.patch.object(training, "fit_part", alone))
        stack.enter_context(mock.patch.object(teachers, "fit_part", alone))
        stack.enter_context(mock.patch.object(batched_logistic, "fit_parts", together))
        stack.enter_context(mock.patch.object(Teacher, "predict_or_fail", votes))
        stack.enter_context(mock.patch.object(Teacher, "probabilities", shares))
        yield


def _lookers(kind: Any) -> Iterator[Any]:
    """Mechanisms, of those that are imported, that make something of public points alone."""
    for each in kind.__subclasses__():
        if "look_at" in vars(each):
            yield each
        yield from _lookers(each)
