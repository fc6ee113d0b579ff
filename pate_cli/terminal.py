"""Terminal and files: the two consoles, and the one way to write a file, whole or not at all.

A regular file is replaced by a temporary one beside it, in one step. Whatever else there may be under the
name (a device, a pipe, a descriptor as `/dev/stdout`) is written into, and a link is followed: a command
that runs as root must not put a file in the place of `/dev/full`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pate_cli.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["check_directory", "check_file", "err", "out", "write_file", "write_output"]

_DESCRIPTORS = ("/proc/", "/dev/fd")
_MOST_LINKS = 40  # as the kernel follows


@cache
def out() -> Console:
    """Console for results (stdout)."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Console for messages and progress (stderr)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def write_file(
    path: str | Path, content: str | bytes, *, sync: bool = True, permissions: int | None = None
) -> Path:
    """Write a file; its directory has to be there.

    Parameters
    ----------
    path : path-like
        A link is followed. A regular file keeps its permissions.
    content : str or bytes
        Text is written as UTF-8.
    sync : bool
        Whether it has to outlast a power cut. Without, a process that is killed still loses nothing, but
        whoever reads the file after a power cut must be able to tell that it is not whole.
    permissions : int, optional
        Of a regular file, as 0o600, and of nothing wider at any moment. Default: those of an earlier file,
        or what the umask leaves.

    Raises
    ------
    OSError
        If it cannot be written; nothing new is left behind, and an earlier regular file is as it was.
    """
    path = Path(path)
    # "backslashreplace" is for names that are not valid UTF-8; in JSON it is even the right escape.
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    mode = _mode(path)
    if mode is None or (stat.S_ISREG(mode) and not _is_descriptor(path)):
        _replace(path, data, mode, sync=sync, permissions=permissions)
    elif stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    else:
        _pour(path, data)
    return path


def write_output(path: Path, content: str | bytes, key: str = "--output") -> None:
    """Write what the user asked for to the file they named.

    Raises
    ------
    InputError
        If it cannot be written; names the option, the file and the reason.
    BrokenPipeError
        If who was to read it went away.
    """
    try:
        write_file(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{key} {path}: cannot be written: {error.strerror or error}") from error


def check_file(path: Path, key: str = "--output") -> None:
    """Check, before the work, that `write_output` will be able to write; nothing is left behind.

    Raises
    ------
    InputError
        If it is a directory, its directory is missing, or one of them may not be written.
    """
    with _named(path, key):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise InputError(f"{key} {path}: is a directory; give a file")
        if mode is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if mode is None or (stat.S_ISREG(mode) and not _is_descriptor(path)):
            parent = _real(path).parent
            if not parent.is_dir():
                raise InputError(f"{key} {path}: there is no directory {path.parent}; make it first")
            _probe(parent)


def check_directory(path: Path, key: str = "--output", *, parents: bool = False) -> None:
    """Check, before the work, that files can be written into a directory, which may still have to be made.

    Parameters
    ----------
    path : Path
    key : str
    parents : bool
        Whether those above may be made too, as for a default place.

    Raises
    ------
    InputError
    """
    with _named(path, key):
        mode = _mode(path)
        if mode is not None and not stat.S_ISDIR(mode):
            raise InputError(f"{key} {path}: is a file; give a directory")
        above = path.absolute()
        while not above.exists() and (parents or above == path.absolute()):
            above = above.parent
        if not above.is_dir():
            raise InputError(f"{key} {path}: there is no directory {path.parent}; make it first")
        _probe(above)


@contextlib.contextmanager
def _named(path: Path, key: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{key} {path}: cannot be written: {error.strerror or error}") from error


def _mode(path: Path) -> int | None:
    """What there is, links followed; None for nothing."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _real(path: Path) -> Path:
    """Where the links end, of a file that may not be there yet."""
    return Path(os.path.realpath(path))


def _is_descriptor(path: Path) -> bool:
    """Whether a name stands for an open file: `/dev/stdout`, `/dev/fd/3` or a link to one."""
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if f"{folder}/".startswith(_DESCRIPTORS):
            return True
        if not path.is_symlink():
            return False
        path = Path(folder, os.readlink(path))
    return False


def _replace(path: Path, data: bytes, mode: int | None, *, sync: bool, permissions: int | None) -> None:
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    real = _real(path)
    temporary = real.parent / f".{secrets.token_hex(8)}.tmp"
    final = permissions if permissions is not None or mode is None else stat.S_IMODE(mode)
    first = 0o666 if final is None else 0o600  # narrowed by the umask; never wider than it will be
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, first)) as file:
            file.write(data)
            if final is not None:
                os.chmod(temporary, final)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, real)
    except BaseException as error:  # Ctrl-C too
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(path), None  # the name the user knows
        raise
    if sync:
        _sync_directory(real.parent)


def _pour(path: Path, data: bytes) -> None:
    """Write into what is no regular file, or is open already: at its end, after what we have said so far."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _probe(directory: Path) -> None:
    """Make a file and remove it: no question to the system answers for root and for read-only places."""
    probe = directory / f".{secrets.token_hex(8)}.tmp"
    with open(probe, "xb"):
        pass
    probe.unlink()


def _sync_directory(directory: Path) -> None:
    # Makes the new name survive a power cut; not every directory can be opened, but one that is must obey.
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
