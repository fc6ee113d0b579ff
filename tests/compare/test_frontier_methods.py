"""What is typed becomes the rows meant, or one line that says why not."""

from __future__ import annotations

import pytest

from pate_cli.compare.baselines import BASELINES, EXACT, LIMIT
from pate_cli.compare.methods import DEFAULT_METHODS, Named, budgets, methods, plan_frontier
from pate_cli.errors import InputError

COMMON = ("dataset.n_records=3000", "split.public=60", "teacher.size=20")


def test_names_are_mechanisms_or_presets_and_overrides_are_as_typed():
    found = methods("svt, svt-liu2021", ["trees=teacher=tree,'student.params={max_depth: 3, ccp_alpha: 0}'"])
    assert [method.name for method in found] == ["svt", "svt-liu2021", "trees"]
    assert found[0].overrides == ("mechanism=svt",)
    assert found[1].overrides == ("mechanism=svt", "mechanism.calibration=liu2021")
    # a comma within braces or quotes is part of a value
    assert found[2].overrides == ("teacher=tree", "'student.params={max_depth: 3, ccp_alpha: 0}'")
    assert methods("", ["a=x=[1,2],y=3"])[0].overrides == ("x=[1,2]", "y=3")


def test_what_is_compared_by_default_can_be_planned():
    rows = plan_frontier(COMMON, methods(DEFAULT_METHODS, []), [1.0], repeats=1).rows
    names = {row.method for row in rows}
    assert {"gaussian", "active", "svt", "noisy_gd", "output_perturbation"} < names


def test_the_command_of_a_row_finds_options_of_ones_own(tmp_path):
    (tmp_path / "mechanism").mkdir()
    (tmp_path / "mechanism" / "mine.yaml").write_text("name: gaussian\ncalibration: tight\n")
    own = str(tmp_path)
    common, chosen = (*COMMON, "compute.workers=1"), methods("mine", [], own)
    plan = plan_frontier(common, chosen, [1.0], repeats=1, config_dir=own)
    command = plan.command_of(plan.rows[-1])
    assert command[:4] == ["pate", "run", "--config-dir", own]
    assert "mechanism=mine" in command
    assert "compute.workers=1" not in command


def test_budgets_are_sorted_and_counted_once():
    assert budgets("2,0.5,1.0,1") == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("text", ["", "0", "-1", "inf", "nan", "1,,2", "one"])
def test_budgets_that_are_none(text):
    with pytest.raises(InputError, match=r"--eps: got .*; accepted: finite numbers > 0"):
        budgets(text)


@pytest.mark.parametrize(
    ("names", "typed", "said"),
    [
        ("laplace", [], "--methods: got 'laplace'; accepted: active, "),
        ("", [], "--methods: got ''"),
        ("svt,svt", [], "--method svt: there are two of that name"),
        ("svt", ["svt=mechanism=svt"], "--method svt: there are two of that name"),
        ("", ["svt"], "--method: got 'svt'; accepted: NAME=OVERRIDE"),
        ("", ["a=svt"], "--method: got 'a=svt'"),
        ("", ["a b=teacher=tree"], "--method: got"),
        ("", ["a=eps=3"], "--method a: eps=3: is the same for all methods"),
        ("", ["a=mechanism=svt,split.public=10"], "--method a: split.public=10: is the same for all"),
        ("", ["a=++seed=3"], "--method a: .*seed=3: is the same for all"),
    ],
)
def test_methods_that_are_none(names, typed, said):
    with pytest.raises(InputError, match=f"^{said}"):
        methods(names, typed)


@pytest.mark.parametrize(
    ("common", "said"),
    [
        (["eps=1"], "eps=1: here it is --eps"),
        (["repeats=3"], "repeats=3: here it is --repeats"),
        (["mechanism=svt"], "mechanism=svt: here it is --methods"),
        (["release=true"], "release=true: not here"),
        (["oops=1"], "frontier, row .*: oops: no such key"),
        (["dataset=iris"], "frontier, row .*: dataset: got 'iris'"),
        (["dataset=real-sim"], "real-sim.bz2 .* is not on this machine"),
    ],
)
def test_common_overrides_that_are_none(common, said, tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(tmp_path))
    monkeypatch.setattr("pate_cli.datasets.files._cache", lambda: tmp_path / "no-cache")
    with pytest.raises(InputError, match=said):
        plan_frontier(common, methods("gaussian", []), [1.0], repeats=1)


def test_every_method_at_every_budget_and_the_same_teachers():
    chosen = [*methods("gaussian,svt,noisy_gd", []), Named("few", ("teacher.count=5",))]
    plan = plan_frontier(COMMON, chosen, [0.01, 1.0], repeats=3)
    assert [row.spec.name for row in plan.rows] == [
        EXACT,
        *(name for name in BASELINES if name not in (EXACT, LIMIT)),
        *(f"{name} eps={eps}" for name in ("gaussian", "svt", "noisy_gd", "few") for eps in ("0.01", "1")),
    ]
    assert {row.config.repeats for row in plan.rows} == {3}
    shared = {row.teaching for row in plan.rows if row.method != "few"}
    assert len(shared) == 1
    assert {row.spec.name for row in plan.rows if row.status == "infeasible"} == {"svt eps=0.01"}
    assert plan.rows[0].config.eps == float("inf")
