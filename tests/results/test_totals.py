"""Totals: a claim of a paper counts once, whatever speaks of it."""

from __future__ import annotations

import pytest

from pate_cli.engine.recipes import read_recipe
from pate_cli.errors import InputError
from pate_cli.results.totals import Counted, once, totals


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["reproduces", "reproduces"], "reproduces"),
        (["reproduces", "undecided", "missing"], "undecided"),
        (["reproduces", "missing"], "reproduces"),  # what has no data says nothing of the rest
        (["missing", "missing"], "missing"),
        (["reproduces", "bound holds, not attained"], "bound holds, not attained"),
        (["reproduces", "differs (below)"], "differs (below)"),
        (["bound holds, not attained", "differs (above)", "differs (below)"], "differs"),
        (["error in the paper", "reproduces"], "error in the paper"),
        (["unusable"], "unusable"),
    ],
)
def test_a_claim_has_one_word(words, word):
    assert once(words) == word


def test_totals_by_kind():
    said = totals(
        [
            Counted("a", "printed", "T: x", "T", "reproduces", True),
            Counted("a", "printed", "T: y", "T", "differs (above)", True),
            Counted("b", "printed", "U", "U", "reproduces", False),
            Counted("c", "printed", "U", "U", "reproduces", True),
            Counted("b", "tested", "Theorem 1", "Theorem 1", "reproduces", True),
            Counted("b", "tested", "Theorem 1", "Theorem 1", "differs (below)", True),
            Counted("b", "own", "", "", "own question", False),
            Counted("b", "own", "", "", "own question", False),
        ]
    )
    assert said == [
        "Printed numbers, T: 2 claims: 1 agrees, 1 higher than printed.",
        "Printed numbers, U: 1 claim: 1 agrees.",
        "Theorems, remarks and observations, tested on data: 1 claim: 1 differs.",
        "Questions of our own: 2, in no total.",
        "3 recipes judge by intervals, in one group of verdicts or several each. Those of a group are all "
        "right with probability at least 95%: among many groups a wrong verdict is no surprise.",
    ]


RECIPE = """\
title: T
source: S
shows: W
kind: runs
counts_as: [{claim: "P Theorem 1", kind: tested, names: [ab]}, {kind: own, names: [a]}]
rows: [{name: r, overrides: []}]
"""


def test_what_a_recipe_says_its_verdicts_are_counted_as(tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    recipe = read_recipe(tmp_path)
    kinds = [recipe.counted_as(name).kind for name in ("abc", "ac", "control: ab", "z")]
    assert kinds == ["tested", "own", "own", "printed"]
    assert recipe.counted_as("abc").claim_of("abc") == "P Theorem 1"
    assert recipe.counted_as("z").claim_of("z") == f"{tmp_path.name}: z"
    assert (recipe.label_of("ac"), recipe.label_of("abc")) == ("own question", "")


@pytest.mark.parametrize(
    "entry",
    ["{kind: own, claim: x, names: [a]}", "{kind: tested, names: [a]}", "{claim: x, names: [a]}", "1"],
)
def test_what_verdicts_cannot_be_counted_as(tmp_path, entry):
    (tmp_path / "recipe.yaml").write_text(
        RECIPE.replace('{claim: "P Theorem 1", kind: tested, names: [ab]}', entry)
    )
    with pytest.raises(InputError, match=r"counts_as: .*accepted: a list of"):
        read_recipe(tmp_path)
