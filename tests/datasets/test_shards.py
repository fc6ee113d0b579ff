"""Records in many files: one is in memory at a time, and the numbers are those of one array."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from pate_cli import datasets, teachers
from pate_cli.cli import main
from pate_cli.datasets import splitting
from pate_cli.engine import workers
from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.learners import make_learner
from pate_cli.teachers.parts import partition_blocks
from pate_cli.types import PrivateRecords

SIZES = (300, 120, 500, 80)


@pytest.fixture
def folder(tmp_path):
    """Four Parquet files and four LIBSVM files of the same records."""
    rng = np.random.default_rng(0)
    n = sum(SIZES)
    X = rng.normal(size=(n, 6)).round(4)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
    for kind in ("parquet", "libsvm"):
        (tmp_path / kind).mkdir()
    for k, rows in enumerate(np.split(np.arange(n), np.cumsum(SIZES)[:-1])):
        table = pd.DataFrame(X[rows], columns=[f"x{i}" for i in range(6)]).assign(y=y[rows])
        table.to_parquet(tmp_path / "parquet" / f"part-{k}.parquet", index=False)
        dump_svmlight_file(X[rows], y[rows], str(tmp_path / "libsvm" / f"part-{k}"), zero_based=False)
    return tmp_path, X, y


def load(folder, kind):
    given = {"target": "y"} if kind == "parquet" else {"n_features": 6}
    return datasets.load("shards", path=folder[0] / kind, **given)


@pytest.mark.parametrize("kind", ["parquet", "libsvm"])
def test_rows_are_those_of_one_array(folder, kind):
    data = load(folder, kind)
    dense = (lambda X: X) if kind == "parquet" else (lambda X: X.toarray())
    rows = np.random.default_rng(1).permutation(1000)[:400]
    assert np.array_equal(dense(data.X[rows]), folder[1][rows])
    assert np.array_equal(data.y, folder[2])
    some = np.sort(rows)
    view = data.X.take(some)
    assert np.array_equal(dense(view[rows[:50] % 400]), folder[1][some][rows[:50] % 400])
    assert view.blocks.tolist() == [int(np.sum((some >= a) & (some < a + n))) for a, n in _spans()]
    assert view[:0].shape == (0, 6)
    sent = pickle.dumps(view)  # as to a worker: without the file that was read last
    assert len(sent) < 6_000
    assert np.array_equal(dense(pickle.loads(sent)[:]), folder[1][some])


def _spans():
    return zip((np.cumsum(SIZES) - SIZES).tolist(), SIZES, strict=True)


def test_one_file_is_in_memory_at_a_time_and_each_is_read_once_a_pass(folder, monkeypatch):
    data, read = load(folder, "parquet"), []
    loaded = data.X._read
    monkeypatch.setattr(data.X, "_read", lambda path: (read.append(path.name), loaded(path))[1])
    parts = partition_blocks(np.array(SIZES), 20, np.random.default_rng(0))
    for part in parts:
        data.X[part]
    assert read == [f"part-{k}.parquet" for k in range(4)]
    with pytest.raises(InputError, match="all records at once"):
        np.asarray(data.X)


def test_loading_keeps_the_labels_of_a_file_and_not_its_records(tmp_path):
    """The place of a record, for messages, kept the table of every file: 4.7 GB of 10^7 x 50 records."""
    n, d, n_files = 1000, 50, 20
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)  # converted, so counted as memory
    table = pd.DataFrame(X).rename(columns=str)
    table.assign(y=np.arange(n) % 2).to_parquet(tmp_path / "0.parquet", index=False)
    datasets.load("shards", path=tmp_path, target="y")  # imports are not counted
    for k in range(1, n_files):
        shutil.copy(tmp_path / "0.parquet", tmp_path / f"{k}.parquet")
    tracemalloc.start()
    datasets.load("shards", path=tmp_path, target="y")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_files / 2 * 8 * n * d


def test_parts_are_disjoint_cover_all_lie_within_a_file_and_depend_on_sizes_alone():
    blocks = np.array([300, 0, 7, 120, 500, 80, 1])
    for n_teachers in (6, 7, 20, 100, 1008):
        parts = partition_blocks(blocks, n_teachers, np.random.default_rng(3))
        assert len(parts) == n_teachers
        assert sorted(np.concatenate(parts).tolist()) == list(range(1008))
        of = [set(np.searchsorted(np.cumsum(blocks), part, side="right").tolist()) for part in parts]
        assert all(len(found) == 1 for found in of)
        again = partition_blocks(blocks, n_teachers, np.random.default_rng(3))
        assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    for n_teachers in (5, 1009):
        with pytest.raises(InputError, match=r"teacher\.count"):
            partition_blocks(blocks, n_teachers, np.random.default_rng(3))


@pytest.mark.parametrize("kind", ["parquet", "libsvm"])
@pytest.mark.parametrize("name", ["logistic", "tree"])
def test_votes_are_those_of_one_array_and_one_record_moves_one_teacher(folder, kind, name):
    data = load(folder, kind)
    learner = make_learner(name, {}, seed=None, n_classes=2)
    held = data.X[np.arange(1000)]

    def train(X, y, only=None):
        private = PrivateRecords(X, y, blocks=np.array(SIZES))
        rng = np.random.default_rng(5)
        return teachers.train(private, n_teachers=40, learner=learner, rng=rng, n_classes=2, only=only)

    points = held[:200]
    whole, sharded = train(held, data.y), train(data.X, data.y)
    counts = sharded.votes(points).counts
    assert np.array_equal(counts, whole.votes(points).counts)
    slices = [train(data.X, data.y, only) for only in (range(13), range(13, 40))]
    assert np.array_equal(counts, sum(part.votes(points).counts for part in slices))
    said = np.array([teacher.predict(points) for teacher in sharded.teachers])
    moved = set()
    for row in (0, 299, 300, 555, 999):
        path = sorted((folder[0] / kind).iterdir())[int(np.searchsorted(np.cumsum(SIZES), row, side="right"))]
        before = path.read_bytes()
        _change(path, kind, row)
        other = load(folder, kind)
        assert other.checksum != data.checksum
        now = np.array([teacher.predict(points) for teacher in train(other.X, other.y).teachers])
        changed = np.flatnonzero((now != said).any(axis=1))
        assert len(changed) <= 1
        moved |= set(changed.tolist())
        path.write_bytes(before)
    assert len(moved) > 1  # the changes were seen


def _change(path, kind, row):
    k = row - int(sum(n for a, n in _spans() if a + n <= row))
    if kind == "parquet":
        table = pd.read_parquet(path)
        table.loc[k, "x0"], table.loc[k, "y"] = 50.0, 1 - table.loc[k, "y"]
        table.to_parquet(path, index=False)
    else:
        lines = path.read_text().splitlines(keepends=True)
        lines[k] = f"{1 - int(lines[k][0])} 1:50\n"
        path.write_text("".join(lines))


def test_a_file_changed_meanwhile_is_not_used(folder):
    data = load(folder, "parquet")
    _change(folder[0] / "parquet" / "part-2.parquet", "parquet", 500)
    with pytest.raises(InputError, match=r"part-2\.parquet: has changed"):
        data.X[np.array([0, 500])]


def test_a_run_gives_the_same_numbers_whatever_the_workers(folder, monkeypatch):
    """Repeats, or teachers where they are fewer, are sent as to a process, and done in this one."""
    sent = []

    def spread(_, call, shared, items):
        monkeypatch.setattr(splitting, "_last", None)
        for item in items:
            sent.append(pickle.dumps((call, shared.only(item), item)))
            assert len(pickle.dumps(shared.only(item).rows)) < 20_000  # no features
            yield item, workers._attempt(*pickle.loads(sent[-1]), None)

    monkeypatch.setattr(workers.Workers, "spread", spread)
    monkeypatch.chdir(folder[0])
    given = ["dataset.path=parquet", "dataset.target=y", "teacher.count=20", "repeats=2", "eps=5"]
    given += ["split.public=60", "features=none"]
    found = []
    for count in (1, 2, 4):
        out = [f"compute.workers={count}", f"hydra.run.dir=out{count}"]
        assert main(["run", "dataset=shards", *given, *out]) == 0
        record = json.loads(Path(f"out{count}", "result.json").read_text())
        found.append((record["accuracy"], record["eps_ex_post"], record["sizes"]))
    assert len(sent) > 4
    assert found == [found[0]] * 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["dataset.path=nowhere"], "no such directory"),
        (["dataset.path=parquet"], "dataset.target: got None"),
        (["dataset.path=libsvm"], "dataset.n_features: got None"),
        (["dataset.path=parquet", "dataset.target=y", "mechanism=best"], "of teachers' votes"),
        (["dataset.path=parquet", "dataset.target=y", "teacher.count=3"], "at least 4 with so many files"),
    ],
)
def test_what_cannot_work_is_said_in_a_line(folder, monkeypatch, capsys, given, said):
    monkeypatch.chdir(folder[0])
    assert main(["run", "dataset=shards", *given]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not Path("outputs").exists()


def test_files_in_directories_below_are_read(folder):
    """Half of the rows were left out without a word where the files lay in year=2024/."""
    for kind, key in (("parquet", {"target": "y"}), ("libsvm", {"n_features": 6})):
        where, expected = folder[0] / kind, load(folder, kind)
        below = where / "year=2024" / "month=1"
        below.mkdir(parents=True)
        for path in sorted(where.glob("part-[23]*")):
            path.rename(below / path.name.upper())
        (where / "_SUCCESS").touch()
        (where / ".part-9.parquet").write_bytes(b"half of a file")
        data = datasets.load("shards", path=where, **key)
        assert np.array_equal(data.y, expected.y)
        assert data.checksum == expected.checksum
        said = " ".join(data.warnings)
        assert f"{where}: not read, as hidden: .part-9.parquet, _SUCCESS" in said
        assert "values in names of directories are not used: month, year" in said


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("link", lambda path, other: path.symlink_to(other.parent), "neither a file nor a directory"),
        ("gone", lambda path, other: path.symlink_to("nowhere"), "neither a file nor a directory"),
        ("pipe", lambda path, _: os.mkfifo(path), "neither a file nor a directory"),
        ("x/z.parquet", lambda path, other: path.symlink_to(other), "z.parquet: the same file as "),
        ("z.parquet", lambda path, other: path.hardlink_to(other), "z.parquet: the same file as "),
        ("notes.txt", lambda path, _: path.touch(), "are of two kinds"),
        ("x/a.csv", lambda path, _: path.touch(), "are of two kinds"),
    ],
)
def test_whatever_else_lies_there_is_refused(folder, name, make, said):
    """A record that is read twice is in the parts of two teachers."""
    path = folder[0] / "parquet" / name
    path.parent.mkdir(exist_ok=True)
    make(path, folder[0] / "parquet" / "part-0.parquet")
    with pytest.raises(DataError, match=said):
        load(folder, "parquet")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npz"])
def test_files_of_another_kind_are_named(tmp_path, kind):
    (tmp_path / f"part.{kind}.GZ").touch()
    said = rf"part\.{kind}\.GZ: a file of dataset={kind}; shards are Parquet or LIBSVM files"
    with pytest.raises(DataError, match=said):
        datasets.load("shards", path=tmp_path)


def test_one_of_the_private_files_is_neither_public_nor_for_the_test(folder):
    for key in ("public", "test"):
        path = folder[0] / "parquet" / "part-1.parquet"
        with pytest.raises(ConfigError, match=rf"dataset\.{key}: .* this one is the private file"):
            datasets.load("shards", path=path.parent, target="y", **{key: path})


def test_classes_true_and_false_in_one_file_and_1_and_0_in_another_are_refused(folder):
    last = folder[0] / "parquet" / "part-3.parquet"
    table = pd.read_parquet(last)
    table.assign(y=table.y == 1).to_parquet(last, index=False)
    with pytest.raises(DataError, match="may be the same; accepted: one way of writing it"):
        load(folder, "parquet")
