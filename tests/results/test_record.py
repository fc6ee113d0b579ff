"""Records of runs: summaries of repeats, JSON and back, and hashes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from pate_cli.results import Interval, RunRecord
from pate_cli.results.repeats_file import summarise
from pate_cli.results.settings import config_hash
from pate_cli.types import RepeatResult, Votes


def repeat(index=0, **changed):
    values = {"repeat": index, "n_teachers": 64, "n_asked": 163, "n_answered": 16, "eps": 1.0, "delta": 1e-4}
    return RepeatResult(**{**values, "eps_ex_post": 0.9, "accuracy": 0.9, "seconds": 1.0, **changed})


def record(**changed):
    values = {"status": "ok", "dataset": "a9a", "mechanism": "svt", "config": {"eps": 1.0}}
    return RunRecord(**{**values, **changed})


def test_a_summary_has_means_but_the_largest_guarantee():
    got = summarise(
        [
            repeat(
                0, n_answered=16, eps=1.0, delta=1e-5, accuracy=0.8, diagnostics={"a": 0.9, "b": math.nan}
            ),
            repeat(
                1, n_answered=17, eps=2.0, delta=1e-4, accuracy=0.9, diagnostics={"a": 1.0, "b": math.nan}
            ),
            repeat(2, n_answered=18, eps=2.0, delta=1e-4, accuracy=1.0, diagnostics={"late": 3.0}),
        ]
    )
    assert (got.n_teachers, got.n_asked, got.n_answered) == (64, 163, 17)
    assert (got.eps, got.delta, got.eps_ex_post) == (2.0, 1e-4, pytest.approx(0.9))
    # 0.8, 0.9, 1.0: mean 0.9, s = 0.1, and t = 4.302653 with 2 degrees of freedom, from a printed table
    assert got.accuracy.mean == pytest.approx(0.9)
    assert got.accuracy.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert got.diagnostics == {"a": pytest.approx(0.95), "b": None, "late": 3.0}
    assert summarise([repeat(accuracy=0.7)]).accuracy == Interval(0.7, None, 1)
    assert summarise([]).accuracy is None
    with pytest.raises(ValueError, match="teachers"):
        summarise([repeat(0, n_teachers=64), repeat(1, n_teachers=65)])


def test_round_trip_with_infinity_enums_and_numpy_numbers():
    class Form(Enum):
        tight = 1

    infinite = {"eps": math.inf, "eps_ex_post": math.inf, "n_asked": np.int64(163)}
    repeats = [repeat(i, **infinite, diagnostics={"ceiling": np.float64(0.95)}) for i in range(2)]
    written = record(
        dataset="inf",  # stays a name
        config={"eps": math.inf, "path": Path("a/b"), "parts": (1, 2), "form": Form.tight},
        plan={"sigma": 0.0, "nested": {"threshold": math.inf}},
        sizes={"n_records": np.int64(8124), "budget": None},
        **vars(summarise(repeats)),
    )
    text = json.dumps(written.to_dict(), allow_nan=False)
    assert "Infinity" not in text
    got = RunRecord.from_dict(json.loads(text))
    assert got == written
    assert (got.eps, got.dataset, got.plan["nested"]["threshold"]) == (math.inf, "inf", math.inf)
    assert got.config == {"eps": "inf", "path": str(Path("a/b")), "parts": [1, 2], "form": "tight"}
    content = written.to_dict()
    assert content["diagnostics"] == {"note": "not differentially private", "ceiling": 0.95}
    assert "not a guarantee" in content["notes"]["eps_ex_post"]


def test_an_interval_of_an_earlier_version_is_read_as_students():
    content = record(accuracy=Interval(0.9, 0.1, 3)).to_dict()
    assert RunRecord.from_dict(content).accuracy == Interval(0.9, 0.1, 3)
    del content["accuracy"]["law"]  # which it did not write: 1.96 s/sqrt(n)
    old = RunRecord.from_dict(content).accuracy
    assert old.standard_error == pytest.approx(0.1 / 1.96)
    assert old.half_width == pytest.approx(4.302653 * 0.1 / 1.96, rel=1e-6)


@pytest.mark.parametrize("changed", [{"status": "done"}, {"eps": math.nan}, {"delta": 1.0}])
def test_values_out_of_range_are_named(changed):
    with pytest.raises(ValueError, match=next(iter(changed))):
        record(**changed)


def test_private_values_are_not_written():
    votes = Votes(np.array([[3, 1]]), 4)
    with pytest.raises(TypeError, match=r"record\.plan\.votes: Votes"):
        record(plan={"votes": votes}).to_dict()
    with pytest.raises(TypeError, match=r"config\.counts: ndarray"):
        record(config={"counts": votes.counts})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status", "done"),
        ("accuracy", {"mean": 0.9, "n": 1}),
        ("eps", True),
        ("n_teachers", 2.5),
        ("config", []),
        ("diagnostics", {"ceiling": 2}),
        ("provenance", {"versions": 3}),
        ("provenance", {"dataset_checksum": {}}),
        ("schema_version", 2),
        ("mechanism", None),
    ],
)
def test_reading_names_the_key_that_is_wrong_or_missing(key, value):
    content = record().to_dict() | {key: value}
    with pytest.raises(ValueError, match=key):
        RunRecord.from_dict(content)
    del content[key]
    with pytest.raises(ValueError, match=key):
        RunRecord.from_dict(content)


def test_the_hash_is_of_what_decides_the_numbers():
    base = {"eps": 1.0, "seed": 0, "dataset": {"name": "a9a", "train": True}}
    same = {"dataset": {"train": True, "name": "a9a"}, "compute": {"workers": 8}, "hydra": {"x": 1}}
    assert config_hash(base) == config_hash({**same, "seed": 0, "eps": 1})
    others = [{"seed": 1}, {"eps": 1.5}, {"eps": math.inf}, {"dataset": {"name": "a9a", "compute": 1}}]
    assert len({config_hash(base | other) for other in [{}, *others]}) == 5
    # printf '{"eps":1,"seed":0}' | sha256sum
    assert config_hash({"seed": 0, "eps": 1.0}) == "a6987830f486"
    infinite = record(config={"eps": math.inf})
    read = RunRecord.from_dict(json.loads(json.dumps(infinite.to_dict())))
    assert infinite.config_hash == config_hash({"eps": math.inf}) == config_hash(read.config)


def test_importing_the_room_is_cheap():
    code = "import sys, pate_cli.results, pate_cli.commands.table; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "pate_cli.results.record" in loaded
    assert not {"numpy", "scipy", "pandas", "sklearn", "rich", "matplotlib"} & set(loaded)
