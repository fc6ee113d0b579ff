"""`pate reproduce all`: every recipe, resumable, and one page that says what became of each claim."""

from __future__ import annotations

import csv
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from pate_cli.commands import recipe_run
from pate_cli.commands.claims_page import page_of
from pate_cli.commands.outcome import FILE, RecipeOutcome, key_of, load, save
from pate_cli.commands.reproduce import main
from pate_cli.engine import recipes
from pate_cli.errors import InputError
from pate_cli.results.interval import Interval
from pate_cli.results.verdicts import Verdict, close

OUT = Path("outputs/reproduce")
REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
def few(monkeypatch):
    """Leave a recipe that needs no data, one whose data is not here, and one that counts."""
    monkeypatch.setattr(recipes, "names", lambda: ["example2", "figure3", "table3"])
    monkeypatch.setattr("pate_cli.results.figures.render", lambda *_: (b"", b"", 1.0))  # of no interest here


def claims(directory: Path = OUT) -> dict[tuple[str, str], dict[str, str]]:
    rows = csv.DictReader((directory / "table.csv").read_text(encoding="utf-8").splitlines())
    return {(row["recipe"], row["claim"]): row for row in rows}


def test_each_claim_is_on_one_page_and_what_is_missing_is_said(few, capsys):
    assert main(["all", "--quick"]) == 0
    page = (OUT / "report.html").read_text(encoding="utf-8")
    found = claims()
    assert {recipe for recipe, _ in found} == {"example2", "table3"}
    words = {
        recipe: {row["verdict"] for key, row in found.items() if key[0] == recipe} for recipe, _ in found
    }
    assert words["example2"] == {"too few runs"}
    assert words["table3"] <= {"too few runs", "not run"}  # by which data is on this machine
    assert found["table3", "mushroom"]["command"] == "pate reproduce table3 --quick"
    assert "missing: figure3: " in capsys.readouterr().err
    assert "pate data fetch adult" in page
    assert (OUT / "example2-quick" / "report.html").is_file()


def test_what_is_done_is_not_done_again_and_a_failure_is_not_the_end(few, monkeypatch, capsys):
    whole = recipe_run.run_study

    def breaks(*names):
        def run_study(recipe, *args, **kwargs):
            if recipe.name in names:
                raise RuntimeError("the study fell over")
            return whole(recipe, *args, **kwargs)

        monkeypatch.setattr(recipe_run, "run_study", run_study)

    breaks("table3")
    assert main(["all", "--quick"]) == 1
    first = claims()
    assert {recipe for recipe, _ in first} == {"example2"}
    assert "failed: table3: RuntimeError: the study fell over" in "".join(capsys.readouterr())
    assert not (OUT / "table3-quick" / FILE).exists()

    breaks("example2")
    assert main(["all", "--quick"]) == 0
    assert "example2: kept from before" in capsys.readouterr().err
    second = claims()
    assert {key: second[key] for key in first} == first
    # other parameters are another result: it is not found again
    assert main(["all", "seed=1", "--quick"]) == 1
    assert "failed: example2 seed 1" in "".join(capsys.readouterr())


def test_in_parts(few, capsys):
    assert main(["all", "recipes=[table3]", "seed=[0,1]", "--quick"]) == 0
    # each once, and with a command that can be typed
    why = "not chosen, and not kept: pate reproduce all 'recipes=[example2]'"
    assert f"not run: example2, figure3: {why}" in "".join(capsys.readouterr())
    assert main(["example2", "--quick"]) == 0
    capsys.readouterr()
    assert main(["all", "recipes=[table3]", "--quick"]) == 0
    assert {recipe for recipe, _ in claims()} == {"example2", "table3"}


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("dataset=mushroom", "dataset=mushroom: not with all recipes; accepted: recipes="),
        ("recipes=[table9]", "recipes: got 'table9'; accepted: of active-rates"),
        ("seed=[0,x]", r"seed: got '\[0,x\]'; accepted: a whole number"),
    ],
)
def test_what_cannot_be_typed(typed, message):
    with pytest.raises(InputError, match=message):
        main(["all", typed])
    assert not OUT.exists()


def test_seeds_are_pooled_where_there_is_an_interval_to_pool():
    """No seed decides by itself, or two disagree: all their repeats together do."""
    rng = np.random.default_rng(0)
    seeds = {str(seed): rng.normal(0.0, 0.04, 12) for seed in range(3)}
    alone = {
        seed: RecipeOutcome("r", "done", verdicts=[close("claim", Interval.of(gaps), 0.02, "why", 2)])
        for seed, gaps in seeds.items()
    }
    assert {one.verdicts[0].verdict for one in alone.values()} == {"undecided"}
    assert "cannot be told: about" in alone["0"].verdicts[0].reason
    (record,) = page_of({"r": alone}, quick=False, command=["pate"]).table.records
    every = Interval.of(np.concatenate(list(seeds.values()))).at(1 - 0.05 / 2)
    assert record["ours_less_claimed"] == pytest.approx(every.mean)
    assert record["half_width"] == pytest.approx(every.half_width)
    assert (record["n"], record["verdict"]) == (36, "agrees")
    assert record["reason"] == f"why; all 36 repeats: {every.text(4, sign=True)}"


