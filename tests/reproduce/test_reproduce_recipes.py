from dataclasses import replace

import pytest

from pate_cli.commands.recipe_run import check_views
from pate_cli.config.hydra_composition import packaged
from pate_cli.engine import recipes
from pate_cli.errors import InputError


@pytest.mark.parametrize("name", recipes.names())
def test_shipped_recipes_are_complete(name):
    recipe = recipes.find_recipe(name)
    text = (packaged("experiments") / name / "recipe.yaml").read_text()
    assert any(paper in recipe.source for paper in ("LZCW21", "BTT18", "NB20", "LWY25"))
    assert recipe.shows.endswith(".")
    assert recipe.kind == "study" or recipe.rows
    assert recipe.quick or "quick" not in text
    check_views(name, recipe.figures, recipe.claims)


def test_table4_is_whole():
    """24 rows, each asked for with the budget the paper prints beside it."""
    rows = recipes.find_recipe("table4").rows
    assert {row.overrides[:3] for row in rows} == {("student=logistic", "features=none", "teacher.size=100")}
    rows = [replace(row, overrides=row.overrides[3:]) for row in rows]
    printed = {(row.overrides[0], row.method, row.printed["eps"]) for row in rows}
    assert len(rows) == len(printed) == 24
    for row in rows:
        assert float(row.overrides[2].removeprefix("eps=")) == row.printed["eps"]
        assert row.overrides[1] == (
            "mechanism=active" if row.method.startswith("ASQ") else "mechanism=gaussian"
        )
        # the paper's learner leaves unspent what it does not want
        assert ("mechanism.fill=false" in row.overrides) == row.method.startswith("ASQ")
        stated = {"queries", "eps", "eps_ex_post", "accuracy", "ci", "error", "repeats"}
        assert set(row.printed) - {"queries_ci"} == stated


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("kind: runs", "kind: walks"), "kind: got 'walks'; accepted: runs, study"),
        (("name: nowhere", "name: active 4"), "two are named 'active 4'"),
        (("    overrides: [dataset=real-sim]\n", ""), r"rows\[3\]: overrides: got None; accepted: a list"),
        (("{eps: [0.5, 4, .inf]}", "{eps: 4}"), r"rows\[0\]: for: got"),
        (("rows:\n", "rows: [\n"), "not valid YAML"),
    ],
)
def test_a_wrong_recipe_is_named(recipe_dir, change, message):
    path = recipe_dir / "recipe.yaml"
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(InputError, match=message) as error:
        recipes.read_recipe(recipe_dir)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"claim": "grater"}, "claim: got 'grater'"),
        ({"claim": "unspent", "name": "x"}, "x: methods is missing"),
        ({"claim": "spent", "name": "x", "methods": "a", "where": {"datset": "b"}}, "datset: no such key"),
    ],
)
def test_a_wrong_claim_is_named(claim, message):
    with pytest.raises(InputError, match=message):
        check_views("small", [], [claim])


@pytest.mark.parametrize("name", ["/../../mine", "a/b", "..", "a b"])
def test_a_figure_is_no_path(name):
    """Its name is part of a file's name: `figure-/../../mine.png` would be written beside the directory."""
    figure = {"name": name, "panels": [{"x": "eps"}], "measures": ["accuracy"]}
    with pytest.raises(InputError, match=r"small: figure: name: got .*; accepted: letters, digits, - and _"):
        check_views("small", [figure], [])


def test_plan_has_a_status_for_every_row(plan_of):
    plan = plan_of()
    assert [row.status for row in plan.rows] == ["ready"] * 4 + ["infeasible", "missing"]
    assert "teacher.count=" in plan.rows[4].message
    assert "pate data fetch real-sim" in plan.rows[5].message
    assert {row.config.repeats for row in plan.rows} == {3}
    assert {row.config.repeats for row in plan_of(quick=True).rows} == {2}


def test_rows_are_chosen_and_overridden(plan_of):
    assert [row.spec.name for row in plan_of("dataset=[real-sim]").rows] == ["nowhere"]
    chosen = plan_of("dataset=synthetic", "eps=[0.5,inf]").rows
    assert [row.spec.name for row in chosen] == ["passive 0.5", "passive inf"]
    assert [row.spec.overrides[-1] for row in chosen] == ["eps=0.5", "eps=inf"]
    assert plan_of("dataset=[real-sim]").command == ["pate", "reproduce", "small", "dataset=[real-sim]"]
    typed = plan_of("repeats=4", "eps=1", quick=True).rows  # over the row's and those of quick
    assert {(row.config.repeats, row.config.eps) for row in typed} == {(4, 1)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("dataset=[a9a]", "dataset: got 'a9a'; accepted: of the rows of small: synthetic, real-sim"),
        ("eps=[3]", "eps: got 3.0; accepted: of the rows of small: 0.5, 4, inf"),
        ("teacher.sice=3", "row 'passive 0.5': teacher.sice: no such key; did you mean teacher.size"),
        ("repeats=1,2", "several values need -m"),
        ("teacher.count=100000", "teacher.count"),
        ("--cfg=job", "an option of pate run"),
    ],
)
def test_a_wrong_override_is_named(plan_of, given, message):
    with pytest.raises(InputError) as error:
        plan_of(given)
    assert message in str(error.value)


def test_an_unknown_recipe_is_answered_with_those_there_are():
    with pytest.raises(InputError, match=r"table5: no such recipe; there are: .*table4"):
        recipes.find_recipe("table5")
