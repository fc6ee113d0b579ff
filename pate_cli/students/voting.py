"""A vote over simple learners: the improper student of LZCW21 Theorem 20."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.utils import get_tags

from pate_cli.learners.properties import row_by_row

__all__ = ["Voting"]


class Voting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Weighted majority vote over at most `n_estimators` fits of one learner, by AdaBoost.

    The learner takes sample weights. Boosting's weights sum to 1, so its `C`, which multiplies them, is
    scaled by the number of records: `C` then means the same as in the learner alone. Where even the first
    round is no better than guessing on its own labels, boosting is not defined; the learner alone is used.

    References
    ----------
    LZCW21, Theorem 20. Freund and Schapire, A decision-theoretic generalization of on-line learning and an
    application to boosting, JCSS 55(1), 1997.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Voting:
        """Fit on points of shape (n, d), dense or sparse, and labels of at least two classes."""
        self.classes_ = np.unique(y)
        base = clone(self.estimator)
        for name in ("C", "estimator__C"):  # the latter, of a learner given dense records
            if isinstance(C := base.get_params().get(name), int | float):
                base.set_params(**{name: C * X.shape[0]})
        vote = AdaBoostClassifier(
            estimator=base,
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        )
        try:
            self.model_ = vote.fit(X, y)
        except ValueError:
            alone = clone(self.estimator).fit(X, y)
            if np.mean(alone.predict(X) != y) < 1 - 1 / len(self.classes_):
                raise
            self.model_ = alone
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (m,)."""
        return np.asarray(self.model_.predict(X))

    @property
    def row_by_row(self) -> bool:
        """As the learner."""
        return row_by_row(self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is not None and get_tags(self.estimator).input_tags.sparse
        return tags
