"""A place for the tests of commands that compare methods or reproduce recipes."""

from __future__ import annotations

import pytest


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """An empty directory to be in, and no data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATE_DATA", str(tmp_path / "no-data"))
    monkeypatch.setattr("pate_cli.datasets.known_datasets._cache", lambda: tmp_path / "no-cache")
    monkeypatch.setattr("pate_cli.engine.limits._TUNED_ON", 200)
    return tmp_path
