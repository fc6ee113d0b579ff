from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from libsvm.svmutil import svm_predict, svm_train

from pate_cli.learners.estimator import shortened
from pate_cli.learners.libsvm import LibsvmClassifier

KERNELS = ("linear", "poly", "rbf", "sigmoid")


def records(n_classes: int):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(150, 5)) * (rng.random((150, 5)) < 0.7)
    y = np.argmax(X[:, :n_classes] + rng.normal(size=(150, n_classes)), axis=1) + 3
    return X, y, rng.normal(size=(300, 5))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_agrees_with_libsvm_itself(kernel, n_classes, kind):
    X, y, queries = records(n_classes)
    ours = LibsvmClassifier(C=2.0, kernel=kernel, coef0=0.5, degree=2).fit(kind(X), y)
    options = f"-q -t {KERNELS.index(kernel)} -c 2 -r 0.5 -d 2"
    theirs = svm_predict([], queries, svm_train(y.astype(float), X, options), "-q")[0]
    assert len(set(theirs)) > 1
    np.testing.assert_array_equal(ours.predict(kind(queries)), theirs)


def test_survives_saving_to_the_last_bit_and_leaves_its_input_alone():
    X, y, queries = records(4)
    unsorted = sp.csr_matrix(X)[:, ::-1]
    before = unsorted.indices.copy()
    fitted = LibsvmClassifier(kernel="rbf", gamma=0.3).fit(unsorted, y)
    np.testing.assert_array_equal(unsorted.indices, before)
    data = skops.io.dumps(fitted)
    back = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(back.predict(queries), fitted.predict(queries))
    assert back.gamma_ == 0.3


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_ends_on_any_finite_record(kind, capfd):
    """Beyond 1e13, rounding kept LIBSVM from stopping before its ten millionth step."""
    rng = np.random.default_rng(8)
    d = int(rng.integers(1, 8))
    X = rng.normal(size=(20, d))
    y = (X[:, 0] > 0) ^ (rng.random(20) < 0.2)
    for size in (1e16, 1.7e308, 5e-324):
        X[3] = size * 10 ** rng.uniform(-6, 0, d)
        LibsvmClassifier().fit(kind(X), y).predict(kind(X))
    assert "max number of iterations" not in capfd.readouterr().err


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_long_rows_are_shortened_each_by_itself(kind):
    X = np.array([[3.0, 4.0], [3e7, 4e7], [0.0, 0.0], [1e-320, 0.0], [0.0, 1.7e308]])
    expected = np.array([[3.0, 4.0], [6e5, 8e5], [0.0, 0.0], [1e-320, 0.0], [0.0, 0.0]])
    found = shortened(kind(X), 1e6)
    np.testing.assert_allclose(found.toarray() if sp.issparse(found) else found, expected, rtol=1e-12)
