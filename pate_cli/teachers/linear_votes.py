"""Votes of linear teachers of two classes, counted by matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pate_cli.types import FloatArray, IntArray

__all__ = ["add_votes", "in_order"]

_ROWS = 256  # points scored at once
_BLOCK = 2**17  # most scores held at once: 1 MB, so that they stay in the processor's cache
_FEWEST = 64  # teachers in a block, however many features there are


def in_order(points: Any, w: FloatArray, b: float) -> FloatArray:
    """Scores of a linear teacher, shape (m,), summed over the features in their order.

    So its bits do not depend on other points or teachers; `points @ w` does not promise that.
    """
    with np.errstate(all="ignore"):
        if sp.issparse(points):  # scipy adds up the entries of a row one after the other
            return np.asarray(points @ w) + b
        products = points * w
        np.cumsum(products, axis=1, out=products)
        scores: FloatArray = products[:, -1] + b
        return scores


def add_votes(
    weights: FloatArray, intercepts: FloatArray, classes: tuple[int, int], X: Any, counts: IntArray
) -> None:
    """Add the votes of linear teachers of the same two classes to `counts` of shape (m, C), in place.

    Teachers vote for the first class where their score is at most 0, for the second where it is above. A vote
    is the sign of the score `in_order`, a function of the teacher's coefficients and the point alone, to the
    bit: the matrix product of many teachers and points only decides where that sign is beyond doubt.
    """
    n_points, n_features = X.shape
    lower, upper = classes
    # Two sums of the same d + 1 terms in different orders differ by at most this share of their sizes;
    # products that underflow add less than the smallest normal number each.
    unit = 2 * (n_features + 1) * np.finfo(float).eps
    least = 4 * (n_features + 1) * np.finfo(float).tiny
    at_once = max(_FEWEST, min(_BLOCK // _ROWS, _BLOCK // max(n_features, 1)))
    for first in range(0, len(weights), at_once):
        W, b = np.ascontiguousarray(weights[first : first + at_once].T), intercepts[first : first + at_once]
        slope, offset = unit * np.abs(W).max(axis=0, initial=0.0), unit * np.abs(b) + least
        for top in range(0, n_points, _ROWS):
            points = X[top : top + _ROWS]
            with np.errstate(all="ignore"):
                # by teacher: one with huge coefficients puts no other in doubt
                doubt = slope * float(abs(points).sum(axis=1).max()) + offset
                values = np.asarray(points @ W)
                values += b
                size = np.abs(values)
                sure = (size > doubt) & (size < np.inf)  # a sum that overflowed may be finite in order
            positive = values > 0
            if not sure.all():
                for k in np.flatnonzero(~sure.all(axis=0)).tolist():
                    rows = np.flatnonzero(~sure[:, k])
                    positive[rows, k] = in_order(points[rows], W[:, k], b[k]) > 0
            votes = np.count_nonzero(positive, axis=1)
            counts[top : top + _ROWS, upper] += votes
            counts[top : top + _ROWS, lower] += len(b) - votes
