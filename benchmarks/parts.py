"""The parts that `pate` deals out to its teachers, and the bare solver on them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SEED", "bare_fits", "private_records", "sliced"]

SEED = 0


def private_records(name: str) -> tuple[Any, int, int]:
    """Private records of a data set, the number of teachers `pate run` would have, and of classes."""
    from pate_cli import datasets, teachers

    dataset = datasets.load(name)
    public = 400 if name == "synthetic" else 0.02
    split = datasets.split(dataset, private=0.8, public=public, budget=0.3, rng=np.random.default_rng(SEED))
    size = 20 if name == "synthetic" else 100
    n_teachers = teachers.n_teachers(split.private.n_records, size=size, count=None)
    return split.private, n_teachers, dataset.n_classes


def sliced(private: Any, n_teachers: int) -> list[tuple[Any, Any]]:
    """Features and labels of each part with two classes, cut out beforehand."""
    from pate_cli import teachers

    parts = teachers.partition(private.n_records, n_teachers, np.random.default_rng(SEED))
    pairs = [(private.X[part], private.y[part]) for part in parts]
    return [(X, y) for X, y in pairs if len(np.unique(y)) == 2]


def bare_fits(pairs: list[tuple[Any, Any]]) -> list[Any]:
    """Fit what a scikit-learn user would fit by hand: the same solver and settings as `teacher=logistic`."""
    from sklearn.linear_model import LogisticRegression

    return [LogisticRegression(solver="liblinear", max_iter=1000).fit(X, y) for X, y in pairs]
