"""Directory of ledgers: one file a dataset, entered, locked and written by its owner alone.

A ledger is one JSON file, named by a salted fingerprint of the data; no content, and no unsalted digest of
it, is kept. Entries are appended under a lock, and are on disk before noise is drawn.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pate_cli.checks import Real, take
from pate_cli.errors import ConfigError, DataError, InputError, shortened
from pate_cli.release.ledger import RECORD, Entry, Ledger, Protected, PublicRows, exact, shown
from pate_cli.terminal import is_own, open_file, typed_path, write_file
from pate_cli.types import PrivacyLoss

__all__ = ["LedgerDirectory", "NoLedgerError", "open_ledgers"]

_VERSION = 5
"""Version 4, which is read too, says neither what its releases protect nor which records are its own."""

_MOST_BYTES = 2**27
"""Of a ledger, which holds the row numbers of public points once, and a line a release."""

_HOW_TO_START = (
    "start one with: pate ledger init dataset=NAME (and all of the run's dataset.KEY=...) --eps E --delta D"
)

Digests = Callable[[Sequence[str]], list[str]]
"""Digest of a dataset's records under each of some salts; see `datasets.multiset.record_digests`."""


class NoLedgerError(InputError):
    """The data of a release have no ledger; says how to start one, as `how` if that is known."""

    def __init__(self, path: Path, how: str = _HOW_TO_START) -> None:
        super().__init__(f"no ledger for this dataset in {path}; {how}")
        self.path = path


