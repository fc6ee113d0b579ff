"""Learners by name or import path: make an unfitted classifier of a config, and check it."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError

__all__ = ["BUILT_IN", "TWO_CLASSES", "build", "check_learner", "make_learner", "try_out"]

_PATHS = {
    "logistic": "sklearn.linear_model.LogisticRegression",
    "linear_svm": "sklearn.svm.LinearSVC",
    "libsvm": "pate_cli.learners.libsvm.LibsvmClassifier",
    "sgd": "pate_cli.learners.sgd.SgdLogistic",
    "permuted_sgd": "pate_cli.learners.sgd.SgdLogistic",
    "threshold": "pate_cli.learners.hypotheses.ThresholdClassifier",
    "stump": "pate_cli.learners.hypotheses.StumpClassifier",
    "point": "pate_cli.learners.hypotheses.PointClassifier",
    "tree": "sklearn.tree.DecisionTreeClassifier",
}

BUILT_IN = tuple(_PATHS)
"""Names of the built-in learners."""

TWO_CLASSES = tuple(name for name, path in _PATHS.items() if ".hypotheses." in path)
"""Those of them that learn two classes only: the classes of `pate_cli.learners.hypotheses`."""


_TRIED: set[tuple[Any, ...]] = set()
"""Learners tried out in this process, by their class: one that is loaded anew is tried anew."""


def _accepted(names: Sequence[str]) -> str:
    return f"{', '.join(names)}, or the import path of a scikit-learn classifier"


def make_learner(
    estimator: str, params: Mapping[str, Any], *, seed: int | None, n_classes: int, key: str = "teacher"
) -> Any:
    """Make an unfitted classifier.

    Parameters
    ----------
    estimator : str
        One of the names below, or the import path of a classifier that follows scikit-learn's
        conventions, as `sklearn.ensemble.RandomForestClassifier`. Importing runs the module's code.
    params : mapping of str to object
        Its parameters; they go over the defaults below.
    seed : int or None
        Becomes `random_state`, where the classifier has one.
    n_classes : int
        Number of classes, C >= 2.
    key : str
        Where the config holds this learner, for messages: `KEY.estimator`, `KEY.params`.

    Returns
    -------
    scikit-learn classifier

    Raises
    ------
    ConfigError
        If the name or a parameter is not known. Values are checked by `check_learner`.

    Notes
    -----
    ==============  ==============================================  ==========================================
    name            class                                           defaults other than the class's own
    ==============  ==============================================  ==========================================
    `logistic`      `sklearn.linear_model.LogisticRegression`       two classes: solver liblinear (fastest at
                                                                    100 records; it also penalises the
                                                                    intercept), max_iter 1000; more: lbfgs,
                                                                    max_iter 5000
    `linear_svm`    `sklearn.svm.LinearSVC`                         dual False (Newton: converges on unscaled
                                                                    features too), auto for the hinge
                                                                    loss; max_iter 5000
    `libsvm`        `LibsvmClassifier`, on libsvm-official          none: linear kernel, C 1
    `sgd`           `SgdLogistic`, on scikit-learn's SGDClassifier  none: one pass in the order given
    `permuted_sgd`  `SgdLogistic`                                   passes 10, permute True
    `threshold`     `ThresholdClassifier` of `learners.hypotheses`  none; so `stump` and `point`:
                                                                    exact ERM over a class, two labels only
    `tree`          `sklearn.tree.DecisionTreeClassifier`           none
    ==============  ==============================================  ==========================================
    """
    return build(
        estimator,
        params,
        seed=seed,
        n_classes=n_classes,
        name_key=f"{key}.estimator",
        params_key=f"{key}.params",
    )


def check_learner(
    estimator: str,
    params: Mapping[str, Any],
    *,
    n_classes: int = 2,
    sparse: bool = False,
    shape: tuple[int, int] | None = None,
    key: str = "teacher",
) -> None:
    """Check a learner before there is data, by fitting it on a few generated records.

    Parameters
    ----------
    estimator, params, n_classes, key
        As in `make_learner`.
    sparse : bool
        Whether it has to take sparse features.
    shape : tuple of int, optional
        Number of records, and of features, of a teacher's part: the least it must be able to learn from.
        Parts of several classes have at least two records.

    Raises
    ------
    ConfigError
        If the name, a parameter or a parameter's value is not accepted.
    """
    learner = make_learner(estimator, params, seed=0, n_classes=n_classes, key=key)
    keys = {"name_key": f"{key}.estimator", "params_key": f"{key}.params"}
    try_out(learner, estimator, params, n_classes=n_classes, sparse=sparse, shape=shape, **keys)


def build(
    estimator: str,
    params: Mapping[str, Any],
    *,
    seed: int | None,
    n_classes: int,
    name_key: str,
    params_key: str,
    names: Sequence[str] = BUILT_IN,
) -> Any:
    """Make an unfitted classifier as `make_learner`, of any keys of the config and list of names."""
    from sklearn.base import is_classifier

    built_in = isinstance(estimator, str) and estimator in _PATHS
    cls = _imported(_PATHS[estimator] if built_in else estimator, name_key, _accepted(names))
    defaults = _defaults(estimator, params, n_classes) if built_in else {}
    names_of_params = _parameters(cls)
    others = [name for name in names_of_params if name != "random_state"]
    for name in params:
        if name == "random_state":
            raise ConfigError(f"{params_key}.{name}", params[name], "nothing: it comes from seed, set that")
        if name not in others:
            raise ConfigError(f"{params_key}.{name}", params[name], f"parameters {', '.join(others)}")
    if seed is not None and "random_state" in names_of_params:
        defaults["random_state"] = seed
    try:
        learner = cls(**{**defaults, **params})
        fits = is_classifier(learner)
    except Exception as error:
        # A required argument, a meta-estimator without its estimator, an abstract class ...
        accepted = f"a classifier that can be made from {params_key} alone ({error})"
        raise ConfigError(name_key, estimator, accepted) from error
    if not fits:
        raise ConfigError(name_key, estimator, _accepted(names))
    return learner


def _defaults(name: str, params: Mapping[str, Any], n_classes: int) -> dict[str, Any]:
    """Parameters of a built-in learner that are not its class's own; see `make_learner`."""
    if name == "logistic":
        if "solver" in params:
            return {"max_iter": 5000}
        return (
            {"solver": "lbfgs", "max_iter": 5000}
            if n_classes > 2
            else {"solver": "liblinear", "max_iter": 1000}
        )
    if name == "linear_svm":
        return {"dual": "auto" if params.get("loss") == "hinge" else False, "max_iter": 5000}
    return {"passes": 10, "permute": True} if name == "permuted_sgd" else {}


