"""The best model of scikit-learn on all private records, cross-validated: NOT differentially private."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from pate_cli.matrices import dense
from pate_cli.types import IntArray

__all__ = ["FAMILIES", "best_model", "fitted_model"]

FAMILIES = ("gradient boosting", "kernel machine", "logistic regression")

_TUNED_ON = 3_000  # most records of the cross-validation
_FITTED_ON = {"gradient boosting": 100_000, "kernel machine": 20_000, "logistic regression": 100_000}
"""Most records that the chosen model is fitted on, to bound the time."""
_FOLDS = 3
_DENSE = 50_000_000  # most numbers of sparse records that are written out for trees
_TREES = 600  # most trees of a boosted model, one a class and round
_LEAST_GAIN = 1e-4  # of log loss, in nats, that eight rounds of boosting bring: less is not seen in a table


class _Candidate(NamedTuple):
    family: str
    model: Any  # unfitted


def best_model(X: Any, y: IntArray, n_classes: int, seed: int) -> int | None:
    """Choose among the models by cross-validated accuracy: a number for `fitted_model`.

    The cross-validation is on at most 3,000 records, drawn at random, in three folds. None where there are
    too few records of two classes, or none of the models can be fitted. Of equal ones the first is chosen.
    """
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    rows = _drawn(np.random.default_rng(seed), len(y), _TUNED_ON)
    if len(rows) < 2 * _FOLDS or np.bincount(y[rows]).max() > len(rows) - _FOLDS:
        return None
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    X_drawn, y_drawn = X[rows], y[rows]
    best, score = None, -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer records than folds; not converged
        for number, candidate in enumerate(_candidates(X, n_classes, seed)):
            _set_bins(candidate, X_drawn)
            scores = cross_val_score(candidate.model, X_drawn, y_drawn, cv=folds, scoring="accuracy")
            if scores.mean() > score:  # false for nan, of one that cannot be fitted
                best, score = number, scores.mean()
            if score == 1.0:  # no other can be better
                break
    return best


def fitted_model(best: int | None, X: Any, y: IntArray, n_classes: int, seed: int) -> tuple[Any, str]:
    """Fit the model that `best_model` chose, on at most 100,000 records, a kernel machine on 20,000.

    Its probabilities are those of logistic curves on its scores. Where there is none, or but one class, the
    family is "constant".
    """
    from sklearn.dummy import DummyClassifier

    if best is not None:
        chosen = list(_candidates(X, n_classes, seed))[best]
        rows = _drawn(np.random.default_rng(seed), len(y), _FITTED_ON[chosen.family])
        X_drawn, y_drawn = X[rows], y[rows]
        if y_drawn.min() < y_drawn.max():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # not converged
                _set_bins(chosen, X_drawn)
                return _with_probabilities(chosen, y_drawn).fit(X_drawn, y_drawn), chosen.family
    return DummyClassifier(strategy="prior").fit(X, y), "constant"


def _drawn(rng: np.random.Generator, n: int, most: int) -> IntArray:
    """Rows of a random subset, all if they are few enough."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _candidates(X: Any, n_classes: int, seed: int) -> Iterator[_Candidate]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler
    from sklearn.svm import SVC

    # sparse records are flags or words, whose scale says something
    scale: Callable[[], Any] = FunctionTransformer if sp.issparse(X) else StandardScaler
    boosting, kernel, logistic = FAMILIES
    if not sp.issparse(X) or X.shape[0] * X.shape[1] <= _DENSE:
        trees = HistGradientBoostingClassifier(
            learning_rate=0.15,
            max_leaf_nodes=15,
            max_iter=max(20, min(200, _TREES // n_classes)),
            early_stopping=True,
            n_iter_no_change=8,
            tol=_LEAST_GAIN,
            random_state=seed,
        )
        yield _Candidate(boosting, make_pipeline(FunctionTransformer(dense, accept_sparse=True), trees))
    for C in (1.0, 10.0):
        yield _Candidate(kernel, make_pipeline(scale(), SVC(C=C, gamma="scale")))
    for C in (0.05, 1.0):
        yield _Candidate(logistic, make_pipeline(scale(), LogisticRegression(C=C, max_iter=300)))


def _set_bins(candidate: _Candidate, X: Any) -> None:
    """Have trees use as many bins as tell all values of a column apart: the same trees as of 255, sooner."""
    if candidate.family == FAMILIES[0]:
        if sp.issparse(X):
            most = len(np.unique(X.data)) + 1  # and 0
        else:
            most = max((len(np.unique(column)) for column in X.T), default=0)
        candidate.model[-1].set_params(max_bins=min(max(most, 2), 255))


def _with_probabilities(chosen: _Candidate, y: IntArray) -> Any:
    """Add `predict_proba`, where each class has a record for both folds."""
    from sklearn.calibration import CalibratedClassifierCV

    if hasattr(chosen.model, "predict_proba") or np.bincount(y)[np.unique(y)].min() < 2:
        return chosen.model
    return CalibratedClassifierCV(chosen.model, cv=2, ensemble=False)
