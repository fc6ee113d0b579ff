from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from pate_cli.report import Interval, RunRecord, collect_provenance, config_hash, summarise
from pate_cli.types import RepeatResult, Votes


def repeat(index: int = 0, **changed: object) -> RepeatResult:
    values: dict[str, object] = {
        "repeat": index,
        "n_teachers": 64,
        "n_asked": 163,
        "n_answered": 16,
        "eps": 1.0,
        "delta": 1e-4,
        "eps_ex_post": 0.9,
        "accuracy": 0.9,
        "seconds": 1.0,
    }
    return RepeatResult(**{**values, **changed})  # type: ignore[arg-type]


def record(**changed: object) -> RunRecord:
    values: dict[str, object] = {"status": "ok", "dataset": "a9a", "mechanism": "svt", "config": {"eps": 1.0}}
    return RunRecord(**{**values, **changed})  # type: ignore[arg-type]


def through_json(one: RunRecord) -> RunRecord:
    text = json.dumps(one.to_dict(), allow_nan=False)
    return RunRecord.from_dict(json.loads(text))


def test_ci95_is_students() -> None:
    # 0.8, 0.9, 1.0: mean 0.9, s = 0.1, and t = 4.302653 with 2 degrees of freedom, from a printed table.
    got = summarise([repeat(i, accuracy=a) for i, a in enumerate([0.8, 0.9, 1.0])]).accuracy
    assert got is not None
    assert got.mean == pytest.approx(0.9)
    assert got.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert got.n == 3


def test_one_repeat_has_no_interval() -> None:
    assert summarise([repeat(accuracy=0.7)]).accuracy == Interval(0.7, None, 1)


def test_means_over_repeats_but_the_largest_guarantee() -> None:
    got = summarise(
        [
            repeat(0, n_answered=16, n_asked=100, eps=1.0, delta=1e-5, eps_ex_post=0.5),
            repeat(1, n_answered=17, n_asked=163, eps=2.0, delta=1e-4, eps_ex_post=0.7),
        ]
    )
    assert (got.n_answered, got.n_asked, got.n_teachers) == (16.5, 131.5, 64)
    assert got.eps_ex_post == pytest.approx(0.6)
    assert (got.eps, got.delta) == (2.0, 1e-4)


def test_diagnostics_are_averaged_where_defined() -> None:
    got = summarise(
        [
            repeat(0, diagnostics={"ceiling": 0.9, "agreement": math.nan}),
            repeat(1, diagnostics={"ceiling": 1.0, "agreement": math.nan, "late": 3.0}),
        ]
    )
    assert got.diagnostics == {"ceiling": pytest.approx(0.95), "agreement": None, "late": 3.0}


def test_no_repeat_is_an_empty_summary() -> None:
    got = summarise([])
    assert (got.accuracy, got.eps, got.n_asked) == (None, None, None)


def test_repeats_must_agree_about_the_teachers() -> None:
    with pytest.raises(ValueError, match="teachers"):
        summarise([repeat(0, n_teachers=64), repeat(1, n_teachers=65)])


def test_round_trip_with_infinity_and_numpy_numbers() -> None:
    repeats = [
        repeat(
            i,
            eps=math.inf,
            eps_ex_post=math.inf,
            n_asked=np.int64(163),
            accuracy=np.float64(0.9),
            diagnostics={"ceiling": 0.95},
        )
        for i in range(2)
    ]
    written = record(
        config={"eps": math.inf, "path": Path("a/b"), "parts": (1, 2)},
        plan={"sigma": 0.0, "nested": {"threshold": math.inf}, "form": "a"},
        sizes={"n_records": np.int64(8124), "budget": None},
        **vars(summarise(repeats)),
    )
    text = json.dumps(written.to_dict(), allow_nan=False)
    assert '"eps": "inf"' in text
    assert "Infinity" not in text
    got = through_json(written)
    assert got == written
    assert got.eps == math.inf
    assert got.plan["nested"]["threshold"] == math.inf
    assert got.config == {"eps": "inf", "path": str(Path("a/b")), "parts": [1, 2]}


