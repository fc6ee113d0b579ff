"""Logistic regression by scikit-learn's SGD, with the clipping and constant step of the stability bound.

On features clipped to a ball the loss is Lipschitz and smooth with known constants, so that the bound of
Hardt, Recht and Singer (2016) is a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from pate_cli.learners.estimator import Classifier, is_positive, shortened

__all__ = ["SgdLogistic", "change_of_prediction", "largest_step"]


class SgdLogistic(Classifier):
    """Logistic regression by SGD: constant step, no penalty, the last iterate.

    Several classes are fitted one against the rest. Each of `passes` takes the records in the order given, or
    in a fresh random one (`permute`). Rows longer than `clip` (Euclidean norm) are shortened to it. Up to
    `largest_step(clip)` the bound of `change_of_prediction` holds for `step`.

    References
    ----------
    M. Hardt, B. Recht, Y. Singer. Train faster, generalize better. ICML 2016.
    """

    def __init__(
        self,
        passes: int = 1,
        permute: bool = False,
        step: float = 0.5,
        clip: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.passes = passes
        self.permute = permute
        self.step = step
        self.clip = clip
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SgdLogistic:
        """Descend; `sample_weight`, of shape (n,), multiplies a record's steps."""
        from sklearn.linear_model import SGDClassifier

        whole = isinstance(self.passes, int) and not isinstance(self.passes, bool)
        self.check("step", is_positive(self.step), "a float in the range (0, inf)")
        self.check("clip", is_positive(self.clip), "a float in the range (0, inf)")
        self.check("passes", whole and self.passes > 0, "an int in the range [1, inf)")
        self.check("permute", isinstance(self.permute, bool), "true or false")
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        descent = SGDClassifier(
            loss="log_loss",
            penalty=None,
            learning_rate="constant",
            eta0=self.step,
            max_iter=self.passes,
            tol=None,
            shuffle=self.permute,
            random_state=self.random_state,
        )
        self.descent_ = descent.fit(shortened(X, self.clip), y, sample_weight=sample_weight)
        self.classes_ = self.descent_.classes_
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Linear scores; shape (m,) for two classes, (m, C) for more."""
        return np.asarray(self.descent_.decision_function(self._checked(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class, shape (m, C)."""
        return np.asarray(self.descent_.predict_proba(self._checked(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Likeliest class, shape (m,)."""
        return np.asarray(self.descent_.predict(self._checked(X)))

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return shortened(X, self.clip)


def largest_step(clip: float) -> float:
    """Largest step at which a step of SGD takes no two parameters further apart: 2 over the smoothness.

    The log-loss of a row (x, 1) with ``|x| <= clip`` is convex, ``sqrt(clip^2 + 1)``-Lipschitz and
    ``(clip^2 + 1)/4``-smooth in the weights and the intercept.
    """
    return 8 / (clip**2 + 1)


def change_of_prediction(passes: int, step: float, clip: float) -> float:
    """Uniform stability: bound on the change of any predicted probability when one record is replaced.

    Each visit of the record moves the parameters of the two runs apart by at most ``2 step L``; no other
    step moves them apart (Hardt, Recht and Singer 2016, Lemma 2.5 and Theorem 3.8). A record is visited
    once a pass, in any order, so ``|w - w'| <= 2 step L passes``; the sigmoid's slope is at most
    1/4, so a probability changes by at most ``L |w - w'| / 4 = step passes L^2 / 2``, ``L^2 = clip^2 + 1``.
    For two classes; 1 where the step is larger than `largest_step(clip)`.
    """
    if step > largest_step(clip):
        return 1.0
    return min(1.0, step * passes * (clip**2 + 1) / 2)
