"""Verdicts are wrong as seldom as they say, whatever the true difference is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtrit

from pate_cli.results import Interval
from pate_cli.results.findings import About, Findings
from pate_cli.results.recipe_page import _headline
from pate_cli.results.tables import Table
from pate_cli.results.verdicts import FEWEST, Verdict, at_least, combined, compare, rule

MARGIN = 0.02
TABLES, ROWS = 10_000, 16


def words_of(judge, effect, n, spread, margin):
    """Judge made-up tables in one array: 1 reproduces, 2 and 3 differ above and below, 0 neither."""
    rng = np.random.default_rng([n, round(1e4 * abs(effect))])
    mean = effect + spread / math.sqrt(n) * rng.standard_normal((TABLES, ROWS))
    error = spread / math.sqrt(n) * np.sqrt(rng.chisquare(n - 1, (TABLES, ROWS)) / (n - 1))
    reach = stdtrit(n - 1, 1 - 0.025 / ROWS) * error
    low, high = mean - reach, mean + reach
    if judge is compare:
        words = np.select([(low >= -margin) & (high <= margin), low > margin, high < -margin], [1, 2, 3], 0)
    else:
        words = np.select([low > -margin, high <= -margin], [1, 3], 0)
    names = ("undecided", "reproduces", "differs (above)", "differs (below)")
    t95 = stdtrit(n - 1, 0.975)
    for i in range(100):  # the array is of the function's own words
        gap = Interval(float(mean.flat[i]), float(t95 * error.flat[i]), n)
        assert judge(gap, margin, ROWS) == names[words.flat[i]]
    return words


def at_most(share: float, stated: float) -> bool:
    """Whether a share of tables is at most as stated; a false alarm with probability below 1e-6."""
    return share <= stated + 5 * math.sqrt(stated * (1 - stated) / TABLES)


@pytest.mark.parametrize("n", [FEWEST, 30])
@pytest.mark.parametrize("spread", [0.005, 0.03, 0.2])
@pytest.mark.parametrize("effect", [0.0, MARGIN, 2 * MARGIN])
def test_of_a_table_hardly_ever_one_verdict_is_wrong(effect, n, spread):
    """Differences of 0, of the margin and of twice the margin, in all sixteen rows.

    A true difference of exactly the margin is neither: then both words are wrong, one at each end.
    """
    words = words_of(compare, effect, n, spread, MARGIN)
    wrong = {0.0: words > 1, MARGIN: words > 0, 2 * MARGIN: (words == 1) | (words == 3)}[effect]
    assert at_most(wrong.any(axis=1).mean(), 0.05)
    if effect != MARGIN:  # the right word is said, wherever the interval is short
        right = (words == (1 if effect == 0 else 2)).mean()
        reach = stdtrit(n - 1, 1 - 0.025 / ROWS) * spread / math.sqrt(n)
        assert right > 0.99 if reach < MARGIN / 4 else right < 0.5 if reach > 2 * MARGIN else True


@pytest.mark.parametrize("n", [FEWEST, 30])
@pytest.mark.parametrize("effect", [0.0, -MARGIN])
def test_claims_of_more_hold_by_chance_as_seldom_as_stated(effect, n):
    """What is no more is not said to be more, by all cases of a table together."""
    assert at_most((words_of(at_least, effect, n, 0.03, 0.0) == 1).any(axis=1).mean(), 0.025)


def test_a_table_of_two_repeats_has_no_verdict():
    """Two repeats made a wide interval, and a wide interval used to be an agreement."""
    few = Interval.of([0.0, 0.001])
    assert compare(few, MARGIN) == at_least(few) == "no verdict"
    assert compare(Interval.of([0.0]), MARGIN) == "no verdict"
    assert compare(Interval.of([0.0] * FEWEST), MARGIN) == "reproduces"
    assert "16 hold together at 95%" in rule(16, MARGIN)
    with pytest.raises(ValueError, match="is none of reproduces, differs"):
        Verdict("x", "better", "y")


@pytest.mark.parametrize(
    ("words", "all_of", "most_of"),
    [
        (["reproduces"] * 3, "reproduces", "reproduces"),
        (["reproduces", "reproduces", "undecided"], "undecided", "reproduces"),
        (["reproduces", "reproduces", "missing"], "missing", "reproduces"),
        (["reproduces", "missing", "missing"], "missing", "undecided"),
        (["reproduces", "differs (below)", "differs (below)"], "differs (below)", "differs (below)"),
        (["differs (above)", "differs (below)"], "differs", "differs"),
        (["reproduces", "no verdict"], "no verdict", "no verdict"),
        (["missing"], "missing", "missing"),
        ([], "missing", "missing"),
    ],
)
def test_cases_together(words, all_of, most_of):
    assert combined(words) == all_of
    assert combined(words, most=True) == most_of


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("reproduces", "The paper’s conclusion holds: A. The printed number agrees."),
        ("differs", "The paper’s conclusion does not hold here: A. The printed number agrees."),
        ("undecided", "Whether the paper’s conclusion holds cannot be told: A. The printed number agrees."),
    ],
)
def test_numbers_that_agree_are_no_part_of_the_conclusion(verdict, said):
    about = About(name="t", title="", source="", shows="")
    found = Findings(about, [], Table([], []), rows=[Verdict("x", "reproduces", "")])
    assert _headline(found, [Verdict("A", verdict, "")]) == said
