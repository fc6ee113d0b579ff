"""A learner in a package of its own: the class of the nearest mean, means drawn to that of all records."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data


class Centroids(ClassifierMixin, BaseEstimator):
    """For teachers and students; `shrink` in [0, 1] draws the means together."""

    def __init__(self, shrink=0.1):
        self.shrink = shrink

    def fit(self, X, y):
        """Take the means."""
        X, y = validate_data(self, X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        means = np.array([X[codes == code].mean(axis=0) for code in range(len(self.classes_))])
        self.means_ = (1 - self.shrink) * means + self.shrink * X.mean(axis=0)
        return self

    def predict(self, X):
        """Give the nearest."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]
