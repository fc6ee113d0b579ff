"""Figures of the docs: their commands stand in the docs, and what they measured is measured again.

`make figures` makes them; the sentences beside the first one are computed from what it drew.
"""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from pages import REPO, blocks, pages
from scipy import stats

from benchmarks import figures

DRAWN = {"choosing", "flow", "flow-narrow"}  # by hand: nothing is measured in them
TABLES = {"peers"}
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


def _points(differences):
    half = stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences)
    return f"{differences.mean():.1f} ± {half:.1f}"


def test_the_sentence_beside_the_first_figure_says_what_was_drawn():
    drawn = pd.read_csv(figures.PLACE / "privacy-cost.csv")
    wide = 100 * drawn.pivot_table(index="repeat", columns=["method", "eps"], values="accuracy")
    best = wide["best", 1.0]
    text = " ".join((REPO / "README.md").read_text(encoding="utf-8").split())
    said = [
        f"mean of {len(wide)} splits",
        f"At eps 1 `best` is right on {best.mean():.1f}%, "
        f"{_points(wide['best model without privacy'].iloc[:, 0] - best)} points less than without privacy",
        ", ".join(f"`{name}` on {_points(best - wide[name, 1.0])}" for name in ("scores", "gaussian", "svt"))
        + " points less than `best`",
    ]
    assert [sentence for sentence in said if sentence not in text] == []


def test_the_table_of_peers_says_what_was_measured():
    """Accuracy of `best` in percent, and how much less the others have, paired by split."""
    measured = pd.read_csv(figures.PLACE / "peers.csv")
    text = (REPO / "docs" / "comparing.md").read_text(encoding="utf-8")
    head, _, *lines = re.search(r"^\|eps 1, 3 splits.*\n(?:\|.*\n)+", text, re.MULTILINE)[0].splitlines()
    _, first, limit, *others = [cell.strip("`") for cell in head.strip("|").split("|")]
    assert (first, limit) == ("best", "limit")
    rows = []
    for dataset, of in measured.groupby("dataset", sort=False):
        wide = 100 * of.pivot_table(index="repeat", columns=["method", "eps"], values="accuracy")
        best = wide["best", 1.0]
        columns = [wide["best model without privacy"].iloc[:, 0], *(wide[name, 1.0] for name in others)]
        less = [_points(best - column).replace(" ", "").replace("-", "−") for column in columns]
        rows.append("|".join(["", dataset, f"{best.mean():.1f}", *less, ""]))
    assert sorted(rows) == sorted(lines)
