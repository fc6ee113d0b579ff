"""Where entries are kept, how much of them, and that nobody else can get at them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pate_cli.errors import ConfigError

__all__ = ["Place", "find_place", "size_limit"]

_DEFAULT_LIMIT = "2GB"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_OURS = "a directory of your own that nobody else can enter (chmod 700), not a link"


@dataclass(frozen=True)
class Place:
    """A directory for entries.

    Attributes
    ----------
    path : Path
        Absolute.
    key : str
        What the user would change to have another one, for messages.
    """

    path: Path
    key: str

    def check(self) -> None:
        """Refuse a directory that others can get at; one that is not there yet is fine.

        Raises
        ------
        ConfigError
        """
        with self.opened():
            pass

    @contextlib.contextmanager
    def opened(self, *, make: bool = False) -> Iterator[int | None]:
        """Open the directory, after checking that it is its owner's alone.

        Everything in it is then done through the descriptor: what was checked is what is used,
        whatever becomes of the path meanwhile.

        Parameters
        ----------
        make : bool
            Whether it is made if it is not there, along with those above it: for the owner only, from
            the start.

        Yields
        ------
        int or None
            The descriptor; None if there is no directory.

        Raises
        ------
        ConfigError
            If it belongs to somebody else, others can enter it, or it is a link or no directory.
        OSError
            If it cannot be made or opened.
        """
        handle = self._open(make=make)
        try:
            yield handle
        finally:
            if handle is not None:
                os.close(handle)

    def _open(self, *, make: bool) -> int | None:
        if not hasattr(os, "geteuid") or os.open not in os.supports_dir_fd:
            raise ConfigError("cache", True, "false: a cache needs owner-only directories (Linux, macOS)")
        try:
            if make:
                _make(self.path)
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            if make:
                raise
            return None
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM):
                raise ConfigError(self.key, str(self.path), _OURS) from None
            raise
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            os.close(handle)
            raise ConfigError(self.key, str(self.path), _OURS)
        return handle


def find_place() -> Place:
    """The directory `PATE_CACHE` names, else `pate/votes` in the user's cache directory."""
    named = os.environ.get("PATE_CACHE")
    if named:
        return Place(Path(named).expanduser().absolute(), "PATE_CACHE")
    import platformdirs

    return Place((platformdirs.user_cache_path("pate") / "votes").absolute(), "PATE_CACHE")


def size_limit() -> int:
    """Bytes the entries may take together: `PATE_CACHE_LIMIT` (as 500MB, 2GB), else 2 GB.

    Raises
    ------
    ConfigError
        If `PATE_CACHE_LIMIT` is not a size.
    """
    text = os.environ.get("PATE_CACHE_LIMIT") or _DEFAULT_LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)B?", text.strip().upper(), re.ASCII)
    if not found:
        raise ConfigError("PATE_CACHE_LIMIT", text, "a size, as 500MB or 2GB")
    return int(float(found[1]) * _UNITS[found[2]])


def _make(path: Path) -> None:
    """Make a directory and those above it."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(directory, 0o700)
