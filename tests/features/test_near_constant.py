"""A column that is constant among the public points, but for rounding, is no axis to divide by."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.datasets.encoding import DeclaredNumbers
from pate_cli.features.columns import PublicColumns
from pate_cli.features.kernel import KernelFeatures
from pate_cli.matrices import deviations
from pate_cli.students.kernel import KernelStudent

VALUES = [14.62, 0.1, 1e15 + 0.3, 1e-7, -1234567.89, float(np.float32(14.62))]


def rounded(value, n=200):
    """Values that differ in their last place at most."""
    column = np.full(n, value)
    column[::3], column[1::3] = np.nextafter(value, np.inf), np.nextafter(value, -np.inf)
    return column


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("column", [rounded, lambda value: np.full(200, value)])
def test_no_map_or_student_divides_by_what_rounding_leaves(value, column):
    from sklearn.preprocessing import StandardScaler

    public, private = column(value)[:, None], np.array([[value * 1.06]])
    assert deviations(public) == [0.0]
    assert StandardScaler().fit(public).scale_ == [1.0]  # the same rule by other code
    numbers = DeclaredNumbers([-np.inf], [np.inf], [True]).fit(public)
    assert numbers.transform(private)[0, 0] == pytest.approx(private[0, 0] - value, rel=1e-6)
    assert len(PublicColumns.of(public).kept) == 0
    features = KernelFeatures.of(np.hstack([public, 3 * public]), np.random.default_rng(0))
    assert features.dimension == 1
    for form in (np.asarray, sp.csr_matrix):
        student = KernelStudent().fit(form(public), np.arange(200) % 2)
        np.testing.assert_allclose(student.predict_proba(form(private)), 0.5, atol=0.01)


def test_a_small_spread_that_is_no_rounding_is_kept():
    moments = 1.7e12 + np.arange(200.0)[:, None]  # milliseconds since 1970
    assert deviations(moments)[0] == moments.std()
    assert len(PublicColumns.of(moments).kept) == 1
    shifted = KernelStudent().fit(moments, (np.arange(200) > 99).astype(int))
    assert (shifted.predict(moments) == (np.arange(200) > 99)).mean() > 0.95


def test_landmarks_that_are_all_the_same_in_their_curves_weigh_nothing():
    """Of 5,000 points a handful differ, and none of them need be a landmark."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        public = np.full((5000, 2), 14.62)
        public[:9] = rng.normal(size=(9, 2))
        features = KernelFeatures.of(public, rng)
        assert features.weight < 100
