"""The benchmarks measure what they say: the careful script is the same algorithm, the curves are fitted."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import __main__ as bench
from benchmarks import careful, memory, report, rows, sweeps, table4, tables
from pate_cli import datasets
from pate_cli.config import parse
from pate_cli.config.rows import Composer
from pate_cli.datasets import libsvm
from pate_cli.pipeline import prepare, run_repeat


@pytest.mark.parametrize("active", [False, True])
def test_without_noise_the_careful_script_gives_our_accuracy(active):
    """Same split, teachers, queries and student: to a few points of the 900 that lie on a boundary."""
    mechanism, fill = ("active", ["mechanism.fill=false"]) if active else ("gaussian", [])
    overrides = ["dataset.n_records=5000", "dataset.n_features=12", "split.public=0.02", "teacher.size=100"]
    config = parse(Composer().compose([*overrides, f"mechanism={mechanism}", "eps=inf", *fill]))
    data = datasets.load("synthetic", **config.dataset.options)
    data = dataclasses.replace(data, X=sp.csr_matrix(data.X))
    for repeat in range(3):
        ours = run_repeat(prepare(config, data), repeat).result.accuracy
        theirs = careful.run(careful.Cell("synthetic", active, math.inf), data, repeat)
        assert 0.6 < theirs < 0.96
        assert ours == pytest.approx(theirs, abs=3 / 900)


def test_the_careful_script_calibrates_as_we_do():
    from pate_cli.mechanisms.gaussian import gaussian_labels

    pytest.importorskip("autodp")
    ours = gaussian_labels(1.0, 1e-4, 50, 2).describe()["sigma"]
    assert careful._sigma(1.0, 1e-4, 50) == pytest.approx(ours, rel=1e-3)


def test_all_sixteen_cells():
    assert len(set(careful.CELLS)) == 16


def test_exponents_and_ratios():
    assert rows.growth("n", [1, 2, 4, 8], [3.0, 6.0, 12.0, 24.0], 1.1).value == pytest.approx(1.0)
    assert not rows.growth("n", [1, 2, 4], [1.0, 4.0, 16.0], 1.1).met
    taken = {"ours": [10.0, 20.0, 5.0], "script": [10.0] * 3, "start": [0.0] * 3}
    agrees = table4.Accuracy("cell", 0.80, 0.02, 0.82, 0.83, 0.01)
    assert agrees.agrees
    assert not table4.Accuracy("cell", 0.80, 0.02, 0.80, 0.83, 0.01).agrees
    less, agree = table4.rows_of(taken, [agrees], 30)
    assert (less.value, less.met) == (30, False)
    assert agree.met
    # the ratio is taken within a round, not between medians
    assert rows.beside("fits", "x", {"ours": [1.0, 8.0, 3.0], "bare": [1.0, 4.0, 1.0]}, "y", most=2).met


def test_report_says_what_was_missed_and_a_part_measured_again_takes_its_place(tmp_path, capsys):
    found = report.read(tmp_path)
    of_growth = [
        rows.growth("teachers", [1, 2], [1.0, 4.0], 1.05),
        rows.growth("queries: svt", [1, 2], [1.0, 1.5], 1.05, "queries"),
        rows.growth("queries: gaussian", [1, 2], [1.0, 1.8], 1.05, "queries"),
    ]
    of_memory = [
        rows.Row("memory", "big", 100.0, "MB", most=2000),
        rows.Row("memory", "for itself", 1.0, "MB"),
    ]
    found.replace("growth", of_growth, {"cpu": "test"}, [])
    found.replace("memory", of_memory, {"cpu": "test"}, ["no such data"])
    report.write(found, tmp_path)
    again = report.read(tmp_path)
    assert [row.content() for row in again.rows] == [row.content() for row in found.rows]
    assert len([line for line in (tmp_path / report.FILE).read_text().splitlines() if '"part"' in line]) == 5
    again.replace("memory", [rows.Row("memory", "big", 3000.0, "MB", most=2000)], {"cpu": "other"}, [])
    capsys.readouterr()
    report.show(again, tmp_path / "table.svg")
    assert 'url("' not in (tmp_path / "table.svg").read_text()
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said[2:] == [
        "growth teachers 2 1 to 2 <= 1.05 MISSED",
        "growth queries, the worst: queries: gaussian 0.848 1 to 2 <= 1.05 met",
        "memory big 3,000 MB <= 2000 MISSED",
    ]


def test_a_part_that_fails_does_not_cost_the_others(tmp_path, monkeypatch, capsys):
    def broken(rounds, quick, skipped):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(bench.PARTS, "reading", broken)
    monkeypatch.setitem(bench.PARTS, "memory", lambda *_: [rows.Row("memory", "big", 1.0, "MB", most=2)])
    monkeypatch.setattr("sys.argv", ["benchmarks", "--only", "reading", "memory", "--into", str(tmp_path)])
    assert bench.main() == 1
    assert "skipped: reading: failed: RuntimeError: no such thing" in capsys.readouterr().out
    assert [row.name for row in report.read(tmp_path).rows] == ["big"]


def test_the_time_left_is_judged_by_what_was_left():
    lines = [(0.0, "frontier: 0/40 repeats done"), (10.0, "frontier: 3/40 repeats done, about 900 s left")]
    lines += [(20.0, "frontier: 5/40 repeats done, about 90 s left"), (120.0, "frontier: 40/40 repeats done")]
    assert sweeps.estimate_error(lines, "frontier") == pytest.approx(0.1)
    assert sweeps.estimate_error(lines[:2], "frontier") is None


def test_peak_memory_is_that_of_the_run(tmp_path):
    took = memory.watch(["--help"], str(tmp_path))[1]
    assert 5 < took < 100
    memory.write_sparse(tmp_path / "sparse", 50, 300, 10)
    X, y, _ = libsvm.parse(tmp_path / "sparse")
    assert X.shape == (51, 300)
    assert set(y) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"), [("rare", (40_000, 20), 2), ("copies", (10_000, 10), 2)]
)
def test_a_generated_table_is_the_same_for_a_seed_and_as_described(name, shape, n_classes):
    table, again, other = (tables.TABLES[name](np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(table.X, again.X)
    assert not np.array_equal(table.X, other.X)
    assert table.X.shape == shape
    assert set(table.y.tolist()) == {0, 1}
    if name == "rare":
        assert 0.003 < table.y.mean() < 0.008
    else:
        assert len(np.unique(table.X, axis=0)) <= 200


def test_methods_see_the_same_splits_of_a_table_and_public_points_that_its_odds_say():
    table = tables.TABLES["few"](np.random.default_rng(0))
    table = table._replace(odds=np.where(table.X[:, 0] > 0, 1.0, 1e-9))
    seen = []

    def run(run, repeat):
        seen.append((run.config.mechanism.label, repeat, tuple(run.public_rows.tolist())))
        return SimpleNamespace(result=SimpleNamespace(accuracy=0.5))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables.pipeline, "run_repeat", run)
        found = tables.compare(table, eps=1.0, splits=2, methods=["best", "noisy_gd"])
    assert {name: values.tolist() for name, values in found.items()} == {
        "best": [0.5] * 2,
        "noisy_gd": [0.5] * 2,
    }
    assert [rows for *_, rows in seen[:2]] == [rows for *_, rows in seen[2:]]
    assert seen[0][2] != seen[1][2]
    assert all((table.X[list(rows), 0] > 0).all() for *_, rows in seen)
