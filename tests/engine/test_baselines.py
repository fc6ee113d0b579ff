"""`split.mode` and `compute` mean in a frontier and a recipe what they mean in a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pate_cli import cli, datasets, pipeline
from pate_cli.commands.methods import methods, plan_frontier
from pate_cli.engine import baselines, schedule
from pate_cli.engine.loaded import LoadedCode
from pate_cli.engine.recipe_plan import make_plan
from pate_cli.engine.recipes import Recipe
from pate_cli.engine.rows import RowSpec
from pate_cli.pipeline import Streams
from pate_cli.results.settings import LIMIT

SMALL = ("dataset.n_records=1000", "split.public=40", "teacher.size=20", "features=none", "student=logistic")


def plan_of(*given, names="gaussian,noisy_gd", eps=4.0, repeats=2):
    return plan_frontier([*SMALL, *given], methods(names, []), [eps], repeats=repeats)


def units_of(plan, work):
    results = schedule.run(plan.ready, work, force=False, advance=lambda *_: None)
    assert results.failures == []
    return results.repeats


def numbers(plan, work):
    """Repeats of each row as text, in which nan is nan."""
    found = units_of(plan, work).items()
    return {name: repr([dataclasses.replace(unit, seconds=0.0) for unit in units]) for name, units in found}


@pytest.mark.parametrize("mode", ["records", "label_private"])
def test_baselines_are_at_the_splits_of_the_methods(mode, tmp_path):
    """By hand, at the split of the second repeat."""
    from sklearn.linear_model import LogisticRegression

    given = [f"split.mode={mode}", "split.public=0.15"]
    plan = plan_of(*given, names="gaussian")
    found = {name: units[1].accuracy for name, units in units_of(plan, tmp_path).items()}
    run = plan.rows[0].prepared
    rng = Streams.of(0, 1).split
    split = datasets.split(run.dataset, private=0.8, public=0.15, budget=0.3, mode=mode, rng=rng)
    test, private = split.test, split.private
    on_true = LogisticRegression(solver="liblinear").fit(split.public.X, split.public_labels.y)
    on_all = LogisticRegression(solver="liblinear").fit(private.X, private.y)
    assert found["student on true labels"] == on_true.score(test.X, test.y)
    assert found["all private records"] == on_all.score(test.X, test.y)
    assert found["majority class"] == np.mean(test.y == np.bincount(private.y).argmax())
    # the exact votes are those of a run without privacy, whose own diagnostics agree
    exact = pipeline.run_repeat(run, 1).result
    assert found["student on exact votes"] == exact.accuracy == exact.diagnostics["ceiling"]


def test_the_best_model_is_chosen_once_and_the_same_wherever_repeats_are_done(tmp_path, monkeypatch):
    asked, best_model = [], baselines.best_model
    monkeypatch.setattr(baselines, "best_model", lambda X, *more: asked.append(X) or best_model(X, *more))
    monkeypatch.setattr(baselines, "_choices", {})
    monkeypatch.setattr("pate_cli.engine.limits._TUNED_ON", 200)
    given = [*SMALL, "seed=7", "compute.workers=1"]
    plan = plan_frontier(given, methods("noisy_gd", []), [4.0], repeats=3, limit=True)
    found = units_of(plan, tmp_path / "all")[LIMIT]
    (private,) = asked
    split = pipeline.split_of(plan.rows[0].prepared, Streams.of(7, 0))
    np.testing.assert_array_equal(private, split.private.X)
    baselines._choices.clear()
    row = next(row for row in plan.rows if row.name == LIMIT)
    assert row.run(2).result.accuracy == found[2].accuracy  # as another process does it, the last one first
    assert len(asked) == 2


def test_a_cluster_gives_the_same_numbers(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    here = numbers(plan_of("compute.workers=1", repeats=1), tmp_path / "here")
    monkeypatch.setattr(baselines, "_measured", None)  # in this process
    plan = plan_of("compute=dask", "compute.workers=1", repeats=1)
    assert numbers(plan, tmp_path / "there") == here
    names = [sorted(path.name for path in (tmp_path / place).iterdir()) for place in ("here", "there")]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        (
            "frontier",
            ["compute=dask", "compute.address=tcp://127.0.0.1:9"],
            "compute.address: got 'tcp://127.",
        ),
    ],
)
def test_refused_before_anything_is_written(command, given, said, tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pate_cli.engine.workers._PATIENCE", 0.2)
    (tmp_path / "small").mkdir()
    recipe = "title: a\nsource: b\nshows: c\nkind: runs\nrows: [{name: only, overrides: [eps=4]}]\n"
    (tmp_path / "small" / "recipe.yaml").write_text(recipe)
    there = sorted(tmp_path.rglob("*"))
    assert cli.main([command, *["./small"] * (command == "reproduce"), *SMALL, *given]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)
    assert sorted(tmp_path.rglob("*")) == there


def test_recipes_that_train_nothing_refuse_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", "table3", "compute=dask"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), "compute" in err) == ("", 1, True)
    assert list(tmp_path.iterdir()) == []


def test_a_learner_that_comes_first_leaves_the_teachers_to_the_others(tmp_path, monkeypatch):
    trained, train = [], pipeline.train
    monkeypatch.setattr(pipeline, "train", lambda run, repeat: trained.append(repeat) or train(run, repeat))
    common = (*SMALL, "eps=4", "compute.workers=1")
    rows = [RowSpec(name, overrides=(*common, f"mechanism={name}")) for name in ("noisy_gd", "gaussian")]
    for those in (rows, rows[:1]):  # alone it needs none
        plan = make_plan(
            Recipe(name="small", title="", source="", shows="", kind="runs", rows=tuple(those), repeats=2),
            [],
            quick=False,
        )
        found = units_of(plan, tmp_path / f"{len(those)}")
        assert {name: len(units) for name, units in found.items()} == {row.name: 2 for row in those}
        assert trained == [0, 1]


def test_a_worker_that_has_loaded_something_else_keeps_nothing(tmp_path, monkeypatch):
    """From the fit of a first row on."""
    plan = plan_of("compute.workers=1", names="gaussian", repeats=1)
    checks = []
    check = LoadedCode.check

    def checked(loaded):
        checks.append(1)
        if len(checks) > 1:
            check(dataclasses.replace(loaded, versions={**loaded.versions, "numpy": "0"}))

    monkeypatch.setattr(LoadedCode, "check", checked)
    results = schedule.run(plan.ready, tmp_path / "work", force=False, advance=lambda *_: None)
    assert len(results.failures) == len(plan.ready)
    assert not list((tmp_path / "work").rglob("*.json"))
    assert all(units == [] for units in results.repeats.values())
