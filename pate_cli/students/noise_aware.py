"""A student whose likelihood knows the noise on the counts it learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.students.gaussian_process import KERNELS, Landmarks, Span, regress
from pate_cli.types import FloatArray

__all__ = ["NoisyCountsClassifier"]

_MOST_DIRECTIONS = 300
_AMPLITUDES = np.geomspace(0.1, 1000.0, 9)


class NoisyCountsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from noisy vote counts, with the standard deviation of the noise known.

    The count of class k at x is ``N(K g(f_k(x) + b), sigma^2 + K^2 tau^2)``: g is the logistic function,
    f_k a Gaussian process, b puts the prior at 1/C and tau stands for what the votes of finitely many
    teachers scatter. Kernel and tau maximise the evidence of the model without a link, which is exact;
    the amplitude of f then maximises Laplace's approximation of the evidence with it. Only what was
    released goes in: counts, sigma, K and public features.

    Two classes: one function, of class 1. More: one function a class, hyper-parameters shared.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on a count, in votes, >= 0.
    n_teachers : int
        K: a count without noise is in [0, K].
    kernel : {"auto", "linear", "rbf"}
        auto: the one with the larger evidence; rbf: length scale 1/2, 1 or 2 times the median distance.
    random_state : int or None
        Picks the landmarks, where there are more than 1500 points.

    Attributes
    ----------
    classes_ : ndarray of int64, shape (C,)
    kernel_ : str
        The kernel chosen.
    amplitude_, scatter_ : float
        Prior variance of f (at a point of average norm), and tau.

    Notes
    -----
    Cost O(m^3) in the number m of points up to 1500, O(m) beyond, where functions are spanned by 1500
    points. Given labels in place of counts (a mechanism that releases no counts), there is no noise to
    be aware of, and it is scikit-learn's `LogisticRegression`.

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, sections 2.7, 3.4, 5.4, 8.3.
    MacKay, Bayesian interpolation, Neural Computation 4(3), 1992.
    """

    def __init__(
        self,
        sigma: float = 0.0,
        n_teachers: int = 1,
        kernel: str = "auto",
        random_state: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.n_teachers = n_teachers
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> NoisyCountsClassifier:
        """Fit on noisy counts, or on labels.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)
        y : ndarray of shape (m, C), or (m,)
            Noisy counts in votes; or labels.

        Returns
        -------
        NoisyCountsClassifier

        Raises
        ------
        ValueError
            If a parameter or the shape of `y` is not accepted.
        """
        if self.kernel not in ("auto", "linear", "rbf"):
            raise ValueError(f"kernel: got {self.kernel!r}; accepted: auto, linear, rbf")
        if not self.sigma >= 0 or not self.n_teachers >= 1:
            raise ValueError(f"sigma >= 0 and n_teachers >= 1; got {self.sigma!r} and {self.n_teachers!r}")
        y = np.asarray(y)
        if y.ndim == 1:
            return self._fit_labels(X, y)
        if y.shape[0] != X.shape[0] or y.shape[1] < 2:
            raise ValueError(f"y: counts of shape ({X.shape[0]}, C), C >= 2; got shape {y.shape}")
        self.labels_model_: Any = None
        n_classes = y.shape[1]
        self.classes_ = np.arange(n_classes)
        self.prior_ = 1 / n_classes
        self.landmarks_ = Landmarks(X, self.random_state)
        names = [name for name in KERNELS if self.kernel in ("auto", name.partition(" ")[0])]
        spans = {name: self.landmarks_.span(X, name) for name in names}
        shares = (y[:, 1:] if n_classes == 2 else y) / self.n_teachers
        variance = (self.sigma / self.n_teachers) ** 2
        _, self.kernel_, scatter, _ = regress(spans, shares - self.prior_, variance)
        self.scatter_ = float(np.sqrt(scatter))
        shift = float(np.log(self.prior_ / (1 - self.prior_)))
        span = spans[self.kernel_]
        self.amplitude_, weights = _best_amplitude(span, shares, variance + scatter, shift)
        self.coefficients_ = span.back @ weights
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of the expected share of the votes.

        Parameters
        ----------
        X : ndarray or csr_matrix of shape (m, d)

        Returns
        -------
        ndarray of shape (m,), or (m, C) for more than two classes
        """
        if self.labels_model_ is not None:
            by_labels: FloatArray = self.labels_model_.decision_function(X)
            return by_labels
        both: FloatArray = self.landmarks_.evaluate(X, {self.kernel_: self.coefficients_})
        both += np.log(self.prior_ / (1 - self.prior_))
        scores: FloatArray = both[:, 0] if len(self.classes_) == 2 else both
        return scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Expected shares of the votes, scaled to sum to 1; shape (m, C)."""
        if self.labels_model_ is not None:
            probabilities: FloatArray = self.labels_model_.predict_proba(X)
            return probabilities
        shares = _logistic(self.decision_function(X))
        if shares.ndim == 1:
            return np.column_stack([1 - shares, shares])
        scaled: FloatArray = shares / shares.sum(axis=1, keepdims=True)
        return scaled

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the largest expected share of the votes; shape (m,)."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        predicted: NDArray[Any] = np.asarray(self.classes_)[best]
        return predicted

    def _fit_labels(self, X: Any, y: NDArray[Any]) -> NoisyCountsClassifier:
        from sklearn.linear_model import LogisticRegression

        self.classes_ = np.unique(y)
        self.labels_model_ = LogisticRegression(max_iter=5000).fit(X, y)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _logistic(scores: FloatArray) -> FloatArray:
    from scipy.special import expit

    shares: FloatArray = expit(scores)
    return shares


def _best_amplitude(
    span: Span, shares: FloatArray, variance: float, shift: float
) -> tuple[float, FloatArray]:
    """Prior variance of f with the largest Laplace evidence, and its mode's weights on the directions."""
    directions = span.directions[:, :_MOST_DIRECTIONS]
    scales = np.sqrt(span.variances[:_MOST_DIRECTIONS])
    basis = directions * scales
    best, chosen = -np.inf, 0.0
    modes = np.zeros((basis.shape[1], shares.shape[1]))
    kept = modes
    for amplitude in _AMPLITUDES:
        evidence, modes = 0.0, modes.copy()
        for k in range(shares.shape[1]):
            value, modes[:, k] = _mode(basis * np.sqrt(amplitude), shares[:, k], variance, shift, modes[:, k])
            evidence += value
        if evidence > best:
            best, chosen, kept = evidence, float(amplitude), modes
    weights = np.zeros((len(span.variances), shares.shape[1]))
    weights[: basis.shape[1]] = np.sqrt(chosen) * kept
    return chosen, weights


def _mode(
    basis: FloatArray, shares: FloatArray, variance: float, shift: float, start: FloatArray
) -> tuple[float, FloatArray]:
    """Mode of ``shares ~ N(g(basis @ w + shift), variance)``, w ~ N(0, I), and Laplace's log evidence."""

    def loss(w: FloatArray) -> float:
        gap = shares - _logistic(basis @ w + shift)
        return float(0.5 * (gap @ gap) / variance + 0.5 * (w @ w))

    w, value = start, loss(start)
    hessian = np.eye(len(w))
    for _ in range(50):
        p = _logistic(basis @ w + shift)
        slope = p * (1 - p)
        gradient = w - basis.T @ ((shares - p) * slope) / variance
        scaled = basis * slope[:, None]
        hessian = np.eye(len(w)) + scaled.T @ scaled / variance
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-4 and loss(w - size * step) > value - 1e-4 * size * float(gradient @ step):
            size /= 2
        if size <= 1e-4:
            break
        w = w - size * step
        before, value = value, loss(w)
        if before - value < 1e-6 * (1 + abs(value)):
            break
    return -value - 0.5 * float(np.linalg.slogdet(hessian)[1]), w
