"""Entries on disk: whole or absent, for their owner alone, and never in the way of a run."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pate_cli import terminal as writing
from pate_cli.engine.store import CacheKey
from pate_cli.engine.votes import VoteDirectory, vote_directory
from pate_cli.errors import ConfigError
from pate_cli.teachers.vote_record import VoteRecord

KEYS = [CacheKey(f"key {n}", "data") for n in range(5)]
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")


def votes(n: int, size: int = 50) -> VoteRecord:
    return VoteRecord(np.full((size, 2), n), n / 7, {"tree": n / 3})


def is_kept(found: VoteRecord | None, n: int) -> bool:
    return found is not None and bool((found.counts == n).all()) and found.teacher_accuracy == n / 7


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "above" / "votes"


@pytest.fixture
def store(place) -> VoteDirectory:
    return VoteDirectory(place, 10**6)


def files(store: VoteDirectory) -> list[Path]:
    return sorted(store.path.iterdir())


def fill(store: VoteDirectory, n: int = 5) -> None:
    for k, key in enumerate(KEYS[:n]):
        store.keep(key, 0, votes(k))


def age(store: VoteDirectory) -> None:
    """Make what is there an hour and a half older."""
    for path in files(store):
        at = path.stat().st_mtime - 5400
        os.utime(path, (at, at))


def test_kept_and_recalled_by_any_process(store, place):
    assert store.recall(KEYS[1], 0) is None
    assert not place.exists()  # asking makes nothing
    fill(store)
    other = VoteDirectory(place, 10**6)
    assert all(is_kept(other.recall(key, 0), n) for n, key in enumerate(KEYS))
    assert other.recall(CacheKey("another", ""), 0) is None
    store.keep(KEYS[0], 0, votes(9))
    assert is_kept(other.recall(KEYS[0], 0), 9)
    assert len(files(store)) == 5


def test_only_for_its_owner_from_the_start(store, monkeypatch):
    modes = []
    sync = os.fsync

    def watching(file: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(file).st_mode))
        sync(file)

    monkeypatch.setattr(writing.os, "fsync", watching)
    before = os.umask(0)
    try:
        fill(store)
    finally:
        os.umask(before)
    assert set(modes) == {0o600, 0o700}  # files, and their directory
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(store)} == {0o600}
    directories = (store.path, store.path.parent)
    assert {stat.S_IMODE(path.stat().st_mode) for path in directories} == {0o700}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path, other: path.write_bytes(path.read_bytes()[:-1]),
        lambda path, other: path.write_bytes(b""),
        lambda path, other: path.write_bytes(path.read_bytes().replace(b"[1, 1]", b"[1, 2]")),
        lambda path, other: os.replace(other, path),
        lambda path, other: path.chmod(0o644),
        lambda path, other: (path.unlink(), path.symlink_to(other)),
        lambda path, other: (path.unlink(), path.mkdir()),
        lambda path, other: (path.unlink(), os.mkfifo(path, 0o600)),
    ],
    ids=["truncated", "empty", "flipped", "another's", "readable", "link", "directory", "fifo"],
)
def test_what_cannot_be_relied_on_is_made_again(store, spoil, capsys):
    fill(store, 1)
    (theirs,) = files(store)
    store.keep(KEYS[1], 0, votes(1))
    (ours,) = (path for path in files(store) if path != theirs)
    spoil(ours, theirs)
    assert store.recall(KEYS[1], 0) is None
    assert capsys.readouterr().err.count("pate: cache: ") == 1
    if ours.is_dir():
        return  # nothing of ours, and left alone
    again = VoteDirectory(store.path, 10**6)
    again.keep(KEYS[1], 0, votes(1))
    assert is_kept(again.recall(KEYS[1], 0), 1)
    assert stat.S_IMODE(ours.lstat().st_mode) == 0o600


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.mkdir(mode=0o755),
        lambda path: path.mkdir(mode=0o710),
        lambda path: (path.with_name("real").mkdir(mode=0o700), path.symlink_to("real")),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.touch(),
        pytest.param(lambda path: (path.mkdir(mode=0o700), os.chown(path, 4321, 4321)), marks=root_only),
    ],
    ids=["0755", "0710", "link", "dangling", "file", "another's"],
)
def test_a_place_that_is_not_ours_alone_is_refused(store, spoil, capsys):
    store.path.parent.mkdir()
    before = os.umask(0)
    spoil(store.path)
    os.umask(before)
    with pytest.raises(ConfigError, match=r"PATE_CACHE: got '.*votes'; accepted: a directory of your own"):
        store.check()
    fill(store)  # in the middle of a run it does not stop it, and writes nothing
    assert capsys.readouterr().err.count("\n") == 1
    assert not store.path.is_dir() or files(store) == []


def test_the_least_recently_used_go_first(place):
    first = VoteDirectory(place, 10**6)
    fill(first, 1)
    store = VoteDirectory(place, 3 * files(first)[0].stat().st_size + 100)
    fill(store, 3)
    age(store)
    assert is_kept(store.recall(KEYS[0], 0), 0)  # used now
    store.keep(KEYS[3], 0, votes(3))
    store.keep(KEYS[4], 0, votes(4))
    assert [n for n, key in enumerate(KEYS) if store.recall(key, 0)] == [0, 3, 4]
    assert sum(path.stat().st_size for path in files(store)) <= store.limit
    store.keep(CacheKey("huge", ""), 0, votes(1, size=10**5))
    assert store.recall(CacheKey("huge", ""), 0) is None
    assert len(files(store)) == 3


def test_what_killed_runs_left_is_swept_when_it_is_old(store):
    fill(store, 1)
    for name in (".old.tmp", ".young.tmp", "mine.txt"):
        (store.path / name).write_bytes(b"half")
    at = time.time() - 5400
    os.utime(store.path / ".old.tmp", (at, at))
    os.utime(store.path / "mine.txt", (at, at))
    other = VoteDirectory(store.path, 10**6)
    fill(other, 1)
    names = {path.name for path in files(store)}
    assert {".young.tmp", "mine.txt"} < names
    assert ".old.tmp" not in names


def test_where(monkeypatch, tmp_path):
    monkeypatch.setenv("PATE_CACHE", str(tmp_path / "here"))
    assert vote_directory().path == tmp_path / "here"
    monkeypatch.delenv("PATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert vote_directory().path == tmp_path / "pate" / "votes"
