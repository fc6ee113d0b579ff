"""Learners by name or import path: make an unfitted classifier of a config, and check it."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from pate_cli.errors import ConfigError, did_you_mean
from pate_cli.learners.class_params import limit_to
from pate_cli.learners.memory import remembers
from pate_cli.plugins import contained, reason_of, what_failed

__all__ = ["BUILT_IN", "TWO_CLASSES", "check_learner", "dense_warnings", "make_learner"]
__all__ += ["gives_shares", "passed_on", "try_out"]

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

_FAR = 0.6
_NEAR = 0.82
"""Likeness from which a name is a misspelt parameter, of a class that takes others, too: above that of
`colsample_bynode` and `colsample_bytree` of lightgbm."""

_TRIED: set[str] = set()  # passed `try_out` in this process: the rows of a sweep have the same learners


def make_learner(
    estimator: Any,
    params: Mapping[str, Any],
    *,
    seed: int | None,
    n_classes: int,
    name_key: str = "teacher.estimator",
    params_key: str = "teacher.params",
    names: Sequence[str] = BUILT_IN,
) -> Any:
    """Make an unfitted classifier; ConfigError if its name or a parameter is not known.

    `estimator` is a name of `BUILT_IN`, or the import path of a classifier that follows scikit-learn's
    conventions, as `sklearn.ensemble.RandomForestClassifier`: importing runs the module's code. From Python
    also such a classifier, which is copied; `params` are not used then. One that takes no sparse records is
    given dense copies. `seed` becomes its `random_state`. `name_key`, `params_key` and `names` are for
    messages.
    """
    from sklearn.base import clone, is_classifier

    from pate_cli.learners.dense import given_dense

    if hasattr(estimator, "get_params"):
        learner = clone(estimator)
        seeds = [key for key in learner.get_params() if key.rpartition("__")[2] == "random_state"]
        return given_dense(learner if seed is None else learner.set_params(**dict.fromkeys(seeds, seed)))
    accepted = (
        f"{', '.join(names)}, or the import path of a classifier, as sklearn.ensemble.RandomForestClassifier"
    )
    built_in = isinstance(estimator, str) and estimator in _PATHS
    cls = _imported(_PATHS[estimator] if built_in else estimator, name_key, accepted)
    defaults = _defaults(estimator, params, n_classes) if built_in else {}
    own_names = _parameters(cls)
    others = [name for name in _with_bases(cls, own_names) if name != "random_state"]
    for name in params:
        if name == "random_state":
            raise ConfigError(f"{params_key}.{name}", params[name], "nothing: it comes from seed, set that")
        near = get_close_matches(name, others, 1, _NEAR if _passes_on(cls) else _FAR)
        if name not in others and (near or not _passes_on(cls)):
            parameters = f"parameters {', '.join(others)}"
            accepted = f"{near[0]} (there are: {parameters})" if near else parameters
            raise ConfigError(f"{params_key}.{name}", params[name], accepted)
    if seed is not None and "random_state" in own_names:
        defaults["random_state"] = seed
    try:
        with contained():
            learner = cls(**{**defaults, **params})
            learner.get_params()  # fails where `__init__` does not keep what it is given
        fits = is_classifier(learner)
    except Exception as error:  # a required argument, a meta-estimator without its estimator, ...
        makeable = f"a classifier that can be made from {params_key} alone ({reason_of(error)})"
        raise ConfigError(name_key, estimator, makeable) from error
    if not fits:
        raise ConfigError(name_key, estimator, accepted)
    return given_dense(learner)


def passed_on(estimator: Any, params: Mapping[str, Any], params_key: str) -> tuple[str, ...]:
    """Lines on parameters that a learner's class does not name but takes, as those of lightgbm do."""
    if not isinstance(estimator, str) or "." not in estimator:
        return ()
    cls = _imported(estimator, params_key, "")
    named = _with_bases(cls, _parameters(cls))
    others = [name for name in params if name not in named]
    unknown = f"{cls.__name__} names no such parameter, and takes it unchecked"
    return tuple(f"{params_key}.{name}: {unknown}{did_you_mean(name, named)}" for name in others)


def check_learner(
    estimator: Any,
    params: Mapping[str, Any],
    *,
    n_classes: int = 2,
    sparse: bool = False,
    shape: tuple[int, int] | None = None,
) -> None:
    """Make a learner, and fit it on a few generated records before there is data; see `try_out`."""
    learner = make_learner(estimator, params, seed=0, n_classes=n_classes)
    try_out(learner, estimator, params, n_classes=n_classes, sparse=sparse, shape=shape)


