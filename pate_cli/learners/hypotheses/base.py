"""What every hypothesis class offers, and a few functions they share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from pate_cli.types import FloatArray, IntArray, dense

__all__ = ["BinaryClassifier", "Dichotomies", "HypothesisClass"]
__all__ += ["checked", "column", "signed", "weights_of"]


class Dichotomies(Protocol):
    """The distinct labelings a class gives one sample, with one representative hypothesis each.

    Numbered 0 .. len - 1. Labelings are not kept as a matrix: there may be as many as records.
    """

    def __len__(self) -> int:
        """How many there are."""

    def labels(self, index: int) -> IntArray:
        """Labels that dichotomy number `index` gives the sample, shape (n,)."""

    def hypothesis(self, index: int) -> Any:
        """Its representative: a fitted classifier."""

    def mistakes(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
        """Total weight of the records of (X, y) that each representative gets wrong, shape (len,)."""

    def least_mistakes(self, X: Any, y: IntArray) -> FloatArray:
        """Fewest mistakes on (X, y) of any hypothesis of the class with this dichotomy, shape (len,)."""

    def nearest(self, cost: FloatArray, weight: float) -> FloatArray:
        """``min over g of weight * (sample points on which h and g differ) + cost[g]``, for each h."""


class HypothesisClass(Protocol):
    """A class of hypotheses from records to {0, 1}."""

    name: str

    def vc_dimension(self, n_features: int) -> int:
        """VC dimension over records of `n_features` columns (where so documented, an upper bound)."""

    def refusal(self, n_points: int, n_features: int) -> str | None:
        """Why the dichotomies of such a sample cannot be listed here, in words; None if they can."""

    def dichotomies(self, X: Any) -> Dichotomies:
        """Dichotomies of the sample X, ndarray or csr_matrix of shape (n, d)."""

    def erm(self, X: Any, y: IntArray, sample_weight: FloatArray | None = None) -> Any:
        """Hypothesis with the least weight of mistakes on (X, y), exactly: a fitted classifier."""


def weights_of(y: IntArray, sample_weight: FloatArray | None) -> FloatArray:
    """Weights of the records, shape (n,): ones if none were given."""
    if sample_weight is None:
        return np.ones(len(y))
    return np.asarray(sample_weight, dtype=float)


def signed(y: IntArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """+weight where y is 1, -weight where it is 0: what a hypothesis gains by saying 1, shape (n,)."""
    weight = weights_of(y, sample_weight)
    return np.where(y == 1, weight, -weight)


def column(X: Any, feature: int) -> FloatArray:
    """One column of a dense or sparse matrix as a dense vector, shape (n,)."""
    return dense(X[:, [feature]])[:, 0]


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A hypothesis as a scikit-learn classifier: labels 0 and 1, dense or sparse records."""

    classes_: IntArray
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def take(self, **fitted: Any) -> Any:
        """Set what a fit learns, on a classifier made without data."""
        self.classes_ = np.arange(2)
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def adopt(self, other: Any, names: tuple[str, ...], n_features: int) -> None:
        """Set what another classifier of the kind has learnt, by its names."""
        self.take(**{name: getattr(other, name) for name in names}, n_features_in_=n_features)


def checked(X: Any, y: Any) -> tuple[Any, IntArray]:
    """Check records and labels of a fit; raises ValueError."""
    y = np.asarray(y)
    if not np.isin(y, (0, 1)).all():
        raise ValueError("hypotheses label with 0 and 1 only: two classes")
    if X.shape[0] != len(y) or not len(y):
        raise ValueError(f"{X.shape[0]} records and {len(y)} labels; at least one of each")
    return (np.asarray(X, dtype=float) if not hasattr(X, "tocsr") else X.tocsr()), y.astype(np.int64)
