"""A small recipe on generated data, and ways to run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pate_cli.engine.recipe_plan import make_plan
from pate_cli.engine.recipes import read_recipe

SMALL = """\
title: A small recipe
source: nowhere
shows: That it works.
kind: runs
settings: [features=none, student=logistic]
repeats: 3
quick: [repeats=2]
pairs: [[active, passive]]
claims:
  - {name: fewer, claim: greater, measure: answered, of: passive, than: active}
figure:
  panels: [{title: small, x: eps}]
  measures: [accuracy, answered]
  printed: true
rows:
  - name: "passive {eps}"
    method: passive
    for: {eps: [0.5, 4, .inf]}
    overrides: [&n dataset.n_records=3000, &p split.public=60, &t teacher.size=20, "eps={eps}"]
    printed: {queries: 60, eps: 0.5, eps_ex_post: 0.5, accuracy: 0.7, ci: 0.01}
  - name: active 4
    method: active
    overrides: [*n, *p, *t, mechanism=active, eps=4]
    printed: {queries: 18, accuracy: 0.8, ci: 0.01}
  - name: svt 0.1
    overrides: [*n, *p, *t, mechanism=svt, eps=0.1]
  - name: nowhere
    overrides: [dataset=real-sim]
    printed: {accuracy: 0.8}
"""


@pytest.fixture(autouse=True)
def _no_data(tmp_path, monkeypatch):
    """Keep data and outputs of the developer out: each test has its own directory and no data sets."""
    (tmp_path / "no-data").mkdir()
    monkeypatch.setenv("PATE_DATA", str(tmp_path / "no-data"))
    monkeypatch.setattr("pate_cli.datasets.known_datasets._cache", lambda: tmp_path / "no-cache")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def recipe_dir(tmp_path) -> Path:
    directory = tmp_path / "small"
    directory.mkdir()
    (directory / "recipe.yaml").write_text(SMALL)
    return directory


@pytest.fixture
def plan_of(recipe_dir):
    """Plan the small recipe with overrides."""

    def plan(*given, quick=False):
        return make_plan(read_recipe(recipe_dir), given, quick=quick)

    return plan
