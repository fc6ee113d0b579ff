"""The time that is left, as it is said while work goes on."""

from __future__ import annotations

import pytest

from pate_cli.engine.progress import _Pace


def test_the_first_piece_of_work_no_longer_counts_once_enough_is_done():
    """Importing and starting took 60 s with the first of 100; each other one takes 1 s."""
    pace = _Pace(100.0)
    assert pace.left(150.0, 0.2, 99.8) == ""
    assert pace.left(160.0, 1, 99) == "about 1.6 h"
    assert pace.left(164.0, 5, 95) == "about 20 min"  # still with it: 64 s for 5
    assert pace.left(170.0, 11, 89) == "about 89 s"
    assert pace.left(258.0, 99, 1) == "about 1 s"
    assert pace.left(259.0, 100, 0) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(89, "about 89 s"), (150, "about 2.5 min"), (3000, "about 50 min"), (9000, "about 2.5 h")],
)
def test_it_is_said_in_units_that_fit(seconds, said):
    assert _Pace(0.0).left(float(seconds), 0.5, 0.5) == said
