"""Gaussian processes on shares of votes, the noise's variance known: kernels, evidence, posterior mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from pate_cli.types import FloatArray

__all__ = ["KERNELS", "MOST_LANDMARKS", "Landmarks", "Span", "learn_shares", "regress"]

MOST_LANDMARKS = 1500
"""Points that span functions, at most."""

KERNELS = ("linear", "rbf 2", "rbf 1", "rbf 0.5")
"""Kernels, the simplest first; rbf with its length scale in units of the median distance."""

_HARDER = 0.7  # log prior odds of a kernel against the next simpler one
_NEGLIGIBLE = 0.03  # weight of a kernel that is left out
_AMPLITUDE = (0.05, 2.0)  # prior of the variance of f over the points: median, and spread of its log
_SCATTER = (0.01, 2.0)


class Landmarks:
    """The points that span functions, and kernels between them and others.

    All points up to 1500, a random 1500 of them beyond (Nystroem's approximation).

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (m, d)
        Public.
    seed : int or None
        Picks the landmarks, where there are more points.

    Attributes
    ----------
    points : ndarray or csr_matrix of shape (n_landmarks, d)
    """

    def __init__(self, X: Any, seed: int | None) -> None:
        from sklearn.metrics.pairwise import euclidean_distances

        m = X.shape[0]
        few = m <= MOST_LANDMARKS
        self.points = X if few else X[np.random.default_rng(seed).permutation(m)[:MOST_LANDMARKS]]
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
        return gram

    def span(self, X: Any, name: str) -> Span:
        """The functions the landmarks span under a kernel, seen at the points `X` they were chosen from."""
        landmarks = self.gram(self.points, name)
        return Span(landmarks if X is self.points else self.gram(X, name), landmarks)

    def evaluate(self, X: Any, coefficients: dict[str, FloatArray]) -> FloatArray:
        """Sum over kernels of ``gram @ coefficients``, in blocks, and the row `intercept` where there is one.

        Returns
        -------
        ndarray of shape (n, number of functions)
        """
        width = next(iter(coefficients.values())).shape[1]
        values = np.zeros((X.shape[0], width))
        rest = dict(coefficients)
        values += rest.pop("intercept", 0.0)
        linear = rest.pop("linear", None)
        if linear is not None:  # one function of d coefficients, without a matrix of n x n_landmarks
            values += X @ (self.points.T @ linear) / self.norm
        if not rest:
            return values
        for first in range(0, X.shape[0], 4096):
            block = X[first : first + 4096]
            for name, weights in rest.items():
                values[first : first + 4096] += self.gram(block, name) @ weights
        return values


class Span:
    """The functions a kernel's landmarks span, each with mean 0 over the points, in orthogonal directions.

    The mean is for the intercept, which has a variance of its own: left in the kernel it would be the
    direction that is shrunk least, and where there is little but noise the function would be a constant.
    The scale is such that the prior variance of a function is 1 on average over the points.

    Attributes
    ----------
    variances : ndarray of shape (r,)
        Prior variance along each, descending; their sum is m.
    back : ndarray of shape (n_landmarks, r)
        Coefficients on the landmarks' kernel of the function that is ``sqrt(variance) * direction``,
    means : ndarray of shape (r,)
        and what to subtract from it.
    """

    def __init__(self, points: FloatArray, landmarks: FloatArray) -> None:
        m = len(points)
        means = points.mean(axis=0)
        if points is landmarks:  # every point is a landmark
            centred = points - means - means[:, None] + means.mean()
            values, vectors = np.linalg.eigh(centred)
            values, vectors = values[::-1], vectors[:, ::-1]
            keep = values > 1e-9 * max(values[0], 1e-12)
            self._functions, self.variances = vectors[:, keep], values[keep]
            self._turned = np.eye(len(self.variances))
            self.back = self._functions / np.sqrt(self.variances)
        else:
            values, vectors = np.linalg.eigh(landmarks)
            keep = values > 1e-9 * values[-1]
            root = vectors[:, keep] / np.sqrt(values[keep])
            # the right singular vectors are all that is needed, of many more points than functions
            self._functions = points @ root
            self._functions -= means @ root
            squares, turned = np.linalg.eigh(self._functions.T @ self._functions)
            squares, turned = squares[::-1], turned[:, ::-1]
            some = squares > 1e-10 * max(squares[0], 1e-12)
            self.variances = squares[some]
            self._turned = turned[:, some] / np.sqrt(self.variances)
            self.back = root @ turned[:, some]
        if len(self.variances):
            scale = m / float(self.variances.sum())
            self.variances = self.variances * scale
            self.back = self.back * np.sqrt(scale)
        self.means: FloatArray = means @ self.back

    @property
    def directions(self) -> FloatArray:
        """Values of the functions at the points, orthonormal and orthogonal to the constant; (m, r)."""
        directions: FloatArray = self._functions @ self._turned
        return directions

    def along(self, targets: FloatArray) -> FloatArray:
        """Components of targets, of shape (m, number of functions), along the directions."""
        components: FloatArray = self._turned.T @ (self._functions.T @ targets)
        return components


def learn_shares(
    spans: dict[str, Span], counts: FloatArray, n_teachers: int, sigma: float
) -> dict[str, FloatArray]:
    """Learn the expected share of the votes less 1/C from noisy counts; coefficients for `evaluate`.

    Two classes: one function, of class 1. More: one a class, which sum to 0 as exact shares do; counts are
    first turned to C - 1 contrasts, which leaves out the part of the noise that can mean nothing.

    Parameters
    ----------
    spans : dict of str to Span
    counts : ndarray of shape (m, C)
        In votes.
    n_teachers : int
        K.
    sigma : float
        Standard deviation of the noise on a count, in votes.
    """
    targets, contrasts = _targets(counts, n_teachers)
    found = regress(spans, targets, (sigma / n_teachers) ** 2)
    return {name: values @ contrasts.T for name, values in found.items()}


def _targets(counts: FloatArray, n_teachers: int) -> tuple[FloatArray, FloatArray]:
    """Shares less 1/C as functions that are learned, a column each, and the way back to all classes."""
    n_classes = counts.shape[1]
    targets = counts / n_teachers - 1 / n_classes
    if n_classes == 2:
        return targets[:, 1:], np.ones((1, 1))
    contrasts = np.linalg.qr(np.column_stack([np.ones(n_classes), np.eye(n_classes)[:, 1:]]))[0][:, 1:]
    return targets @ contrasts, contrasts


def regress(spans: dict[str, Span], targets: FloatArray, variance: float) -> dict[str, FloatArray]:
    """Fit ``targets ~ N(b + f, (variance + tau^2) I)``, f a Gaussian process, a column a function.

    For each kernel the variance of f and tau^2, shared by the columns, maximise the evidence times a weak
    prior: where there is little but noise the evidence is flat, its largest value often at no function at
    all, and the prior keeps f the one that the counts point to. The kernels are then averaged by their
    evidence, simpler ones before. The intercepts b are means of the targets, shrunk by what noise alone
    would make of them (James and Stein).

    Parameters
    ----------
    spans : dict of str to Span
        Kernels to average over, the simplest first.
    targets : ndarray of shape (m, number of functions)
    variance : float
        Of the noise that is known, >= 0.
    """
    m = len(targets)
    means = targets.mean(axis=0)
    scales = {name: _best_scales(span, targets - means, variance) for name, span in spans.items()}
    evidences = np.array([found[0] - _HARDER * KERNELS.index(name) for name, found in scales.items()])
    shares = np.exp(evidences - evidences.max())
    shares /= shares.sum()
    shares[shares < _NEGLIGIBLE] = 0
    shares /= shares.sum()
    kernels = {name: float(share) for name, share in zip(spans, shares, strict=True) if share}
    scatter = sum(share * scales[name][2] for name, share in kernels.items())
    chance = (variance + scatter) / m
    signal = max(0.0, float((means**2).mean()) - chance)
    coefficients = {"intercept": (means * signal / (signal + chance))[None, :]}
    for name, share in kernels.items():
        _, amplitude, own = scales[name]
        span = spans[name]
        shrink = amplitude * np.sqrt(span.variances) / (amplitude * span.variances + variance + own)
        weights = share * shrink[:, None] * span.along(targets)
        coefficients[name] = span.back @ weights
        coefficients["intercept"] = coefficients["intercept"] - span.means @ weights
    return coefficients


def _best_scales(span: Span, targets: FloatArray, variance: float) -> tuple[float, float, float]:
    """Evidence with the prior, a and tau^2 of ``targets ~ N(0, a * kernel + (variance + tau^2) I)``."""
    from scipy.optimize import minimize

    m, n_functions = targets.shape
    inside = span.along(targets)
    squares = (inside**2).sum(axis=1)
    outside = max(0.0, float((targets**2).sum() - squares.sum()))
    left = max(0, m - 1 - len(squares))  # one went to the mean

    def minus(logs: FloatArray) -> float:
        noise = variance + np.exp(logs[1])
        total = np.exp(logs[0]) * span.variances + noise
        sides = squares / total + n_functions * np.log(total)
        fit = float(sides.sum() + outside / noise + n_functions * left * np.log(noise))
        prior = sum(
            (log - np.log(middle)) ** 2 / spread**2
            for log, (middle, spread) in zip(logs, (_AMPLITUDE, _SCATTER), strict=True)
        )
        return 0.5 * (fit + float(prior))

    bounds = [(np.log(1e-6), np.log(10.0)), (np.log(1e-6), np.log(1.0))]
    starts = [(np.log(0.05), np.log(0.01)), (np.log(0.002), np.log(0.05))]
    found = [minimize(minus, start, method="L-BFGS-B", bounds=bounds) for start in starts]
    best = min(found, key=lambda result: float(result.fun))
    return -float(best.fun), float(np.exp(best.x[0])), float(np.exp(best.x[1]))
