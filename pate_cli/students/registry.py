"""Students by name, and what a class of one's own may learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.learners import BUILT_IN, gives_shares, make_learner, try_out
from pate_cli.plugins import contained, reason_of
from pate_cli.types import FloatArray

__all__ = ["LINEAR", "STUDENTS", "LearnsCounts", "check_student", "learns_counts", "learns_shares"]
__all__ += ["make_student"]

STUDENTS = (*BUILT_IN, "kernel", "voting", "soft_targets")
"""Names of the built-in students."""

LINEAR = ("kernel", "voting", "soft_targets")
"""Those that are linear, or whose base is by default: they see features where there is a map."""

_PARAMS = {
    "voting": ("base", "base_params", "learning_rate", "n_estimators"),
    "soft_targets": ("base", "base_params"),
    "kernel": (),
}
_BASE = "logistic"
_KEYS = {"name_key": "student.estimator", "params_key": "student.params"}
_BASE_KEYS = {"name_key": "student.params.base", "params_key": "student.params.base_params"}


class LearnsCounts(Protocol):
    """A classifier that learns from noisy counts of votes, and knows their noise; from labels by `fit`.

    One that has a parameter `part_size` is told how many records a teacher had.
    """

    def fit_shares(self, X: Any, shares: FloatArray, *, noise: float) -> Any:
        """Fit on shares of the votes, shape (m, C), with noise of that standard deviation on each."""


def learns_counts(student: Any) -> bool:
    """Whether a student is a `LearnsCounts`."""
    return hasattr(student, "fit_shares")


def learns_shares(estimator: Any) -> bool:
    """Whether a student learns each point once a class, weighted by the class's noisy share of the votes."""
    return bool(estimator == "soft_targets")


def make_student(estimator: str, params: Mapping[str, Any], *, seed: int | None, n_classes: int) -> Any:
    """Make an unfitted student."""
    if estimator not in _PARAMS:
        return make_learner(estimator, params, seed=seed, n_classes=n_classes, names=STUDENTS, **_KEYS)
    from sklearn.utils.validation import has_fit_parameter

    from pate_cli.students.kernel import KernelStudent
    from pate_cli.students.voting import Voting

    for name in params:
        if name not in _PARAMS[estimator]:
            accepted = f"parameters {', '.join(_PARAMS[estimator])}" if _PARAMS[estimator] else "none"
            raise ConfigError(f"student.params.{name}", params[name], accepted)
    if estimator == "kernel":
        return KernelStudent()
    base, base_params = params.get("base", _BASE), params.get("base_params") or {}
    if not isinstance(base_params, Mapping):
        raise ConfigError("student.params.base_params", base_params, "parameters of the base, as {C: 10}")
    learner = make_learner(base, base_params, seed=seed, n_classes=n_classes, **_BASE_KEYS)
    if not has_fit_parameter(learner, "sample_weight"):
        raise ConfigError("student.params.base", base, "a learner with sample weights, as logistic")
    if learns_shares(estimator):
        return learner
    voting_params = {name: value for name, value in params.items() if not name.startswith("base")}
    return Voting(learner, random_state=seed, **voting_params)


def check_student(
    estimator: str, params: Mapping[str, Any], *, n_classes: int = 2, sparse: bool = False
) -> None:
    """Check a student before there is data, by fitting it on a few generated records; see `fit_student`."""
    student = make_student(estimator, params, seed=0, n_classes=n_classes)
    if "base" in _PARAMS.get(estimator, ()):
        base = student if learns_shares(estimator) else student.estimator
        name, base_params = params.get("base", _BASE), params.get("base_params") or {}
        try_out(base, name, base_params, n_classes=n_classes, sparse=sparse, **_BASE_KEYS)
    if not learns_shares(estimator):
        try_out(student, estimator, params, n_classes=n_classes, sparse=sparse, **_KEYS)
    if learns_counts(student):
        from scipy.sparse import csr_matrix

        X = np.random.default_rng(0).uniform(size=(20, 32))
        shares = np.random.default_rng(1).dirichlet(np.ones(n_classes), size=20)
        try:
            with contained():
                labels = student.fit_shares(csr_matrix(X) if sparse else X, shares, noise=0.1).predict(X)
                whole = gives_shares(student, X)
        except Exception as error:
            accepted = f"a student that learns from noisy counts of {n_classes} classes ({reason_of(error)})"
            raise ConfigError("student.estimator", estimator, accepted) from error
        if np.shape(labels) != (20,) or not set(np.asarray(labels).tolist()) <= set(range(n_classes)):
            raise ConfigError("student.estimator", estimator, "a student that predicts class codes")
        if not whole:
            accepted = "a student whose predict_proba gives probabilities"
            raise ConfigError("student.estimator", estimator, accepted)
