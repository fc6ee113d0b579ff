"""Linear teachers of two classes: kept as one matrix, asked in one product."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from pate_cli.types import FloatArray, IntArray, _Private

__all__ = ["Scores", "Together", "add_votes"]

_BLOCK = 2**17
"""Most scores held at once while voting: 1 MB, so that they stay in the processor's cache."""

_FEWEST = 64  # teachers in a block, however many features there are


class Together(_Private, Sequence[Any]):
    """Teachers fitted at once: one matrix of coefficients instead of thousands of estimators. PRIVATE.

    Parameters
    ----------
    alone : mapping of int to Teacher
        Teachers that were fitted by themselves, by number.
    numbers : ndarray of int64, shape (k,)
        Of all others, ascending.
    coefficients : ndarray of shape (k, d + 1)
        Theirs; the last column is the intercept.
    make : callable
        Makes the teacher that a fit would have made, from its number and its row.
    """

    def __init__(
        self,
        alone: Mapping[int, Any],
        numbers: IntArray,
        coefficients: FloatArray,
        make: Callable[[int, FloatArray], Any],
    ) -> None:
        self.alone = alone
        self.coefficients = coefficients
        self._numbers = numbers
        self._make = make

    def __len__(self) -> int:
        return len(self.alone) + len(self._numbers)

    @overload
    def __getitem__(self, k: int) -> Any: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[Any]: ...
    def __getitem__(self, k: int | slice) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(len(self))[k]]
        k = range(len(self))[k]
        return self.alone[k] if k in self.alone else self.made(int(np.searchsorted(self._numbers, k)))

    def made(self, row: int) -> Any:
        """Make the teacher of one row of the coefficients."""
        return self._make(int(self._numbers[row]), self.coefficients[row])

    def __repr__(self) -> str:
        return f"Together(n_teachers={len(self)})"


class Scores:
    """What a group of linear teachers answers with: coefficients a block, and each teacher's own `predict`.

    Parameters
    ----------
    count : int
    block : callable
        From the numbers of the first teacher and of the one after the last to coefficients of shape (d, k)
        and intercepts of shape (k,).
    predict : callable
        From a teacher's number and points to 0 or 1 for each.
    """

    def __init__(
        self,
        count: int,
        block: Callable[[int, int], tuple[FloatArray, FloatArray]],
        predict: Callable[[int, Any], Any],
    ) -> None:
        self.count, self.block, self.predict = count, block, predict

    @classmethod
    def of_estimators(cls, estimators: Sequence[Any]) -> Scores:
        """Of fitted scikit-learn models."""

        def block(first: int, end: int) -> tuple[FloatArray, FloatArray]:
            these = estimators[first:end]
            W = np.concatenate([model.coef_ for model in these]).T
            return W, np.concatenate([np.broadcast_to(model.intercept_, 1) for model in these])

        return cls(len(estimators), block, lambda k, X: estimators[k].predict(X))

    @classmethod
    def of_together(cls, teachers: Together) -> Scores:
        """Of those that are kept as one matrix."""
        W, b = teachers.coefficients[:, :-1], teachers.coefficients[:, -1]
        return cls(
            len(W), lambda i, j: (W[i:j].T, b[i:j]), lambda row, X: teachers.made(row).estimator.predict(X)
        )


def add_votes(scores: Scores, classes: tuple[int, int], X: Any, counts: IntArray) -> None:
    """Add the votes of linear teachers of the same two classes to `counts` of shape (m, C), in place.

    Exactly the votes of each teacher's `predict`. Memory does not grow with teachers times points.
    """
    n_points, n_features = X.shape
    lower, upper = classes
    at_once = max(_FEWEST, _BLOCK // max(n_features, 1))
    for first in range(0, scores.count, at_once):
        end = min(first + at_once, scores.count)
        W, b = scores.block(first, end)
        W = np.ascontiguousarray(W)
        # Summed in another order, a score may differ from `predict`'s in the last bits.
        unit = 2 * (n_features + 1) * np.finfo(float).eps
        slope, offset = unit * np.abs(W).max(initial=0.0), unit * np.abs(b).max()
        rows = max(1, _BLOCK // (end - first))
        for top in range(0, n_points, rows):
            points = X[top : top + rows]
            slack = slope * float(abs(points).sum(axis=1).max()) + offset
            values = np.asarray(points @ W)
            values += b
            positive, negative = values > slack, values < -slack
            if np.count_nonzero(positive) + np.count_nonzero(negative) < values.size:
                # where that could turn its sign, ask the teacher itself
                for k in np.flatnonzero(~(positive | negative).all(axis=0)).tolist():
                    positive[:, k] = np.asarray(scores.predict(first + k, points)) == 1
            votes = np.count_nonzero(positive, axis=1)
            counts[top : top + rows, upper] += votes
            counts[top : top + rows, lower] += end - first - votes
