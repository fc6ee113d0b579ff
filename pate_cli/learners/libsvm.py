"""LIBSVM as a scikit-learn classifier, through the official Python package."""

from __future__ import annotations

from ctypes import POINTER, c_double, c_int, cast
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from libsvm.svm import kernel_names, svm_forms, svm_model, svm_parameter, svm_problem
from libsvm.svm import libsvm as _library
from libsvm.svmutil import svm_train
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["LibsvmClassifier"]

_KERNELS = ("linear", "poly", "rbf", "sigmoid")

_LONGEST = 1e6
"""Rows of a larger Euclidean norm are shortened to it: a product of two is then known to 1e-4, and LIBSVM's
stopping rule of 1e-3 can be met. Beyond, rounding keeps it from stopping before its ten millionth step."""


class LibsvmClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classification by LIBSVM (C-SVC), one against one for several classes.

    The model is kept as plain arrays, so it can be saved; `predict` hands them back to LIBSVM, so it
    agrees with LIBSVM's own prediction to the last bit. Rows longer than 1e6 (Euclidean norm) are first
    shortened to that, each by itself: so that one of them cannot keep LIBSVM from ending.

    Parameters
    ----------
    C : float
        Cost, > 0.
    kernel : {"linear", "poly", "rbf", "sigmoid"}
    gamma : float or None
        Kernel coefficient, > 0; None is LIBSVM's default, 1 / number of features.
    degree : int
        Of `poly`, >= 0.
    coef0 : float
        Of `poly` and `sigmoid`.
    quiet : bool
        Whether LIBSVM's progress is kept off stdout.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    support_vectors_ : csr_matrix of shape (l, d)
    dual_coef_ : ndarray of shape (C - 1, l)
    rho_ : ndarray of shape (C (C - 1) / 2,)
    order_ : ndarray of int32, shape (C,)
        LIBSVM's order of the classes.
    n_support_ : ndarray of int32, shape (C,)
        Support vectors a class, in that order.

    References
    ----------
    Chang and Lin, LIBSVM: a library for support vector machines, ACM TIST 2(3), 2011.
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        quiet: bool = True,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.quiet = quiet

    def fit(self, X: Any, y: Any) -> LibsvmClassifier:
        """Fit on labelled records of at least two classes."""
        parameter = self._parameter()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("LibsvmClassifier needs records of at least two classes; got one class")
        rows = _rows(_shortened(X))
        with _one_thread():
            model = svm_train(svm_problem(codes.astype(np.float64), rows), parameter)
        n_classes, n_support = model.nr_class, model.l
        self.gamma_ = float(model.param.gamma)
        self.support_vectors_ = rows[np.asarray(model.get_sv_indices(), dtype=np.int64) - 1]
        self.dual_coef_ = np.array([model.sv_coef[j][:n_support] for j in range(n_classes - 1)])
        self.rho_ = np.array(model.rho[: n_classes * (n_classes - 1) // 2])
        self.order_ = np.array(model.get_labels(), dtype=np.int32)
        self.n_support_ = np.array(model.nSV[:n_classes], dtype=np.int32)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (m,), with LIBSVM's `svm_predict`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        n_classes, n_support = len(self.order_), len(self.dual_coef_[0])
        # LIBSVM's structure over our arrays; nothing here is freed by LIBSVM (it did not make them).
        support = svm_problem(np.zeros(n_support), _rows(self.support_vectors_))
        coefs = np.ascontiguousarray(self.dual_coef_, dtype=np.float64)
        pointers = (POINTER(c_double) * (n_classes - 1))(*[_pointer(row, c_double) for row in coefs])
        rho = np.ascontiguousarray(self.rho_, dtype=np.float64)
        order = np.ascontiguousarray(self.order_, dtype=np.int32)
        per_class = np.ascontiguousarray(self.n_support_, dtype=np.int32)
        model = svm_model()
        model.param = self._parameter(self.gamma_)
        model.nr_class, model.l = n_classes, n_support
        model.SV = support.x
        model.sv_coef = cast(pointers, POINTER(POINTER(c_double)))
        model.rho = _pointer(rho, c_double)
        model.label = _pointer(order, c_int)
        model.nSV = _pointer(per_class, c_int)
        model.free_sv = 0
        queries = svm_problem(np.zeros(X.shape[0]), _rows(_shortened(X)))
        predict = _library.svm_predict
        with _one_thread():
            codes = [int(predict(model, queries.x[i])) for i in range(X.shape[0])]
        return np.asarray(self.classes_[codes])

    def _parameter(self, gamma: float | None = None) -> Any:
        """LIBSVM's parameter structure, after checking the values."""
        if self.kernel not in _KERNELS:
            raise ValueError(_complaint("kernel", f"one of {', '.join(_KERNELS)}", self.kernel))
        if not _is_number(self.C) or not 0 < self.C < np.inf:
            raise ValueError(_complaint("C", "a float in the range (0, inf)", self.C))
        if self.gamma is not None and not (_is_number(self.gamma) and 0 < self.gamma < np.inf):
            raise ValueError(_complaint("gamma", "a float in the range (0, inf) or None", self.gamma))
        if not isinstance(self.degree, int | np.integer) or isinstance(self.degree, bool) or self.degree < 0:
            raise ValueError(_complaint("degree", "an int in the range [0, inf)", self.degree))
        if not _is_number(self.coef0) or not np.isfinite(self.coef0):
            raise ValueError(_complaint("coef0", "a finite float", self.coef0))
        parameter = svm_parameter(["-q"] if self.quiet else [])
        parameter.svm_type = svm_forms.C_SVC
        parameter.kernel_type = kernel_names[self.kernel.upper()]
        parameter.C = self.C
        # 0 asks LIBSVM for 1 / number of features.
        parameter.gamma = gamma or self.gamma or 0.0
        parameter.degree = self.degree
        parameter.coef0 = self.coef0
        return parameter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _shortened(X: Any) -> Any:
    """Rows no longer than `_LONGEST`; the very array where none is."""
    if not sp.issparse(X):
        unit = np.maximum(np.abs(X).max(axis=1), 1.0)  # taken out first, as a square may overflow
        norm = np.sqrt(((X / unit[:, None]) ** 2).sum(axis=1))
        long = norm > _LONGEST / unit
        return (
            X * np.where(long, _LONGEST / unit / np.where(long, norm, 1.0), 1.0)[:, None] if long.any() else X
        )
    number = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))  # of the row of each entry
    unit = np.ones(X.shape[0])
    np.maximum.at(unit, number, np.abs(X.data))
    norm = np.sqrt(np.bincount(number, (X.data / unit[number]) ** 2, minlength=len(unit)))
    long = norm > _LONGEST / unit
    if not long.any():
        return X
    X = X.copy()
    X.data *= np.where(long, _LONGEST / unit / np.where(long, norm, 1.0), 1.0)[number]
    return X


def _rows(X: Any) -> Any:
    """Rows as LIBSVM's package takes them: csr_matrix, sorted, never changing the caller's arrays."""
    rows = sp.csr_matrix(X)
    return rows if rows.has_sorted_indices else rows.sorted_indices()


def _one_thread() -> Any:
    """Keep LIBSVM from starting OpenMP threads.

    On the few records of a teacher they never pay, and on a busy machine they wait for each other: fits
    were seen to take fifty times as long.
    """
    return _controller().limit(limits=1, user_api="openmp")


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(POINTER(kind))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _complaint(name: str, accepted: str, got: Any) -> str:
    """Say it as scikit-learn does, so that every learner is reported alike."""
    return f"The {name!r} parameter of LibsvmClassifier must be {accepted}. Got {got!r} instead."
