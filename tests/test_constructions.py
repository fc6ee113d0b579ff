"""docs/constructions.md names what exists: configurations parse and plan, Python entries import."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from pate_cli.cli import main

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "constructions.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| construction")
]
CODE = [re.findall(r"`([^`]+)`", row[2]) for row in ROWS]
CONFIGS = sorted({code for codes in CODE for code in codes if "=" in code})
ENTRIES = sorted({code for codes in CODE for code in codes if code.startswith("pate_cli.")})


def test_every_row_has_five_cells():
    assert len(ROWS) == 30
    assert {len(row) for row in ROWS} == {5}
    assert all(all(row) for row in ROWS)
    assert all(CODE)  # a configuration or an entry each


@pytest.mark.parametrize("text", CONFIGS)
def test_every_configuration_plans(text, capsys):
    assert main(["plan", *text.split()]) == 0
    assert "eps" in capsys.readouterr().out


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_there(name):
    module, _, last = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), last))


def test_audits_are_of_configurations_on_the_page():
    cells = [row[2] if row[4] == "the same" else row[4] for row in ROWS]
    audited = {code for cell in cells for code in re.findall(r"`(mechanism=[^`]+)`", cell)}
    others = {"mechanism=agprivcl", "mechanism=svt student.unanswered=random eps=1.0"}
    assert set(CONFIGS) - audited <= others | {
        "+experiment=btt18_remark3 eps=1.0",
        "mechanism=gaussian split.public=auto eps=1.0",
        "mechanism=sspp mechanism.hypotheses=rectangles dataset=thresholds split.public=200 eps=1.0",
    }


def test_the_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)  # our own page
    assert names["released"] == "red"
