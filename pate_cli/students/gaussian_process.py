"""Gaussian processes on shares of votes, the noise's variance known: kernels, evidence, posterior mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["KERNELS", "Landmarks", "Regression", "Span", "regress"]

_MOST_LANDMARKS = 1500

KERNELS = ("linear", "rbf 0.5", "rbf 1", "rbf 2")
"""Kernels; rbf with its length scale in units of the median distance."""


class Landmarks:
    """The points that span functions, and kernels between them and others.

    All points up to 1500, a random 1500 of them beyond (Nystroem's approximation). Both kernels have 1
    added for the intercept; the linear one is scaled to a mean of 1 on the diagonal.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (m, d)
        Public.
    seed : int or None
        Picks the landmarks, where there are more points.
    """

    def __init__(self, X: Any, seed: int | None) -> None:
        from sklearn.metrics.pairwise import euclidean_distances

        m = X.shape[0]
        few = m <= _MOST_LANDMARKS
        self.points = X if few else X[np.random.default_rng(seed).permutation(m)[:_MOST_LANDMARKS]]
        squares = euclidean_distances(self.points[:500], squared=True)
        apart = squares[squares > 1e-12]
        self.distance = float(np.sqrt(np.median(apart))) if apart.size else 1.0
        dense = self.points.power(2) if hasattr(self.points, "power") else np.square(self.points)
        self.norm = float(np.asarray(dense.sum(axis=1), dtype=float).mean()) or 1.0

    def gram(self, X: Any, name: str) -> FloatArray:
        """Kernel `name` between points and landmarks, shape (n, n_landmarks)."""
        from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

        kind, _, length = name.partition(" ")
        gram: FloatArray
        if kind == "linear":
            gram = linear_kernel(X, self.points, dense_output=True) / self.norm
        else:
            gram = rbf_kernel(X, self.points, gamma=0.5 / (float(length) * self.distance) ** 2)
        return gram + 1.0

    def span(self, X: Any, name: str) -> Span:
        """The functions the landmarks span under a kernel, seen at the points `X` they were chosen from."""
        landmarks = self.gram(self.points, name)
        return Span(landmarks if X is self.points else self.gram(X, name), landmarks)

    def evaluate(self, X: Any, coefficients: dict[str, FloatArray]) -> FloatArray:
        """Sum over kernels of ``gram @ coefficients``, in blocks; shape (n, number of functions)."""
        width = next(iter(coefficients.values())).shape[1]
        values = np.zeros((X.shape[0], width))
        rest = dict(coefficients)
        linear = rest.pop("linear", None)
        if linear is not None:  # one function of d coefficients, without a matrix of n x n_landmarks
            values += X @ (self.points.T @ linear) / self.norm + linear.sum(axis=0)
        if not rest:
            return values
        for first in range(0, X.shape[0], 4096):
            block = X[first : first + 4096]
            for name, weights in rest.items():
                values[first : first + 4096] += self.gram(block, name) @ weights
        return values


class Span:
    """The functions a kernel's landmarks span, in orthogonal directions over the points.

    Attributes
    ----------
    directions : ndarray of shape (m, r)
        Orthonormal.
    variances : ndarray of shape (r,)
        Prior variance along each, descending.
    back : ndarray of shape (n_landmarks, r)
        Coefficients on the landmarks' kernel of the function with unit weight on each direction.
    """

    def __init__(self, points: FloatArray, landmarks: FloatArray) -> None:
        values, vectors = np.linalg.eigh(landmarks)
        keep = values > 1e-9 * values[-1]
        root = vectors[:, keep] / np.sqrt(values[keep])
        if points is landmarks:  # every point is a landmark: the eigenvectors are at hand
            values, vectors = values[keep][::-1], vectors[:, keep][:, ::-1]
            self.directions, self.variances, turn = vectors, values, np.eye(len(values))[:, ::-1]
        else:
            self.directions, singular, turned = np.linalg.svd(points @ root, full_matrices=False)
            self.variances, turn = singular**2, turned.T
        self.back = root @ turn


class Regression(NamedTuple):
    """The model with the largest evidence: kernel, variance of the scatter, coefficients on landmarks."""

    evidence: float
    kernel: str
    scatter: float
    coefficients: FloatArray


def regress(spans: dict[str, Span], targets: FloatArray, variance: float) -> Regression:
    """Fit ``targets ~ N(f, (variance + tau^2) I)``, f a Gaussian process, one a column; choose by evidence.

    Kernel, amplitude and tau^2 are shared by the columns and maximise the evidence, which is exact.

    Parameters
    ----------
    spans : dict of str to Span
        Kernels to choose from.
    targets : ndarray of shape (m, number of functions)
    variance : float
        Of the noise that is known, >= 0.
    """
    best: Regression | None = None
    for name, span in spans.items():
        evidence, amplitude, scatter = _best_scales(span, targets, variance)
        if best is None or evidence > best.evidence:
            shrink = amplitude * np.sqrt(span.variances) / (amplitude * span.variances + variance + scatter)
            weights = shrink[:, None] * (span.directions.T @ targets)
            best = Regression(evidence, name, scatter, span.back @ weights)
    if best is None:
        raise ValueError("no kernel to choose from")
    return best


def _best_scales(span: Span, targets: FloatArray, variance: float) -> tuple[float, float, float]:
    """Evidence, a and tau^2 of ``targets ~ N(0, a * kernel + (variance + tau^2) I)`` at its largest."""
    from scipy.optimize import minimize

    m, n_functions = targets.shape
    inside = span.directions.T @ targets
    squares = (inside**2).sum(axis=1)
    outside = max(0.0, float((targets**2).sum() - squares.sum()))
    left = m - len(squares)
    spread = float(targets.var()) + 1e-9

    def minus(logs: FloatArray) -> float:
        noise = variance + np.exp(logs[1])
        total = np.exp(logs[0]) * span.variances + noise
        sides = squares / total + n_functions * np.log(total)
        return float(0.5 * (sides.sum() + outside / noise + n_functions * left * np.log(noise)))

    bounds = [(np.log(spread) - 15, np.log(spread) + 10), (np.log(1e-6), np.log(spread) + 1)]
    starts = [(np.log(spread), np.log(spread) - 3), (np.log(spread) - 4, np.log(spread) - 1)]
    low, high = np.array(bounds).T
    found = [minimize(minus, np.clip(s, low, high), method="L-BFGS-B", bounds=bounds) for s in starts]
    best = min(found, key=lambda result: float(result.fun))
    return -float(best.fun), float(np.exp(best.x[0])), float(np.exp(best.x[1]))
