"""The benchmarks measure what they say: the careful script is the same algorithm, ratios are right."""

from __future__ import annotations

import dataclasses
import json
import math
import sys

import pytest
import scipy.sparse as sp

from benchmarks import __main__ as bench
from benchmarks import careful, growth, measure, reading, table4
from pate_cli import datasets
from pate_cli.config import Composer, parse
from pate_cli.datasets import libsvm
from pate_cli.pipeline import prepare, run_repeat


@pytest.mark.parametrize("active", [False, True])
def test_without_noise_the_careful_script_gives_our_accuracy(active):
    """Same split, teachers, queries and student: to a few points of the 900 that lie on a boundary."""
    mechanism, fill = ("active", ["mechanism.fill=false"]) if active else ("gaussian", [])
    overrides = ["dataset.n_records=5000", "dataset.n_features=12", "split.public=0.02", "teacher.size=100"]
    overrides += ["features=none", "student=logistic"]
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


def test_ratios_and_exponents():
    assert growth.exponent([1, 2, 4, 8], [3.0, 6.0, 12.0, 24.0]) == pytest.approx(1.0)
    # the ratio is taken within a round, not between medians
    row = measure.ratio("fits", "x", {"ours": [1.0, 8.0, 3.0], "bare": [1.0, 4.0, 1.0]}, "y")
    assert (row.value, row.shown, row.details["ours_s"]) == (2.0, "2 times", 3.0)
    cells = [{"dataset": "a9a", "method": "PSQ-NP", "eps": "inf", "accuracy": "0.82"}]
    faster, apart = table4.rows_of(
        [10.0, 30.0, 20.0], [(1.0, 2.0, 3.0)], cells, {"a9a PSQ inf": [0.8, 0.9]}, 30
    )
    assert faster.value == 20
    assert apart.value == pytest.approx(0.03)


def test_contestants_take_turns_and_the_first_round_does_not_count():
    order = []
    works = {name: lambda name=name: order.append(name) or float(len(order)) for name in ("a", "b")}
    assert measure.alternate(works, 2) == {"a": [3.0, 6.0], "b": [4.0, 5.0]}
    assert order == ["b", "a", "a", "b", "b", "a"]


def test_a_part_that_fails_does_not_cost_the_others(tmp_path, monkeypatch, capsys):
    def broken(rounds, *, quick):
        raise RuntimeError("no such thing")

    monkeypatch.setitem(bench.PARTS, "reading", broken)
    monkeypatch.setitem(bench.PARTS, "growth", lambda rounds, *, quick: [measure.Row("growth", "big", 1.0)])
    monkeypatch.setattr("sys.argv", ["benchmarks", "--only", "reading", "growth", "--into", str(tmp_path)])
    assert bench.main() == 1
    assert "skipped: reading: failed: RuntimeError: no such thing" in capsys.readouterr().out
    assert [row["name"] for row in json.loads((tmp_path / "results.json").read_text())["rows"]] == ["big"]


def test_peak_memory_is_that_of_the_command(tmp_path):
    small = measure.watch([sys.executable, "-c", "print('here')"], tmp_path)
    large = measure.watch([sys.executable, "-c", "b'1' * 200_000_000"], tmp_path)
    assert small.printed.strip() == "here"
    assert 190 < large.megabytes - small.megabytes < 230


def test_sparse_records_as_described(tmp_path):
    reading.write_sparse(tmp_path / "sparse", 50, 300, 10)
    file = libsvm.load_file(tmp_path / "sparse")
    X, y = file.X, file.labels
    assert X.shape[0] == 50
    assert {float(name) for name in y.names} == {-1.0, 1.0}
