"""Every table fits a terminal of 80 columns, with long names and every number whole."""

from __future__ import annotations

import re

import numpy as np
import pytest
from rich.cells import cell_len

from pate_cli import cli, terminal
from pate_cli.commands.printing import print_grid
from pate_cli.commands.reporting import say

NAME = "a_table_of_records_with_a_long_name"
OWN = ["dataset=csv", f"dataset.path={NAME}.csv", "dataset.target=label"]
SMALL = ["split.public=60", "teacher.size=40", "compute.workers=1"]
METHODS = ["--methods", "output_perturbation", "--repeats", "2"]
METHODS += ["--method", "my_own_long_name=mechanism=output_perturbation"]
LEDGER = ["--eps", "4", "--delta", "0.01"]
RECIPE = """\
title: A recipe
source: nowhere
shows: That it fits.
kind: runs
rows:
  - name: "a {eps}"
    method: a method with a long name
    panel: a panel with a long name
    for: {eps: [0.5, 4]}
    overrides: [mechanism=output_perturbation, repeats=10, "eps={eps}", OVERRIDES]
    printed: {queries: 60, eps_ex_post: 0.5, accuracy: 0.7, ci: 0.01}
"""


@pytest.fixture
def shown(outside, monkeypatch, capsys):
    """Call commands at 80 columns: lines of their tables, not of sentences and paths."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PATE_LEDGER", str(outside / "ledger"))
    X = np.random.default_rng(0).normal(size=(400, 3)).round(3)
    lines = [f"{a},{b},{c},{'yes' if a + b > 0 else 'no'}" for a, b, c in X.tolist()]
    (outside / f"{NAME}.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    (outside / "own").mkdir()
    (outside / "own" / "recipe.yaml").write_text(RECIPE.replace("OVERRIDES", ", ".join([*OWN, *SMALL])))
    monkeypatch.setattr("pate_cli.results.figures.render", lambda *_, **__: (b"", b"", 1.0))
    terminal.out.cache_clear()

    def call(*commands):
        for argv in commands:
            assert cli.main(list(argv)) == 0
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if not line.startswith(("- ", "/", "outputs/"))]

    yield call
    terminal.out.cache_clear()


PIVOT = ["--by", "mechanism", "--pivot", "eps"]
RUNS = ["run", "-m", *OWN, *SMALL, "repeats=2", "mechanism=gaussian,output_perturbation", "eps=0.5,1"]
RUNS.append("hydra.sweep.dir=outputs/s")
READ = [["table", "outputs", "--paired", "gaussian"], ["compare", "outputs/s/0", "outputs/s/2"], ["list"]]


@pytest.mark.parametrize(
    ("commands", "numbers"),
    [
        ([["frontier", *OWN, *SMALL, *METHODS, "--eps", "0.5,1,2,4"]], 2),  # equal gaps have no interval
        ([["frontier", "--tables", f"{NAME}.csv:target=label", *SMALL, *METHODS, "--eps", "1"]], 1),
        ([["reproduce", "./own"]], 2),
        ([RUNS, ["table", "outputs", "--metrics"], ["table", "outputs", *PIVOT], *READ], 12),
        ([["plan", "-m", *OWN, *SMALL[:2], "mechanism=gaussian,svt,active,lnmax", "eps=0.01,1"]], 0),
        ([["plan", *OWN, "split.public=60", "mechanism=svt", "eps=4", "teacher.size=10"]], 0),
        ([["ledger", "init", *OWN, *LEDGER], ["ledger", "show"]], 0),
    ],
    ids=["frontier", "leaderboard", "reproduce", "table", "points", "plan", "ledger"],
)
def test_tables_fit_80_columns(shown, commands, numbers):
    lines = shown(*commands)
    assert [line for line in lines if len(line) > 80] == []
    assert len(re.findall(r"\d ± \d+\.\d+(?![…\d])", "\n".join(lines))) >= numbers


@pytest.mark.parametrize("command", [name for name in cli.COMMANDS if name != "run"])  # run lists groups
def test_help_fits_80_columns(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([command, "--help"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_words_are_broken_by_columns_of_the_terminal(monkeypatch, capsys):
    """A sign of Chinese takes two; and no column of a table is cut to a few letters."""
    monkeypatch.setenv("COLUMNS", "40")
    terminal.out.cache_clear()
    say(" ".join(["総胆管結石症の疑い"] * 4))
    lines = capsys.readouterr().out.splitlines()
    assert [cell_len(line) for line in lines] == [37, 37]
    print_grid(("column", "kind", "holds", "missing"), [["diagnosis", "category", "x y " * 12, ""]])
    text = capsys.readouterr().out
    terminal.out.cache_clear()
    assert re.search("diagnosis +category", text)
    assert "missing" not in text  # no cell has anything
