"""Any finite record: its norm may pass the largest float, or its square the smallest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.mechanisms import calibrate
from pate_cli.mechanisms.direct.linear import clip_rows
from pate_cli.mechanisms.direct.rows import row_norms
from pate_cli.privacy.door import Door
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

NAMES = ("noisy_gd", "output_perturbation")
LARGEST, LEAST = np.finfo(float).max, 5e-324
EXTREMES = {
    "all the largest": [LARGEST, LARGEST, LARGEST],
    "mixed signs": [LARGEST, -LARGEST, LARGEST],
    "one entry of the largest": [0.0, -LARGEST, 0.0],
    "square just too large": [1.4e154, 0.0, 0.0],
    "the sum of squares just too large": [1e154, 1e154, 1e154],
    "the smallest": [LEAST, -LEAST, LEAST],
    "square just too small": [1.4e-162, 1e-163, 0.0],
    "from the smallest to the largest": [LEAST, 1.0, LARGEST],
    "on both sides of the square": [1e-160, 1e160, -1e-320],
    "nothing": [0.0, 0.0, 0.0],
}
RECORDS = np.array(list(EXTREMES.values()))
SCALES = {"usual": 1.0, "the largest": LARGEST, "the smallest": LEAST}


def setting(n, n_classes=2):
    student = ("logistic", {})
    return Setting(1.0, 1e-5, n, 10, 5, 3, n_classes, 1, False, student, student, "drop")


def noise():
    return Door.seeded(0)


def as_given(X, kind):
    return sp.csr_matrix(X) if kind == "sparse" else X


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_every_reference_gives_a_finite_model(name, n_classes, scale, kind):
    usual = np.random.default_rng(0).normal(size=(30, 3))
    X, public = np.vstack([RECORDS, usual]), usual[:10] / 4 * SCALES[scale]
    y = np.arange(len(X)) % n_classes
    p = calibrate(name, {}, setting(len(X), n_classes))
    private = PrivateRecords(as_given(X, kind), y)
    model = p.release(
        Private(private), PublicPoints(as_given(public, kind)), noise(), np.random.default_rng(0)
    ).model
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert model.coef_.any()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("name", NAMES)
def test_public_points_may_be_extreme_too(name, kind):
    X = np.random.default_rng(0).normal(size=(30, 3))
    p = calibrate(name, {}, setting(30))
    public = PublicPoints(as_given(RECORDS, kind))
    model = p.release(
        Private(PrivateRecords(X, np.arange(30) % 2)), public, noise(), np.random.default_rng(0)
    ).model
    assert np.isfinite(model.coef_).all()


def exact_square(row):
    return sum(Fraction(float(entry)) ** 2 for entry in np.ravel(row))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("record", EXTREMES)
def test_a_clipped_row_is_within_the_unit_ball_and_keeps_its_direction(record, kind):
    row = np.array([EXTREMES[record]])
    clipped = clip_rows(as_given(row, kind))
    clipped = clipped.toarray() if kind == "sparse" else clipped
    square = exact_square(clipped)
    assert square <= Fraction(1 + 8 * 2.0**-53) ** 2
    if exact_square(row) <= 1:
        assert np.array_equal(clipped, row)  # to the bit
    else:
        assert square >= Fraction(1 - 8 * 2.0**-53) ** 2
        assert clipped == pytest.approx(row / np.abs(row).max() * np.abs(clipped).max(), rel=1e-15)


@pytest.mark.parametrize("scale", [*SCALES.values(), 1e-200, 1e200])
def test_norms_need_no_squares(scale):
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [0.6, -0.8]])
    norms = np.array([5.0, 0.0, 1.0])
    with np.errstate(over="ignore"):
        expected = norms * scale
        rows = rows * scale
    rows = rows[np.isfinite(rows).all(axis=1)]
    expected = expected[-len(rows) :]
    # a multiple of the smallest float has no digits to be right to
    assert np.allclose(row_norms(rows), expected, rtol=1e-15, atol=2 * LEAST)
    assert np.allclose(row_norms(sp.csr_matrix(rows)), expected, rtol=1e-15, atol=2 * LEAST)


def test_a_record_too_long_to_square_counts_like_any_other_out_of_bounds():
    rng = np.random.default_rng(1)
    rest, direction = rng.normal(size=(20, 3)), np.array([0.6, 0.0, -0.8])
    y = np.arange(21) % 2
    for name in NAMES:
        p = calibrate(name, {}, setting(21))
        public = PublicPoints(rest)
        fits = [
            p.release(
                Private(PrivateRecords(np.vstack([rest, length * direction]), y)), public, noise(), rng
            ).model.coef_
            for length in (1e60, 1e308)
        ]
        assert fits[0] == pytest.approx(fits[1], rel=1e-9)
