"""Numbers of the page in plain words, by the definition."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import REPO

from pate_cli.results.svg import best_attack

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
