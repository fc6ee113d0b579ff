"""Tables of others as one's own, through the command line: found separators, headers, categories, classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pate_cli.cli import main

FILES = {
    # file, keys, (numbers, categories, classes), accuracy at least (the share of the largest class below it)
    "magic": ("magic.csv", ["target=target"], (10, 0, 2), 0.75),  # 0.65
    "spambase": ("spambase.csv", ["target=target"], (57, 0, 2), 0.87),  # 0.60
    "letter": ("letter.csv", ["target=target"], (16, 0, 26), 0.40),  # 0.04
    "diamonds": ("diamonds.csv", ["target=cut"], (7, 2, 5), 0.53),  # 0.40
    "flights": ("flights.csv", ["target=delayed"], (6, 3, 2), 0.70),  # 0.76: of a linear student no better
    "adult": ("adult.data", ["target='15'", "header=false"], (6, 8, 2), 0.80),  # 0.76
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", FILES)
def test_a_table_as_it_is_gives_a_student(real_data, tmp_path, monkeypatch, capsys, name):
    file, keys, (n_numbers, n_categories, n_classes), least = FILES[name]
    if not (real_data / file).exists():
        pytest.skip(f"{file} is not in {real_data}")
    monkeypatch.chdir(tmp_path)
    given = ["dataset=csv", f"dataset.path={real_data / file}", *(f"dataset.{key}" for key in keys)]
    sizes = ["split.private=3000", "split.public=300", "teacher.size=100", "eps=20"]
    assert main(["run", *given, *sizes, "hydra.run.dir=out"]) == 0
    shown = capsys.readouterr()
    assert f": {n_numbers} numbers (" in shown.err
    assert (f"; {n_categories} categories (" in shown.err) is bool(n_categories)
    record = json.loads(Path("out/result.json").read_text())
    assert (record["status"], record["sizes"]["n_classes"]) == ("ok", n_classes)
    assert record["accuracy"]["mean"] > least
    if name == "flights":
        assert "no more often than one that always says" in " ".join(shown.out.split())
