"""Students that use more than the labels: the noisy counts, or the points without a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError
from pate_cli.learners import build
from pate_cli.types import UNANSWERED, Answers, PublicPoints

__all__ = ["SPECIAL", "fit_special", "special_learner"]

SPECIAL = ("noise_aware", "soft_targets", "self_training", "label_spreading")
"""Their names."""

_KEYS = {
    "noise_aware": ("kernel",),
    "soft_targets": ("base", "base_params"),
    "self_training": ("base", "base_params", "threshold", "criterion", "k_best", "max_iter"),
    "label_spreading": ("kernel", "gamma", "n_neighbors", "alpha", "max_iter", "tol"),
}
_BASE = "logistic"


def special_learner(name: str, params: Mapping[str, Any], *, seed: int | None, n_classes: int) -> Any:
    """Make an unfitted student.

    Parameters
    ----------
    name : str
        =================  ==============================================================================
        `noise_aware`      `NoisyCountsClassifier`; sigma and the number of teachers come with the answers
        `soft_targets`     `SoftTargets` around `base`, with `base_params`
        `self_training`    `sklearn.semi_supervised.SelfTrainingClassifier` around `base`
        `label_spreading`  `sklearn.semi_supervised.LabelSpreading`, by default on 7 nearest neighbours
        =================  ==============================================================================
    params : mapping of str to object
    seed : int or None
    n_classes : int

    Raises
    ------
    ConfigError
        If a parameter is not known, or the base not accepted.
    """
    for key in params:
        if key not in _KEYS[name]:
            accepted = f"parameters {', '.join(_KEYS[name])}"
            raise ConfigError(f"student.params.{key}", params[key], accepted)
    own = {key: value for key, value in params.items() if not key.startswith("base")}
    if name == "noise_aware":
        from pate_cli.students.noise_aware import NoisyCountsClassifier

        return NoisyCountsClassifier(random_state=seed, **own)
    if name == "label_spreading":
        from sklearn.semi_supervised import LabelSpreading

        return LabelSpreading(**{"kernel": "knn", "max_iter": 1000, **own})
    base_params = params.get("base_params") or {}
    if not isinstance(base_params, Mapping):
        raise ConfigError("student.params.base_params", base_params, "parameters of the base, as {C: 10}")
    base = params.get("base", _BASE)
    learner = build(
        base,
        base_params,
        seed=seed,
        n_classes=n_classes,
        name_key="student.params.base",
        params_key="student.params.base_params",
    )
    if name == "self_training":
        from sklearn.semi_supervised import SelfTrainingClassifier

        if not hasattr(learner, "predict_proba"):
            raise ConfigError("student.params.base", base, "a learner with probabilities, as logistic")
        return SelfTrainingClassifier(learner, **own)
    from sklearn.utils.validation import has_fit_parameter

    from pate_cli.students.soft_targets import SoftTargets

    if not has_fit_parameter(learner, "sample_weight"):
        raise ConfigError("student.params.base", base, "a learner with sample weights, as logistic")
    return SoftTargets(learner, random_state=seed)


def fit_special(
    student: Any, name: str, points: PublicPoints, answers: Answers, *, n_classes: int
) -> Any | None:
    """Fit a student on what was released and on all public points.

    Parameters
    ----------
    student : unfitted, of `special_learner`
    name : str
    points : PublicPoints
    answers : Answers
    n_classes : int

    Returns
    -------
    fitted scikit-learn classifier or None
        None where there is nothing more than labels to learn from: then it is fitted on these.
    """
    if name in ("noise_aware", "soft_targets"):
        if answers.noisy_counts is None or answers.n_teachers is None or not len(answers.asked):
            return None
        student.set_params(sigma=answers.sigma or 0.0, n_teachers=answers.n_teachers)
        return student.fit(points.X[answers.asked], answers.noisy_counts)
    given = answers.labels != UNANSWERED
    if len(np.unique(answers.labels[given])) < 2:
        return None
    if name == "self_training" and given.all() and len(answers.asked) == points.n_points:
        student = student.estimator  # nothing to teach itself
    labels = np.full(points.n_points, -1, dtype=np.int64)  # -1: unlabelled, to scikit-learn too
    labels[answers.asked[given]] = answers.labels[given]
    try:
        fitted = student.fit(points.X, labels)
    except (TypeError, ValueError) as error:
        accepted = (
            f"a student that learns from {int(given.sum())} labels of {points.n_points} points ({error})"
        )
        raise ConfigError("student.estimator", name, accepted) from error
    return fitted
