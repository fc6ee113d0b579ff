"""docs/tutorial.md from its first command to its last, in one directory, as a reader would."""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
from pathlib import Path

import pytest
from pages import REPO, blocks

from pate_cli.cli import main

pytest.importorskip("opendp")


def test_the_tutorial_ends_with_a_verified_release(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "ledger"))
    tables, *steps = blocks(REPO / "docs/tutorial.md")
    Path("make_tables.py").write_text("\n".join(tables.lines))
    runpy.run_path("make_tables.py")
    seen = []
    for block in steps:
        for _, *argv in block.commands:
            before = set(os.listdir())
            code = main(argv)
            said = capsys.readouterr().err
            refused = block.what.endswith("::refused")
            assert code == (2 if refused else 0), f"{block.where}: {said}"
            assert not refused or (said.count("\n") == 1 and set(os.listdir()) == before)
            seen.append(argv[0])
    assert seen == ["data", "plan", "ledger", "run", "verify", "run", "predict"]
    with Path("labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["patient_id", "label", "probability.ill", "probability.well"]
    assert [row["patient_id"] for row in rows] == [str(20_000 + i) for i in range(200)]
    assert {row["label"] for row in rows} <= {"ill", "well"}
    assert set(os.listdir("release")) == {
        *("answers.csv", "certificate.json", "model_card.md", "points.csv", "result.json", "student.skops")
    }
    facts = json.loads(Path("release/certificate.json").read_text())
    assert facts["evaluation"]["figures"]["accuracy"]["low"] > 0.7
    assert re.search(r"^\| accuracy \| [789]\d", Path("release/model_card.md").read_text(), re.MULTILINE)
