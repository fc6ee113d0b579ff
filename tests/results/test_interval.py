"""Intervals of Student's t, against printed quantiles and by their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pate_cli.results.interval import Interval, mean_ci, simultaneous


@pytest.mark.parametrize(("n", "level", "t"), [(2, 0.95, 12.7062), (10, 0.95, 2.2622), (30, 0.99, 2.7564)])
def test_half_widths_have_the_quantiles_of_printed_tables(n: int, level: float, t: float) -> None:
    values = np.random.default_rng(0).normal(size=n)
    found = Interval.of(values, level)
    assert found.mean == pytest.approx(values.mean())
    assert found.half_width == pytest.approx(t * values.std(ddof=1) / math.sqrt(n), rel=1e-4)
    assert found.at(0.9).at(level).low == pytest.approx(found.low)
    assert found.at(0.5).half_width < found.half_width
    assert mean_ci(values) == (found.at(0.95).mean, pytest.approx(found.at(0.95).half_width))


def test_values_without_an_interval() -> None:
    assert Interval.of([0.25]) == Interval(0.25, None, 1)
    assert Interval.of([math.inf, 1.0]) == Interval(math.inf, None, 2)
    assert math.isnan(Interval.of([math.nan, 1.0]).mean)
    assert Interval.of([0.25]).sign == 0
    with pytest.raises(ValueError, match="no values"):
        Interval.of([])


def test_pooled_means_are_those_of_all_values():
    parts = np.split(np.random.default_rng(1).normal(size=20), [1, 5, 12])
    whole, pooled = Interval.of(np.concatenate(parts)), Interval.pooled([Interval.of(part) for part in parts])
    assert (pooled.mean, pooled.half_width) == (pytest.approx(whole.mean), pytest.approx(whole.half_width))
    assert pooled.n == 20


def test_intervals_cover_as_often_as_they_say() -> None:
    """20,000 means of five; a false alarm at each level below 1e-6 (5 standard errors)."""
    draws = np.random.default_rng(2).normal(size=(20_000, 5))
    intervals = [Interval.of(row) for row in draws]
    for level in (0.95, simultaneous(10)):
        covered = np.mean([found.at(level).sign == 0 for found in intervals])
        assert abs(covered - level) < 5 * math.sqrt(level * (1 - level) / len(draws))
