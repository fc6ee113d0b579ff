"""What is typed becomes the rows meant, or one line that gives the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from pate_cli.cli import main
from pate_cli.commands.methods import DEFAULT_METHODS, Named, budgets, methods, plan_frontier, tables
from pate_cli.config.schemas import with_schemas
from pate_cli.errors import InputError
from pate_cli.results.settings import BASELINES, EXACT, LIMIT

COMMON = ("dataset.n_records=3000", "split.public=60", "teacher.size=20")


def test_names_are_mechanisms_or_presets_and_overrides_are_as_typed():
    assert methods("svt, svt-liu2021", []) == [
        Named("svt", ("mechanism=svt",)),
        Named("svt-liu2021", ("mechanism=svt", "mechanism.calibration=liu2021")),
    ]
    # a comma within braces, brackets or quotes is part of a value
    (trees,) = methods("", ["trees=teacher=tree,'student.params={max_depth: 3, ccp_alpha: 0}',y=[1,2]"])
    assert trees.overrides == ("teacher=tree", "'student.params={max_depth: 3, ccp_alpha: 0}'", "y=[1,2]")


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


def test_budgets_are_sorted_or_refused():
    assert budgets("2,0.5,1") == [0.5, 1.0, 2.0]
    with pytest.raises(InputError, match=r"--eps: got '1,1\.0'; accepted: each value once"):
        budgets("1,1.0")
    for text in ("0", "inf", "nan", "1,,2", "one"):
        with pytest.raises(InputError, match=r"--eps: got .*; accepted: finite numbers > 0"):
            budgets(text)


@pytest.mark.parametrize(
    ("names", "typed", "said"),
    [
        ("laplace", [], "--methods: got 'laplace'; accepted: active, "),
        ("", [], "--methods: got ''"),
        ("svt", ["svt=mechanism=svt"], "--method svt: there are two of that name"),
        ("", ["a=svt"], "--method: got 'a=svt'; accepted: NAME=OVERRIDE"),
        ("", ["a b=teacher=tree"], "--method: got"),
        (
            "",
            ["a=mechanism=svt,compute.workers=2"],
            "--method a: compute.workers=2: is the same for all methods",
        ),
        ("", ["a=++seed=3"], "--method a: .*seed=3: is the same for all"),
    ],
)
def test_methods_that_are_none(names, typed, said):
    with pytest.raises(InputError, match=f"^{said}"):
        methods(names, typed)


@pytest.mark.parametrize(
    ("common", "said"),
    [
        ("eps=1", "eps=1: here it is --eps"),
        ("release=true", "release=true: not here"),
        ("oops=1", "frontier, row .*: oops: no such key"),
        ("dataset=real-sim", "real-sim.bz2 .* is not on this machine"),
    ],
)
def test_common_overrides_that_are_none(common, said, tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_DATA", str(tmp_path))
    monkeypatch.setattr("pate_cli.datasets.known_datasets._cache", lambda: tmp_path / "no-cache")
    with pytest.raises(InputError, match=said):
        plan_frontier([common], methods("gaussian", []), [1.0], repeats=1)


def test_every_method_at_every_budget_and_the_same_teachers():
    chosen = [*methods(DEFAULT_METHODS, []), Named("few", ("teacher.count=5",))]
    plan = plan_frontier(COMMON, chosen, [0.01, 1.0], repeats=3)
    names = [*DEFAULT_METHODS.split(","), "few"]
    assert [row.spec.name for row in plan.rows] == [
        EXACT,
        *(name for name in BASELINES if name not in (EXACT, LIMIT)),
        *(f"{name} eps={eps}" for name in names for eps in ("0.01", "1")),
    ]
    assert {row.config.repeats for row in plan.rows} == {3}
    taught = {row.teaching for row in plan.rows if row.method in ("gaussian", "svt", "active")}
    assert len(taught) == 1
    assert "svt eps=0.01" in {row.spec.name for row in plan.rows if row.status == "infeasible"}
    assert plan.rows[0].config.eps == float("inf")


def test_schemas_stand_for_their_data_in_a_sweep_and_among_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, data in (("a", "a.csv"), ("b c", "b c.csv"), ("j", "j.jsonl")):
        Path(f"{name}.schema.yaml").write_text(f"version: 2\ndata: {data}\ncolumns:\n  a: {{kind: number}}\n")
    assert with_schemas(["dataset=a.schema.yaml,b c.schema.yaml"]) == [
        "dataset=csv",
        "dataset.schema=a.schema.yaml,'b c.schema.yaml'",
    ]
    quoted = with_schemas(["""dataset="b c.schema.yaml",'a.schema.yaml'"""])  # as Hydra has it
    assert quoted == ["dataset=csv", "dataset.schema='b c.schema.yaml',a.schema.yaml"]
    assert main(["run", 'dataset="b c.schema.yaml"', "eps=0"]) == 2
    assert "eps: got 0" in capsys.readouterr().err
    with pytest.raises(InputError, match="schemas of one kind of file"):
        with_schemas(["dataset=a.schema.yaml,j.schema.yaml"])
    assert tables("b c.schema.yaml", ["k=dataset=j.schema.yaml"]) == [
        Named("b c", ("dataset=csv", "dataset.schema='b c.schema.yaml'")),
        Named("k", ("dataset=jsonl", "dataset.schema=j.schema.yaml")),
    ]


def test_a_refusal_names_the_eps_that_was_typed():
    rows = plan_frontier(
        (*COMMON, "split.public=60"), methods("", ["u=mechanism=universal"]), [0.5], repeats=1
    ).rows
    assert rows[-1].message.endswith("(eps=0.25 is the part of eps=0.5 that it gets)")
