"""Ledgers on disk: owner-only, locked, never under-counted, never taken for empty."""

import errno
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.release import LedgerDirectory, PublicRows, open_ledgers
from pate_cli.types import PrivacyLoss

ONE = PrivacyLoss(0.25, 1e-6, "test")
CHECKSUM = "ab" * 32


@pytest.fixture
def directory(tmp_path):
    ledgers = LedgerDirectory(tmp_path / "deep" / "ledger", "ledger")
    ledgers.init(CHECKSUM, "mushroom", 1.0, 1e-5)
    return ledgers


def test_room_for_one(directory):
    fingerprint = directory.fingerprint(CHECKSUM)
    directory.reserve(fingerprint, PrivacyLoss(0.75, 1e-6, ""), "first")
    with pytest.raises(InputError, match=r"mushroom.*costs eps=0.75.*left: eps=0.25, delta=9e-06"):
        directory.reserve(fingerprint, PrivacyLoss(0.75, 1e-6, ""))
    ledger = directory.read(fingerprint)
    assert [(entry.kind, entry.eps, entry.note) for entry in ledger.entries] == [
        ("open", 1.0, ""),
        ("release", 0.75, "first"),
    ]


def test_only_the_owner_can_read_it_and_no_digest_of_the_data_is_kept(directory):
    directory.reserve(directory.fingerprint(CHECKSUM), ONE)
    assert directory.path.stat().st_mode & 0o777 == 0o700
    files = list(directory.path.iterdir())
    names = {file.name for file in files if file.suffix != ".json"}
    assert names == {"key", "key.lock", "lock", "salt"}
    assert len(files) == 5
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
        assert CHECKSUM not in file.read_text() + file.name


def test_another_directory_has_another_fingerprint(directory, tmp_path):
    other = LedgerDirectory(tmp_path / "other", "ledger")
    other.init(CHECKSUM, "mushroom", 1.0, 1e-5)
    assert other.fingerprint(CHECKSUM) != directory.fingerprint(CHECKSUM)


def test_a_directory_others_can_enter_is_refused(directory):
    fingerprint = directory.fingerprint(CHECKSUM)
    directory.path.chmod(0o750)
    with pytest.raises(ConfigError, match="chmod 700"):
        directory.reserve(fingerprint, ONE)


def test_no_ledger(directory, tmp_path):
    other = LedgerDirectory(tmp_path / "none", "ledger")
    for call in (lambda: other.fingerprint(CHECKSUM), lambda: other.reserve("0" * 64, ONE)):
        with pytest.raises(InputError, match="pate ledger init"):
            call()
    with pytest.raises(InputError, match=r"no ledger for this dataset.*pate ledger init"):
        directory.reserve(directory.fingerprint("cd" * 32), ONE)
    assert not other.path.exists()


def test_a_second_init_is_refused_and_a_raise_recorded(directory):
    fingerprint = directory.fingerprint(CHECKSUM)
    directory.reserve(fingerprint, PrivacyLoss(1.0, 0.0, ""))
    with pytest.raises(InputError, match="has a ledger, of eps=1, delta=1e-05; accepted: --raise"):
        directory.init(CHECKSUM, "mushroom", 5.0, 1e-5)
    for lower in ((0.5, 1e-5), (2.0, 1e-6)):
        with pytest.raises(InputError, match="at least eps=1, delta=1e-05"):
            directory.init(CHECKSUM, "mushroom", *lower, higher=True)
    directory.init(CHECKSUM, "mushroom", 1.5, 1e-5, higher=True)
    directory.reserve(fingerprint, PrivacyLoss(0.5, 0.0, ""))
    ledger = directory.read(fingerprint)
    assert [entry.kind for entry in ledger.entries] == ["open", "release", "raise", "release"]
    assert ledger.left[0] == 0


def test_a_raise_needs_a_ledger(directory):
    with pytest.raises(InputError, match="has no ledger"):
        directory.init("cd" * 32, "other", 1.0, 0.0, higher=True)


@pytest.mark.parametrize(
    ("eps", "delta"), [(0.0, 0.1), (float("inf"), 0.1), (float("nan"), 0.1), (1.0, 1.0), (1.0, -0.1)]
)
def test_totals_are_checked_before_anything_is_written(tmp_path, eps, delta):
    ledgers = LedgerDirectory(tmp_path / "new", "ledger")
    with pytest.raises(ConfigError, match=r"--eps|--delta"):
        ledgers.init(CHECKSUM, "mushroom", eps, delta)
    assert not ledgers.path.exists()


@pytest.mark.parametrize("damage", ["", "{", "{}"])
def test_a_damaged_ledger_is_refused_never_started_anew(directory, damage):
    fingerprint = directory.fingerprint(CHECKSUM)
    file = directory.path / f"{fingerprint}.json"
    file.write_text(damage)
    for call in (
        lambda: directory.reserve(fingerprint, ONE),
        lambda: directory.read(fingerprint),
        lambda: directory.ledgers(),
        lambda: directory.init(CHECKSUM, "mushroom", 9.0, 1e-5),
        lambda: directory.init(CHECKSUM, "mushroom", 9.0, 1e-5, higher=True),
    ):
        with pytest.raises(DataError, match=f"{re.escape(str(file))}: damaged") as caught:
            call()
        assert "\n" not in str(caught.value)
    assert file.read_text() == damage


@pytest.mark.parametrize("salt", [None, "", "zz" * 32, "ab"])
def test_without_its_salt_ledgers_are_not_started_anew(directory, salt):
    (directory.path / "salt").unlink() if salt is None else (directory.path / "salt").write_text(salt)
    for call in (
        lambda: directory.fingerprint(CHECKSUM),
        lambda: directory.init(CHECKSUM, "mushroom", 1.0, 1e-5),
    ):
        with pytest.raises(DataError, match=r"salt.*restore it from a copy"):
            call()


