"""What is said of methods holds as often as is said, on records that were never seen; by made-up repeats.

Shares are of a fixed seed; by chance a check fails with probability below 1e-6.
"""

from __future__ import annotations

import pytest

from pate_cli.results.interval import Interval


def test_equal_values_show_no_spread_and_no_interval_is_rounded_to_nothing():
    assert Interval.of([0.92, 0.92, 0.92]).half_width is None
    assert Interval.of([0.92] * 10).half_width == pytest.approx(0)
    assert Interval.of_gaps([0.0, 0.0]).half_width == 0
    assert Interval.pooled([Interval.of([0.9] * 3), Interval.of([0.8, 0.9])]).n == 5
    assert Interval.pooled([Interval.of([0.9] * 3), Interval.of([0.9] * 9)]).half_width == pytest.approx(0)
    for half, digits, text in (
        (0.04, 1, "2.00 ± 0.04"),
        (0.06, 1, "2.0 ± 0.1"),
        (0.00096, 1, "2.0000 ± 0.0010"),
        (1e-17, 1, "2.0 ± 0.0"),
    ):
        assert Interval(2.0, half, 3).text(digits) == text
