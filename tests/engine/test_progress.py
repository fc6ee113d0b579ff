"""The time that is left, as it is printed while work goes on."""

from __future__ import annotations

import pytest

from pate_cli.engine.progress import time_left


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(89, "about 89 s"), (150, "about 2.5 min"), (3000, "about 50 min"), (9000, "about 2.5 h")],
)
def test_it_is_printed_in_units_that_fit(seconds, said):
    assert time_left(float(seconds), 0.5, 0.5) == said


def test_nothing_is_printed_before_there_is_a_pace():
    assert time_left(50.0, 0.2, 99.8) == time_left(50.0, 100, 0) == ""
