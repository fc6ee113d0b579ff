"""Checks of shapes and ranges in a loaded student, before its arrays reach compiled code.

scikit-learn and LIBSVM follow the indices in a fitted model unchecked, so a spoilt or forged file could crash
the process, or keep it busy for ever. All checks raise ValueError.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

__all__ = ["check_loaded", "check_tree"]


def check_tree(
    n_features: object, n_classes: NDArray[Any], n_outputs: object, state: Mapping[str, Any]
) -> None:
    """Check the arguments and the state of a `sklearn.tree._tree.Tree`, which copies them as they are."""
    nodes, values, n = state["nodes"], state["values"], len(state["nodes"])
    for number in (n_features, n_outputs, state["node_count"]):
        _need(type(number) is int and number > 0, "a size of a tree is no whole number")
    _need(n_classes.dtype == np.int64 and n_classes.shape == (1,), "the number of a tree's classes")
    _need(n_outputs == 1 and n == state["node_count"], "the number of a tree's nodes or outputs")
    _need(nodes.shape == (n,) and values.shape == (n, 1, n_classes[0]), "the nodes and values of a tree")
    _need(bool(np.isfinite(values).all()), "a value in a tree that is no finite number")
    left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
    inner = left != -1
    _need(np.array_equal(inner, right != -1), "a node of a tree with one child")
    after = np.arange(n)[inner]  # a child stands behind its parent, so that every path ends
    for children in (left[inner], right[inner]):
        _need(bool(((children > after) & (children < n)).all()), "a child that is no later node of its tree")
    _need(bool(((feature[inner] >= 0) & (feature[inner] < n_features)).all()), "a feature out of range")
    _need(not np.isnan(nodes["threshold"][inner]).any(), "a threshold of a tree that is no number")


def check_loaded(root: Any, trusted: Collection[str]) -> None:
    """Check a loaded student or encoder and its parts of types in `trusted`; rebuild search trees."""
    seen: dict[int, Any] = {}  # with the objects, so that no id is used twice
    waiting: list[tuple[Any, str]] = [(root, type(root).__name__)]
    while waiting:
        item, where = waiting.pop()
        if isinstance(item, float | np.number) or (isinstance(item, np.ndarray) and item.dtype != object):
            _check_numbers(np.asarray(item), where)
            continue
        repeated = id(item) in seen
        seen[id(item)] = item
        if sp.issparse(item):
            _need(item.format == "csr", f"{where} is no csr_matrix")
            item.check_format(full_check=True)
            waiting.append((item.data, where))
        elif isinstance(item, list | tuple | dict | np.ndarray):
            parts = item.values() if isinstance(item, dict) else getattr(item, "flat", item)
            waiting += [] if repeated else [(part, where) for part in parts]
        elif f"{type(item).__module__}.{type(item).__qualname__}" in trusted and hasattr(item, "__dict__"):
            kind, fields = type(item).__name__, vars(item)
            # of two places, one may lie within the other: it would call itself, or more and more of itself
            _need(not repeated or "classes_" not in fields, f"a {kind} that stands in two places")
            if not repeated:
                _check_object(item, kind)
                waiting += [(part, f"{kind}.{name}") for name, part in fields.items()]


def _need(fine: bool, problem: str) -> None:
    if not fine:
        raise ValueError(problem)


def _check_numbers(values: NDArray[Any], where: str) -> None:
    """Refuse nan, infinities in arrays, negative whole numbers and other kinds of numbers."""
    _need(values.dtype.kind in "biufU", f"{where} has numbers of type {values.dtype}")
    if values.dtype.kind == "f":
        _need(not np.isnan(values).any(), f"{where} has a nan")
        _need(not values.ndim or bool(np.isfinite(values).all()), f"{where} has an infinite number")
    elif values.dtype.kind == "i" and values.ndim:
        _need(not (values < 0).any(), f"{where} has a negative whole number")


_LINEAR = {"coef_": "k d", "intercept_": "k"}
_SHAPES: dict[str, dict[str, str]] = {
    "BernoulliNB": {"feature_log_prob_": "C d", "class_log_prior_": "C"},
    "DeclaredNumbers": {"low": "d", "high": "d", "missing": "d", "mean_": "d", "scale_": "d"},
    "GaussianNB": {"theta_": "C d", "var_": "C d", "class_prior_": "C"},
    "KNeighborsClassifier": {"_fit_X": "n d", "_y": "n"},
    "LibsvmClassifier": {"support_vectors_": "n d", "dual_coef_": "c n", "n_support_": "C"}
    | {"rho_": "p", "order_": "C"},
    "LinearDiscriminantAnalysis": _LINEAR,
    "LinearSVC": _LINEAR,
    "LogisticRegression": _LINEAR,
    "NearestCentroid": {"centroids_": "C d", "class_prior_": "C", "within_class_std_dev_": "d"},
    "OneHotEncoder": {"categories_": "d"},
    "Perceptron": _LINEAR,
    "PublicBins": {"columns": "j", "common": "j", "cuts": "j"},
    "PublicColumns": {"kept": "v", "low": "v", "high": "v", "scale": "v"}
    | {"numbers": "j", "knots": "j", "scores": "j"},
    "QuadraticDiscriminantAnalysis": {"means_": "C d", "priors_": "C", "rotations_": "C", "scalings_": "C"},
    "RidgeClassifier": _LINEAR,
    "SGDClassifier": _LINEAR,
    "StandardScaler": {"mean_": "d", "scale_": "d"},
    "SVC": {"support_vectors_": "n d", "_dual_coef_": "c n", "_n_support": "C", "support_": "n"}
    | {"_intercept_": "p", "_probA": "q", "_probB": "q"},
}
"""Shapes of attributes: C classes, c = C - 1, k rows of scores, p pairs of classes, d features."""


def _members_fit(model: Any) -> bool:
    """Whether the members of an ensemble know its features and its classes, by their codes."""
    d, members = model.n_features_in_, model.estimators_
    columns = getattr(model, "estimators_features_", [np.arange(d)] * len(members))
    return len(members) == len(columns) > 0 and all(
        chosen.max() < d
        and getattr(member, "n_features_in_", len(chosen)) == len(chosen)
        and np.isin(member.classes_, np.arange(len(model.classes_))).all()
        for member, chosen in zip(members, columns, strict=True)
    )


def _layers_fit(model: Any) -> bool:
    """Whether the layers of a network lead from its features to its classes."""
    widths = [model.n_features_in_, *(len(intercept) for intercept in model.intercepts_)]
    last = len(model.classes_) if len(model.classes_) > 2 else 1
    return (
        [coef.shape for coef in model.coefs_] == [*itertools.pairwise(widths)]
        and all(intercept.ndim == 1 for intercept in model.intercepts_)
        and (len(widths), widths[-1], last) == (model.n_layers_, model.n_outputs_, model.n_outputs_)
    )


def _rotations_fit(model: Any) -> bool:
    pairs = zip(model.rotations_, model.scalings_, strict=True)
    return all(
        rotation.shape == (model.n_features_in_, len(scaling)) and scaling.ndim == 1 and (scaling > 0).all()
        for rotation, scaling in pairs
    )


def _knots_fit(columns: Any) -> bool:
    pairs = zip(columns.knots, columns.scores, strict=True)
    return all(knots.ndim == 1 and len(knots) and knots.shape == scores.shape for knots, scores in pairs)


def _is_column(number: Any, model: Any) -> bool:
    return type(number) is int and 0 <= number < model.n_features_in_


_Conditions = dict[str, Callable[[Any], Any]]
_SCALES: _Conditions = {"scale_": lambda scaler: scaler.scale_ is None or (scaler.scale_ > 0).all()}
_ENSEMBLE: _Conditions = {"estimators_": _members_fit}
_TREE: _Conditions = {
    "tree_": lambda model: (
        model.tree_.n_features == model.n_features_in_
        and model.tree_.max_n_classes == len(model.classes_)
        and model.n_outputs_ == 1
    )
}
_CONDITIONS: dict[str, _Conditions] = {
    "AdaBoostClassifier": _ENSEMBLE
    | {"estimator_weights_": lambda model: len(model.estimator_weights_) >= len(model.estimators_)},
    "BaggingClassifier": _ENSEMBLE,
    "DecisionTreeClassifier": _TREE,
    "DeclaredNumbers": _SCALES,
    "ExtraTreeClassifier": _TREE,
    "ExtraTreesClassifier": _ENSEMBLE,
    "KNeighborsClassifier": {"_y": lambda model: (model._y < len(model.classes_)).all()},
    "LibsvmClassifier": {
        "n_support_": lambda svm: svm.n_support_.sum() == svm.support_vectors_.shape[0],
        "order_": lambda svm: np.array_equal(np.sort(svm.order_), np.arange(len(svm.classes_))),
    },
    "MLPClassifier": {"coefs_": _layers_fit},
    "PointClassifier": {"point_": lambda model: len(model.point_) in (0, model.n_features_in_)},
    "PublicColumns": {"knots": _knots_fit},
    "QuadraticDiscriminantAnalysis": {"rotations_": _rotations_fit},
    "RandomForestClassifier": _ENSEMBLE,
    "SVC": {
        "_sparse": lambda svm: (
            svm._sparse is sp.issparse(svm.support_vectors_) is sp.issparse(svm._dual_coef_)
        ),
        "kernel": lambda svm: svm.kernel in ("linear", "poly", "rbf", "sigmoid"),
        "_n_support": lambda svm: svm._n_support.sum() == svm.support_vectors_.shape[0],
        "_probA": lambda svm: len(svm._probA) in (0, len(svm._intercept_)),
        "_dual_coef_": lambda svm: not svm._sparse or svm._dual_coef_.nnz == np.prod(svm._dual_coef_.shape),
    },
    "SgdLogistic": {"clip": lambda model: isinstance(model.clip, int | float) and model.clip > 0},
    "StandardScaler": _SCALES,
    "StumpClassifier": {"feature_": lambda model: _is_column(model.feature_, model)}
    | {"above_": lambda model: model.above_ in (0, 1)},
    "ThresholdClassifier": {"feature": lambda model: _is_column(model.feature, model)},
}
"""What else must hold, by the attribute that is named where it does not."""


def _check_object(item: Any, kind: str) -> None:
    """Check one object, by its type."""
    fields, size = vars(item), {}
    if "n_features_in_" in fields:
        size["d"] = d = fields["n_features_in_"]
        _need(type(d) is int and d > 0, f"{kind}.n_features_in_ is no number of features")
    if "classes_" in fields:
        classes = fields["classes_"]
        _need(np.ndim(classes) == 1 and len(classes) > 0, f"{kind}.classes_ is no list of classes")
        size["C"] = C = len(classes)
        _need(bool(np.all(fields.get("n_classes_", C) == C)), f"{kind}.n_classes_ is not their number")
        size |= {"c": C - 1, "k": 1 if C == 2 else C, "p": C * (C - 1) // 2}
    if fields.get("n_jobs") is not None:
        item.n_jobs = None  # as many as somebody else's machine has
    if isinstance(item, BaseEstimator) and not any(name.endswith("_") for name in fields):
        return  # not fitted
    for name, letters in _SHAPES.get(kind, {}).items():
        value = fields.get(name)
        if value is None and kind == "StandardScaler":
            continue
        shape = getattr(value, "shape", (len(value),) if isinstance(value, list | tuple) else ())
        if shape == (size.get("d"),) and kind == "RidgeClassifier":
            shape = (1, *shape)  # of two classes
        wanted = tuple(size.setdefault(letter, n) for letter, n in zip(letters.split(), shape, strict=False))
        whole = len(shape) == len(letters.split()) and shape == wanted
        _need(whole, f"{kind}.{name} has shape {shape}, not that of {letters}")
    for name, holds in _CONDITIONS.get(kind, {}).items():
        _need(bool(holds(item)), f"{kind}.{name} does not fit the rest")
    if kind == "KNeighborsClassifier":
        _rebuild_search(item)


def _rebuild_search(model: Any) -> None:
    """Rebuild the search tree: the indices of the stored one would be followed unchecked."""
    from sklearn.neighbors import BallTree, KDTree

    search = {"kd_tree": KDTree, "ball_tree": BallTree}.get(model._fit_method)
    model._tree = None
    if search is not None:
        how = model.effective_metric_params_
        model._tree = search(model._fit_X, model.leaf_size, metric=model.effective_metric_, **how)
