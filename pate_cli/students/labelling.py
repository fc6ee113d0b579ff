"""Class codes and probabilities of a saved student on new records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pate_cli.students.metrics import by_class
from pate_cli.students.store import SavedStudent
from pate_cli.types import FloatArray, IntArray, without_tiny

__all__ = ["codes_of", "probabilities_of"]

_ROWS = 4096
"""Rows made dense at once, for a student that takes no sparse rows."""


def codes_of(model: SavedStudent, X: Any) -> IntArray:
    """Class codes, shape (m,); errors of the classifier, or ValueError for a code that is no class."""
    codes: IntArray = _by_rows(model.student.predict, X).astype(np.int64)
    if codes.shape != (X.shape[0],) or (codes < 0).any() or (codes >= len(model.classes)).any():
        raise ValueError(f"gives a code that is not one of its {len(model.classes)} classes")
    return codes


def probabilities_of(model: SavedStudent, X: Any) -> FloatArray | None:
    """Probability of each class, shape (m, C); None from a student without; ValueError beyond [0, 1]."""
    if not hasattr(model.student, "predict_proba"):
        return None

    def of_rows(rows: Any) -> Any:
        return by_class(model.student, "predict_proba", rows, len(model.classes))

    shares = _by_rows(of_rows, X)
    if shares.ndim != 2:  # of other classes
        return None
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("gives a probability that is not in [0, 1]")
    return shares


def _by_rows(call: Callable[[Any], Any], X: Any) -> FloatArray:
    """Call on all rows, or on dense blocks of them where the student takes no sparse rows."""
    X = without_tiny(X)  # as in training
    try:
        return np.asarray(call(X))
    except (TypeError, ValueError):
        if isinstance(X, np.ndarray):
            raise
    blocks = (X[top : top + _ROWS].toarray() for top in range(0, X.shape[0], _ROWS))
    return np.concatenate([call(block) for block in blocks])
