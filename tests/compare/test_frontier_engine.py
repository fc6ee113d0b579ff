"""Private learners and mechanisms in one group of rows: teachers are trained for those that need them."""

from __future__ import annotations

from pate_cli import pipeline
from pate_cli.config.recipes import Recipe, RowSpec
from pate_cli.engine.plan import make_plan
from pate_cli.engine.schedule import run

SMALL = ("dataset.n_records=3000", "split.public=60", "teacher.size=20", "eps=4", "compute.workers=1")


def plan_of(*mechanisms):
    rows = tuple(RowSpec(name, overrides=(*SMALL, f"mechanism={name}")) for name in mechanisms)
    return make_plan(Recipe("small", "", "", "", "runs", rows, repeats=2), [], quick=False)


def test_a_learner_may_come_first_and_alone_needs_no_teachers(tmp_path, monkeypatch):
    trained, train = [], pipeline.train
    monkeypatch.setattr(
        pipeline, "train", lambda run, repeat, kept: trained.append(repeat) or train(run, repeat, kept)
    )
    plan = plan_of("noisy_gd", "gaussian")
    both = run(plan, tmp_path / "both", force=False, advance=lambda *_: None)
    assert both.failures == []
    assert {name: len(units) for name, units in both.units.items()} == {"noisy_gd": 2, "gaussian": 2}
    assert trained == [0, 1]
    alone = run(plan_of("noisy_gd"), tmp_path / "alone", force=False, advance=lambda *_: None)
    assert [unit.accuracy for unit in alone.units["noisy_gd"]] == [
        unit.accuracy for unit in both.units["noisy_gd"]
    ]
    assert trained == [0, 1]
