"""Bins for the rare values of zero-inflated columns: which there are, what is in them, their worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from pate_cli import mechanisms
from pate_cli.mechanisms.baselines.public_bins import BINS, MOST_BINS, PublicBins
from pate_cli.mechanisms.baselines.public_features import LONGEST, UNIT, PublicFeatures
from pate_cli.privacy.noise import SeededNoise
from pate_cli.types import Private, PrivateRecords, PublicPoints, Setting

ALL = np.arange(1)


def bins_of(values, fewest=1.0, zeros=40):
    column = np.concatenate([np.zeros(zeros), values])
    return PublicBins.of(column[:, None], ALL, fewest)


def told(bins, values):
    """Which bin each value is in; -1 for none."""
    out = np.zeros((len(values), bins.dimension))
    bins.write(np.asarray(values, dtype=float)[:, None], out, 1.0)
    assert ((out > 0).sum(axis=1) <= 1).all()
    assert (out[out > 0] == 2).all()
    return np.where(out.any(axis=1), out.argmax(axis=1), -1).tolist()


def test_each_rare_value_has_a_bin_and_the_common_one_has_none():
    bins = bins_of([-3.0, 5.0, 7.0, 7.0, 100.0])
    assert bins.cuts.tolist() == [1.0, 6.0, 53.5]
    assert told(bins, [0, -3, 5, 7, 100]) == [-1, 0, 1, 2, 3]
    # whatever number a private record has, it is in one of them
    assert told(bins, [-1e300, 1e-300, 6.5, 1e300]) == [0, 0, 2, 3]


def test_a_bin_holds_as_many_public_points_as_are_asked_for():
    values = np.random.default_rng(0).permutation(np.arange(1.0, 31.0))
    for fewest in (1.0, 3.0, 10.0, 15.0):
        bins = bins_of(values, fewest)
        counts = np.bincount(told(bins, values))
        assert len(counts) == bins.dimension
        assert counts.min() >= fewest
    assert bins_of(values, 16.0).dimension == bins_of(values, math.inf).dimension == 0
    assert bins_of(np.repeat(values, 5), zeros=200).dimension == 30
    assert bins_of(np.arange(1.0, 321.0), zeros=700).dimension == BINS


def test_there_are_none_where_rare_values_are_not_rare():
    rng = np.random.default_rng(1)
    assert bins_of(np.arange(1.0, 42.0)).dimension == 0  # the common one at less than half
    few, words = (rng.poisson(0.05, (300, d)).astype(float) for d in (5, 30))
    assert PublicBins.of(few, np.arange(5), 1.0).dimension > 5
    assert PublicBins.of(words, np.arange(30), 1.0).dimension == 0  # 1.5 of them in each record
    many = (rng.random((4000, 200)) < 0.002) * rng.integers(1, 9, (4000, 200))
    assert 0 < PublicBins.of(many, np.arange(200), 1.0).dimension <= MOST_BINS


def zero_inflated(rng, n, *, flips=0.0):
    """Two columns of noise; a third that is 0 for 80% and else tells the class by whether it is odd."""
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(1, 13, n) * (rng.random(n) < 0.2)])
    y = np.where(X[:, 2] > 0, X[:, 2] % 2, X[:, 0] > 0).astype(np.int64)
    return X, np.where(rng.random(n) < flips, 1 - y, y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("anywhere", [False, True])
def test_features_of_a_record_are_its_own_and_bounded(form, anywhere):
    rng = np.random.default_rng(2)
    P, (X, _) = zero_inflated(rng, 200)[0], zero_inflated(rng, 500)
    features = PublicFeatures.of(form(P), np.random.default_rng(0), fewest=2.0)
    bins = slice(features.back.shape[1], -1)
    assert features.bins is not None
    assert 5 < features.bins.dimension <= 12
    X[:2, 2] = 1e300, -1e300
    found = features.apply(form(X), anywhere=anywhere)
    assert np.array_equal(found[:, bins], features.apply(X, anywhere=anywhere)[:, bins])
    assert set(np.unique(found[:, bins])) == {0.0, 2 / UNIT}
    alone = np.vstack([features.apply(form(X[i : i + 1]), anywhere=anywhere) for i in range(50)])
    assert np.array_equal(found[:50, bins], alone[:, bins])
    assert np.linalg.norm(found.astype(float), axis=1).max() * UNIT < LONGEST + 1


def plan(n, m, eps=1.0):
    learner = ("logistic", {})
    return mechanisms.plan(
        "public_kernel", {}, Setting(eps, 1 / n, n, m, 30, 3, 2, 10, False, learner, learner, "drop")
    )


def accuracy(p, n, m):
    rng = np.random.default_rng(3)
    (X, y), (P, _), (T, truth) = (zero_inflated(rng, size) for size in (n, m, 4000))
    released = p.release(Private(PrivateRecords(X, y)), PublicPoints(P), SeededNoise(4), rng)
    model = released.model
    return model, (model.predict(T) == truth).mean()


def test_what_a_rare_value_says_is_learned_though_it_is_smooth_in_nothing(monkeypatch):
    """A twelfth of a fifth of the records has each: without bins half of that fifth is wrong."""
    p = plan(8000, 400)
    assert "bins" in p.describe()["choices"]
    model, with_bins = accuracy(p, 8000, 400)
    assert model.features.bins is not None
    assert with_bins > 0.97
    monkeypatch.setattr(type(p), "fewest_in_bin", math.inf)
    assert accuracy(p, 8000, 400)[1] < 0.93


def test_where_noise_hides_a_bin_there_is_none():
    counts = [plan(8000, 400, eps).fewest_in_bin for eps in (math.inf, 2.0, 0.5, 0.1)]
    assert counts == sorted(counts)
    assert counts[0] == 1.0
    assert counts[3] > 10
    assert plan(300, 30).fewest_in_bin == math.inf
    assert "bins" not in plan(8000, 400, 0.003).describe()["choices"]