def test_where_ledgers_are(tmp_path, monkeypatch):
    monkeypatch.setenv("PATE_LEDGER", str(tmp_path / "a"))
    assert open_ledgers().path == tmp_path / "a"
    assert open_ledgers(str(tmp_path / "b")).path == tmp_path / "b"
    monkeypatch.delenv("PATE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "c"))
    assert open_ledgers().path.parts[-2:] == ("pate", "ledger")


def _spend(path, barrier, results):
    ledgers = LedgerDirectory(path, "ledger")
    fingerprint = ledgers.fingerprint(CHECKSUM)
    barrier.wait()
    done = 0
    for _ in range(40):
        try:
            ledgers.reserve(fingerprint, PrivacyLoss(0.125, 1e-6, ""))
            done += 1
        except InputError:
            pass
    results.put(done)


def test_two_at_once_never_overspend(tmp_path):
    """50 rounds of charges are had by two processes that ask for 80 between them."""
    ledgers = LedgerDirectory(tmp_path / "ledger", "ledger")
    ledgers.init(CHECKSUM, "mushroom", 50 * 0.125, 1.0 - 1e-9)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    workers = [context.Process(target=_spend, args=(ledgers.path, barrier, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    granted = [results.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join(timeout=300)
    ledger = ledgers.read(ledgers.fingerprint(CHECKSUM))
    assert sum(granted) == 50 == sum(entry.kind == "release" for entry in ledger.entries)
    assert ledger.left[0] == 0


_LOOP = """
import os, sys
from pathlib import Path
from pate_cli.release import LedgerDirectory
from pate_cli.types import PrivacyLoss
ledgers = LedgerDirectory(Path(sys.argv[1]), "ledger")
fingerprint = ledgers.fingerprint(sys.argv[2])
while True:
    ledgers.reserve(fingerprint, PrivacyLoss(0.25, 1e-6, "test"))
    os.write(1, b"x")  # the noise would be drawn here
"""


def test_killed_at_any_moment_it_is_readable_and_counts_every_release(tmp_path):
    """kill -9 at ten random moments of a loop of charges; a charge is acknowledged only once it is made."""
    ledgers = LedgerDirectory(tmp_path / "ledger", "ledger")
    ledgers.init(CHECKSUM, "mushroom", 1e6, 0.9)
    fingerprint = ledgers.fingerprint(CHECKSUM)
    before = acknowledged = 0
    for _ in range(10):
        process = subprocess.Popen(
            [sys.executable, "-c", _LOOP, str(ledgers.path), CHECKSUM], stdout=subprocess.PIPE
        )
        first = os.read(process.stdout.fileno(), 1)  # it is at work
        time.sleep(random.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        acknowledged += len(first + process.stdout.read())
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        counted = sum(entry.kind == "release" for entry in ledgers.read(fingerprint).entries)
        assert acknowledged <= counted <= acknowledged + 10  # one a kill may be charged and not used
        assert counted > before
        before = counted
        # the next one works on, whatever was left lying there
        ledgers.reserve(fingerprint, ONE)
        acknowledged += 1
    assert not list(ledgers.path.glob(".*.tmp"))


# -- public rows: the first charge fixes them


def test_the_first_charge_fixes_the_public_rows(directory):
    fingerprint = directory.fingerprint(CHECKSUM)
    assert directory.read(fingerprint).public is None
    rows = PublicRows(100, (3, 17, 99))
    for _ in range(2):
        directory.reserve(fingerprint, ONE, "", rows)
    ledger = directory.read(fingerprint)
    assert ledger.public == rows
    with pytest.raises(
        ConfigError, match=r"split\.public: got 2; accepted: 3, the public points that the first"
    ):
        ledger.check_public(100, 2)
    with pytest.raises(InputError, match=r"ledger of mushroom: the first release had 100 records .* has 99"):
        ledger.check_public(99, 3)
    ledger.check_public(100, 3)
    # raising the total keeps them
    assert directory.init(CHECKSUM, "mushroom", 2.0, 1e-5, higher=True).public == rows


def test_of_two_first_releases_at_once_one_is_refused_and_not_charged(directory):
    """Both drew before either was charged."""
    fingerprint = directory.fingerprint(CHECKSUM)
    directory.reserve(fingerprint, ONE, "", PublicRows(100, (3, 17, 99)))
    for other in (PublicRows(100, (3, 17, 98)), PublicRows(100, (3, 17)), PublicRows(101, (3, 17, 99))):
        with pytest.raises(InputError):
            directory.reserve(fingerprint, ONE, "", other)
    ledger = directory.read(fingerprint)
    assert (len(ledger.entries), ledger.public.rows) == (2, (3, 17, 99))


@pytest.mark.parametrize(("n_records", "rows"), [(10, (3, 3)), (10, (4, 3)), (10, (10,)), (10, (-1,))])
def test_what_are_no_rows_is_refused(n_records, rows):
    with pytest.raises(ValueError, match="not the rows"):
        PublicRows(n_records, rows)


def test_a_full_disk_names_the_ledger_and_leaves_it_as_it_was(directory, monkeypatch):
    fingerprint = directory.fingerprint(CHECKSUM)
    before = {path.name: path.read_bytes() for path in directory.path.iterdir()}

    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device; no noise was drawn") as caught:
            directory.reserve(fingerprint, ONE)
    assert caught.value.filename == str(directory.path / f"{fingerprint}.json")
    assert {path.name: path.read_bytes() for path in directory.path.iterdir()} == before
