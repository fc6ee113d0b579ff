"""A Gaussian kernel of distances in which columns count by weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pate_cli.mechanisms.baselines import exact
from pate_cli.types import FloatArray, dense

__all__ = ["WeighedDistances", "middle_distance"]


@dataclass(frozen=True, eq=False)
class WeighedDistances:
    """The kernel ``exp(-|w (x - z)|^2 / (2 s))`` with landmarks z; s is the median between these. PUBLIC.

    Attributes
    ----------
    weights : ndarray of shape (d',)
        At least 0, one a column.
    landmarks : ndarray of shape (L, d')
        Times the weights.
    squares : ndarray of shape (L,)
        Their squared norms.
    spread : float
    """

    weights: FloatArray
    landmarks: FloatArray
    squares: FloatArray
    spread: float

    @classmethod
    def of(cls, landmarks: FloatArray, weights: FloatArray) -> WeighedDistances:
        """Weigh the columns of landmarks of shape (L, d')."""
        landmarks = landmarks * weights
        squares = np.einsum("ij,ij->i", landmarks, landmarks)
        spread = middle_distance(squares[:, None] + squares - 2 * landmarks @ landmarks.T)
        return cls(weights, landmarks, squares, spread)

    def kernel(self, points: Any) -> FloatArray:
        """Kernel of bounded points, ndarray or csr_matrix of shape (n, d'), with the landmarks: (n, L)."""
        points = dense(points) * self.weights
        squares = np.einsum("ij,ij->i", points, points)
        return self._of(points @ self.landmarks.T, squares)

    def kernel_anywhere(self, points: Any) -> FloatArray:
        """As `kernel`, a row the same to the bit wherever it stands."""
        points = dense(points) * self.weights
        return self._of(exact.dot(points, self.landmarks), exact.norms(points) ** 2)

    def _of(self, inner: FloatArray, squares: FloatArray) -> FloatArray:
        apart = np.maximum(squares[:, None] + self.squares - 2 * inner, 0.0)
        found: FloatArray = np.exp(apart / (-2 * self.spread))
        return found


def middle_distance(apart: FloatArray) -> float:
    """Median of the squared distances between points that are not the same; 1 where all are.

    Parameters
    ----------
    apart : ndarray of shape (L, L)
        Squared distances, rounding and all.
    """
    apart = np.maximum(apart[np.triu_indices(len(apart), 1)], 0.0)
    apart = apart[apart > 1e-9 * max(apart.max(initial=0.0), 1e-300)]
    return float(np.median(apart)) if apart.size else 1.0
