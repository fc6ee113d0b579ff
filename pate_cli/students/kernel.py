"""A student for noisy votes: a Gaussian process on features of public points, which knows the noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.matrices import dense
from pate_cli.types import FloatArray

__all__ = ["Directions", "KernelStudent"]

_PRIOR = np.exp(np.linspace(-9.0, 5.0, 57))
"""Standard deviations of a weight that are tried."""

_REST = np.concatenate([[0.0], np.exp(np.linspace(-6.0, 2.0, 33))])
"""Standard deviations of what features do not explain that are tried, beside the known noise."""

_LEAST = 1e-4  # standard deviation of a vote at least: a fit need not be more exact
_FLOOR = 1e-12  # of the largest eigenvalue: directions below it are left out
_MOST = 2048
"""Records that it learns from, of many with more columns still: as texts have."""


class KernelStudent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Posterior mean of the teachers' mean vote, linear in features, given noisy counts or labels.

    With P the features of m asked points, centred, and z the votes as numbers in [-1, 1] (one column for two
    classes, else one a class), less their mean: ``z = P theta + N(0, s^2)`` with ``theta ~ N(0, a^2 I)`` and
    ``s^2 = noise^2 + r^2``. `noise`, that of the mechanism, is known; a, and the rest r that features do not
    explain, maximise the evidence (Rasmussen, Williams 2006, section 5.4.1). On features of a kernel this is
    a Gaussian process. Released numbers go in alone, so it is post-processing.

    Parameters
    ----------
    part_size : int, optional
        Records of a teacher. Where all of s teachers agree, which err in one of s records or fewer, a class
        has a probability of no less than ``1/(s + C)`` (Laplace's rule of succession).

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    coef_ : ndarray of shape (p, q)
    intercept_ : ndarray of shape (q,)
    power : float
        Of the shares, which makes them probabilities: see `pate_cli.students.steepness`.
    """

    row_by_row = True
    power = 1.0

    def __init__(self, part_size: int | None = None) -> None:
        self.part_size = part_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelStudent:
        """Fit on labels, shape (m,): the noise is estimated with the rest. A point may come several times."""
        if min(X.shape) > _MOST:
            rows = np.arange(_MOST) * X.shape[0] // _MOST
            X, y = X[rows], np.asarray(y)[rows]
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"labels of {len(classes)} class; accepted: two or more")
        shares = np.eye(len(classes))[codes]
        return self.fit_shares(X, shares, classes=classes, weights=sample_weight)

    def fit_shares(
        self,
        X: Any,
        shares: FloatArray,
        *,
        noise: float = 0.0,
        classes: Any = None,
        weights: Any = None,
        directions: Directions | None = None,
    ) -> KernelStudent:
        """Fit on shares of the votes, shape (m, C), with noise of a known standard deviation on each.

        `directions` are those of the same rows and weights, where there are many fits.
        """
        self.classes_ = np.arange(shares.shape[1]) if classes is None else classes
        votes = 2 * np.asarray(shares, dtype=np.float64) - 1
        votes = votes[:, 1:] if votes.shape[1] == 2 else votes
        spanned = Directions.of(X, weights) if directions is None else directions
        root, S = spanned.root, spanned.S
        self.intercept_ = root**2 / len(root) @ votes
        Z = spanned.U.T @ (root[:, None] * (votes - self.intercept_))
        left = np.sum((root[:, None] * (votes - self.intercept_)) ** 2) - np.sum(Z**2)
        spare = (len(votes) - 1 - len(S)) * votes.shape[1]
        prior, variance = spanned.variances((2 * noise) ** 2).most_likely(Z, max(float(left), 0.0), spare)
        self.coef_ = spanned.back((prior * S / (prior * S**2 + variance))[:, None] * Z)
        self.intercept_ = self.intercept_ - spanned.middle @ self.coef_
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Mean vote for class 1 in [-1, 1], about, shape (n,); for more classes one a class, shape (n, C)."""
        votes: FloatArray = np.asarray(X @ self.coef_) + self.intercept_
        return votes[:, 0] if votes.shape[1] == 1 else votes

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the most votes, shape (n,)."""
        votes = self.decision_function(X)
        return np.asarray(
            self.classes_[(votes >= 0).astype(int) if votes.ndim == 1 else votes.argmax(axis=1)]
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, C): shares of the votes, by the rule of succession."""
        votes = self.decision_function(X)
        votes = np.column_stack([-votes, votes]) if votes.ndim == 1 else votes
        shares = np.clip((1 + votes) / 2, 0.0, 1.0)
        shares[~shares.any(axis=1)] = 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        size = 1e6 if self.part_size is None else self.part_size
        mixed: FloatArray = (size * shares + 1) / (size + shares.shape[1])
        if self.power != 1.0:
            mixed = mixed**self.power
            mixed /= mixed.sum(axis=1, keepdims=True)
        return mixed


@dataclass(frozen=True, eq=False)
class Directions:
    """What fits on the same rows share: their mean, and the directions that they span about it."""

    root: FloatArray  # (m,): of the weights, whose mean is 1
    middle: FloatArray  # (p,): mean of the rows
    U: FloatArray  # (m, r): singular vectors of the centred, weighted rows
    S: FloatArray  # (r,): singular values
    back: Any  # from coefficients along directions to weights of columns
    _tried: dict[float, _Variances] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any, weights: Any = None) -> Directions:
        """Find those of rows, dense or sparse, of shape (m, p)."""
        root = np.ones(X.shape[0]) if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
        root /= np.sqrt(np.mean(root**2))
        middle = _mean(X, root**2 / len(root))
        return cls(root, middle, *_directions(X, middle, root))

    def variances(self, known: float) -> _Variances:
        """All that are tried, with noise of a known variance."""
        if known not in self._tried:
            self._tried[known] = _Variances.of(self.S, known)
        return self._tried[known]


@dataclass(frozen=True, eq=False)
class _Variances:
    """Variances that are tried: of the noise, shape (v, 1), and of a weight, shape (1, a)."""

    noise: FloatArray
    priors: FloatArray
    inverse: FloatArray  # (v, a, r): of the variance of the votes along each direction
    logs: FloatArray  # (v, a): sum of the logarithms of these variances

    @classmethod
    def of(cls, S: FloatArray, known: float) -> _Variances:
        """For directions with these singular values, and a known variance of noise beside the rest."""
        size = max(float(np.sqrt(np.mean(S**2))) if len(S) else 1.0, 1e-150)
        noise, priors = known + _REST[:, None] ** 2 + _LEAST**2, (_PRIOR[None] / size) ** 2
        total = priors[:, :, None] * S**2 + noise[:, :, None]
        return cls(noise, priors, 1 / total, np.log(total).sum(axis=2))

    def most_likely(self, Z: FloatArray, left: float, spare: int) -> tuple[float, float]:
        """Prior variance of a weight, and variance of the noise, that maximise the evidence.

        Votes have the coefficients Z along the directions, and a sum of squares `left` along `spare` others.
        """
        fit = self.inverse @ np.sum(Z**2, axis=1) + Z.shape[1] * self.logs
        evidence = -0.5 * (fit + left / self.noise + spare * np.log(self.noise))
        at = np.unravel_index(int(evidence.argmax()), evidence.shape)
        return float(self.priors[0, at[1]]), float(self.noise[at[0], 0])


def _mean(X: Any, share: FloatArray) -> FloatArray:
    """Weighted mean of the rows of a dense or sparse matrix."""
    return np.asarray(X.T @ share).ravel()


def _directions(X: Any, middle: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray, Any]:
    """Singular vectors and values of the centred, weighted rows, and the way back to weights of columns."""
    if isinstance(X, np.ndarray):
        U, S, Vt = np.linalg.svd(root[:, None] * (X - middle), full_matrices=False)
        S = S if S.max(initial=0.0) > _rounding(X) * np.linalg.norm(X) else np.zeros_like(S)
        kept = np.sqrt(_FLOOR) * max(S.max(initial=0.0), 1e-150) < S
        return U[:, kept], S[kept], lambda theta: Vt[kept].T @ theta
    along = np.asarray(X @ middle).ravel()
    least = _rounding(X) * float(X.multiply(X).sum())
    if X.shape[0] > X.shape[1]:
        inner = dense(X.T @ X.multiply(root[:, None] ** 2)) - len(root) * np.outer(middle, middle)
        S, V = _roots(inner, least)
        U = root[:, None] * (np.asarray(X @ V) - middle @ V) / S
        return U, S, lambda theta: V @ theta
    inner = dense(X @ X.T)
    S, U = _roots(root[:, None] * (inner - along[:, None] - along + middle @ middle) * root, least)

    def back(theta: FloatArray) -> FloatArray:
        rows = root[:, None] * (U @ (theta / S[:, None]))
        return np.asarray(X.T @ rows) - np.outer(middle, rows.sum(axis=0))

    return U, S, back


def _rounding(X: Any) -> float:
    """Share of the size of rows that rounding may leave of equal ones, less their mean."""
    return int(X.shape[0]) * float(np.finfo(np.float64).eps)


def _roots(inner: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Roots of the eigenvalues of a matrix that are not about 0, their eigenvectors; none up to `least`."""
    values, vectors = np.linalg.eigh(inner)
    largest = values.max(initial=0.0)
    kept = values > (_FLOOR * max(largest, 1e-300) if largest > least else np.inf)
    return np.sqrt(values[kept]), vectors[:, kept]
