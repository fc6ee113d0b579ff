"""The key of the ledgers, which their owner keeps, and the last code of each: what tells an older copy.

One text file that only its owner can read. Its first line is the key; each further line is a ledger's
fingerprint, its number of entries and the code of the last one. A ledger that has fewer entries, or another
code at that place, was put back or rewritten. An older copy of this file serves too, and tells less.

Whoever can read this file can forge a ledger. Kept elsewhere than the ledgers (`PATE_LEDGER_KEY`), it shows
what was done by those who can write there; kept beside them, what was done by accident or from a backup.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from pate_cli.errors import DataError, InputError
from pate_cli.writing import write_file

__all__ = ["OwnerKey", "locked"]

_HEAD = re.compile(r"([0-9a-f]{64}) ([0-9]{1,9}) ([0-9a-f]{64})")


class OwnerKey:
    """The file of the key.

    Parameters
    ----------
    path : Path
        Made by `make`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, directory: Path) -> OwnerKey:
        """Give the key that `PATE_LEDGER_KEY` names, else the one beside the ledgers."""
        named = os.environ.get("PATE_LEDGER_KEY")
        return cls(Path(named).expanduser().absolute() if named else directory / "key")

    def make(self) -> None:
        """Draw a key, unless there is one.

        Raises
        ------
        OSError
            If its file cannot be written.
        """
        if not self.path.exists():
            self._write(secrets.token_hex(32), {})

    def read(self) -> bytes:
        """Read the key, 32 bytes.

        Raises
        ------
        DataError
            If it is missing or damaged: no ledger can be relied on without it.
        """
        return bytes.fromhex(self._read()[0])

    def check(self, fingerprint: str, codes: Sequence[str]) -> None:
        """Refuse a ledger that is older than one seen before.

        Parameters
        ----------
        fingerprint : str
        codes : sequence of str
            Of its entries; see `ledger.chain`.

        Raises
        ------
        ValueError
            If entries are missing or others.
        """
        count, code = self._read()[1].get(fingerprint, (0, ""))
        if count > len(codes):
            raise ValueError(
                f"{count - len(codes)} of {count} entries are missing: an older copy was put back"
            )
        if count and codes[count - 1] != code:
            raise ValueError(f"another ledger: entry {count} is not the one that was written")

    def keep(self, fingerprint: str, codes: Sequence[str]) -> None:
        """Remember the last code of a ledger.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with locked(self.path.with_name(f"{self.path.name}.lock")):
            key, heads = self._read()
            self._write(key, heads | {fingerprint: (len(codes), codes[-1])})

    def _read(self) -> tuple[str, dict[str, tuple[int, str]]]:
        hint = "restore it from a copy; PATE_LEDGER_KEY says where it is"
        try:
            key, *lines = self.path.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            raise DataError(f"{self.path}: the key of the ledgers is missing; {hint}") from None
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path}: the key of the ledgers cannot be read ({error}); {hint}") from None
        heads = [_HEAD.fullmatch(line) for line in lines]
        if not re.fullmatch(r"[0-9a-f]{64}", key) or not all(heads):
            raise DataError(f"{self.path}: the key of the ledgers is damaged; {hint}")
        return key, {head[1]: (int(head[2]), head[3]) for head in heads if head}

    def _write(self, key: str, heads: dict[str, tuple[int, str]]) -> None:
        lines = [key, *(f"{fingerprint} {count} {code}" for fingerprint, (count, code) in heads.items())]
        write_file(self.path, "\n".join(lines) + "\n", permissions=0o600)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out; the system lets go of the lock of a process that dies.

    Raises
    ------
    InputError
        On a system without file locks.
    """
    try:
        import fcntl
    except ImportError:
        raise InputError("ledger: needs a system with file locks (Linux, macOS)") from None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
