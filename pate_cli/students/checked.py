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
    nodes, values = state["nodes"], state["values"]
    _need(type(n_features) is int and n_features > 0, "the number of a tree's features")
    _need(type(n_outputs) is int and n_outputs == 1, "a tree of several outputs")
    _need(n_classes.dtype == np.int64 and n_classes.shape == (1,), "the number of a tree's classes")
    n = len(nodes)
    _need(nodes.shape == (n,) and type(state["node_count"]) is int, "the nodes of a tree")
    _need(n == state["node_count"] > 0, "the number of a tree's nodes")
    _need(values.shape == (n, 1, n_classes[0]), f"values of shape {values.shape} in a tree of {n} nodes")
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
                _check_shapes(item, kind)
                waiting += [(part, f"{kind}.{name}") for name, part in fields.items()]


def _need(fine: bool, what: str) -> None:
    if not fine:
        raise ValueError(what)


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


def _check_shapes(item: Any, kind: str) -> None:
    """Check one object, by its type."""
    fields = vars(item)
    size: dict[str, int] = {}
    if "n_features_in_" in fields:
        size["d"] = fields["n_features_in_"]
        _need(type(size["d"]) is int and size["d"] > 0, f"{kind}.n_features_in_ is no number of features")
    if "classes_" in fields:
        _need(
            np.ndim(item.classes_) == 1 and len(item.classes_) > 0, f"{kind}.classes_ is no list of classes"
        )
        size["C"] = C = len(item.classes_)
        _need(bool(np.all(fields.get("n_classes_", C) == C)), f"{kind}.n_classes_ is not their number")
        size |= {"c": C - 1, "k": 1 if C == 2 else C, "p": C * (C - 1) // 2}
    if fields.get("n_jobs") is not None:
        item.n_jobs = None  # as many as somebody else's machine has
    learnt = not isinstance(item, BaseEstimator) or any(name.endswith("_") for name in fields)
    for name, letters in _SHAPES.get(kind, {}).items() if learnt else ():
        value = fields.get(name)
        _need(value is not None or kind == "StandardScaler", f"{kind}.{name} is missing")
        shape = getattr(value, "shape", (len(value),) if isinstance(value, list | tuple) else ())
        if shape == (size.get("d"),) and kind == "RidgeClassifier":
            shape = (1, *shape)  # of two classes
        wanted = tuple(size.setdefault(letter, n) for letter, n in zip(letters.split(), shape, strict=False))
        whole = len(shape) == len(letters.split()) and shape == wanted
        _need(value is None or whole, f"{kind}.{name} has shape {shape}, not {wanted}")
    check = _MORE.get(kind)
    if check is not None and learnt:
        check(item)


def _check_svc(svc: Any) -> None:
    n, sparse = svc.support_vectors_.shape[0], sp.issparse(svc.support_vectors_)
    _need(svc._sparse is sparse is sp.issparse(svc._dual_coef_), "SVC._sparse is not as its vectors are")
    _need(svc.kernel in ("linear", "poly", "rbf", "sigmoid"), "SVC.kernel is none of LIBSVM's")
    _need(int(svc._n_support.sum()) == n, "SVC._n_support does not sum to its vectors")
    _need(len(svc._probA) in (0, len(svc._intercept_)), "SVC._probA has another length")
    if sparse:
        svc._dual_coef_.check_format(full_check=True)
        _need(svc._dual_coef_.nnz == svc._dual_coef_.shape[0] * n, "SVC._dual_coef_ has holes")


def _check_libsvm(svm: Any) -> None:
    n, classes = svm.support_vectors_.shape[0], np.arange(len(svm.classes_))
    _need(int(svm.n_support_.sum()) == n, "LibsvmClassifier.n_support_ does not sum to its vectors")
    _need(np.array_equal(np.sort(svm.order_), classes), "LibsvmClassifier.order_ is no order of classes")


def _check_neighbours(model: Any) -> None:
    from sklearn.neighbors import BallTree, KDTree

    _need(bool((model._y < len(model.classes_)).all()), "KNeighborsClassifier._y has no such class")
    search = {"kd_tree": KDTree, "ball_tree": BallTree}.get(model._fit_method)
    model._tree = None
    if search is not None:  # the one in the file has indices that are followed unchecked
        how = model.effective_metric_params_
        model._tree = search(model._fit_X, model.leaf_size, metric=model.effective_metric_, **how)


def _check_tree_model(model: Any) -> None:
    tree, kind = model.tree_, type(model).__name__
    _need(tree.n_features == model.n_features_in_, f"{kind}.tree_ has other features")
    _need(
        tree.max_n_classes == len(model.classes_) and model.n_outputs_ == 1, f"{kind}.tree_ has other classes"
    )


def _check_ensemble(model: Any) -> None:
    kind, d, n = type(model).__name__, model.n_features_in_, len(model.estimators_)
    columns = getattr(model, "estimators_features_", None)
    _need(n > 0 and (columns is None or len(columns) == n), f"{kind}.estimators_ has another length")
    _need(n <= len(getattr(model, "estimator_weights_", range(n))), f"{kind}.estimator_weights_ is too short")
    for number, member in enumerate(model.estimators_):
        width = d
        if columns is not None:
            width = len(columns[number])
            _need(columns[number].max() < d, f"{kind}.estimators_features_ has no such feature")
        _need(getattr(member, "n_features_in_", d) == width, f"{kind}.estimators_ has other features")
        codes = np.isin(member.classes_, np.arange(len(model.classes_)))
        _need(bool(codes.all()), f"{kind}.estimators_ has other classes")


def _check_qda(model: Any) -> None:
    for rotation, scaling in zip(model.rotations_, model.scalings_, strict=True):
        fits = rotation.shape == (model.n_features_in_, len(scaling)) and scaling.shape == (len(scaling),)
        _need(
            fits and (scaling > 0).all(), "QuadraticDiscriminantAnalysis.rotations_ and scalings_ do not fit"
        )


def _check_layers(model: Any) -> None:
    widths = [model.n_features_in_, *(len(intercept) for intercept in model.intercepts_)]
    shapes = [(*pair,) for pair in itertools.pairwise(widths)]
    fits = shapes == [coef.shape for coef in model.coefs_] and len(widths) == model.n_layers_
    flat = all(intercept.ndim == 1 for intercept in model.intercepts_)
    last = len(model.classes_) if len(model.classes_) > 2 else len(model.classes_) - 1
    _need(fits and flat and widths[-1] == last == model.n_outputs_, "MLPClassifier.coefs_ do not fit")


def _check_scales(scaler: Any) -> None:
    _need(scaler.scale_ is None or bool((scaler.scale_ > 0).all()), "a scale that is not positive")


def _check_columns(columns: Any) -> None:
    pairs = zip(columns.knots, columns.scores, strict=True)
    fit = all(knots.ndim == 1 and len(knots) and knots.shape == scores.shape for knots, scores in pairs)
    _need(fit, "PublicColumns.knots and scores do not fit")


def _check_sgd(model: Any) -> None:
    _need(isinstance(model.clip, int | float) and model.clip > 0, "SgdLogistic.clip is not positive")


def _check_hypothesis(model: Any) -> None:
    kind, d, fields = type(model).__name__, model.n_features_in_, vars(model)
    feature = fields.get("feature_", fields.get("feature", 0))
    _need(type(feature) is int and 0 <= feature < d, f"{kind} has no such feature")
    _need(fields.get("above_", 0) in (0, 1), f"{kind}.above_ is no class")
    _need(len(fields.get("point_", ())) in (0, d), f"{kind}.point_ has another length")


_MORE: dict[str, Callable[[Any], None]] = {
    "AdaBoostClassifier": _check_ensemble,
    "BaggingClassifier": _check_ensemble,
    "DecisionTreeClassifier": _check_tree_model,
    "DeclaredNumbers": _check_scales,
    "ExtraTreeClassifier": _check_tree_model,
    "ExtraTreesClassifier": _check_ensemble,
    "KNeighborsClassifier": _check_neighbours,
    "LibsvmClassifier": _check_libsvm,
    "MLPClassifier": _check_layers,
    "PointClassifier": _check_hypothesis,
    "PublicColumns": _check_columns,
    "QuadraticDiscriminantAnalysis": _check_qda,
    "RandomForestClassifier": _check_ensemble,
    "SVC": _check_svc,
    "SgdLogistic": _check_sgd,
    "StandardScaler": _check_scales,
    "StumpClassifier": _check_hypothesis,
    "ThresholdClassifier": _check_hypothesis,
}
