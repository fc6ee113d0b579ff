"""Figures of the docs: their commands stand in the docs, and what they measured is measured again.

`make figures` makes them; sentences are computed from what they drew in `phrases.py`.
"""

from __future__ import annotations

import json
import re

import pytest
from pages import REPO, blocks, pages
from phrases import accuracies, points

from benchmarks import figures

DRAWN = {"choosing", "flow", "flow-narrow"}  # by hand: nothing is measured in them
TABLES = {"peers", "scores", "unseen"}
FACTS = {path.stem: json.loads(path.read_text()) for path in sorted(figures.PLACE.glob("*.json"))}


def test_every_figure_is_drawn_by_a_command_that_the_docs_show():
    found = [block for page in pages() for block in blocks(page) if block.kind in ("run", "plan")]
    shown = {" ".join(argv) for block in found for argv in block.commands}
    named = "".join(page.read_text(encoding="utf-8") for page in pages())
    made = {path.stem for path in figures.PLACE.glob("*.svg")}
    drawn = {re.sub("-(light|dark).*", "", name) for name in made - DRAWN}
    assert set(FACTS) == set(figures.FIGURES) == drawn | TABLES
    for name in made:
        assert f"figures/{name}.svg" in named, name
    for name, facts in FACTS.items():
        assert tuple(facts["commands"]) == figures.FIGURES[name].commands
        assert set(facts["commands"]) <= shown, name
        assert re.fullmatch(r"\d+\.\d+\.\d+", facts["pate"])
        assert re.fullmatch(r"[0-9a-f]{12}", facts["code"])


@pytest.mark.parametrize("name", FACTS)
def test_what_a_figure_shows_has_not_changed(name, tmp_path, monkeypatch, real_data):
    """A hundredth is room for another machine's arithmetic; `make figures` where it fails."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_DATA", str(real_data))
    before, now = FACTS[name]["numbers"], figures.short_numbers(figures.FIGURES[name])
    assert len(before) >= 4
    assert [row[:-1] for row in now] == [row[:-1] for row in before]
    assert [row[-1] for row in now] == pytest.approx([row[-1] for row in before], abs=0.01)


def test_the_table_of_peers_says_what_was_measured():
    """Accuracy of `best` in percent, and how much less the others have, paired by split."""
    text = (REPO / "docs" / "comparing.md").read_text(encoding="utf-8")
    head, _, *rows = re.search(r"^\|table\|eps\|.*\n(?:\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    _, _, first, limit, *others = [cell.strip("`") for cell in head.strip("|").split("|")]
    assert (first, limit) == ("best", "limit")
    assert rows == table_of_peers(others)


def table_of_peers(others):
    rows, drawn = [], accuracies("peers", "scores")
    for dataset in drawn.columns.unique("dataset").sort_values():
        shown = drawn[dataset].dropna(axis=1)
        for eps in (0.5, 1.0, 2.0):
            best, free = shown["best", eps], shown["best model without privacy"].iloc[:, 0]
            columns = [free, *(shown.get((name, eps)) for name in others)]
            cells = ["–" if column is None else points(best - column) for column in columns]
            row = [dataset, f"{eps:g}", f"{best.mean():.1f}", *cells]
            rows.append(f"|{'|'.join(row)}|".replace(" ", "").replace("-", "−"))
    return rows
