"""Features made from public points: a record's own, the same to the bit wherever it stands, and bounded."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli.features.columns import PublicBins, PublicColumns
from pate_cli.features.kernel import KernelFeatures
from pate_cli.features.stable_rows import LONGEST, UNIT


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: sp.csr_matrix(np.tile(X, 200))])
def test_features_of_a_record_are_its_own_to_the_bit_and_bounded(form):
    rng = np.random.default_rng(2)
    P, X = (np.column_stack([rng.normal(size=(m, 3)), rng.poisson(0.2, m)]) for m in (90, 60))
    X[:3, 0], X[:3, 3] = [1e300, -1e300, 1e-300], [1e300, -1e300, 1e154]
    features = KernelFeatures.of(form(P), np.random.default_rng(0), fewest=2.0)
    found = features.apply(form(X))
    assert np.linalg.norm(found.astype(float), axis=1).max() * UNIT < LONGEST + 1
    assert np.array_equal(found, found.round())
    directions = features.directions_of(features.columns.apply(form(X)))  # before rounding, which hides much
    for i in range(60):
        alone = form(X[i : i + 1])
        assert np.array_equal(features.apply(alone)[0], found[i])
        assert np.array_equal(features.directions_of(features.columns.apply(alone))[0], directions[i])


def test_sparse_and_dense_records_have_the_same_features():
    rng = np.random.default_rng(0)
    P, X = (rng.poisson(0.3, (m, 40)).astype(float) for m in (90, 50))
    P[:, 7] = X[0, 7] = 0.0  # constant in public
    dense, sparse = (
        KernelFeatures.of(form(P), np.random.default_rng(0)) for form in (np.array, sp.csr_matrix)
    )
    assert dense.columns.kept.tolist() == [j for j in range(40) if j != 7]
    assert np.abs(dense.apply(X) - sparse.apply(sp.csr_matrix(X))).max() <= 1  # one unit of rounding
    far = X[[0]].copy()
    far[0, 7] = 1e300
    assert np.array_equal(dense.apply(far), dense.apply(X[[0]]))


def test_directions_are_those_of_the_centred_kernel_half_whitened():
    P = np.random.default_rng(0).normal(size=(200, 3))
    features = KernelFeatures.of(P, np.random.default_rng(0))
    points = features.columns.apply(P)
    u = features.columns.splines(points)
    apart = ((points[:, None] - points) ** 2).sum(axis=2)
    spread = np.median(apart[np.triu_indices(200, 1)])
    c, v = points - points.mean(axis=0), u - u.mean(axis=0)
    kernel = np.exp(-apart / (2 * spread)) / 2 + c @ c.T / np.mean(np.sum(c**2, axis=1))
    kernel += 0.125 * v @ v.T / np.mean(np.sum(v**2, axis=1))
    H = np.eye(200) - 1 / 200
    values = np.linalg.eigvalsh(H @ kernel @ H)[::-1]
    values = values[values > 1e-4 * values[0]][:300]
    expected = values * (values + 0.05 * values.mean()) ** -0.5  # variances, divided by their square roots
    found = features.directions_of(points)
    assert np.abs(found.mean(axis=0)).max() < 1e-4
    covariance = found.T @ found
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 1e-4 * covariance.max()
    ratio = np.diag(covariance) / expected
    assert np.allclose(ratio, ratio[0], rtol=1e-4)
    assert np.median(np.linalg.norm(found, axis=1)) == pytest.approx(1)


def test_splines_of_two_records_multiply_to_how_far_both_have_come():
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.normal(size=200), rng.integers(0, 2, 200), rng.exponential(size=200)])
    columns = PublicColumns.of(P)
    assert columns.numbers.tolist() == [0, 2]
    at = columns.apply(np.column_stack([columns.knots[0], np.zeros(15), columns.knots[1]]))
    u = columns.splines(at)  # of knots, where nothing is between two of them
    both = sum(
        np.minimum.outer(at[:, j], at[:, j]) - s[0] for j, s in zip([0, 2], columns.scores, strict=True)
    )
    assert np.abs(u @ u.T - both).max() < 1e-12


def test_a_number_is_mapped_to_the_normal_score_of_its_rank():
    rng = np.random.default_rng(0)
    P = np.exp(rng.normal(size=(500, 2)) * [1, 5])
    columns = PublicColumns.of(P)
    scale = columns.scores[0][-1] / 3  # spreads are unlike: both by rank alone
    assert scale == pytest.approx(1)
    x = np.linspace(-1.5, 1.5, 31)[:, None]
    assert np.abs(columns.apply(np.exp(x * [1, 5])) - x).max() < 0.4
    assert np.abs(columns.apply(np.array([[1e300, -1e300]]))).tolist() == [[3, 3]]


def test_columns_of_one_unit_keep_some_of_their_spread_and_others_none():
    rng = np.random.default_rng(0)
    plain, flags = rng.normal(size=(400, 12)), rng.integers(0, 2, (400, 3))
    spreads = np.geomspace(0.5, 8, 12)
    spreads **= 0.7 / np.log(spreads).std()

    def mapped(spreads):
        P = np.column_stack([plain * spreads, flags])
        return PublicColumns.of(P).apply(P)

    alike, without = mapped(spreads), mapped(spreads**2)
    assert np.array_equal(alike[:, 12:], flags)
    kept = np.linalg.norm(alike[:, :12], axis=0) / np.linalg.norm(without[:, :12], axis=0)
    assert np.allclose(alike[:, :12], without[:, :12] * kept, rtol=0, atol=1e-9)  # the same but for a factor
    assert np.mean(kept**2) == pytest.approx(1)
    assert kept[-1] / kept[0] == pytest.approx((spreads[-1] / spreads[0]) ** 0.5, rel=0.1)  # 12/(12 + 12)
    scaled = mapped(1 / plain.std(axis=0))
    assert np.allclose(scaled, without)  # by rank alone where somebody has scaled them


@pytest.mark.parametrize(
    ("m", "d", "numbers", "landmarks"),
    [(80, 100, 0, 300), (101, 100, 0, 101), (80, 100, 1, 80), (20, 5, 5, 300), (600, 5, 5, 500)],
)
def test_landmarks_are_shuffled_for_more_where_public_points_span_little(m, d, numbers, landmarks):
    P = np.random.default_rng(3).integers(0, 2, (m, d)).astype(float)
    P[:, :numbers] = np.random.default_rng(4).normal(size=(m, numbers))
    features = KernelFeatures.of(P, np.random.default_rng(0), directions=40)
    assert len(features.landmarks) == landmarks
    assert features.dimension <= 41


def told(values, fewest=1.0, zeros=40, asked=None):
    """Which bin each value is in; -1 for none."""
    column = np.concatenate([np.zeros(zeros), values])[:, None]
    bins = PublicBins.of(column, np.arange(1), fewest)
    asked = np.asarray(values if asked is None else asked, dtype=float)[:, None]
    out = np.zeros((len(asked), bins.dimension + 1))
    bins.write(asked, out[:, 1:])
    assert ((out > 0).sum(axis=1) <= 1).all()
    return (out.argmax(axis=1) - 1).tolist()


def test_each_rare_value_has_a_bin_and_the_common_one_has_none():
    values = [-3.0, 5.0, 7.0, 7.0, 100.0]
    assert told(values, asked=[0, -3, 5, 7, 100]) == [-1, 0, 1, 2, 3]
    assert told(values, asked=[-1e300, 1e-300, 6.5, 1e300]) == [0, 0, 2, 3]


def test_a_bin_holds_as_many_public_points_as_are_asked_for():
    values = np.random.default_rng(0).permutation(np.arange(1.0, 31.0))
    for fewest in (1.0, 3.0, 10.0, 15.0):
        assert np.bincount(told(values, fewest)).min() >= fewest
    assert set(told(values, 16.0)) == set(told(values, np.inf)) == {-1}
    assert max(told(np.arange(1.0, 321.0), zeros=700)) == 31


def test_there_are_no_bins_where_rare_values_are_not_rare():
    rng = np.random.default_rng(1)
    assert set(told(np.arange(1.0, 42.0))) == {-1}  # the common one at less than half
    few, words = (rng.poisson(0.05, (300, d)).astype(float) for d in (5, 30))
    assert PublicBins.of(few, np.arange(5), 1.0).dimension > 5
    assert PublicBins.of(words, np.arange(30), 1.0).dimension == 0  # 1.5 of them in each record
    many = (rng.random((4000, 200)) < 0.002) * rng.integers(1, 9, (4000, 200))
    assert 0 < PublicBins.of(many, np.arange(200), 1.0).dimension <= 128