def dense_warnings(config: Any, counts: Mapping[str, Any], n_teachers: int) -> tuple[str, ...]:
    """Lines on the memory of dense copies, where a teacher or student takes no sparse records.

    `config` has `teacher` and `student`, and `counts` the `n_private`, `n_public`, `n_features`, `n_classes`.
    """
    from pate_cli.learners.dense import DenseInput, megabytes

    warnings, d = [], counts["n_features"]
    for key, n in (("teacher", counts["n_private"] // n_teachers), ("student", counts["n_public"])):
        asked = getattr(config, key)
        try:
            learner = make_learner(asked.estimator, asked.params, seed=None, n_classes=counts["n_classes"])
        except ConfigError:  # a student that is no learner, as `voting`
            continue
        if isinstance(learner, DenseInput):
            copied = f"{n:,} x {d:,} numbers, {megabytes(n, d):,.1f} MB"
            name = type(learner.estimator).__name__
            warnings.append(f"{key}: {name} takes no sparse records, so they are made dense: {copied}")
    return tuple(warnings)


def try_out(
    learner: Any,
    estimator: Any,
    params: Mapping[str, Any],
    *,
    n_classes: int,
    sparse: bool,
    shape: Any = None,
    name_key: str = "teacher.estimator",
    params_key: str = "teacher.params",
) -> None:
    """Fit a learner on a few generated records; parameters as in `make_learner`.

    They are `sparse` or dense, and as many, with as many features, as `shape` says: of the smallest part
    that it must learn from; by default, 20 records a class of 32 features. ConfigError if the fit fails, or
    `predict` does not return class codes, or `predict_proba` no probabilities, or a fit before decides.
    """
    import scipy.sparse as sp
    from sklearn.utils import check_random_state

    asked = repr((type(learner), estimator, params, n_classes, sparse, shape))
    if asked in _TRIED:
        return
    n_records, n_features = shape or (20 * n_classes, 32)
    n_records = max(2, n_records)
    fewer = min(n_classes, max(2, n_records // 20)) if shape else n_classes
    learner, n_classes = limit_to(learner, {code: code for code in range(fewer)}, n_classes), fewer
    y = np.arange(n_records, dtype=np.int64) % n_classes
    width = min(n_features, 32) if sparse else n_features
    X: Any = check_random_state(0).uniform(size=(n_records, width))  # some take no negative features
    X[np.arange(n_records), y % width] += 1.0
    if sparse:
        X = sp.csr_matrix(X)
        X.resize(n_records, n_features)
    where: tuple[str, object] = (params_key, dict(params)) if params else (name_key, estimator)
    records = f"{len(y)} {'sparse' if sparse else 'dense'} records of {n_classes} classes"
    try:
        with warnings.catch_warnings(), contained():
            warnings.simplefilter("ignore")
            keeper = remembers(learner, X, y)  # before any fit: the first may leave something
            predicted = np.asarray(learner.fit(X, y).predict(X))
            shares = gives_shares(learner, X)
    except Exception as error:
        match = re.match(r"The '(\w+)' parameter of \w+ must be (.+)\. Got .+ instead\.", str(error), re.S)
        if match and match[1] in params:
            raise ConfigError(f"{params_key}.{match[1]}", params[match[1]], match[2]) from error
        fits_none = f"a learner that can be fitted on {records} ({reason_of(error)})"
        raise ConfigError(*where, fits_none) from error
    if predicted.shape != y.shape or predicted.dtype.kind in "SU" or not np.isin(predicted, y).all():
        raise ConfigError(*where, f"a classifier whose predict gives a class for each of {records}")
    if not shares:
        raise ConfigError(
            *where, f"a classifier whose predict_proba gives probabilities for each of {records}"
        )
    if keeper:
        accepted = "a classifier that learns from the records of a fit alone, and of no fit before it"
        raise ConfigError(name_key, estimator, f"{accepted} ({keeper} keeps something)")
    _TRIED.add(asked)


def gives_shares(learner: Any, X: Any) -> bool:
    """Whether the probabilities of a fitted learner, if it has any, are at least 0 and add up to 1."""
    if not hasattr(learner, "predict_proba"):
        return True
    shares = np.asarray(learner.predict_proba(X), dtype=np.float64)
    return shares.ndim == 2 and bool((shares >= 0).all() and (abs(shares.sum(axis=1) - 1) < 1e-3).all())


def _defaults(name: str, params: Mapping[str, Any], n_classes: int) -> dict[str, Any]:
    """Parameters of a built-in learner that are not its class's own."""
    if name == "logistic":
        if "solver" in params:
            return {"max_iter": 5000}
        if n_classes > 2:
            return {"solver": "lbfgs", "max_iter": 5000}
        return {"solver": "liblinear", "max_iter": 1000}  # fastest at 100 records
    if name == "linear_svm":  # dual False, Newton's method, converges on unscaled features too
        return {"dual": "auto" if params.get("loss") == "hinge" else False, "max_iter": 5000}
    return {"passes": 10, "permute": True} if name == "permuted_sgd" else {}


def _imported(path: str, name_key: str, accepted: str) -> type:
    """Class at an import path, if it looks like a classifier."""
    module, _, name = path.rpartition(".") if isinstance(path, str) else ("", "", "")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        raise ConfigError(name_key, path, accepted)
    try:
        with contained():
            cls = getattr(importlib.import_module(module), name)
    except Exception as error:  # importing runs any code
        where = "; PYTHONPATH=. pate ... finds those of this directory"
        hint = where if isinstance(error, ModuleNotFoundError) else ""
        raise ConfigError(
            name_key, path, f"{accepted}; importing it failed ({what_failed(error)}){hint}"
        ) from error
    methods = ("fit", "predict", "get_params", "set_params")
    if not isinstance(cls, type) or not all(callable(getattr(cls, name, None)) for name in methods):
        raise ConfigError(name_key, path, accepted)
    return cls


def _passes_on(cls: type) -> bool:
    """Whether a class takes parameters that it does not name, as those of lightgbm do."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(cls).parameters.values())


def _parameters(cls: type) -> list[str]:
    """Names of a classifier's parameters."""
    try:
        with contained():
            return sorted(cls().get_params(deep=False))
    except Exception:  # it cannot be made without arguments: by scikit-learn's convention, the signature's
        return sorted(name for name in inspect.signature(cls).parameters if name != "self")


def _with_bases(cls: type, names: Sequence[str]) -> list[str]:
    """Names of parameters, with those of the base classes that they may be passed on to."""
    all_names = set(names)
    for base in cls.__mro__[1:-1] if _passes_on(cls) else ():
        kinds = inspect.signature(base.__init__).parameters.values()  # type: ignore[misc]
        all_names |= {p.name for p in kinds if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return sorted(all_names - {"self"})
