"""A directory of ledgers: a file each, locked, private to its owner, charged before any noise is drawn.

Files are named by a salted fingerprint of the data; no content, and no unsalted digest
of it, is kept. Entries are never removed. A charge is on disk (file and directory synced)
before `LedgerDirectory.reserve` returns, and a file is replaced whole, so a process killed
at any moment leaves a readable ledger that counts every release whose noise was drawn. The codes in
a file show that a charge was changed or removed, to who has the key; see `pate_cli.release.keys`.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import re
import secrets
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pate_cli.errors import ConfigError, DataError, InputError
from pate_cli.release.keys import OwnerKey, locked
from pate_cli.release.ledger import Entry, Ledger, PublicRows, chain, decode, encode, exact, is_unkeyed, shown
from pate_cli.types import PrivacyLoss
from pate_cli.writing import write_file

__all__ = ["LedgerDirectory", "open_ledgers"]

_HOW_TO_START = (
    "start one with: pate ledger init dataset=NAME (and all of the run's dataset.KEY=...) --eps E --delta D"
)


class LedgerDirectory:
    """Ledgers in one directory that only its owner can enter; see `open_ledgers`.

    Parameters
    ----------
    path : Path
        Made when the first ledger is.
    key : str
        What to name in an error about it.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self.key = OwnerKey.of(path)
        self._named = key

    def fingerprint(self, checksum: str) -> str:
        """Fingerprint of a dataset here: HMAC-SHA256 of its checksum under this directory's salt.

        Raises
        ------
        InputError
            If there is no ledger here yet.
        DataError
            If the salt cannot be read: the ledgers could no longer be told apart.
        """
        try:
            salt = self._salt.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            self._refuse_lost_salt()
            raise InputError(f"no ledger in {self.path}; {_HOW_TO_START}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{self._salt}: cannot be read ({error}); restore it from a copy") from None
        if not re.fullmatch(r"[0-9a-f]{64}", salt):
            raise DataError(f"{self._salt}: damaged; restore it from a copy")
        return hmac.new(bytes.fromhex(salt), checksum.encode(), hashlib.sha256).hexdigest()

    def init(
        self, checksum: str, name: str, total_eps: float, total_delta: float, *, higher: bool = False
    ) -> Ledger:
        """Start the ledger of a dataset, or raise its total.

        Parameters
        ----------
        checksum : str
            Of the dataset.
        name : str
            For people.
        total_eps, total_delta : float
            Budget over all releases ever; eps in (0, inf), delta in [0, 1).
        higher : bool
            Whether a ledger that exists gets a higher total; the change is recorded.

        Raises
        ------
        InputError
            If a value is not accepted, a ledger exists (or, with `higher`, does not) or would be lowered.
        """
        if not 0 < total_eps < math.inf:
            raise ConfigError("--eps", total_eps, "a number > 0")
        if not 0 <= total_delta < 1:
            raise ConfigError("--delta", total_delta, "a number in [0, 1)")
        self._make()
        with self._locked():
            self._ensure_salt()
            self.key.make()
            fingerprint = self.fingerprint(checksum)
            if self._file(fingerprint).exists():
                ledger = self._read(fingerprint)
                if not higher:
                    raise InputError(
                        f"{name} has a ledger, of eps={shown(ledger.total[0])},"
                        f" delta={shown(ledger.total[1])}; accepted: --raise, to raise the total"
                    )
                if exact(total_eps) < ledger.total[0] or exact(total_delta) < ledger.total[1]:
                    least = f"eps={shown(ledger.total[0])}, delta={shown(ledger.total[1])}"
                    raise InputError(f"--raise: accepted: a total of at least {least}")
                raised = Entry("raise", float(total_eps), float(total_delta), "", _now())
                return self._write(replace(ledger, entries=(*ledger.entries, raised)))
            if higher:
                raise InputError(f"--raise: {name} has no ledger in {self.path}; {_HOW_TO_START}")
            opened = Entry("open", float(total_eps), float(total_delta), "", _now())
            return self._write(Ledger(fingerprint, name, (opened,)))

    def reserve(
        self,
        fingerprint: str,
        loss: PrivacyLoss,
        note: str = "",
        public: PublicRows | None = None,
        purpose: str = "",
    ) -> Entry:
        """Charge a loss; it is on disk when this returns. Draw noise only then.

        Parameters
        ----------
        fingerprint : str
        loss : PrivacyLoss
        note : str
            For people.
        public : PublicRows, optional
            Public points of the release. The first charge fixes them, in the same write.
        purpose : str
            What the release is for.

        Raises
        ------
        InputError
            If there is no ledger, or not enough left in it; says what is left. If other public points
            are fixed.
        DataError
            If the ledger is damaged.
        OSError
            If it cannot be written; then nothing may be released.
        """
        self._check_private()
        with self._locked():
            ledger = self._read(fingerprint)
            ledger.check_room(loss)
            if public is not None:
                ledger = _with_public(ledger, public)
            eps, delta = float(loss.eps), float(loss.delta)
            entry = Entry("release", eps, delta, note, _now(), secrets.token_hex(8), purpose)
            try:
                self._write(replace(ledger, entries=(*ledger.entries, entry)))
            except OSError as error:
                reason = f"{error.strerror}; no noise was drawn, and nothing is released"
                raise OSError(error.errno, reason, error.filename) from error
        return entry

    def written(self, fingerprint: str, id: str, certificate: str) -> None:
        """Put on record that the files of a release were written.

        Parameters
        ----------
        fingerprint : str
        id : str
            Of the release.
        certificate : str
            SHA-256 (hex) of its certificate, which names all other files.

        Raises
        ------
        DataError, OSError
            As `reserve` does.
        """
        with self._locked():
            ledger = self._read(fingerprint)
            entry = Entry("files", 0.0, 0.0, certificate, _now(), id)
            self._write(replace(ledger, entries=(*ledger.entries, entry)))

    def place_of(self, fingerprint: str, id: str) -> tuple[int, str]:
        """Give the number of a release's entry, from 0, and its code, as its certificate quotes them.

        Raises
        ------
        InputError
            If the ledger has no such release.
        """
        ledger = self.read(fingerprint)
        found = ledger.release(id)
        if found is None:
            raise InputError(f"ledger of {ledger.name}: no release {id}")
        return found[0], chain(ledger.entries, fingerprint, self.key.read())[found[0]]

    def read(self, fingerprint: str) -> Ledger:
        """Ledger of one dataset; raises as `reserve` does."""
        self._check_private()
        return self._read(fingerprint)

    def ledgers(self) -> list[Ledger]:
        """Every ledger here.

        Raises
        ------
        DataError
            If one of them is damaged.
        """
        if not self.path.is_dir():
            return []
        self._check_private()
        return [self._read(path.stem) for path in sorted(self.path.glob("*.json"))]

    @property
    def _salt(self) -> Path:
        return self.path / "salt"

    def _file(self, fingerprint: str) -> Path:
        return self.path / f"{fingerprint}.json"

    def _make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                self._named, str(self.path), f"a directory that can be made ({error.strerror})"
            ) from None
        self._check_private()

    def _check_private(self) -> None:
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            raise InputError(f"no ledger in {self.path}; {_HOW_TO_START}") from None
        if not stat.S_ISDIR(mode) or mode & 0o077:
            raise ConfigError(self._named, str(self.path), "a directory only you can enter (chmod 700)")

    def _locked(self) -> contextlib.AbstractContextManager[None]:
        return locked(self.path / "lock")

    def _ensure_salt(self) -> None:
        if not self._salt.exists():
            self._refuse_lost_salt()
            self._replace(self._salt, secrets.token_hex(32) + "\n")

    def _refuse_lost_salt(self) -> None:
        if any(self.path.glob("*.json")):
            raise DataError(f"{self._salt}: missing, and ledgers are there; restore it from a copy")

    def _read(self, fingerprint: str) -> Ledger:
        path = self._file(fingerprint)
        try:
            text = path.read_text(encoding="utf-8")
            # one of an earlier version gets its key with its next entry
            key = self.key.read() if self.key.path.exists() or not is_unkeyed(text) else b""
            ledger = decode(text, fingerprint, key)
            if key:
                self.key.check(fingerprint, chain(ledger.entries, fingerprint, key))
            return ledger
        except FileNotFoundError:
            raise InputError(f"no ledger for this dataset in {self.path}; {_HOW_TO_START}") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise DataError(f"{path}: damaged ({error}); restore it from a copy") from None

    def _write(self, ledger: Ledger) -> Ledger:
        """Write a ledger, then its last code beside the key: killed between, the ledger is only ahead."""
        self.key.make()
        key = self.key.read()
        self._replace(self._file(ledger.fingerprint), encode(ledger, key))
        self.key.keep(ledger.fingerprint, chain(ledger.entries, ledger.fingerprint, key))
        return ledger

    def _replace(self, path: Path, text: str) -> None:
        """Write a file whole, to survive a kill or a power cut; only under the lock."""
        for left_over in self.path.glob(".*.tmp"):  # of a process that was killed
            left_over.unlink()
        write_file(path, text, permissions=0o600)


def open_ledgers(path: str | None = None) -> LedgerDirectory:
    """Ledgers in `path`, else in the directory `PATE_LEDGER` names, else in the user's data directory."""
    named = os.environ.get("PATE_LEDGER")
    if path or named:
        return LedgerDirectory(
            Path(path or named or "").expanduser().absolute(), "ledger" if path else "PATE_LEDGER"
        )
    import platformdirs

    return LedgerDirectory(platformdirs.user_data_path("pate") / "ledger", "ledger")


def _with_public(ledger: Ledger, public: PublicRows) -> Ledger:
    """Fix the public rows of a ledger that has none; refuse others than it has."""
    if ledger.public is None or not ledger.public.rows:
        return replace(ledger, public=replace(public, unrecorded=ledger.unrecorded))
    if not public.rows:  # points of a file of their own open no row
        return ledger
    ledger.check_public(public.n_records, len(public.rows))
    if ledger.public.rows != public.rows:
        raise InputError(
            f"ledger of {ledger.name}: another release has fixed its public points meanwhile; nothing is"
            " charged, the same command again uses those"
        )
    return ledger


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