def test_an_interval_of_an_earlier_version_is_read_as_students() -> None:
    content = record(accuracy=Interval(0.9, 0.1, 3)).to_dict()
    assert RunRecord.from_dict(content).accuracy == Interval(0.9, 0.1, 3)
    del content["accuracy"]["law"]  # which it did not write: 1.96 s/sqrt(n)
    old = RunRecord.from_dict(content).accuracy
    assert old.standard_error == pytest.approx(0.1 / 1.96)
    assert old.half_width == pytest.approx(4.302653 * 0.1 / 1.96, rel=1e-6)


def test_a_dataset_named_inf_stays_a_name() -> None:
    assert through_json(record(dataset="inf", message="inf")).dataset == "inf"


def test_the_file_says_what_is_not_a_guarantee() -> None:
    content = record(diagnostics={"ceiling": 0.9}).to_dict()
    assert content["diagnostics"] == {"note": "not differentially private", "ceiling": 0.9}
    assert "not a guarantee" in content["notes"]["eps_ex_post"]


@pytest.mark.parametrize(
    "changed", [{"status": "done"}, {"eps": math.nan}, {"eps": -1.0}, {"delta": 1.0}, {"delta": math.nan}]
)
def test_values_out_of_range_are_named(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(changed))):
        record(**changed)


def test_private_values_are_not_written() -> None:
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
        ("accuracy", "high"),
        ("eps", "one"),
        ("eps", True),
        ("n_teachers", 2.5),
        ("config", []),
        ("diagnostics", {"ceiling": "high"}),
        ("schema_version", 2),
    ],
)
def test_reading_names_the_key_that_is_wrong(key: str, value: object) -> None:
    content = record().to_dict()
    content[key] = value
    with pytest.raises(ValueError, match=key):
        RunRecord.from_dict(content)


def test_reading_names_the_key_that_is_missing() -> None:
    content = record().to_dict()
    del content["mechanism"]
    with pytest.raises(ValueError, match="mechanism"):
        RunRecord.from_dict(content)


def test_hash_ignores_order_hydra_and_compute_only() -> None:
    base = {"eps": 1.0, "seed": 0, "dataset": {"name": "a9a", "train": True}}
    same = {
        "dataset": {"train": True, "name": "a9a"},
        "compute": {"workers": 8},
        "hydra": {"x": 1},
        "seed": 0,
        "eps": 1,
    }
    assert config_hash(base) == config_hash(same)
    assert len(config_hash(base)) == 12
    for other in (
        {**base, "seed": 1},
        {**base, "eps": 1.5},
        {**base, "eps": math.inf},
        {**base, "dataset": {"name": "a9a", "train": False}},
        {**base, "dataset": {"name": "a9a", "train": True, "compute": 1}},
    ):
        assert config_hash(other) != config_hash(base)


def test_hash_is_a_known_number() -> None:
    # printf '{"eps":1,"seed":0}' | sha256sum
    assert config_hash({"seed": 0, "eps": 1.0}) == "a6987830f486"


def test_hash_survives_reading_back() -> None:
    written = record(config={"eps": math.inf})
    assert written.config_hash == config_hash({"eps": math.inf}) == config_hash(through_json(written).config)


def test_an_enum_is_written_by_name() -> None:
    class Form(Enum):
        tight = 1

    assert record(config={"form": Form.tight}).config == {"form": "tight"}


def test_provenance() -> None:
    started = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))
    got = collect_provenance(
        seed=3, dataset_checksum="ab", started=started, seconds=1.23456, command=["pate", "run", "a=b c"]
    )
    assert set(got["versions"]) == {"python", "numpy", "scipy", "sklearn", "libsvm", "hydra", "pate"}
    assert got["versions"]["numpy"] == np.__version__
    assert got["started"] == "2026-01-02T01:04:05.000+00:00"
    assert (got["seed"], got["seconds"], got["command"]) == (3, 1.235, "pate run 'a=b c'")


def test_importing_the_room_is_cheap() -> None:
    code = "import sys, pate_cli.report, pate_cli.commands.table; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "pate_cli.report.record" in loaded
    assert not {"numpy", "scipy", "pandas", "sklearn", "rich", "matplotlib"} & set(loaded)
