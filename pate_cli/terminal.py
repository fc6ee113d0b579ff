"""The two consoles, the reading of a file that may be anybody's, and the atomic write of one.

What is opened is checked on the open file: its name may stand for another one a moment later.

A regular file is replaced by a temporary one beside it, in one step. A device, a pipe and our own output (as
`/dev/stdout`) are written into, and a link is followed: a command that runs as root must not put a file in
the place of `/dev/full`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from pate_cli.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "OUTSIDE",
    "check_directory",
    "check_file",
    "checked_output",
    "err",
    "is_own",
    "only_ours",
    "only_writer",
    "open_file",
    "out",
]
__all__ += ["notice", "typed_path", "write_file", "write_output"]


OUTSIDE = {1, 2}
"""Descriptors that lead to where the user, or a file in his place, sees what is written."""

_ours: dict[int, TextIO] = {}
"""Streams of the consoles, within `only_ours`; else they are Python's."""


@cache
def out() -> Console:
    """Console for results (stdout)."""
    from rich.console import Console

    return Console(file=_ours.get(1), highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Console for messages and progress (stderr)."""
    from rich.console import Console

    return Console(file=_ours.get(2), stderr=True, highlight=False)


def notice(text: str, style: str = "") -> None:
    """Print a line of its own to stderr."""
    err().print(f"pate: {text}", style=style, markup=False, soft_wrap=True)


@contextlib.contextmanager
def only_ours() -> Iterator[None]:
    """Let `out` and `err` alone write: what all other code writes goes nowhere.

    For a release: the code of others has private records, and writes through Python's streams, through the
    descriptors 1 and 2, as C and child processes do, or through logging. What is still in buffers is written
    when the process ends, so from then on nothing leaves either.
    """
    import atexit
    import ctypes
    import logging

    before, disabled = (sys.stdout, sys.stderr), logging.root.manager.disable
    kept = {1: os.dup(1), 2: os.dup(2)}  # which no child inherits
    OUTSIDE.update(kept.values())
    with open(os.devnull, "w") as nowhere:
        for (number, descriptor), stream in zip(kept.items(), before, strict=True):
            stream.flush()
            os.dup2(nowhere.fileno(), number)
            _ours[number] = _moved(stream, number, descriptor)
        sys.stdout = sys.stderr = nowhere
        logging.disable()
        _forget_consoles()
        try:
            yield
        finally:
            for stream in (*before, sys.__stdout__, sys.__stderr__):
                if stream is not None and stream not in _ours.values():
                    stream.flush()
            ctypes.CDLL(None).fflush(None)
            for number, descriptor in kept.items():
                with contextlib.suppress(OSError):  # told when it was printed
                    _ours.pop(number).flush()
                os.dup2(descriptor, number)
                os.close(descriptor)
            OUTSIDE.difference_update(kept.values())
            sys.stdout, sys.stderr = before
            logging.disable(disabled)
            _forget_consoles()
            atexit.register(_close_outside)  # the last registered is the first called


def _moved(stream: TextIO, number: int, descriptor: int) -> TextIO:
    """A stream that writes where one of Python's did; the same one where that had no such descriptor."""
    try:
        has_descriptor = stream.fileno() == number
    except OSError:  # in the place of one, as in a test
        has_descriptor = False
    if not has_descriptor:
        return stream
    return open(descriptor, "w", encoding=stream.encoding, errors=stream.errors, buffering=1, closefd=False)


def _forget_consoles() -> None:
    out.cache_clear()
    err.cache_clear()


def _close_outside() -> None:
    """Send nowhere what is written from here on."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)


def typed_path(text: str | Path) -> Path:
    """Path as typed, `~` for a home directory; left as it is where there is none, to be named as missing."""
    return Path(os.path.expanduser(text))


def open_file(path: str | Path, *, pipe: bool = False) -> BinaryIO:
    """Open a regular file for reading, or a pipe where one is taken; OSError, at once, for anything else."""
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115 - the caller closes it
    mode = os.fstat(file.fileno()).st_mode
    if not (stat.S_ISREG(mode) or (pipe and stat.S_ISFIFO(mode))):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if stat.S_ISFIFO(mode):
        os.set_blocking(file.fileno(), True)
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to would be waited for, and a terminal could become ours."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user who runs this; true where the system has no such users."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def write_file(
    path: str | Path, content: str | bytes, *, sync: bool = True, permissions: int | None = None
) -> Path:
    """Write a file, text as UTF-8, into a directory that exists.

    With `sync` it outlasts a power cut; without, only a killed process. `permissions` of a regular file, as
    0o600, hold at every moment; by default they are those of an earlier file, or the umask's. If OSError is
    raised, nothing new is left behind, and an earlier regular file is as it was.
    """
    path = Path(path)
    # "backslashreplace" is for names that are not valid UTF-8; in JSON it is even the right escape.
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    mode = _mode(path)
    if mode is None or _is_replaced(path, mode):
        _replace(path, data, mode, sync=sync, permissions=permissions)
    elif stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    else:
        _pour(path, data)
    return path


def write_output(path: Path, content: str | bytes) -> None:
    """Write to the file of `--output`; InputError names the option, the file and the reason if that fails.

    A broken pipe is raised as it is.
    """
    try:
        write_file(path, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"--output {path}: cannot be written: {error.strerror or error}") from error


def checked_output(typed: Path | None, default: Path, endings: Sequence[str]) -> Path:
    """File to write, checked before the work: the one given, or the default, which is not written over."""
    output = typed or default
    if output.suffix.lower() not in endings:
        raise InputError(f"--output {output}: unknown ending; accepted: {', '.join(endings)}")
    if typed is None and output.exists():
        raise InputError(f"{output}: is there already; --output {output} writes over it")
    check_file(output)
    return output


def check_file(path: Path, read: Iterable[Path] = ()) -> None:
    """Check, before the work, that `write_output` will be able to write; InputError if not.

    The files that are `read` are not to be written over.
    """
    with _named(path, "--output"):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise InputError(f"--output {path}: is a directory; give a file")
        if mode is not None and any(other.exists() and path.samefile(other) for other in read):
            raise InputError(f"--output {path}: is a file that is read; give another")
        if mode is not None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if mode is None or _is_replaced(path, mode):
            parent = _real(path).parent
            if not parent.is_dir():
                raise InputError(f"--output {path}: there is no directory {path.parent}; make it first")
            _try_to_write(parent)


def _try_to_write(directory: Path) -> None:
    """Make a file and remove it: `os.access` is wrong for root and read-only disks."""
    import tempfile

    tempfile.TemporaryFile(dir=directory).close()


def check_directory(path: Path, key: str = "--output", *, parents: bool = False) -> None:
    """Check, before the work, that files can be written into a directory; InputError if not.

    It may still have to be made; with `parents`, as for a default place, those above it too.
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
        _try_to_write(above)


@contextlib.contextmanager
def only_writer(directory: Path, key: str = "--output") -> Iterator[list[Path]]:
    """Make a directory, and keep other commands from writing there; InputError if one does already.

    Gives the directories that were made, which are removed if they stay empty. The system releases the lock
    of a process that ends, however it does; a file system that has no locks is taken at its word.
    """
    import fcntl

    new = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        accepted = "another command writes there at this moment; give another directory, or wait"
        raise InputError(f"{key} {directory}: {accepted}") from None
    except OSError:
        pass
    try:
        yield new
    finally:
        os.close(lock)
        for path in new:
            with contextlib.suppress(OSError):  # not empty, or gone
                path.rmdir()


@contextlib.contextmanager
def _named(path: Path, key: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{key} {path}: cannot be written: {error.strerror or error}") from error


def _mode(path: Path) -> int | None:
    """Mode of a file, links followed; None if there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _real(path: Path) -> Path:
    """Target of all links, also of a file that does not exist yet."""
    return Path(os.path.realpath(path))


def _is_replaced(path: Path, mode: int) -> bool:
    """Whether a file is regular and not where our own output goes, as `/dev/stdout` sent to a file."""
    if not stat.S_ISREG(mode):
        return False
    status = os.stat(path)
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):  # it may be closed
            if os.path.samestat(status, os.fstat(descriptor)):
                return False
    return True


def _replace(path: Path, data: bytes, mode: int | None, *, sync: bool, permissions: int | None) -> None:
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    real = _real(path)
    temporary = real.parent / f".{os.urandom(8).hex()}.tmp"
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
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error  # the name the user knows
        raise
    if sync:
        _sync_directory(real.parent)


def _pour(path: Path, data: bytes) -> None:
    """Write at the end of a device, a pipe or our own output, after all that is printed so far."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


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
