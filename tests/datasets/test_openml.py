"""Tables of OpenML: fetched once through scikit-learn (here by a stand-in), then from the cache, checked."""

from __future__ import annotations

import json
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from pate_cli import datasets
from pate_cli.cli import main
from pate_cli.errors import DataError


def bunch(n=600):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=n).round(3), "kind": rng.integers(1, 4, n).astype(str)})
    frame["kind"] = frame["kind"].astype("category")
    frame["class"] = pd.Categorical(np.where(frame["size"] > 0, "big, round", "small"))
    return Bunch(frame=frame, target_names=["class"], details={"name": "things", "version": "3"})


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The cache's directory; scikit-learn's fetcher answers once, then there is no network."""
    monkeypatch.setenv("PATE_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    asked = []

    def fetch_openml(**given):
        asked.append(given)
        if len(asked) > 1:
            raise URLError("no route to host")
        return bunch()

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return tmp_path / "data/openml"


def test_it_is_fetched_once_and_works_from_its_cache(cache, capsys):
    first = datasets.load("openml", data_id=42)
    again = datasets.load("openml", data_id=42)  # without a network
    assert first.checksum == again.checksum
    assert first.X.equals(again.X)
    assert first.classes == ("big, round", "small")
    assert first.n_records == 600
    assert {name: str(dtype) for name, dtype in first.X.dtypes.items()}["size"] == "float64"
    assert not pd.api.types.is_numeric_dtype(first.X["kind"].dtype)  # OpenML says that 1, 2, 3 are names
    assert {path.name for path in cache.iterdir()} == {"42.csv", "42.json"}
    argv = ["run", "dataset=openml", "dataset.data_id=42", "mechanism=gaussian", "eps=20", "split.public=60"]
    assert main([*argv, "teacher.size=20", "hydra.run.dir=out"]) == 0
    record = json.loads((cache.parents[1] / "out/result.json").read_text())
    assert record["accuracy"]["mean"] > 0.9


def test_options_of_a_table_are_taken(cache):
    assert list(datasets.load("openml", data_id=42, drop=["kind"]).X.columns) == ["size"]
    assert datasets.load("openml", data_id=42, target="kind").n_classes == 3
    assert str(datasets.load("openml", data_id=42, numeric=["kind"]).X["kind"].dtype) == "float64"


def test_neither_cache_nor_network_is_one_line(cache, capsys):
    datasets.load("openml", data_id=42)
    assert main(["run", "dataset=openml", "dataset.data_id=7"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pate: dataset.data_id=7: not in {cache}, and cannot be fetched from OpenML (")
    assert "no route to host" in said
    assert said.count("\n") == 1
    assert {path.name for path in cache.iterdir()} == {"42.csv", "42.json"}
    assert main(["run", "dataset=openml"]) == 2
    assert "dataset.data_id" in capsys.readouterr().err


def test_a_changed_cache_is_refused(cache):
    datasets.load("openml", data_id=42)
    table, record = cache / "42.csv", cache / "42.json"
    whole = table.read_bytes()
    table.write_bytes(whole.replace(b"small", b"large", 1))
    with pytest.raises(DataError, match=r"42\.csv: not the table that was fetched; delete .*42\.json"):
        datasets.load("openml", data_id=42)
    table.write_bytes(whole)
    record.write_text("{")
    with pytest.raises(DataError, match=r"42\.json: not what was written there; delete it"):
        datasets.load("openml", data_id=42)