class LedgerDirectory:
    """The ledgers in one directory that only its owner can enter; `key` is the setting that named it."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self._key = key

    def init(
        self,
        checksum: str,
        name: str,
        total_eps: float,
        total_delta: float,
        *,
        higher: bool = False,
        protects: Protected = RECORD,
        most_records: int | None = None,
        digests: Digests | None = None,
        second: bool = False,
    ) -> Ledger:
        """Start the ledger of a dataset, or with `higher` raise its total; InputError if that is refused.

        A ledger of the same records in another file is refused too, unless a `second` one is asked for.
        """
        take("--eps", total_eps, Real())
        take("--delta", total_delta, Real(0, 1, closed_below=True, open_above=True))
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            accepted = f"a directory that can be made ({error.strerror})"
            raise ConfigError(self._key, str(self.path), accepted) from None
        with self._locked():
            ledger = self._of(checksum)
            salt = secrets.token_hex(32) if ledger is None else ledger.salt
            entry = Entry(
                "raise" if higher else "open",
                total_eps,
                total_delta,
                protects=protects,
                most_records=most_records,
                records=None if digests is None or (ledger and ledger.records) else digests([salt])[0],
            )
            if ledger is None:
                same = self._with_records(digests)
                if higher:
                    elsewhere = f"; its records are those of {_named(same)}" if same else ""
                    raise InputError(
                        f"--raise: {name} has no ledger in {self.path}{elsewhere}; {_HOW_TO_START}"
                    )
                if same and not second:
                    raise InputError(
                        f"{name} holds the same records as {_named(same)}: what two ledgers grant is spent on"
                        " the same records; accepted: that file, or --second-ledger, to begin another"
                    )
                if same:
                    entry = replace(entry, note=f"besides {_named(same)}, for the same records")
                return self._write(Ledger(_fingerprint(checksum, salt), salt, name, (entry,)))
            eps, delta = ledger.total
            budget = f"eps={shown(eps)}, delta={shown(delta)}"
            if not higher:
                raise InputError(f"{name} has a ledger, of {budget}; accepted: --raise, to raise the total")
            if ledger.protects is not None:
                ledger.check_protects(protects)
            if exact(total_eps) < eps or exact(total_delta) < delta:
                raise InputError(f"--raise: accepted: a total of at least {budget}")
            return self._append(ledger, entry)

    def charge(
        self,
        fingerprint: str,
        loss: PrivacyLoss,
        note: str = "",
        *,
        id: str | None = None,
        public: PublicRows | None = None,
        purpose: str = "",
        protects: Protected = RECORD,
    ) -> Ledger:
        """Charge a loss before its noise is drawn; the last entry of the ledger returned is the charge.

        InputError if it is refused; OSError if it cannot be written: then nothing may be released.
        """
        with self._locked():
            ledger = self.read(fingerprint)
            ledger.check_protects(protects, loss)
            ledger.check_room(loss)
            if public is not None and ledger.public is not None:
                if ledger.public != public:
                    raise InputError(
                        f"ledger of {ledger.name}: another release has fixed its public points meanwhile;"
                        " nothing is charged, the same command again uses those"
                    )
                public = None  # stated once
            id = id or secrets.token_hex(8)
            eps, delta = float(loss.eps), float(loss.delta)
            entry = Entry(
                "release", eps, delta, note, id=id, purpose=purpose, public=public, protects=protects
            )
            try:
                return self._append(ledger, entry)
            except OSError as error:
                reason = f"{error.strerror}; no noise was drawn, and nothing is released"
                raise OSError(error.errno, reason, error.filename) from error

    def record(self, fingerprint: str, id: str, certificate: str) -> None:
        """Record the SHA-256 (hex) of a release's certificate; raises as `charge` does."""
        with self._locked():
            self._append(self.read(fingerprint), Entry("certificate", 0.0, 0.0, certificate, id=id))

    def find(self, checksum: str, digests: Digests | None = None) -> Ledger:
        """Ledger of a dataset, given the checksum of its content; InputError if there is none."""
        if (ledger := self._of(checksum)) is not None:
            return ledger
        if same := self._with_records(digests):
            raise InputError(
                f"no ledger for this file in {self.path}, but {_named(same)} is for the same records;"
                " accepted: that file"
            )
        raise NoLedgerError(self.path)

    def ledgers(self) -> list[Ledger]:
        """Every ledger here; DataError if one of them cannot be read."""
        if not self.check():
            return []
        try:
            names = sorted(os.listdir(self.path))  # a glob takes a directory that it may not read for empty
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror})") from None
        return [self.read(Path(name).stem) for name in names if name.endswith(".json")]

    def read(self, fingerprint: str) -> Ledger:
        """Ledger of a fingerprint; raises as `charge` does."""
        self._check_private()
        path = self._file(fingerprint)
        try:
            with open_file(path) as file:
                status = os.fstat(file.fileno())
                if not is_own(status):
                    raise PermissionError(errno.EPERM, "belongs to another user")
                if status.st_size > _MOST_BYTES:
                    raise ValueError(f"more than {_MOST_BYTES:,} bytes")
                return _decode(path, file.read().decode())
        except FileNotFoundError:
            raise InputError(f"no ledger {fingerprint[:12]} in {self.path}") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise DataError(f"{path}: damaged ({error}); restore it from a copy") from None

    def _of(self, checksum: str) -> Ledger | None:
        """Ledger of a dataset, if any; every file is read, so that no damaged one is taken for missing."""
        matching = (
            ledger for ledger in self.ledgers() if ledger.fingerprint == _fingerprint(checksum, ledger.salt)
        )
        return next(matching, None)

    def _with_records(self, digests: Digests | None) -> Ledger | None:
        """Ledger of the same records, if any and known."""
        with_digest = [ledger for ledger in self.ledgers() if ledger.records]
        if digests is None or not with_digest:
            return None
        here = zip(with_digest, digests([ledger.salt for ledger in with_digest]), strict=True)
        return next((ledger for ledger, digest in here if ledger.records == digest), None)

    def check(self) -> bool:
        """Whether the directory is there; ConfigError unless it is one that only its owner, we, can enter."""
        try:
            status = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            accepted = f"a directory that can be entered ({error.strerror})"
            raise ConfigError(self._key, shortened(str(self.path)), accepted) from None
        if not (stat.S_ISDIR(status.st_mode) and is_own(status) and not status.st_mode & 0o077):
            accepted = "a directory of your own that only you can enter (chmod 700)"
            raise ConfigError(self._key, str(self.path), accepted)
        return True

    def _file(self, fingerprint: str) -> Path:
        """Path of a ledger; the fingerprint may come from anybody's certificate, so it is checked."""
        if not re.fullmatch("[0-9a-f]{64}", str(fingerprint)):
            name = shortened(repr(fingerprint))
            raise DataError(f"{self.path}: {name} names no ledger; accepted: 64 of the digits 0-9 and a-f")
        return self.path / f"{fingerprint}.json"

    def _check_private(self) -> None:
        if not self.check():
            raise InputError(f"no ledger in {self.path}; {_HOW_TO_START}")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other processes out; the system releases the lock of a process that dies."""
        try:
            import fcntl
        except ImportError:
            raise InputError("ledger: needs a system with file locks (Linux, macOS)") from None
        self._check_private()
        lock = self.path / "lock"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            handle = os.open(lock, flags, 0o600)
        except OSError as error:
            raise DataError(f"{lock}: cannot be locked ({error.strerror})") from None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise DataError(f"{lock}: cannot be locked (not a regular file)")
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _append(self, ledger: Ledger, entry: Entry) -> Ledger:
        return self._write(replace(ledger, entries=(*ledger.entries, entry)))

    def _write(self, ledger: Ledger) -> Ledger:
        """Replace a file whole and sync it, to survive a kill or a power cut; only under the lock."""
        for left_over in self.path.glob(".*.tmp"):  # of a process that was killed
            left_over.unlink()
        write_file(self._file(ledger.fingerprint), _encode(ledger), permissions=0o600)
        return ledger


def open_ledgers(path: str | None = None) -> LedgerDirectory:
    """Ledgers in `path`, else in the directory `PATE_LEDGER` names, else in the user's data directory."""
    named = os.environ.get("PATE_LEDGER")
    if path or named:
        key, typed = ("ledger", path) if path else ("PATE_LEDGER", named)
        directory = typed_path(typed or "")
        if str(directory).startswith("~"):  # else there would be one in each directory
            raise ConfigError(key, typed, "a directory; there is no such user, or no home directory")
        return LedgerDirectory(directory.absolute(), key)
    import platformdirs

    try:
        home = platformdirs.user_data_path("pate")
    except RuntimeError:
        accepted = "the directory of the ledgers, for there is no home directory (HOME)"
        raise ConfigError("PATE_LEDGER", None, accepted) from None
    return LedgerDirectory(home / "ledger", "ledger")