def test_cases_of_a_claim_are_pooled_one_by_one():
    rng = np.random.default_rng(1)

    def claim(*cases):
        return Verdict("claim", "undecided", "why", margin=0.0, cases=tuple(cases), most=True)

    seeds = [[Interval.of(rng.normal(mean, 0.1, 30)) for mean in (0.06, 0.08)] for _ in range(3)]
    both = Verdict.pooled([claim(*gaps) for gaps in seeds])
    assert both.cases[1].mean == pytest.approx(np.mean([gaps[1].mean for gaps in seeds]))
    assert (both.cases[0].n, both.verdict) == (90, "reproduces")
    assert both.reason == "cases of all seeds' repeats: 2 agree. With the first: why"
    lacks = Verdict.pooled([claim(*seeds[0]), claim(seeds[1][0], None)])
    assert lacks.cases[1] is None
    assert lacks.verdict in ("undecided", "missing")


def test_the_error_of_a_printed_number_is_not_pooled_away():
    verdicts = [close("x", Interval.of([0.04, 0.05] * 15), 0.02, "why", 1, 0.02, 30) for _ in range(3)]
    pooled = Verdict.pooled(verdicts)
    assert pooled.interval.standard_error == pytest.approx(math.hypot(pooled.gap.standard_error, 0.02))
    assert pooled.verdict == "undecided"


@pytest.mark.parametrize(
    ("gaps", "needs"),
    [
        ([0.0, 0.1] * 5, "more than 100 times as many repeats would tell"),  # a hair from the margin
        ([-0.1, 0.1] * 5, "about 405 repeats would tell, if the difference stays"),
    ],
)
def test_an_undecided_verdict_says_what_it_needs(gaps, needs):
    margin = 0.0501 if min(gaps) == 0 else 0.0103
    assert close("x", Interval.of(gaps), margin, "why").reason == f"why; cannot be told: {needs}"


def test_words_of_a_recipe():
    """They take the place of a verdict only where they can be true."""
    below, over = (close("x", Interval.of([v, v + 0.001] * 5), 0.02, "why") for v in (-0.2, 0.2))
    assert below.labelled("bound holds, not attained").verdict == "bound holds, not attained"
    assert over.labelled("bound holds, not attained").verdict == "differs (above)"
    wrong = over.labelled("error in the paper")
    assert (wrong.verdict, wrong.reason) == ("error in the paper", "higher than printed: why")


def test_seeds_that_disagree_decide_nothing():
    def outcome(*words):
        return RecipeOutcome(
            "r", "done", verdicts=[Verdict(str(i), word, "why") for i, word in enumerate(words)]
        )

    seeds = {
        "0": outcome("reproduces", "reproduces", "undecided", "missing"),
        "1": outcome("reproduces", "differs (above)", "reproduces", "missing"),
        "2": outcome("reproduces", "reproduces", "reproduces"),
    }
    findings = page_of({"r": seeds}, quick=False, command=["pate"])
    words = [row["verdict"] for row in findings.table.records]
    assert words == ["agrees", "cannot be told", "cannot be told", "not run"]
    assert findings.table.records[1]["seeds"] == "agrees; differs; agrees"


def test_an_outcome_is_read_back_or_not_at_all(tmp_path):
    gap = Interval.of([0.01, 0.02, 0.015] * 4)
    outcome = RecipeOutcome("r", "done", "", ["pate"], [close("claim", gap, 0.1, "why", 3)])
    assert outcome.verdicts[0].gap == gap.at(1 - 0.05 / 3)
    save(tmp_path, outcome, "key")
    assert load(tmp_path, "key") == outcome
    assert load(tmp_path, "other") is None
    text = (tmp_path / FILE).read_text()
    for end in range(len(text)):  # also within the last number, which would be another
        (tmp_path / FILE).write_text(text[:end])
        assert load(tmp_path, "key") is None


def test_an_edited_study_has_another_key(tmp_path):
    shutil.copytree(REPO / "docs" / "examples" / "own" / "flips", tmp_path / "flips")

    def key():
        return key_of(recipes.find_recipe(str(tmp_path / "flips")), [], quick=True)

    before = key()
    assert key() == before
    study = tmp_path / "flips" / "study.py"
    study.write_text(study.read_text().replace("n / 2", "n / 3"))
    assert key() != before
