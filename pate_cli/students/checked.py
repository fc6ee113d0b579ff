"""Checks of a loaded student, before its arrays reach compiled code.

Decision trees, LIBSVM, nearest neighbours and sparse matrices follow indices into memory unchecked, so a
forged file could crash the process; one object in many places could keep it busy for ever. Other wrong
arrays numpy refuses, or they only change predictions, as other coefficients would. All raise ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.tree._tree import Tree

from pate_cli.students.trusted import WRITTEN

__all__ = ["check_loaded"]


def check_loaded(student: Any, encoder: Any, *, n_classes: int, n_features: int) -> None:
    """Check objects of the types of `WRITTEN` and all their parts; rebuild the search trees of neighbours.

    The numbers of classes and of features are those that the file names; without an encoder new records have
    so many columns.
    """
    fitted_features = n_features if encoder is not None else getattr(student, "n_features_in_", n_features)
    _need(fitted_features == n_features, f"a student of {fitted_features} features, not {n_features}")
    seen: dict[int, Any] = {}  # with the objects, so that no id is used twice
    waiting = [student, encoder]
    while waiting:
        item = waiting.pop()
        repeated = id(item) in seen
        seen[id(item)] = item
        if sp.issparse(item):
            _need(item.format == "csr", "a matrix that is no csr_matrix")
            item.check_format(full_check=True)
        elif isinstance(item, Tree):
            _check_tree(item)
        elif f"{type(item).__module__}.{type(item).__qualname__}" in WRITTEN and hasattr(item, "__dict__"):
            kind, fields = type(item).__name__, vars(item)
            fitted = any(name.startswith("_") or name.endswith("_") for name in fields)
            # of two places, one may lie within the other: it would call itself, or more and more of itself
            _need(not (fitted and repeated), f"a {kind} that stands in two places")
            _need(fields.get("n_classes", n_classes) == n_classes, f"a {kind} of another number of classes")
            for name, most in (("n_classes_", n_classes), ("n_outputs_", 1)):  # they size arrays
                _need(np.all(fields.get(name, most) <= most), f"a {kind} whose {name} is more than {most}")
            if fields.get("n_jobs") is not None:
                item.n_jobs = None  # as many as somebody else's machine has
            if fitted and kind in _CHECKS:
                _CHECKS[kind](item)
            waiting.extend([] if repeated else fields.values())
        elif isinstance(item, dict):
            waiting.extend([] if repeated else item.values())
        elif isinstance(item, list | tuple | np.ndarray):
            of_objects = not isinstance(item, np.ndarray) or item.dtype == object
            waiting.extend([] if repeated or not of_objects else getattr(item, "flat", item))


def _need(fine: Any, problem: str) -> None:
    if not fine:
        raise ValueError(problem)


def _check_tree(tree: Tree) -> None:
    """Check that every path through a tree ends, and meets its own nodes and features only."""
    nodes = tree.__getstate__()["nodes"]
    _need(len(nodes) > 0 and tree.n_outputs == 1, "a decision tree without a node")
    left, right, feature = (nodes[name] for name in ("left_child", "right_child", "feature"))
    inner = left != -1
    _need(np.array_equal(inner, right != -1), "a node of a tree with one child")
    after = np.arange(len(nodes))[inner]  # a child stands behind its parent
    for children in (left[inner], right[inner]):
        _need(((children > after) & (children < len(nodes))).all(), "a child before its parent")
    _need(((feature[inner] >= 0) & (feature[inner] < tree.n_features)).all(), "a feature out of range")


def _check_tree_classifier(model: Any) -> None:
    _need(model.tree_.n_features == model.n_features_in_, "a tree of other features than its classifier")


def _check_support(
    vectors: Any, coef: Any, n_support: Any, intercept: Any, n_features: int, n_classes: int
) -> None:
    """Check the shapes of a support vector machine: C classes, one against one."""
    n, pairs = vectors.shape[0], n_classes * (n_classes - 1) // 2
    shapes = [np.shape(array) for array in (vectors, coef, n_support, intercept)]
    expected = [(n, n_features), (n_classes - 1, n), (n_classes,), (pairs,)]
    _need(shapes == expected, "support vectors and coefficients of other shapes")
    _need((n_support >= 0).all() and n_support.sum() == n, "another number of support vectors")


def _check_libsvm(svm: Any) -> None:
    shape = (svm.n_features_in_, len(svm.order_))
    _check_support(svm.support_vectors_, svm.dual_coef_, svm.n_support_, svm.rho_, *shape)


def _check_svc(svm: Any) -> None:
    coef, shape = svm._dual_coef_, (svm.n_features_in_, len(svm.classes_))
    _check_support(svm.support_vectors_, coef, svm._n_support, svm._intercept_, *shape)
    _need(svm.kernel in ("linear", "poly", "rbf", "sigmoid"), "a kernel of another kind")
    _need(np.shape(svm.support_) == svm.support_vectors_.shape[:1], "another number of support vectors")
    sparse = sp.issparse(svm.support_vectors_)
    _need(svm._sparse is sparse is sp.issparse(coef), "support vectors of which some are sparse")
    _need(not sparse or coef.nnz == np.prod(coef.shape), "coefficients of fewer support vectors")
    sizes = {len(svm._probA), len(svm._probB)}
    _need(sizes in ({0}, {len(svm._intercept_)}), "probabilities of other classes")


def _check_neighbours(model: Any) -> None:
    """Check the labels, and rebuild the search tree: the indices of the stored one would be followed."""
    from sklearn.neighbors import BallTree, KDTree

    labels, n_records = model._y, model._fit_X.shape[0]
    _need(model._fit_X.shape == (n_records, model.n_features_in_), "records of other features")
    _need(labels.shape == (n_records,), "other records than labels")
    _need(((labels >= 0) & (labels < len(model.classes_))).all(), "a label of no class")
    _need(model.n_samples_fit_ == n_records >= model.n_neighbors, "more neighbours than records")
    search = {"kd_tree": KDTree, "ball_tree": BallTree}.get(model._fit_method)
    how = model.effective_metric_params_
    model._tree = search and search(model._fit_X, model.leaf_size, metric=model.effective_metric_, **how)


_CHECKS = {
    "DecisionTreeClassifier": _check_tree_classifier,
    "ExtraTreeClassifier": _check_tree_classifier,
    "KNeighborsClassifier": _check_neighbours,
    "LibsvmClassifier": _check_libsvm,
    "SVC": _check_svc,
}
"""Checks of classifiers that hand their arrays to compiled code, by type."""