def _named(ledger: Ledger) -> str:
    eps, delta = ledger.left
    left = f"left: eps={shown(eps)}, delta={shown(delta)}"
    return f"the ledger of {ledger.name} ({ledger.fingerprint[:12]}; {left})"


def _fingerprint(checksum: str, salt: str) -> str:
    return hmac.new(bytes.fromhex(salt), checksum.encode(), hashlib.sha256).hexdigest()


def _encode(ledger: Ledger) -> str:
    content = {"version": _VERSION, **vars(ledger)}
    content["entries"] = [entry.plain() for entry in ledger.entries]
    for entry, code in zip(content["entries"], ledger.hashes, strict=True):
        entry["hash"] = code
        if entry["public"]:  # in one line of text
            entry["public"]["rows"] = " ".join(map(str, entry["public"]["rows"]))
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _decode(path: Path, text: str) -> Ledger:
    content = json.loads(text)
    version = content.pop("version")
    if version not in (4, _VERSION):
        raise DataError(
            f"{path}: a ledger of version {shortened(repr(version))}, this pate reads 4 and {_VERSION}; move"
            " it away, and start anew with pate ledger init and no more than it had left"
        )
    if content["fingerprint"] != path.stem:
        raise ValueError("another dataset's")
    hashes = [entry.pop("hash") for entry in content["entries"]]
    entries = []
    for number, entry in enumerate(content["entries"], 1):
        try:
            if entry["public"] is not None:
                rows = tuple(map(int, entry["public"]["rows"].split()))
                entry["public"] = PublicRows(entry["public"]["n_records"], rows)
            if "protects" in entry:
                entry["protects"] = Protected(**entry["protects"])
            entries.append(Entry(**entry))
        except ValueError as error:
            raise ValueError(f"entry {number}: {error}") from None
    ledger = Ledger(**content | {"entries": tuple(entries)})
    if hashes != ledger.hashes:
        raise ValueError("changed by hand: the hash of an entry does not fit")
    return ledger
