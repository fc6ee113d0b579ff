"""The benchmarks measure what they say: the careful script is the same algorithm, the curves are fitted."""

from __future__ import annotations

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import careful, memory, repeats, report, sweeps, table4, tables
from benchmarks.timing import Result
from pate_cli import datasets
from pate_cli.config import parse
from pate_cli.config.rows import Composer
from pate_cli.datasets.libsvm import read_libsvm
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
    from pate_cli.mechanisms.gaussian import plan_gaussian

    pytest.importorskip("autodp")
    ours = plan_gaussian(1.0, 1e-4, 50, 2).describe()["sigma"]
    assert careful._sigma(1.0, 1e-4, 50) == pytest.approx(ours, rel=1e-3)


def test_all_sixteen_cells():
    assert len(set(careful.CELLS)) == 16


def test_exponents_and_verdicts():
    assert repeats.Curve("n", [1, 2, 4, 8], [3.0, 6.0, 12.0, 24.0], 1.1).exponent == pytest.approx(1.0)
    assert repeats.Curve("n", [1, 2, 4], [1.0, 4.0, 16.0], 1.1).exponent == pytest.approx(2.0)
    compared = table4.Comparison(30, ours=[10.0, 20.0, 5.0], careful=[10.0] * 3, start=[0.0] * 3)
    assert compared.ratio == 30
    assert table4.Accuracy("cell", 0.80, 0.02, 0.82, 0.83, 0.01).agrees
    assert not table4.Accuracy("cell", 0.80, 0.02, 0.80, 0.83, 0.01).agrees


def test_report_says_what_was_missed(tmp_path, capsys):
    found = report.Findings({"cpu": "test"})
    found.results.append(Result("ours", "bare", [2.0], [1.0], repeats.TARGET))
    found.curves.append(repeats.Curve("teachers", [1, 2], [1.0, 4.0], 1.1))
    found.peaks.append(memory.Peak("big", 1.0, 100.0, 2000))
    found.comparison = table4.Comparison(30, [1.0], [1.0], [0.0], [1.5], [2.5])
    found.comparison.accuracies.append(table4.Accuracy("mushroom PSQ", 0.9, 0.01, 0.9, 0.9, 0.01))
    report.show(found)
    said = capsys.readouterr().out
    assert said.count("MISSED") == 4  # and the line that names all three
    assert said.count("met") == 2
    assert "MISSED commands: ours; growth: growth in teachers; table4: times less than by hand" in said
    report.write(found, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "accuracies.csv", "growth.csv", "memory.csv", "ratios.csv", "results.json", "table4.csv",
    ]  # fmt: skip
    assert "2.000,ours,bare" in (tmp_path / "ratios.csv").read_text()
    written = (tmp_path / "results.json").read_text()
    rows = json.loads(written)["rows"]
    assert {row["name"]: row["met"] for row in rows}["growth in teachers"] is False
    assert len([line for line in written.splitlines() if line.startswith("  {")]) == len(rows) == 5


def test_the_time_left_is_judged_by_what_was_left():
    lines = [(0.0, "frontier: 0/40 repeats done"), (10.0, "frontier: 3/40 repeats done, about 900 s left")]
    lines += [(20.0, "frontier: 5/40 repeats done, about 90 s left"), (120.0, "frontier: 40/40 repeats done")]
    assert sweeps.estimate_error(lines, "frontier") == pytest.approx(0.1)
    assert sweeps.estimate_error(lines[:2], "frontier") is None


def test_peak_memory_is_that_of_the_run(tmp_path):
    took = memory.watch(["--help"], str(tmp_path))[1]
    assert 5 < took < 100
    memory.write_sparse(tmp_path / "sparse", 50, 300, 10)
    X, y = read_libsvm(tmp_path / "sparse")
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