def _imported(path: str, name_key: str, accepted: str) -> type:
    """Class at an import path, if it looks like a classifier."""
    if not isinstance(path, str) or not all(part.isidentifier() for part in path.split(".")):
        raise ConfigError(name_key, path, accepted)
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(name_key, path, accepted)
    try:
        found = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        # Whatever the module does when imported, it is not a classifier we can use.
        raise ConfigError(name_key, path, f"{accepted}; importing it failed ({error})") from error
    if not isinstance(found, type) or not all(
        callable(getattr(found, method, None)) for method in ("fit", "predict", "get_params", "set_params")
    ):
        raise ConfigError(name_key, path, accepted)
    return found


def _parameters(cls: type) -> list[str]:
    """Names of a classifier's parameters."""
    try:
        return sorted(cls().get_params(deep=False))
    except Exception:
        # It cannot be made without arguments: scikit-learn's own convention is the signature.
        import inspect

        return sorted(name for name in inspect.signature(cls).parameters if name != "self")


def try_out(
    learner: Any,
    estimator: str,
    params: Mapping[str, Any],
    *,
    n_classes: int,
    sparse: bool,
    shape: Any = None,
    name_key: str,
    params_key: str,
) -> None:
    """Fit a learner on a few generated records; say in one line what it did not like.

    Parameters
    ----------
    learner : unfitted scikit-learn classifier
    estimator, params, name_key, params_key
        What the user gave and where, for the message.
    n_classes, sparse
        As in `check_learner`.
    shape : tuple of int, optional
        As in `check_learner`; left out, 20 records a class of 32 features.

    Raises
    ------
    ConfigError
        If the fit fails, or `predict` does not give class codes.
    """
    import scipy.sparse as sp
    from sklearn.utils import check_random_state

    plain = learner.get_params(deep=False)
    simple = all(value is None or isinstance(value, bool | int | float | str) for value in plain.values())
    asked = (type(learner), repr(sorted(plain.items())), n_classes, sparse, shape) if simple else None
    if asked in _TRIED:  # the jobs of a sweep ask for the same
        return
    n_records, n_features = shape or (20 * n_classes, 32)
    n_records = max(2, n_records)
    n_classes = min(n_classes, max(2, n_records // 20)) if shape else n_classes
    y = np.arange(n_records, dtype=np.int64) % n_classes
    # Non-negative: some classifiers take nothing else.
    width = min(n_features, 32) if sparse else n_features
    X: Any = check_random_state(0).uniform(size=(n_records, width))
    X[np.arange(n_records), y % width] += 1.0
    if sparse:
        X = sp.csr_matrix(X)
        X.resize(n_records, n_features)
    # Without parameters, it is the learner that does not fit.
    where: tuple[str, object] = (params_key, dict(params)) if params else (name_key, estimator)
    records = f"{len(y)} {'sparse' if sparse else 'dense'} records of {n_classes} classes"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = np.asarray(learner.fit(X, y).predict(X))
    except Exception as error:
        found = re.match(r"The '(\w+)' parameter of \w+ must be (.+)\. Got .+ instead\.", str(error), re.S)
        if found and found[1] in params:
            raise ConfigError(f"{params_key}.{found[1]}", params[found[1]], found[2]) from error
        raise ConfigError(*where, f"what can be fitted on {records} ({error})") from error
    if predicted.shape != y.shape or not np.isin(predicted, y).all():
        raise ConfigError(*where, f"a classifier whose predict gives a class for each of {records}")
    if asked is not None:
        _TRIED.add(asked)
