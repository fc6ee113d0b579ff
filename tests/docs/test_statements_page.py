"""docs/statements.md is what the recipes, the constructions and the theory say."""

from __future__ import annotations

import csv

import numbered
import pytest
from numbered import PAGE, cited, constructions, evaluated, find_recipe, recipes, render


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == render(), "python tests/docs/numbered.py writes it"


def test_what_is_made_of_verdicts_is_up_to_date():
    page = numbered.REPRODUCE.read_text(encoding="utf-8")
    assert page == numbered.with_made(page), "python tests/docs/numbered.py writes it"


def test_every_verdict_is_counted_as_its_recipe_says():
    for row in csv.DictReader(numbered.VERDICTS.read_text(encoding="utf-8").splitlines()):
        counted = find_recipe(row["recipe"]).counted_as(row["claim"])
        assert counted.claim != row["recipe"], f"{row['recipe']}: counts_as says nothing of {row['claim']}"


def test_the_verdicts_are_those_of_the_recipes_as_they_are(tmp_path, monkeypatch):
    assert len(numbered.kept_verdicts()) > 100

    # a recipe that was edited has no verdict left, and one that was run again has its new one
    monkeypatch.setattr(numbered, "VERDICTS", tmp_path / "verdicts.csv")
    (tmp_path / "table.csv").write_text("recipe,claim,verdict\ntable3,mushroom,undecided\n")
    numbered.take(tmp_path)
    assert "- Table 3: `table3`: 1 cannot be told\n" in render()
    monkeypatch.setattr(numbered, "fingerprint", lambda name: "edited")
    assert "- Table 3: `table3`: not run\n" in render()


def test_a_verdict_belongs_to_the_statement_that_its_claim_names():
    """Of a recipe on several papers, others' verdicts are no verdict on a statement."""
    page = render()
    assert "- Algorithm 3: AgPrivCl; `agnostic-thresholds`\n" in page
    assert "- Theorem 3.2: A_binClas with its own T and k; theory; `agnostic-thresholds`: 1 agrees" in page


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "LZCW21 (Liu), Theorems 22 and 28, Remark 23",
            ["LZCW21 Theorem 22", "LZCW21 Theorem 28", "LZCW21 Remark 23"],
        ),
        ("BTT18, long version, Algorithms 6 to 8", [f"BTT18 long Algorithm {n}" for n in (6, 7, 8)]),
        ("BTT18 long, Theorem 3.6; NB20 Lemma 5", ["BTT18 long Theorem 3.6", "NB20 Lemma 5"]),
        ("section 5.1, Theorem 7 of nobody", []),
    ],
)
def test_what_a_text_names(text, found):
    assert cited(text) == found


def test_nothing_is_left_out():
    assert len(evaluated()) > 30
    assert {"BTT18 Algorithm 2", "NB20 Algorithm 3", "LWY25 Algorithm 2", "LZCW21 Algorithm 4"} <= set(
        constructions()
    )
    assert {"LZCW21 Theorem 22", "LWY25 Theorem 4.2", "BTT18 Theorem 3.4", "LZCW21 Figure 1"} <= set(
        recipes()
    )
    page = render()
    assert all(name in page for names in recipes().values() for name in names)
