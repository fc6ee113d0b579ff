"""Axis-aligned boxes: 1 inside, 0 outside; few columns and small samples only."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from pate_cli.learners.hypotheses.base import BinaryClassifier, checked, column, signed, weights_of
from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["MOST_BOXES", "MOST_STEPS", "RectangleClassifier", "RectangleDichotomies", "Rectangles"]

MOST_BOXES = 2_000_000
"""Most boxes on a sample's coordinates, ``(n (n + 1) / 2)^d``, that are listed."""
MOST_STEPS = 10**9
"""Most steps, ``n^(2 d - 1)``, of an exact fit."""


class Rectangles:
    """Products of closed intervals, the empty box among them. VC dimension 2 d.

    A labeling of the sample is a dichotomy if the smallest box around its ones has no zero in it.
    """

    name = "rectangles"

    def vc_dimension(self, n_features: int) -> int:
        """2 d: the two extremes of each column."""
        return 2 * n_features

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """The number of boxes grows as ``n^(2 d)``."""
        boxes = float(n_points * (n_points + 1) // 2) ** n_features
        if boxes <= MOST_BOXES:
            return None
        most = int((2 * MOST_BOXES ** (1 / n_features)) ** 0.5)
        return (
            f"rectangles over {n_features} columns can be listed on at most {most} points, not {n_points} "
            f"({boxes:.3g} boxes)"
        )

    def dichotomies(self, X: Any) -> RectangleDichotomies:
        """All of them, exhaustively.

        Raises
        ------
        ValueError
            If there are more than `MOST_BOXES` boxes.
        """
        return RectangleDichotomies(dense(X))

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> RectangleClassifier:
        """Exact: every interval in all columns but the last, where the best one is a largest sum.

        Raises
        ------
        ValueError
            If it would take more than `MOST_STEPS` steps.
        """
        X = dense(X)
        n, d = X.shape
        if float(n) ** (2 * d - 1) > MOST_STEPS:
            most = int(MOST_STEPS ** (1 / (2 * d - 1)))
            raise ValueError(f"rectangles over {d} columns are fitted on at most {most} records, not {n}")
        gain = signed(y, sample_weight)
        # a best box has a one at each of its sides
        corners = [np.unique(X[y == 1, j]) for j in range(d)]
        best, box = _best_box(X, gain, corners)
        if best <= 0:
            return _box(np.full(d, np.inf), np.full(d, -np.inf))
        return _box(*np.array(box).T)


class RectangleDichotomies:
    """See `Dichotomies`. Number 0 is the empty box; the others are the smallest boxes of their ones."""

    def __init__(self, X: FloatArray) -> None:
        n, d = X.shape
        values = [np.unique(X[:, j]) for j in range(d)]
        if float(np.prod([len(v) * (len(v) + 1) / 2 for v in values])) > MOST_BOXES:
            raise ValueError(f"rectangles over {d} columns on {n} points are more than {MOST_BOXES}")
        # per column: intervals (from, to) of positions, and which points are within, as bits
        self._values = values
        intervals = [np.array(np.triu_indices(len(v))).T for v in values]
        ranks = np.stack([np.searchsorted(v, X[:, j]) for j, v in enumerate(values)], axis=1)
        inside = [
            np.packbits((ranks[:, j] >= i[:, :1]) & (ranks[:, j] <= i[:, 1:]), axis=1)
            for j, i in enumerate(intervals)
        ]
        masks = np.full((1, inside[0].shape[1] if d else 0), 255, dtype=np.uint8)
        chosen = np.zeros((1, 0), dtype=np.int64)
        for j in range(d):
            masks = (masks[:, None] & inside[j][None]).reshape(-1, inside[j].shape[1])
            left = np.repeat(np.arange(len(chosen)), len(inside[j]))
            right = np.tile(np.arange(len(inside[j])), len(chosen))
            chosen = np.column_stack([chosen[left], right])
            kept = _first_of_each(masks)
            masks, chosen = masks[kept], chosen[kept]
        full = masks.any(axis=1)
        masks, chosen = masks[full], chosen[full]
        self._labels = np.vstack([np.zeros((1, masks.shape[1]), np.uint8), masks])
        self._n = n
        ones = np.unpackbits(masks, axis=1, count=n).astype(bool)
        # the smallest box of the ones, in positions
        low = np.array([ranks[o].min(axis=0) for o in ones]).reshape(-1, d)
        high = np.array([ranks[o].max(axis=0) for o in ones]).reshape(-1, d)
        self._low, self._high = low, high

    def __len__(self) -> int:
        return len(self._labels)

    def labels(self, index: int) -> IntArray:
        """Labels of the sample."""
        return np.unpackbits(self._labels[index], count=self._n).astype(np.int64)

    def hypothesis(self, index: int) -> RectangleClassifier:
        """The smallest box with this dichotomy."""
        d = len(self._values)
        if index == 0:
            return _box(np.full(d, np.inf), np.full(d, -np.inf))
        low, high = self._low[index - 1], self._high[index - 1]
        corners = [[v[low[j]], v[high[j]]] for j, v in enumerate(self._values)]
        return _box(*np.array(corners).T)

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """By sums over a grid: O(n log k + (2 k)^d)."""
        X = dense(X)
        gain = signed(y, sample_weight)
        shape = tuple(2 * len(v) + 1 for v in self._values)
        # cell 2 i + 1 is value i, the even ones are between values
        cells = [
            np.searchsorted(v, X[:, j], side="left") + np.searchsorted(v, X[:, j], side="right")
            for j, v in enumerate(self._values)
        ]
        grid = np.bincount(np.ravel_multi_index(cells, shape), weights=gain, minlength=int(np.prod(shape)))
        grid = np.pad(grid.reshape(shape), [(1, 0)] * len(shape))
        for axis in range(len(shape)):
            grid = np.cumsum(grid, axis=axis)
        found = np.zeros(len(self._low))
        for side in itertools.product((0, 1), repeat=len(shape)):  # inclusion and exclusion
            at = [(2 * self._high[:, j] + 2) if s else (2 * self._low[:, j] + 1) for j, s in enumerate(side)]
            found += (-1) ** (len(side) - sum(side)) * grid[tuple(at)]
        return float((weights_of(y, sample_weight) * (y == 1)).sum()) - np.append(0.0, found)

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """Not offered: it would need an exact fit between two boxes for each dichotomy."""
        raise NotImplementedError("rectangles")

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """Not offered; see `least_mistakes`."""
        raise NotImplementedError("rectangles")


def _best_box(
    X: FloatArray, gain: FloatArray, corners: list[FloatArray]
) -> tuple[float, list[tuple[float, float]]]:
    """Largest sum of `gain` in a box with sides at `corners`, and the box."""
    values, rest = corners[0], corners[1:]
    if len(corners) == 1:
        ranks = np.searchsorted(values, X[:, 0], side="left")
        if not len(values):
            return 0.0, [(np.inf, -np.inf)]
        # records between two corners go with the interval's inside; those outside count for none
        exact = values[np.minimum(ranks, len(values) - 1)] == X[:, 0]
        cell = np.where(exact, 2 * ranks, 2 * ranks - 1)
        within = (cell >= 0) & (cell <= 2 * (len(values) - 1))
        sums = np.bincount(cell[within], weights=gain[within], minlength=2 * len(values) - 1)
        total = np.append(0.0, np.cumsum(sums))
        before = np.minimum.accumulate(total[:-1][::2])  # an interval begins at a corner
        best = total[1:][::2] - before
        to = int(np.argmax(best))
        start = int(np.argmin(total[:-1][::2][: to + 1]))
        return float(best[to]), [(float(values[start]), float(values[to]))]
    best_gain, best_box = 0.0, [(np.inf, -np.inf)] * len(corners)
    for i, low in enumerate(values):
        above = X[:, 0] >= low
        for high in values[i:]:
            inside = above & (X[:, 0] <= high)
            found, box = _best_box(X[inside][:, 1:], gain[inside], rest)
            if found > best_gain:
                best_gain, best_box = found, [(float(low), float(high)), *box]
    return best_gain, best_box


def _first_of_each(masks: Any) -> IntArray:
    """Index of the first of each distinct row, in order."""
    rows = np.ascontiguousarray(masks).view(np.dtype((np.void, masks.shape[1]))).ravel()
    return np.sort(np.unique(rows, return_index=True)[1]).astype(np.int64)


def _box(lower: FloatArray, upper: FloatArray) -> RectangleClassifier:
    made: RectangleClassifier = RectangleClassifier(list(range(len(lower)))).take(
        lower_=np.asarray(lower), upper_=np.asarray(upper), n_features_in_=len(lower)
    )
    return made


class RectangleClassifier(BinaryClassifier):
    """1 inside an axis-aligned box, 0 outside; exact ERM over a few columns.

    Parameters
    ----------
    features : sequence of int or None
        Columns the box constrains; None is the first two. The fit is exhaustive, O(n^(2k - 1))
        for k columns, and refuses what would take too long.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (k,)
        Corners, both inside; ``lower_ > upper_`` is the empty box.
    classes_ : ndarray of shape (2,)
    """

    def __init__(self, features: Any = None) -> None:
        self.features = features

    def _columns(self, n_features: int) -> list[int]:
        chosen = range(min(2, n_features)) if self.features is None else self.features
        columns = [int(feature) for feature in chosen]
        if not columns or not all(0 <= feature < n_features for feature in columns):
            raise ValueError(f"features={self.features} of {n_features} columns")
        return columns

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> RectangleClassifier:
        """Find the box; X of shape (n, d), y of shape (n,) with labels 0 and 1."""
        X, y = checked(X, y)
        chosen = np.column_stack([column(X, feature) for feature in self._columns(X.shape[1])])
        best = Rectangles().erm(chosen, y, sample_weight)
        self.adopt(best, ("lower_", "upper_"), X.shape[1])
        return self

    def predict(self, X: Any) -> IntArray:
        """Labels, shape (m,)."""
        inside = np.ones(X.shape[0], dtype=bool)
        for position, feature in enumerate(self._columns(X.shape[1])):
            values = column(X, feature)
            inside &= (values >= self.lower_[position]) & (values <= self.upper_[position])
        return inside.astype(np.int64)
