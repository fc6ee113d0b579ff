from __future__ import annotations

import csv
import errno
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from pate_cli import terminal as writing
from pate_cli.errors import DataError
from pate_cli.report import (
    RunRecord,
    find_records,
    read_record,
    store,
    summarise,
    write_record,
    write_repeats,
)
from pate_cli.types import RepeatResult

REPEATS = [
    RepeatResult(0, 64, 163, 16, *[math.inf, 1e-4, math.inf], 0.8, 1.5, {"ceiling": 0.9}),
    RepeatResult(1, 64, 163, 17, *[math.inf, 1e-4, math.inf], 0.9, 1.25, {"ceiling": 0.9, "late": 2.0}),
]


def record(mechanism: str = "svt", **changed: Any) -> RunRecord:
    values: dict[str, Any] = {"status": "ok", "dataset": "a9a", "config": {"mechanism": mechanism}}
    return RunRecord(mechanism=mechanism, **{**values, **changed})


def test_a_record_comes_back_as_written(tmp_path: Path) -> None:
    written = record(dataset="pilze ☂", **vars(summarise(REPEATS)))
    path = write_record(tmp_path / "new" / "run", written)
    assert path == tmp_path / "new" / "run" / "result.json"
    assert read_record(path) == written
    assert os.listdir(path.parent) == ["result.json"]


def test_repeats_are_rows_and_diagnostics_columns(tmp_path: Path) -> None:
    path = write_repeats(tmp_path, REPEATS)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["repeat"] for row in rows] == ["0", "1"]
    assert rows[0]["eps"] == "inf"
    assert float(rows[1]["accuracy"]) == 0.9
    assert [row["diagnostics.late"] for row in rows] == ["", "2.0"]
    assert all(None not in row and None not in row.values() for row in rows)


def test_no_repeats_is_a_header(tmp_path: Path) -> None:
    assert write_repeats(tmp_path, []).read_text().startswith("repeat,n_teachers,n_asked,")


class FullDisk:
    """A file that takes half of what is written to it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.file = open(*args, **kwargs)  # noqa: SIM115

    def __enter__(self) -> FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")


def fail(error: BaseException) -> Any:
    def failing(*_: object, **__: object) -> None:
        raise error

    return failing


@pytest.mark.parametrize("where", ["write", "fsync", "replace", "interrupt"])
@pytest.mark.parametrize("existing", [True, False])
def test_a_failed_write_leaves_the_old_file_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, existing: bool
) -> None:
    if existing:
        write_record(tmp_path, record("old"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if where == "write":
        monkeypatch.setattr(writing, "open", FullDisk, raising=False)
    elif where == "fsync":
        monkeypatch.setattr(store.os, "fsync", fail(OSError(errno.ENOSPC, "No space left on device")))
    elif where == "replace":
        monkeypatch.setattr(store.os, "replace", fail(PermissionError(errno.EACCES, "Permission denied")))
    else:
        monkeypatch.setattr(store.os, "fsync", fail(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt if where == "interrupt" else OSError):
        write_record(tmp_path, record("new"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_file_is_whole_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(source: Path, target: Path) -> None:
        assert source.parent == target.parent  # another file system would make it a copy
        seen.append(json.loads(source.read_text())["mechanism"])
        renamed(source, target)

    renamed = os.replace
    monkeypatch.setattr(store.os, "replace", watched)
    write_record(tmp_path, record("svt"))
    assert seen == ["svt"]


def test_a_private_value_stops_the_write(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_record(tmp_path, record(plan={"votes": object()}))
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_not_utf8_is_written_and_read(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    assert read_record(write_record(tmp_path, record(message=name))).message == name


def test_finding_walks_and_reads_each_file_once(tmp_path: Path) -> None:
    for index in range(3):
        write_record(tmp_path / f"day{index}" / "run", record(f"m{index}"))
    (tmp_path / "day0" / "other.json").write_text("{}")
    found = find_records([tmp_path, tmp_path / "day1", tmp_path / "day2" / "run" / "result.json"])
    assert [one.mechanism for one in found.records] == ["m0", "m1", "m2"]
    assert found.unreadable == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"schema_version": 1,\n "status"', "line 2"),
        (b"", "line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"[]", "not a JSON object"),
        (b'{"schema_version": 99}', "schema_version"),
        (b'{"schema_version": NaN}', "NaN"),
        (b"[" * 100_000, "not the record"),
    ],
)
def test_a_corrupt_record_is_reported_and_the_others_read(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    write_record(tmp_path / "good", record("svt"))
    bad = tmp_path / "bad" / "result.json"
    bad.parent.mkdir()
    bad.write_bytes(content)
    found = find_records([tmp_path])
    assert [one.mechanism for one in found.records] == ["svt"]
    assert [path for path, _ in found.unreadable] == [bad]
    assert reason in found.unreadable[0][1]
    with pytest.raises(DataError, match=r"result\.json: "):
        read_record(bad)


def test_a_missing_path_is_reported(tmp_path: Path) -> None:
    found = find_records([tmp_path / "nowhere"])
    assert found == ([], [(tmp_path / "nowhere", "No such file or directory")])
