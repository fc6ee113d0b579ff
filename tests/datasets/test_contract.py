"""A dataset of somebody's own that is no whole `Dataset` is refused before a run, in one line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from pate_cli import datasets
from pate_cli.cli import main

SOURCE = """
import numpy as np, pandas as pd
from pate_cli.datasets.synthetic import Options
from pate_cli.types import Dataset, Part

def load(name, options):
    X, y, names, more = np.arange(600.0).reshape(-1, 2), np.arange(300) % 2, ("no", "yes"), {}
    WRONG
    return Dataset(name, X, y, names, checksum="1", source="a test", **more)
"""
WRONG = {
    "X[7, 0] = np.nan": "numbers that are not finite",
    "X = X.tolist()": "X is no array of two dimensions",
    "X = X.astype(object)": "X is no array of numbers",
    "X = pd.DataFrame(X)": "there is no encoder",
    "y = y + 1": "a code beyond 0 to 1",
    "y = y.astype(bool)": "y is no int64 array of 300 class codes",
    "y = y[:-1]": "y is no int64 array of 300 class codes",
    "y = 0 * y": "records of one class alone",
    "y = 0 * y; more = {'classes_from_private': False}": "",  # the last record of the other says nothing
    "names = ('1', '1.0')": "names that are equal as numbers",
    "more = {'person_column': 'who'}": "a name without persons",
    "more = {'public': Part(X[:, :1], None)}": "public: other columns",
    "more = {'public': Part(np.inf + X, y)}": "public: X has numbers that are not finite",
    "return X, y": "no Dataset but tuple",
    "pass": "",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_it_is_said(wrong, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_data", raising=False)
    Path("own_data.py").write_text(SOURCE.replace("WRONG", wrong))
    importlib.invalidate_caches()
    datasets.find.cache_clear()
    try:
        code = main(["plan", "dataset.name=own_data", "split.public=50", "teacher.size=20"])
    finally:
        sys.modules.pop("own_data", None)
        datasets.find.cache_clear()
    err = capsys.readouterr().err
    assert code == (2 if WRONG[wrong] else 0), err
    if WRONG[wrong]:
        assert err.startswith("pate: dataset.name: got 'own_data'; accepted: ")
        assert f"({WRONG[wrong]}" in err or f"{WRONG[wrong]})" in err
        assert err.count("\n") == 1
