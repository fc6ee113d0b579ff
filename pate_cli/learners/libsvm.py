"""LIBSVM as a scikit-learn classifier, through the official Python package."""

from __future__ import annotations

import math
from ctypes import POINTER, c_double, c_int, cast
from typing import Any

import numpy as np
import scipy.sparse as sp
from libsvm.svm import kernel_names, svm_forms, svm_model, svm_parameter, svm_problem
from libsvm.svm import libsvm as _library
from libsvm.svmutil import svm_train
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pate_cli.learners.estimator import Classifier, is_positive, shortened
from pate_cli.threads import one_thread

__all__ = ["LibsvmClassifier"]

_KERNELS = ("linear", "poly", "rbf", "sigmoid")

# A product of two rows no longer than this is known to 1e-4, and LIBSVM's stopping rule of 1e-3 can be met;
# on longer ones rounding keeps it from stopping before its ten millionth step.
_LONGEST = 1e6


class LibsvmClassifier(Classifier):
    """Support vector classification by LIBSVM (C-SVC), one against one for several classes.

    The model is kept as plain arrays, so it can be saved; `predict` hands them back to LIBSVM, so it agrees
    with LIBSVM's own prediction to the last bit. Rows longer than 1e6 are first shortened to that.

    Parameters are LIBSVM's: cost C > 0; `kernel` linear, poly, rbf or sigmoid; kernel coefficient
    `gamma` > 0, None for 1 / number of features; `degree` of poly, `coef0` of poly and sigmoid.

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
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def fit(self, X: Any, y: Any) -> LibsvmClassifier:
        """Fit on labelled records of at least two classes."""
        parameter = self._parameter()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("LibsvmClassifier needs records of at least two classes; got one class")
        rows = _rows(shortened(X, _LONGEST))
        with one_thread("openmp"):  # on few records several took up to fifty times as long
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
        # LIBSVM's structure over our arrays, which it does not free
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
        queries = svm_problem(np.zeros(X.shape[0]), _rows(shortened(X, _LONGEST)))
        predict = _library.svm_predict
        with one_thread("openmp"):
            codes = [int(predict(model, queries.x[i])) for i in range(X.shape[0])]
        return np.asarray(self.classes_[codes])

    def _parameter(self, gamma: float | None = None) -> Any:
        """LIBSVM's parameter structure, after checking the values."""
        whole = isinstance(self.degree, int | np.integer) and not isinstance(self.degree, bool)
        finite = isinstance(self.coef0, int | float) and math.isfinite(self.coef0)
        self.check("kernel", self.kernel in _KERNELS, f"one of {', '.join(_KERNELS)}")
        self.check("C", is_positive(self.C), "a float in the range (0, inf)")
        unset = self.gamma is None
        self.check("gamma", unset or is_positive(self.gamma), "a float in the range (0, inf) or None")
        self.check("degree", whole and self.degree >= 0, "an int in the range [0, inf)")
        self.check("coef0", finite, "a finite float")
        parameter = svm_parameter(["-q"])
        parameter.svm_type = svm_forms.C_SVC
        parameter.kernel_type = kernel_names[self.kernel.upper()]
        parameter.C = self.C
        parameter.gamma = gamma or self.gamma or 0.0  # 0: 1 / number of features
        parameter.degree = self.degree
        parameter.coef0 = self.coef0
        return parameter


def _rows(X: Any) -> Any:
    """Rows as LIBSVM's package takes them: a csr_matrix with sorted indices, a copy if need be."""
    rows = sp.csr_matrix(X)
    return rows if rows.has_sorted_indices else rows.sorted_indices()


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(POINTER(kind))
