"""Votes on disk: written whole or not at all, read back only if every byte is as written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import asdict

from pate_cli import console
from pate_cli.engine.cache.loaded import LoadedCode, loaded_code
from pate_cli.engine.cache.place import Place
from pate_cli.errors import ConfigError
from pate_cli.teachers.kept import Damaged, KeptVotes, decode, encode

__all__ = ["Store"]

_SUFFIX = ".votes"
_PARTIAL = ".partial"
_OLD = 3600.0
"""Seconds after which a half-written file is nobody's."""


class Store:
    """Votes in a directory. PRIVATE: for their owner's eyes only.

    Files are made with mode 0600 in a directory of mode 0700 and put in place by renaming, so other
    processes, a kill or a power cut at any moment leave an entry whole or absent. What cannot be
    written or read never stops a run: one line says so, and the run goes on without.

    Parameters
    ----------
    place : Place
    limit : int
        Bytes of all entries together; the least recently used go first.
    """

    def __init__(self, place: Place, limit: int) -> None:
        self.place = place
        self.limit = limit
        self._room: int | None = None  # bytes left, as far as this process knows
        self._broken = False

    def recall(self, key: str) -> KeptVotes | None:
        """Votes of a key; None if there is none that can be relied on, or other code made them."""
        with self._tolerated(), self.place.opened() as handle:
            if handle is None:
                return None
            try:
                votes, loaded = decode(self._read(handle, _name(key)), key)
                return votes if LoadedCode(**loaded).is_current() else None
            except FileNotFoundError:
                return None
            except Damaged as error:
                self._say(f"{self.place.path / _name(key)}: {error}; made again")
        return None

    def keep(self, key: str, votes: KeptVotes) -> None:
        """Write votes, in place of earlier ones of the key."""
        if self._broken:
            return
        content = encode(key, votes, asdict(loaded_code()))
        if len(content) > self.limit:
            return
        with self._tolerated(), self.place.opened(make=True) as handle:
            if handle is None:
                return
            self._write(handle, _name(key), content)
            if self._room is None or len(content) > self._room:
                self._room = self._trim(handle)
            else:
                self._room -= len(content)

    def _read(self, handle: int, name: str) -> bytes:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=handle)
        with os.fdopen(file, "rb") as stream:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise Damaged("open to others")
            content = stream.read()
            with contextlib.suppress(OSError):
                os.utime(file)  # last used now
        return content

    def _write(self, handle: int, name: str, content: bytes) -> None:
        partial = f"{secrets.token_hex(8)}{_PARTIAL}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(partial, flags, 0o600, dir_fd=handle)
        try:
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(partial, name, src_dir_fd=handle, dst_dir_fd=handle)
        except BaseException:  # Ctrl-C too
            _remove(handle, partial)
            raise
        os.fsync(handle)

    def _trim(self, handle: int) -> int:
        """Remove what is too much, and what killed runs left half written; gives the bytes left."""
        entries = sorted(_files(handle, _SUFFIX), key=lambda found: found[1].st_mtime_ns)
        size = sum(status.st_size for _, status in entries)
        for name, status in _files(handle, _PARTIAL):
            if time.time() - status.st_mtime > _OLD:
                _remove(handle, name)
            else:
                size += status.st_size
        for name, status in entries:
            if size <= self.limit:
                break
            _remove(handle, name)
            size -= status.st_size
        return self.limit - size

    @contextlib.contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ConfigError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._say(f"{self.place.path}: {reason or error}; going on without")
            self._broken = True

    def _say(self, text: str) -> None:
        if not self._broken:
            console.err().print(f"pate: cache: {text}", markup=False, soft_wrap=True)


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:40] + _SUFFIX


def _files(handle: int, suffix: str) -> list[tuple[str, os.stat_result]]:
    """Names and states of the files of one kind; those that vanish meanwhile are left out."""
    found = []
    for name in os.listdir(handle):
        if name.endswith(suffix):
            with contextlib.suppress(FileNotFoundError):
                found.append((name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
    return found


def _remove(handle: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=handle)
