"""Every recipe of a study runs with small parameters, gives the same twice, and draws its figures."""

from __future__ import annotations

import io
import itertools
import math

import pandas as pd
import pytest

from pate_cli.checks import Listed, OneOf, Real, Whole, read
from pate_cli.engine.recipes import find_recipe, names
from pate_cli.engine.studies import load_study
from pate_cli.errors import ConfigError

NEED_DATA = ["figure3", "figure4"]
SMALL: dict[str, dict] = {  # beside the quick parameters, at which tests of `pate reproduce` run each recipe
    "table1": {},
    "figure1": {},
    "example2": {},
    "tnc-rates": {
        "taus": [1.0, 0.5],
        "points": [2, 8],
        "mistakes": [5.5, 0.72],
        "n": [30_000, 100_000],
        "repeats": 3,
        "learner_n": [300, 3000],
        "learner_repeats": 10,
    },
    "sgd-stability": {"repeats": 5},
    "agnostic-thresholds": {"n": [2000, 4000], "excess_n": [2000, 4000], "excess_points": 15},
    "universal-answering": {"n": 15_000, "m": [100, 750]},
    "soft-labels": {"n": 6000, "teachers": 100, "points": 30},
    "queries-answered": {},
    "fresh-queries": {},
    "active-rates": {},
    "high-margin": {},
    "expected-scores": {},
}
NAMES = list(SMALL)
CONTROLLED = {
    "queries-answered",
    "fresh-queries",
    "active-rates",
    "high-margin",
    "expected-scores",
    "example2",
}
"""Studies that hold their simulation against a closed form."""


def check(result, steps):
    assert len(getattr(result.table, "records", result.table)) > 1
    assert result.verdicts
    assert result.notes
    assert steps[-1][0] == steps[-1][1] > 0
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(steps))
    for number, draw in enumerate(result.figures.values()):
        figure, stream = draw(), io.BytesIO()
        if number:  # to lay panels out takes most of the time
            figure.set_layout_engine("none")
        figure.savefig(stream, format="png")
        assert stream.getvalue().startswith(b"\x89PNG")
        for axis in figure.axes:
            assert axis.get_xlabel()
        assert figure.axes[0].get_ylabel()


@pytest.mark.parametrize("name", NAMES)
def test_quick(name, quick):
    result, steps = quick(name, **SMALL[name])
    check(result, steps)
    again, _ = quick(name, **SMALL[name])
    if isinstance(result.table, pd.DataFrame):
        pd.testing.assert_frame_equal(result.table, again.table, check_exact=True)
    else:
        assert (again.table.cells, again.table.to_csv()) == (result.table.cells, result.table.to_csv())
    assert again.verdicts == result.verdicts
    assert any(one.name.startswith("control") for one in result.verdicts) == (name in CONTROLLED)


@pytest.mark.real_data
@pytest.mark.parametrize("name", NEED_DATA)
def test_quick_on_adult(name, quick, real_data, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(real_data))
    check(*quick(name))


@pytest.mark.real_data
def test_coins_spread_less_with_noise(quick, real_data, monkeypatch):
    """Teachers that are constants: without noise the student is one too, right on a class or the other."""
    monkeypatch.setenv("PATE_DATA", str(real_data))
    result, steps = quick("table4-coin", repeats=12)
    check(result, steps)
    spread = dict(zip(result.table["eps"], result.table["spread"], strict=True))
    assert spread[math.inf] > spread[2] > spread[0.5]
    # of 12 coins: right on .761 or .239
    assert min(abs(result.table["mean"][0] - 0.239 - 0.522 * i / 12) for i in range(13)) < 0.01


def test_every_study_is_here():
    studies = [name for name in names() if find_recipe(name).kind == "study"]
    assert sorted([*NAMES, *NEED_DATA, "statements", "table3", "table4-coin"]) == studies
    for recipe in map(find_recipe, studies):
        assert {*recipe.quick} <= {*recipe.params} == {*load_study(recipe).CHECKS}


def test_recipe_sizes_are_the_papers():
    for name in NEED_DATA:
        params = find_recipe(name).params
        sizes = [params[key] for key in ("n_private", "n_public", "n_queries", "teachers")]
        assert sizes == [36_631, 10_211, 2_000, 250]


def test_few_repeats_decide_nothing(quick):
    result, _ = quick("tnc-rates", taus=[1.0], points=[2], mistakes=[5.5], n=[100_000, 200_000], repeats=3)
    private = [v for v in result.verdicts if "one learner" not in v.name]
    assert private
    assert {v.verdict for v in private} == {"no verdict"}


@pytest.mark.parametrize(
    ("check_", "value"),
    [
        (Real(0, 1), 0),
        (Real(0, 1, open_above=True), 1),
        (Real(0), float("inf")),
        (OneOf(("a", "b")), "c"),
        (Listed(Whole(1), at_least=2), [1]),
        (Listed(Whole(1), ascending=True), [1, 1]),
        (Whole(1), True),
        (Whole(1, 5), 6),
    ],
)
def test_bad_values_are_refused_and_the_key_named(check_, value):
    with pytest.raises(ConfigError, match=r"params\.x: got .*accepted: "):
        read({"x": value}, {"x": check_})
    with pytest.raises(ConfigError, match=r"params\.other: got 2; accepted: the parameters x"):
        read({"x": value, "other": 2}, {"x": check_})


def test_good_values_are_taken():
    checks = {"a": Whole(1), "b": Real(0, 1), "c": Listed(Whole(1), ascending=True)}
    assert read({"a": 1e5, "b": 1, "c": [1, 2]}, checks) == {"a": 100_000, "b": 1.0, "c": [1, 2]}
