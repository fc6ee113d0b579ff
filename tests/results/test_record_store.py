"""Records are written whole or not at all, and found again."""

from __future__ import annotations

import errno
import json
import math
import os

import pytest

from pate_cli import terminal as writing
from pate_cli.errors import DataError
from pate_cli.results import RunRecord, read_record
from pate_cli.results import record as record_module
from pate_cli.results.record import find_records, write_record
from pate_cli.results.repeats_file import summarise
from pate_cli.types import RepeatResult

REPEATS = [
    RepeatResult(0, 64, 163, 16, *[math.inf, 1e-4, math.inf], 0.8, 1.5, {"ceiling": 0.9}),
    RepeatResult(1, 64, 163, 17, *[math.inf, 1e-4, math.inf], 0.9, 1.25, {"ceiling": 0.9, "late": 2.0}),
]


def record(mechanism="svt", **changed):
    values = {"status": "ok", "dataset": "a9a", "config": {"mechanism": mechanism}}
    return RunRecord(mechanism=mechanism, **{**values, **changed})


def test_a_record_comes_back_as_written(tmp_path):
    odd = os.fsdecode(b"caf\xe9.csv")  # no UTF-8
    written = record(dataset="pilze ☂", message=odd, **vars(summarise(REPEATS)))
    path = write_record(tmp_path / "new" / "run", written)
    assert path == tmp_path / "new" / "run" / "result.json"
    assert read_record(path) == written
    assert os.listdir(path.parent) == ["result.json"]
    with pytest.raises(TypeError):
        write_record(tmp_path / "private", record(plan={"votes": object()}))
    assert not (tmp_path / "private").exists()


class FullDisk:
    """A file that takes half of what is written to it."""

    def __init__(self, *args, **kwargs):
        self.file = open(*args, **kwargs)  # noqa: SIM115

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("where", ["write", "fsync", "replace", "interrupt"])
@pytest.mark.parametrize("existing", [True, False])
def test_a_failed_write_leaves_the_old_file_or_none(tmp_path, monkeypatch, where, existing):
    error = KeyboardInterrupt() if where == "interrupt" else OSError(errno.ENOSPC, "No space left on device")

    def failing(*_, **__):
        raise error

    if existing:
        write_record(tmp_path, record("old"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if where == "write":
        monkeypatch.setattr(writing, "open", FullDisk, raising=False)
    else:
        monkeypatch.setattr(record_module.os, "replace" if where == "replace" else "fsync", failing)
    with pytest.raises(type(error)):
        write_record(tmp_path, record("new"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_file_is_whole_before_it_takes_its_place(tmp_path, monkeypatch):
    seen, renamed = [], os.replace

    def watched(source, target):
        assert source.parent == target.parent  # another file system would make it a copy
        seen.append(json.loads(source.read_text())["mechanism"])
        renamed(source, target)

    monkeypatch.setattr(record_module.os, "replace", watched)
    write_record(tmp_path, record("svt"))
    assert seen == ["svt"]


def test_finding_walks_reads_each_file_once_and_names_what_is_not_there(tmp_path):
    for index in range(3):
        write_record(tmp_path / f"day{index}" / "run", record(f"m{index}"))
    (tmp_path / "day0" / "other.json").write_text("{}")
    nowhere = tmp_path / "nowhere"
    found = find_records([tmp_path, tmp_path / "day1", tmp_path / "day2" / "run" / "result.json", nowhere])
    assert [one.mechanism for one in found.records] == ["m0", "m1", "m2"]
    assert found.unreadable == [(nowhere, "No such file or directory")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"schema_version": 1,\n "status"', "line 2"),
        (b"\xff\xfe", "UTF-8"),
        (b"[]", "not a JSON object"),
        (b'{"schema_version": NaN}', "NaN"),
        (b"[" * 100_000, "not the record"),
    ],
)
def test_a_corrupt_record_is_reported_and_the_others_read(tmp_path, content, reason):
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
