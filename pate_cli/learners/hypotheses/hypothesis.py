"""Interface of hypothesis classes, and functions they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from pate_cli.learners.estimator import Classifier
from pate_cli.matrices import dense
from pate_cli.types import FloatArray, IntArray

__all__ = ["BinaryClassifier", "Dichotomies", "HypothesisClass", "column", "signed", "weight_of_ones"]


class Dichotomies(ABC):
    """The distinct labelings of one sample by a class, with one representative hypothesis each.

    Numbered 0 .. len - 1. Labelings are not kept as a matrix: there may be as many as records.
    """

    def __init__(self, X: Any) -> None:
        self._X = X

    @abstractmethod
    def __len__(self) -> int: ...

    def labels(self, index: int) -> IntArray:
        """Labels that dichotomy number `index` assigns to the sample, shape (n,)."""
        labels: IntArray = self.hypothesis(index).predict(self._X)
        return labels

    @abstractmethod
    def hypothesis(self, index: int) -> Any:
        """Its representative: a fitted classifier."""

    @abstractmethod
    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """Total weight of the records of (X, y) that each representative gets wrong, shape (len,)."""

    @abstractmethod
    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """Fewest mistakes on (X, y) of any hypothesis of the class with this dichotomy, shape (len,)."""

    @abstractmethod
    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """``min over g of weight * (sample points on which h and g differ) + cost[g]``, for each h."""


class HypothesisClass(ABC):
    """A class of hypotheses from records to {0, 1}."""

    name: str
    extends: bool = True
    """Whether `Dichotomies.least_mistakes` is known."""

    @abstractmethod
    def vc_dimension(self, n_features: int) -> int:
        """VC dimension over records of `n_features` columns."""

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """Why the dichotomies of such a sample cannot be listed here, in words; None if they can."""
        return None

    @abstractmethod
    def dichotomies(self, X: Any) -> Dichotomies:
        """Dichotomies of the sample X, ndarray or csr_matrix of shape (n, d)."""

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> Any:
        """Fitted classifier with the least weight of mistakes on (X, y), exactly; the first of several."""
        dichotomies = self.dichotomies(X)
        return dichotomies.hypothesis(int(np.argmin(dichotomies.mistakes(X, y, sample_weight))))


class BinaryClassifier(Classifier):
    """A hypothesis as a scikit-learn classifier: labels 0 and 1, dense or sparse records."""

    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def take(self, **fitted: Any) -> Self:
        """Set the fitted attributes of a classifier made without data."""
        for name, value in fitted.items():
            setattr(self, name, value)
        self.classes_ = np.arange(2)
        return self

    def fit(self, X: Any, y: Any, sample_weight: FloatArray | None = None) -> Self:
        """Find the hypothesis with the least weight of mistakes; X of shape (n, d), y of 0 and 1."""
        y = np.asarray(y)
        if not np.isin(y, (0, 1)).all():
            raise ValueError("hypotheses label with 0 and 1 only: two classes")
        if X.shape[0] != len(y) or not len(y):
            raise ValueError(f"{X.shape[0]} records and {len(y)} labels; at least one of each")
        X = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X, dtype=float)
        best = vars(self._best(X, y.astype(np.int64), sample_weight))
        fitted = {name: value for name, value in best.items() if name.endswith("_")}
        return self.take(**fitted | {"n_features_in_": X.shape[1]})

    def _best(self, X: Any, y: IntArray, sample_weight: FloatArray | None) -> BinaryClassifier:
        raise NotImplementedError


def signed(y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """+weight where y is 1, -weight where it is 0: the gain of a hypothesis by label 1, shape (n,)."""
    weight = _weights(y, sample_weight)
    return np.where(y == 1, weight, -weight)


def weight_of_ones(y: IntArray, sample_weight: FloatArray | None = None) -> float:
    """Total weight of the records labelled 1."""
    return float((_weights(y, sample_weight) * (y == 1)).sum())


def _weights(y: IntArray, sample_weight: FloatArray | None) -> FloatArray:
    return np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def column(X: Any, feature: int) -> FloatArray:
    """One column of a dense or sparse matrix as a dense vector, shape (n,)."""
    return dense(X[:, [feature]])[:, 0]
