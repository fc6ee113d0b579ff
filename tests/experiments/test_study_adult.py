"""Margins on Adult: by hand on a few votes, and on the real records."""

from __future__ import annotations

import numpy as np
import pytest
from pate_cli.experiments.common import adult
from pate_cli.experiments.common.adult import Margins
from pate_cli.experiments.figure3 import study as figure3
from pate_cli.experiments.figure4 import study as figure4

from pate_cli import datasets
from pate_cli.errors import ConfigError

# 10 teachers; votes for 1, and what h* says
BY_HAND = Margins(np.array([10, 8, 5, 2, 9]), 10, np.array([1, 1, 0, 0, 0]), {})


def test_margins_by_hand():
    assert BY_HAND.agreement.tolist() == pytest.approx([0.5, 0.3, 0.0, 0.3, 0.4])
    assert BY_HAND.differing.tolist() == pytest.approx([0.0, 0.2, 0.5, 0.2, 0.9])
    assert BY_HAND.signed.tolist() == pytest.approx([0.5, 0.3, 0.0, 0.3, -0.4])
    assert BY_HAND.vote_is_best.tolist() == [True, True, False, True, False]  # a tie votes 1


def test_unsigned_margins_are_one_and_the_same():
    rng = np.random.default_rng(0)
    m = Margins(rng.integers(0, 8, 500), 7, rng.integers(0, 2, 500), {})
    assert np.abs(m.differing - 0.5) == pytest.approx(m.agreement)
    assert np.array_equal(m.signed > 0, m.vote_is_best)  # no ties among 7


def test_shares_put_an_edge_into_the_upper_bin():
    edges = np.linspace(0, 0.5, 6)
    found = figure3.shares(np.array([0.0, 0.7 - 0.5, 0.1 + 0.1, 0.5]), edges)
    assert found.tolist() == [0.25, 0, 0.5, 0, 0.25]


def test_running_sums_look_straight_without_any_correlation():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 0.5, 200), rng.uniform(0, 0.5, 200)
    assert abs(figure4.pearson(a, b)) < 0.2
    assert figure4.straightness(a, b) > 0.99
    assert figure4.pearson(a, 2 - 3 * a) == pytest.approx(-1)
    assert np.isnan(figure4.pearson(a, np.ones(200)))


def test_of_split_keeps_to_its_sizes():
    dataset = datasets.load("synthetic", n_records=600)
    sizes = {"n_private": 400, "n_public": 100, "n_queries": 60, "n_teachers": 10}
    m = adult.of_split(dataset, **sizes, seed=np.random.SeedSequence(1))
    assert m.votes_for_1.shape == m.best.shape == (60,)
    assert m.n_teachers == 10
    assert 0 <= m.votes_for_1.min() <= m.votes_for_1.max() <= 10
    assert m.accuracy["h*"] > 0.85  # 5% flipped labels
    assert m.vote_is_best.mean() > 0.85
    with pytest.raises(ConfigError, match=r"split\.private"):
        adult.of_split(dataset, **{**sizes, "n_private": 600}, seed=np.random.SeedSequence(1))


@pytest.mark.real_data
def test_the_papers_sizes_on_adult(real_data, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(real_data))
    dataset = datasets.load("adult")
    sizes = {"n_private": 36_631, "n_public": 10_211, "n_queries": 2_000, "n_teachers": 250}
    m = adult.of_split(dataset, **sizes, seed=np.random.SeedSequence(0))
    assert sum((36_631, 10_211, 2_000)) == dataset.n_records
    assert len(m.votes_for_1) == 2_000
    assert 0.83 < m.accuracy["h*"] < 0.87
    assert m.accuracy["teacher"] < m.accuracy["vote"] < m.accuracy["h*"] + 0.01
    assert (m.agreement >= 1 / 6).mean() > 0.8
    assert 0.9 < m.vote_is_best.mean() < 0.96
