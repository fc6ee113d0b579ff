"""The digest of records: equal however they are written, different where one record is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from pate_cli import datasets
from pate_cli.datasets.multiset import record_digests

SALT = "5a" * 32
N = 300
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pate_cli.datasets.multiset._ROWS", 64)  # several times around
    return tmp_path


def digest(kind, path, salt=SALT, **options):
    options = options if kind in ("npz", "libsvm") else {"target": "label"} | options
    return record_digests(datasets.load(kind, path=str(path), **options), [salt])[0]


def numeric():
    """Numbers of all digits, whole ones, two columns of the same cells, one of zeros alone, and a label."""
    table = pd.DataFrame({"a": RNG.normal(size=N), "b": RNG.integers(-2, 3, N).astype(float)})
    table["c"], table["d"] = RNG.permutation(np.arange(N) % 2), RNG.permutation(np.arange(N) % 2)
    table["zero"] = 0.0
    table["label"] = RNG.integers(1, 4, N)
    return table


def mixed():
    table = numeric().rename(columns={"b": "x"})
    table["colour"] = RNG.choice(["red", "green", "blue"], N)
    table["code"] = RNG.choice(["007", "X1", ""], N)
    table["yes"] = RNG.random(N) < 0.5
    table["label"] = np.where(table["label"] > 1, "well", "ill")
    return table


def test_a_table_in_every_form(place):
    table = mixed()
    table.to_csv("one.csv", index=False)
    shuffled = table.sample(frac=1, random_state=1)
    forms = {
        "gz": ("csv", table, {}),
        "xz": ("csv", table, {}),
        "tab": ("csv", table, {"sep": "\t"}),
        "utf-16": ("csv", table, {"encoding": "utf-16"}),
        "sorted": ("csv", table.sort_values("a"), {}),
        "columns": ("csv", shuffled[list(table.columns[::-1])], {}),
        "names": ("csv", table.rename(columns={"a": "first", "colour": "paint"}), {}),
    }
    whole = digest("csv", "one.csv")
    for name, (kind, frame, how) in forms.items():
        path = place / (f"{name}.csv" + (f".{name}" if name in ("gz", "xz") else ""))
        frame.to_csv(path, index=False, **how)
        assert digest(kind, path) == whole, name
    pytest.importorskip("pyarrow")
    shuffled.to_parquet("one.parquet", index=False)
    table.astype({"a": "float32", "x": "int8", "colour": "category"}).to_parquet("small.parquet", index=False)
    for path in ("one.parquet", "small.parquet"):
        assert digest("parquet", path) == whole, path


def test_numbers_in_every_form(place):
    table = numeric()
    table.to_csv("one.csv", index=False)
    whole = digest("csv", "one.csv")
    X, y = table.drop(columns="label").to_numpy(), table["label"].to_numpy()
    np.savez("one.npz", X=X, y=y)
    np.savez_compressed("small.npz", X=X[::-1, ::-1].astype(np.float32), y=y[::-1].astype(str))
    for path in ("one.npz", "small.npz"):
        assert digest("npz", path) == whole, path
    for start in (0, 1):
        dump_svmlight_file(X[::-1], y[::-1], "one.libsvm", zero_based=start == 0)
        assert digest("libsvm", "one.libsvm", first_index=start) == whole, start
    table.assign(label=table["label"].astype(float)).to_csv("point.csv", index=False)
    assert digest("csv", "point.csv") == whole
    pytest.importorskip("pyarrow")
    (place / "shards").mkdir()
    for number, rows in enumerate((slice(0, 100), slice(100, N))):
        table.iloc[rows].to_parquet(place / "shards" / f"{number}.parquet", index=False)
    assert digest("shards", "shards") == whole
    # another target, or persons in place of a feature, are the same records
    assert digest("csv", "one.csv", target="b") == whole


def test_other_records_have_another_digest():
    table = mixed()
    table.to_csv("one.csv", index=False)
    whole = digest("csv", "one.csv")
    other = [table.iloc[1:], pd.concat([table, table.iloc[:1]]), pd.concat([table.iloc[1:], table.iloc[1:2]])]
    for name, value in {"a": 3.25, "x": 7, "colour": "pink", "code": "", "zero": 1, "yes": None}.items():
        changed = table.astype({"x": float, "zero": float, "yes": object})
        row = int(np.argmax(changed[name].astype(str) != str(value)))
        changed.loc[row, name] = value
        other.append(changed)
    swapped = table.copy()
    first, second = (int(np.argmax(table["label"] == label)) for label in ("ill", "well"))
    swapped.loc[[first, second], "label"] = table.loc[[second, first], "label"].to_numpy()
    digests = {whole, digest("csv", "one.csv", salt="00" * 32)}
    for frame in [*other, swapped]:
        frame.to_csv("other.csv", index=False)
        digests.add(digest("csv", "other.csv"))
    assert len(digests) == 3 + len(other)


def test_several_salts_at_once():
    dataset = datasets.load("synthetic", n_records=100)
    salts = [SALT, "6b" * 32]
    digests = record_digests(dataset, salts)
    assert digests == [record_digests(dataset, [salt])[0] for salt in salts]
    assert len(set(digests)) == 2
