"""Numbers of the pages in plain words (eps, data protection), by the definition or by what is there."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import REPO
from test_seeded_bugs import BUGS

from pate_cli.results.sentences import best_attack

TEXT = (REPO / "docs" / "eps-in-plain-words.md").read_text(encoding="utf-8")


def attack(eps, delta=0.0):
    """Most that a test between two inputs is right: randomised response that reaches (eps, delta)."""
    # outputs: tell the truth outright with delta; else one bit, right with odds e^eps
    told = delta + (1 - delta) / (1 + np.exp(-eps))
    return 100 * told


def test_the_attack_by_eps_is_what_the_definition_allows():
    eps, times = (
        [float(cell) for cell in re.search(rf"^\| {name} \|(.*)\|$", TEXT, re.MULTILINE)[1].split("|")]
        for name in ("eps", "times in 100")
    )
    for one, shown in zip(eps, times, strict=True):
        assert shown == pytest.approx(attack(one), abs=0.005 if shown > 99 else 0.5)
        for delta in (0.0, 1e-6, 0.01):
            assert best_attack(one, delta) == pytest.approx(attack(one, delta), abs=1e-9)
    assert f"at most {attack(1):.0f} times in 100" in TEXT


def test_several_records_and_several_releases():
    two, three = re.search(r"at eps 1, two records make (\d+), three (\d+)", TEXT).groups()
    assert (int(two), int(three)) == (round(attack(2)), round(attack(3)))
    assert f"two at eps 1 make {attack(2):.0f}" in TEXT
    assert "(e^(k eps) - 1) / (e^eps - 1)" in TEXT
    for eps, k in ((1.0, 2), (0.5, 5)):  # delta of k steps of a chain of neighbours, each e^eps further
        assert np.exp(eps * np.arange(k)).sum() == pytest.approx(np.expm1(k * eps) / np.expm1(eps))


@pytest.mark.parametrize("page", ["README.md", "docs/data-protection.md"])
def test_there_are_as_many_seeded_bugs_as_is_said(page):
    text = (REPO / page).read_text(encoding="utf-8")
    assert len(BUGS) > int(re.search(r"[Mm]ore than (\d+) seeded bugs", text)[1])
