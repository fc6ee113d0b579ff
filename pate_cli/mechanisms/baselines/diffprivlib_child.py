"""What the interpreter that has diffprivlib runs: fits of its logistic regression, one for each seed.

It is run by itself: nothing of ours can be imported here. See `outside.answer`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

__all__ = ["answer"]


def answer(
    *, X: Any, y: Any, seeds: Any, eps: Any, C: Any, n_classes: Any, tolerance: Any, steps: Any
) -> dict[str, Any]:
    """Fit once for each seed.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows of norm 1 at most.
    y : ndarray of int64, shape (n,)
        Codes of classes, each of which is there.
    seeds : ndarray of uint32, shape (runs,)
    eps, C, tolerance : float
        Of each fit: epsilon, the inverse of the regularisation, the gradient at which it may stop.
    n_classes, steps : int

    Returns
    -------
    dict
        `weights` of shape (runs, problems, d); `gap`, the largest norm by which the noise would have to be
        another for the weights to be the exact minimiser; and versions.
    """
    import diffprivlib
    import scipy.special
    import sklearn
    from diffprivlib.accountant import BudgetAccountant
    from diffprivlib.mechanisms import Vector
    from diffprivlib.models import LogisticRegression

    warnings.simplefilter("error")  # among them PrivacyLeakWarning and ConvergenceWarning
    warnings.simplefilter("ignore", DeprecationWarning)  # of SciPy, about what it prints
    eps, C, classes, (n, d) = float(eps), float(C), int(n_classes), X.shape
    positive = [1] if classes == 2 else list(range(classes))
    weights, gap = np.empty((len(seeds), len(positive), d)), 0.0
    for run, seed in enumerate(seeds.tolist()):
        model = LogisticRegression(
            epsilon=eps,
            data_norm=1.0,
            C=C,
            fit_intercept=False,
            tol=float(tolerance),
            max_iter=int(steps),
            random_state=seed,
            accountant=BudgetAccountant(epsilon=eps, delta=0.0),
        )
        weights[run] = model.fit(X, y).coef_
        # the noise that it drew, once more: is the objective of the proof flat at these weights?
        state = np.random.RandomState(seed)
        for w, code in zip(weights[run], positive, strict=True):
            vector = Vector(
                epsilon=eps / len(positive),
                function_sensitivity=0.25,
                data_sensitivity=1.0,
                dimension=d,
                alpha=1 / C,
                n=n,
                random_state=state,
            )
            _, slope = vector.randomise(lambda w: (0.0, np.zeros(d)))(w)
            residuals = scipy.special.expit(X @ w) - (y == code)
            gap = max(gap, float(np.linalg.norm(residuals @ X + w / C + n * slope)))
    versions = np.array([diffprivlib.__version__, sklearn.__version__])
    return {"weights": weights, "gap": np.float64(gap), "versions": versions}
