"""Options, refusals and helpers that the agnostic learners share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pate_cli.checks import OneOf, Real
from pate_cli.errors import ConfigError, InfeasibleError
from pate_cli.learners.hypotheses import CLASSES, HypothesisClass
from pate_cli.types import Answers, Holdout, PrivateRecords, PublicPoints, Setting

__all__ = ["CALIBRATION", "FRACTION", "HYPOTHESES", "at_most", "best_hypothesis", "chosen_class"]
__all__ += ["labels_of", "listable", "listable_encoded", "lone_record", "tied_labels"]

HYPOTHESES = OneOf(tuple(CLASSES))
CALIBRATION = OneOf(("tight", "paper"))
FRACTION = Real(0, 1, open_above=True)


def chosen_class(hypotheses: str, setting: Setting, name: str, *, infinite: bool = False) -> HypothesisClass:
    """Hypothesis class by name; refuses more than two classes of labels, and eps = inf unless `infinite`."""
    if setting.n_classes != 2:
        accepted = f"a dataset of two classes for mechanism={name}, not {setting.n_classes}"
        raise ConfigError("dataset", f"{setting.n_classes} classes", accepted)
    if math.isinf(setting.eps) and not infinite:
        raise ConfigError("eps", setting.eps, f"a finite number with mechanism={name}")
    return CLASSES[hypotheses]


def at_most(key: str, value: int | None, most: int, otherwise: str = "") -> None:
    """Refuse a number of queries larger than there are public points."""
    if value is not None and value > most:
        raise ConfigError(f"mechanism.{key}", value, f"{otherwise}a whole number >= 1, <= {most}")


def listable(hypotheses: HypothesisClass, n_points: int, setting: Setting, advice: str) -> None:
    """Refuse where the dichotomies of `n_points` points cannot be listed."""
    refusal = hypotheses.refusal(n_points, setting.n_features)
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}: {refusal}; {advice}")


def listable_encoded(hypotheses: HypothesisClass, X: Any) -> None:
    """Refuse where encoding has made more columns than the class takes; public, as the encoder is."""
    refusal = hypotheses.refusal(1, X.shape[1])
    if refusal is not None:
        raise InfeasibleError(f"mechanism.hypotheses={hypotheses.name}, after encoding: {refusal}")


def best_hypothesis(hypotheses: HypothesisClass, test: Holdout) -> dict[str, float]:
    """Accuracy of the class's best hypothesis on the test split itself. NOT DP."""
    best = hypotheses.erm(test.X, test.y)
    return {"best_hypothesis": float(np.mean(best.predict(test.X) == test.y))}


def labels_of(model: Any, public: PublicPoints) -> Answers:
    """Labels of all public points by a released model: post-processing."""
    return Answers(np.arange(public.n_points), np.asarray(model.predict(public.X), dtype=np.int64))


Neighbours = tuple[PrivateRecords, PrivateRecords]


def lone_record(n: int) -> Neighbours:
    """All records at 0 with label 1; and one of them far below instead, where either label fits."""
    x = np.zeros((2, n, 1))
    x[1, 0] = -9.0
    y = np.ones(n, dtype=np.int64)
    return PrivateRecords(x[0], y), PrivateRecords(x[1], y)


def tied_labels(n: int, ones: int) -> Neighbours:
    """All records at 0, `ones` of them labelled 1, about half; and one label changed to 0."""
    x, y = np.zeros((n, 1)), (np.arange(n) < ones).astype(np.int64)
    changed = y.copy()
    changed[0] = 0
    return PrivateRecords(x, y), PrivateRecords(x, changed)
