"""A student whose likelihood knows the noise on the counts it learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.students.gaussian_process import KERNELS, Landmarks, learn_shares, plausible_kernels
from pate_cli.types import FloatArray

__all__ = ["NoisyCountsClassifier"]


class NoisyCountsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from noisy vote counts, with the standard deviation of the noise known.

    The count of class k at x is ``N(K (1/C + b_k + f_k(x)), sigma^2 + K^2 tau^2)``: f_k is a Gaussian
    process, b_k how much more often the class is voted for, and tau stands for what the votes of finitely
    many teachers scatter. `gaussian_process.regress` says how kernels and variances are found. Only what
    was released goes in: counts, sigma, K and public features.

    Two classes: one function, of class 1. More: one a class, hyper-parameters shared.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise on a count, in votes, >= 0.
    n_teachers : int
        K: a count without noise is in [0, K].
    kernel : {"auto", "linear", "rbf"}
        auto: averaged by evidence; rbf: length scale 1/2, 1 or 2 times the median distance.
    random_state : int or None
        Picks the landmarks, where there are more than 1500 points.

    Attributes
    ----------
    classes_ : ndarray of int64, shape (C,)
    coefficients_ : dict of str to ndarray
        For `Landmarks.evaluate`.
    slope_ : float
        Of the softmax that turns scores into shares, by least squares on the counts.

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
        self.landmarks_ = Landmarks(X, self.random_state)
        names = [name for name in KERNELS if self.kernel in ("auto", name.partition(" ")[0])]
        names = plausible_kernels(self.landmarks_, names, y, int(self.n_teachers), self.sigma)
        spans = {name: self.landmarks_.span(X, name) for name in names}
        self.coefficients_ = learn_shares(spans, y, int(self.n_teachers), self.sigma)
        self.slope_ = _best_slope(self._scores(X), y / self.n_teachers)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Expected shares of the votes, less 1/C; of class 1, where there are two.

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
        both: FloatArray = self.landmarks_.evaluate(X, self.coefficients_)
        scores: FloatArray = both[:, 0] if len(self.classes_) == 2 else both
        return scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Expected shares of the votes, the softmax of the slope times the scores; (m, C)."""
        if self.labels_model_ is not None:
            probabilities: FloatArray = self.labels_model_.predict_proba(X)
            return probabilities
        return _shares(self._scores(X), self.slope_)

    def _scores(self, X: Any) -> FloatArray:
        """Scores of all classes, shape (m, C); the constant 1/C left out."""
        scores = self.decision_function(X)
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

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


def _shares(scores: FloatArray, slope: float) -> FloatArray:
    from scipy.special import softmax

    shares: FloatArray = softmax(slope * scores, axis=1)
    return shares


def _best_slope(scores: FloatArray, shares: FloatArray) -> float:
    """Slope with the least squared error: shares level off at 0 and 1, which linear scores do not."""
    from scipy.optimize import minimize_scalar

    def loss(log: float) -> float:
        return float(np.square(shares - _shares(scores, np.exp(log))).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(0.0, 5.0), method="bounded").x))
